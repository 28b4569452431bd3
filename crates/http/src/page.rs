//! The console: the live page and the queues' page, each one document, its style and its scripts, all in the binary.
//!
//! The pages hold no data: they ask the API like any other client, with the API key in a header. So the pages
//! themselves need no key, and a policy forbids them to load or send anything elsewhere.

use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};

use crate::problem::{PATH_UNKNOWN, Problem};
use crate::routes::Name;

/// Only our own files, no inline script, no frames, no forms to elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn live() -> Response {
    with_policy(Html(include_str!("page/live.html")).into_response())
}

/// The same document for the list and for each queue: its script reads the address.
pub(crate) async fn queues() -> Response {
    with_policy(Html(include_str!("page/queues.html")).into_response())
}

pub(crate) async fn asset(Name(file): Name) -> Result<Response, Problem> {
    let (kind, text) = match file.as_str() {
        "live.css" => ("text/css; charset=utf-8", include_str!("page/live.css")),
        "live.js" => ("text/javascript; charset=utf-8", include_str!("page/live.js")),
        "queues.css" => ("text/css; charset=utf-8", include_str!("page/queues.css")),
        "queues.js" => ("text/javascript; charset=utf-8", include_str!("page/queues.js")),
        "job.js" => ("text/javascript; charset=utf-8", include_str!("page/job.js")),
        "console.js" => ("text/javascript; charset=utf-8", include_str!("page/console.js")),
        "lights.js" => ("text/javascript; charset=utf-8", include_str!("page/lights.js")),
        "chart.js" => ("text/javascript; charset=utf-8", include_str!("page/chart.js")),
        "docs.css" => ("text/css; charset=utf-8", include_str!("page/docs.css")),
        "icon.svg" => ("image/svg+xml", include_str!("page/icon.svg")),
        _ => return Err(Problem::new(PATH_UNKNOWN, format!("there is no asset {file:?}"))),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        // The files change with the binary; asking each time costs a loopback request.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, text).into_response())
}

pub(crate) fn with_policy(mut page: Response) -> Response {
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    page
}
