//! Every path of the HTTP port, and what holds for all of them.
//!
//! The API's own are the endpoints of the features, which its description names; here are the pages
//! and the rest.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware;
use axum::response::Redirect;
use axum::routing::get;
use axum::{Extension, Router};

use crate::docs::Documents;
use crate::endpoints::endpoints;
use crate::port::Port;
use crate::request::app::App;
use crate::request::endpoint_rights::Rights;
use crate::request::problem::{METHOD_WRONG, PATH_UNKNOWN, Problem, WEBSOCKET_ELSEWHERE};
use crate::request::query::Parameters;
use crate::router::around::around;
use crate::sign_in::routes as sign_in;
use crate::{console, docs};

mod around;

/// The router over the shared parts.
pub(crate) fn router(port: &Port) -> Router {
    let (endpoints, described) = endpoints().split_for_parts();
    let app = port.part::<Arc<App>>();
    let _ = app.parameters.set(Parameters::of(&described));
    let _ = app.rights.set(Rights::of_api(&described));
    let documents = Extension(Arc::new(Documents::of(&app.config.version)));
    let by_people = app.people.as_ref().map(|people| sign_in::routes(Arc::clone(people)));
    endpoints
        .merge(by_people.unwrap_or_default())
        .route("/auth/session", get(sign_in::session))
        .route("/", get(|| async { Redirect::temporary("/live") }))
        .route("/openapi.json", get(docs::openapi).layer(documents.clone()))
        .route("/docs", get(docs::reference).layer(documents))
        .route("/docs/errors/{code}", get(docs::error))
        .merge(console::routes())
        .route("/mqtt", get(mqtt_elsewhere))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(app.config.body_bytes_max))
        .layer(middleware::from_fn_with_state(port.clone(), around))
        .with_state(port.clone())
}

async fn unknown_path(request: Request) -> Problem {
    Problem::new(PATH_UNKNOWN, format!("nothing is at {}; /docs lists what there is", request.uri().path()))
}

async fn wrong_method(request: Request) -> Problem {
    let detail = format!("{} does not take {}", request.uri().path(), request.method());
    Problem::new(METHOD_WRONG, detail)
}

async fn mqtt_elsewhere() -> Problem {
    Problem::new(WEBSOCKET_ELSEWHERE, "use a plain HTTP port, or the edge's own WebSocket listener")
}
