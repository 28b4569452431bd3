//! Serves the console's pages and their files, see `stadium_console`.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use stadium_console::{Asset, PAGES, POLICY, Page, UNKNOWN};

use crate::request::problem::{PATH_UNKNOWN, Problem};
use crate::request::query::Name;

/// All pages, and the files that they load.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let paths = PAGES.iter().flat_map(|page: &'static Page| page.paths.iter().map(move |path| (path, page)));
    paths
        .fold(Router::new(), |router, (path, page)| {
            router.route(path, get(move || async { with_policy(Html(page.document()).into_response()) }))
        })
        .route("/assets/{file}", get(asset))
}

async fn asset(Name(file): Name) -> Result<Response, Problem> {
    let Some(Asset { kind, text }) = stadium_console::asset(&file) else {
        return Err(Problem::new(PATH_UNKNOWN, format!("there is no asset {file:?}")));
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        // The files change with the binary; asking each time costs a loopback request.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, text).into_response())
}

/// The page where there is none.
pub(crate) fn unknown() -> Response {
    with_policy(Html(UNKNOWN.document()).into_response())
}

/// Gives a page the policy of the console.
pub(crate) fn with_policy(mut page: Response) -> Response {
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    page
}
