//! The endpoint of the metrics.

use std::sync::Arc;

use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;

use crate::metrics::plain::{plain, wants_open_metrics};
use crate::metrics::scrape;
use crate::metrics::sources::Sources;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::request::problem::ProblemSchema;

/// The endpoints of the metrics.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Sources: FromRef<S>,
{
    endpoints![metrics]
}

/// Every counter, gauge and histogram, for Prometheus.
///
/// In its text format 0.0.4; in that of OpenMetrics 1.0 for those whose `Accept` prefers `application/openmetrics-text`.
#[utoipa::path(get, operation_id = "metrics", path = "/metrics", tag = "Operating",
    extensions(("x-right" = json!("node.read"))),
    responses((status = 200, description = "The metrics.",
               content((String = "text/plain"), (String = "application/openmetrics-text"))),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema)))]
pub(crate) async fn metrics(_: Caller, State(sources): State<Sources>, headers: HeaderMap) -> Response {
    let text = scrape::text(&sources).expect("writing to a string cannot fail");
    let (kind, text) = if wants_open_metrics(&headers) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", plain(&text))
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::VARY, HeaderValue::from_static("accept")),
    ];
    (headers, text).into_response()
}
