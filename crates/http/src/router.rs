//! Every path of the HTTP port, and what holds for all of them.
//!
//! The API's own are the endpoints of the features, which its description names; here are the pages
//! and the rest.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use tower_http::cors::{AllowOrigin, CorsLayer};

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
        .layer(cors(&app.config.cors_origins))
        .with_state(port.clone())
}

/// Pages of other origins may use all of the API, with a key of their own and without cookies.
/// A page of another origin gets answers without these headers, and its browser keeps them from it.
fn cors(origins: &[String]) -> CorsLayer {
    let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("traceparent"),
        ])
        .expose_headers([
            header::LOCATION,
            header::RETRY_AFTER,
            HeaderName::from_static("idempotent-replayed"),
            HeaderName::from_static("stadium-error"),
        ])
        .max_age(PREFLIGHT_MAX_AGE)
}

/// How long a browser remembers what a page may do.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

async fn unknown_path(request: Request) -> Response {
    let path = request.uri().path();
    let is_api = ["/api/", "/auth/", "/wp/"].iter().any(|start| path.starts_with(start));
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    // A person's browser asks for HTML by name; a program that takes anything gets the problem.
    if !is_api && accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return (StatusCode::NOT_FOUND, console::unknown()).into_response();
    }
    let detail = format!("nothing is at {path}; /docs lists what there is");
    Problem::new(PATH_UNKNOWN, detail).into_response()
}

async fn wrong_method(request: Request) -> Problem {
    let detail = format!("{} does not take {}", request.uri().path(), request.method());
    Problem::new(METHOD_WRONG, detail)
}

async fn mqtt_elsewhere() -> Problem {
    Problem::new(
        WEBSOCKET_ELSEWHERE,
        "this server has no event loops that take it; ask for it as `GET /mqtt` with `Upgrade: websocket`",
    )
}
