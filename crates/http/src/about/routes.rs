//! The endpoints about this process. Each is answered from memory, and asks nobody.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, State};
use utoipa_axum::router::OpenApiRouter;

use crate::about::views::{ConfigurationView, NodeView, ServicesView, loops};
use crate::live::samples::{held, state_word};
use crate::queue::routes::live::LiveShard;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::request::problem::ProblemSchema;

/// The endpoints about this process.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![node, services, configuration]
}

/// This process: its version, listeners, loops, memory and shards.
#[utoipa::path(get, operation_id = "node", path = "/api/node", tag = "Operating",
    extensions(("x-right" = json!("node.read"))),
    responses((status = 200, description = "The node that answers.", body = NodeView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn node(_: Caller, State(app): State<Arc<App>>) -> Json<NodeView> {
    let stats = app.fleet.stats();
    let shards = app.shards.get().map(stadium_shard::Shards::metrics).unwrap_or_default();
    Json(NodeView {
        version: app.config.version.clone(),
        state: state_word(&app.fleet.readiness()),
        pid: std::process::id(),
        uptime_s: app.started.elapsed().as_secs(),
        listeners: app.about.facts().map(|facts| facts.listeners.clone()).unwrap_or_default(),
        loops: loops(&stats),
        connected: stats.connected,
        sessions: stats.sessions,
        bytes_held: held(&stats.bytes_held),
        shards: shards.into_iter().map(LiveShard::of).collect(),
        cluster: app.fleet.cluster().ok().map(|cluster| cluster.name),
    })
}

/// The services of this process, their methods, and how other services are found.
#[utoipa::path(get, operation_id = "services", path = "/api/services", tag = "Operating",
    extensions(("x-right" = json!("node.read"))),
    responses((status = 200, description = "The services.", body = ServicesView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn services(_: Caller, State(app): State<Arc<App>>) -> Json<ServicesView> {
    Json(ServicesView::of(&app.fleet.stats()))
}

/// Each setting in force, and the place that it comes from.
#[utoipa::path(get, operation_id = "configuration", path = "/api/configuration", tag = "Operating",
    extensions(("x-right" = json!("node.operate"))),
    responses((status = 200, description = "The settings.", body = ConfigurationView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema)))]
pub(crate) async fn configuration(_: Caller, State(app): State<Arc<App>>) -> Json<ConfigurationView> {
    let facts = app.about.facts().cloned().unwrap_or_default();
    Json(ConfigurationView { file: facts.file, settings: facts.settings })
}
