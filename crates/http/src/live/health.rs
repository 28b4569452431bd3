//! Health and metrics, for whoever watches the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::fleet::Readiness;
use crate::live::samples::state_word;
use crate::request::access::Reader;
use crate::request::app::App;
use crate::request::problem::{NOT_READY, Problem};

/// How the server is.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `alive` from `/healthz`, `ready` from `/readyz`.
    #[schema(example = "ready")]
    status: &'static str,
}

/// Whether the process answers at all. Needs no key.
#[utoipa::path(get, operation_id = "health", path = "/healthz", tag = "Operating", security(()),
    responses((status = 200, description = "The process answers.", body = Health)))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "alive" })
}

/// Whether new work should be sent here. Needs no key.
#[utoipa::path(get, operation_id = "readiness", path = "/readyz", tag = "Operating", security(()),
    responses((status = 200, description = "Send work here.", body = Health),
              (status = 503, description = "Starting or draining, or a shard does not serve (`HTTP-014`).", body = crate::openapi::Problem)))]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Json<Health>, Problem> {
    let readiness = app.fleet.readiness();
    match not_ready(&readiness).or_else(|| shard_troubled(&app)) {
        None => Ok(Json(Health { status: state_word(&readiness) })),
        Some(problem) => Err(problem),
    }
}

/// The problem of a shard that takes no commands, as while its journal is opened again. Pushes go on meanwhile.
fn shard_troubled(app: &App) -> Option<Problem> {
    let metrics = app.shards.get()?.metrics();
    let troubled = metrics.into_iter().find(|shard| !shard.serving)?;
    let why = troubled.trouble.unwrap_or_else(|| "it is reading its journal".to_owned());
    let detail = format!("shard {} does not serve: {why}", troubled.shard);
    Some(Problem::new(NOT_READY, detail).retry_after(Duration::from_secs(1)))
}

/// The problem of a server that should get no new work.
pub(crate) fn not_ready(readiness: &Readiness) -> Option<Problem> {
    let detail = match readiness {
        Readiness::Ready => return None,
        Readiness::Draining => "the server is draining: devices are being moved away".to_owned(),
        Readiness::Starting(why) => format!("the server is starting: {why}"),
    };
    Some(Problem::new(NOT_READY, detail).retry_after(Duration::from_secs(5)))
}

/// Every counter, gauge and histogram, for Prometheus.
///
/// In its text format 0.0.4; in that of OpenMetrics 1.0 for those whose `Accept` prefers `application/openmetrics-text`.
#[utoipa::path(get, operation_id = "metrics", path = "/metrics", tag = "Operating",
    responses((status = 200, description = "The metrics.",
               content((String = "text/plain"), (String = "application/openmetrics-text"))),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = crate::openapi::Problem)))]
pub(crate) async fn metrics(_: Reader, State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let text = crate::metrics::text(&app).expect("writing to a string cannot fail");
    let (kind, text) = if crate::metrics::wants_open_metrics(&headers) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", crate::metrics::plain(&text))
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::VARY, HeaderValue::from_static("accept")),
    ];
    (headers, text).into_response()
}
