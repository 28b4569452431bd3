//! Whether the server is alive and ready, for load balancers and supervisors.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::live::samples::state_word;
use crate::request::app::App;
use crate::request::problem::{NOT_READY, Problem, ProblemSchema};
use crate::request::readiness::not_ready;

/// Whether this is the path of [`healthz`] or [`readyz`].
///
/// Both are answered where a bound on connections or requests is reached: a supervisor that gets no
/// answer would restart a server that only has too many clients.
pub(crate) fn is_health(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

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
              (status = 503, description = "Starting or draining, or a shard does not serve (`HTTP-014`).", body = ProblemSchema)))]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Json<Health>, Problem> {
    let readiness = app.fleet.readiness();
    match not_ready(&readiness).or_else(|| shard_troubled(&app)) {
        None => Ok(Json(Health { status: state_word(&readiness) })),
        Some(problem) => Err(problem),
    }
}

/// The problem of a shard that takes no commands, as while its journal is opened again. Pushes go on meanwhile.
fn shard_troubled(app: &App) -> Option<Problem> {
    if !app.fleet.has_all_shards() {
        return None;
    }
    let metrics = app.shards.get()?.metrics();
    let troubled = metrics.into_iter().find(|shard| !shard.serving)?;
    let why = troubled.trouble.unwrap_or_else(|| "it is reading its journal".to_owned());
    let detail = format!("shard {} does not serve: {why}", troubled.shard);
    Some(Problem::new(NOT_READY, detail).retry_after(Duration::from_secs(1)))
}
