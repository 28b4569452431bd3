//! The endpoints of the cluster. Each is answered by any node from its own view: nothing is asked of
//! etcd or of other nodes.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::Uri;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::cluster::description::Description;
use crate::fleet::{ClusterReport, ClusterShardPage, ClusterShardQuery, NoCluster, Readiness, ShardChoice};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::endpoints::endpoints;
use crate::request::problem::{NO_CLUSTER, Problem, ProblemSchema};
use crate::request::query::Query;
use crate::request::readiness::{draining, not_ready};

/// Shards on a page unless the caller asks for another number.
const PAGE_SHARDS_DEFAULT: usize = 100;

/// Shards on a page at most: all that a cluster may have, so that a page of the console asks once.
const PAGE_SHARDS_MAX: usize = 1_024;

/// The endpoints of the cluster.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
{
    endpoints![Description; cluster, shards]
}

/// The cluster that this server is a node of.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClusterView {
    /// Null on a standalone server.
    cluster: Option<ClusterReport>,
}

/// The cluster as this node knows it: nodes, moves, drains and links.
///
/// `cluster` is null on a standalone server.
#[utoipa::path(get, operation_id = "cluster", path = "/api/cluster", tag = "Cluster",
    extensions(("x-right" = json!("node.read"))),
    responses((status = 200, description = "The cluster.", body = ClusterView),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 503, description = "The node has not joined yet, or leaves (`HTTP-014`).", body = ProblemSchema)))]
pub(crate) async fn cluster(_: Caller, State(app): State<Arc<App>>) -> Result<Json<ClusterView>, Problem> {
    match app.fleet.cluster() {
        Ok(cluster) => Ok(Json(ClusterView { cluster: Some(cluster) })),
        Err(NoCluster::Standalone) => Ok(Json(ClusterView { cluster: None })),
        Err(NoCluster::NotNow) => Err(not_now(&app)),
    }
}

/// The shards of the cluster by number: owners, standbys, and what is wrong.
///
/// How far a standby is behind is known of the standbys of the node that answers.
#[utoipa::path(get, operation_id = "list_cluster_shards", path = "/api/cluster/shards", tag = "Cluster",
    extensions(("x-right" = json!("node.read"))),
    params(("node" = Option<String>, Query, description = "Only shards of which this node has a replica."),
           ("only" = Option<String>, Query, description = "`troubled`: only shards with a problem. `moving`: only shards on their way. `all` by default."),
           ("limit" = Option<usize>, Query, minimum = 1, maximum = 1024, description = "At most so many; 100 by default."),
           ("after" = Option<u32>, Query, description = "Only shards behind this one: `next` of the page before.")),
    responses((status = 200, description = "A page of shards.", body = ClusterShardPage),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "The server is standalone (`HTTP-037`).", body = ProblemSchema),
              (status = 503, description = "The node has not joined yet, or leaves (`HTTP-014`).", body = ProblemSchema)))]
pub(crate) async fn shards(
    _: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<ClusterShardPage>, Problem> {
    let query = Query::read(&uri, &["node", "only", "limit", "after"])?;
    let choices =
        [("all", ShardChoice::All), ("troubled", ShardChoice::Troubled), ("moving", ShardChoice::Moving)];
    let asked = ClusterShardQuery {
        after: query.number("after")?,
        limit: query.limit(PAGE_SHARDS_DEFAULT, PAGE_SHARDS_MAX)?,
        node: query.value("node").map(str::to_owned),
        only: query.one_of("only", &choices)?,
    };
    app.fleet.cluster_shards(&asked).map(Json).map_err(|why| match why {
        NoCluster::Standalone => {
            Problem::new(NO_CLUSTER, "this server is standalone: its settings name no cluster")
        }
        NoCluster::NotNow => not_now(&app),
    })
}

/// The problem of a node that has not joined yet, or leaves.
fn not_now(app: &App) -> Problem {
    let readiness = app.fleet.readiness();
    match readiness {
        Readiness::Starting(_) => not_ready(&readiness).unwrap_or_else(draining),
        Readiness::Ready | Readiness::Draining => draining(),
    }
}
