//! Users: export one, erase one, follow an erasure.
//!
//! An erasure is on disk when it is answered, and is carried out behind the answer. The audit log
//! names it by its id: the name of an erased user is not written down once more.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use stadium_registry::UserName;
use utoipa_axum::router::OpenApiRouter;

use crate::audit_log::{AuditedPath, DryRun};
use crate::platform::in_path;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::idempotency_key;
use crate::request::endpoints::endpoints;
use crate::request::problem::{
    BALANCES_LEFT, ERASURE_UNKNOWN, ERASURES_FULL, ID_REUSED, NO_CLUSTER, NODE_ALIVE, NODE_UNKNOWN, Problem,
    ProblemSchema, SHARDS_STARTING,
};
use crate::request::query::{Name, Query};
use crate::shards::running;
use crate::users::cluster::{ClusterSlot, ClusterUsers};
use crate::users::description::Description;
use crate::users::elsewhere::{Away, counts};
use crate::users::erase::Work;
use crate::users::export::{Export, Nodes};
use crate::users::list::{Erasure, List, Running};
use crate::users::local::Local;
use crate::users::on_node::Here;
use crate::users::receipt::hash;
use crate::users::record::{Erasures, new_id};
use crate::users::spelled::{not_kept, now_ms};
use crate::users::views::{ErasurePage, ErasureReport, PlanReport};

/// Erasures on a page unless the caller asks for another number, and at most.
const PAGE: (usize, usize) = (100, 1_000);

/// Accounts that a refusal names.
const NAMED_MAX: usize = 5;

/// The endpoints.
pub(crate) fn endpoints<S>() -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<App>: FromRef<S>,
    Arc<Erasures>: FromRef<S>,
    Arc<ClusterSlot>: FromRef<S>,
{
    endpoints![Description; export, erase, list, show, forget_node]
}

/// The node's part in its cluster; none of a standalone server.
fn of_cluster<'a>(app: &App, slot: &'a ClusterSlot) -> Result<Option<&'a Arc<ClusterUsers>>, Problem> {
    if app.config.shared.is_none() {
        return Ok(None);
    }
    let starting = || {
        let detail = "the node has not joined its cluster yet";
        Problem::new(SHARDS_STARTING, detail).retry_after(Duration::from_secs(1))
    };
    slot.get().map(Some).ok_or_else(starting)
}

/// The erasures of this server, or of its cluster.
fn listed<'a>(cluster: Option<&'a Arc<ClusterUsers>>, erasures: &'a Arc<Erasures>) -> &'a dyn List {
    match cluster {
        Some(cluster) => cluster.list(),
        None => &**erasures,
    }
}

/// Everything that the server or its cluster has of a named user, as one JSON document.
///
/// Devices, pushes with the trace of each delivery, sessions with their messages, retained
/// messages, jobs, accounts with holds and entries, lines of the audit log. Its last field is
/// `complete`: a document without it broke off.
#[utoipa::path(get, operation_id = "export_user", path = "/api/users/{user}/export", tag = "Users",
    extensions(("x-right" = json!("user.export"))),
    params(("user" = String, Path, description = "The `named_user` of devices, percent-encoded.", example = "ada"),
           ("away" = Option<String>, Query, description = "Nodes of a cluster that do not answer: `refuse` by default; `skip`: `nodes_not_searched` names them.")),
    responses((status = 200, description = "The document.", content_type = "application/json", body = Object,
               headers(("Content-Disposition" = String, description = "`attachment` with a file name."))),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 422, description = "`HTTP-028`", body = ProblemSchema),
              (status = 503, description = "`ERA-004`, `HTTP-026`, or a code of the shards; with `Retry-After`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`, `SHARD-015`", body = ProblemSchema)))]
pub(crate) async fn export(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(slot): State<Arc<ClusterSlot>>,
    Name(name): Name,
    uri: Uri,
) -> Result<Response, Problem> {
    let user = in_path("user", UserName::new(&name))?;
    let query = Query::read(&uri, &["away"])?;
    let away = query.one_of("away", &[("refuse", Away::Refuse), ("skip", Away::Skip)])?;
    let shards = running(&app)?.clone();
    let cluster = of_cluster(&app, &slot)?;
    tracing::info!(by = caller.key_id(), "A user is exported");
    let here = match cluster {
        Some(cluster) => cluster.here(),
        None => Here {
            fleet: Arc::clone(&app.fleet),
            sessions: shards.clone(),
            data_dir: app.config.data_dir.clone(),
        },
    };
    let nodes = cluster.map(|cluster| Nodes { nodes: cluster.nodes(), others: cluster.others(), away });
    let body = Export::begin((app.config.version.clone(), shards, here), nodes, user).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"user.json\"")),
    ];
    Ok((headers, body).into_response())
}

/// Erases a named user: removes devices with their credentials, sessions, retained messages and
/// jobs, and closes wallets. What must stay, such as the books, is in the receipt with the reason.
///
/// The erasure is on disk when this is answered, and goes on behind the answer, also after a crash:
/// see `Location`. A user whose erasure is under way is not erased twice. Accounts that are not
/// empty refuse it (`ERA-001`) unless `balances=keep`.
#[utoipa::path(post, operation_id = "erase_user", path = "/api/users/{user}/erase", tag = "Users",
    extensions(("x-right" = json!("user.erase"))),
    params(("user" = String, Path, description = "The `named_user` of devices, percent-encoded.", example = "ada"),
           ("dry_run" = Option<bool>, Query, description = "`true`: count what would be removed, remove nothing."),
           ("balances" = Option<String>, Query, description = "`refuse` by default; `keep`: accounts that are not empty stay open."),
           ("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat, also after the erasure has finished.")),
    responses((status = 202, description = "It is under way. With a known `Idempotency-Key`: the erasure, which may have finished.", body = ErasureReport,
               headers(("Location" = String, description = "Where its progress and its receipt are."))),
              (status = 200, description = "With `dry_run`: what would be done.", body = PlanReport),
              (status = 400, description = "`HTTP-016`, `HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 409, description = "`ERA-001`", body = ProblemSchema),
              (status = 422, description = "`HTTP-015`, `HTTP-028`", body = ProblemSchema),
              (status = 500, description = "`ERA-005`", body = ProblemSchema),
              (status = 503, description = "`ERA-003`, `ERA-004`, `ERA-007`, `HTTP-026`, or a code of the shards; with `Retry-After`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`, `SHARD-015`", body = ProblemSchema)))]
pub(crate) async fn erase(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(erasures): State<Arc<Erasures>>,
    State(slot): State<Arc<ClusterSlot>>,
    Name(name): Name,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let user = in_path("user", UserName::new(&name))?;
    let query = Query::read(&uri, &["dry_run", "balances"])?;
    let is_dry_run = query.one_of("dry_run", &[("false", false), ("true", true)])?;
    let keeps_balances = query.one_of("balances", &[("refuse", false), ("keep", true)])?;
    let key = idempotency_key(&headers)?;
    let shards = running(&app)?;
    let cluster = of_cluster(&app, &slot)?;
    let erasures = listed(cluster, &erasures);
    let work = match cluster {
        Some(cluster) => cluster.work_here(),
        None => Work {
            shards,
            local: Local { sessions: shards, fleet: Some(&*app.fleet), data_dir: &app.config.data_dir },
            erasures,
            version: &app.config.version,
            nodes: None,
        },
    };
    if is_dry_run {
        let elsewhere = |clients| async move {
            match cluster {
                Some(cluster) => counts(&*cluster.nodes(), cluster.others(), clients).await,
                None => Ok(Vec::new()),
            }
        };
        let plan = work.plan(&user, elsewhere).await?;
        return Ok((Extension(DryRun), Json(PlanReport::of(user.to_string(), plan))).into_response());
    }
    let id = match &key {
        Some(key) => id_of(&caller, key),
        None => new_id().map_err(not_kept)?,
    };
    // A request that is repeated is answered as the first one was, whatever has changed since.
    let known = erasures.find(&id).map_err(not_kept)?;
    if known.is_none() && !keeps_balances {
        let left = work.balances(&user).await?;
        let named = left.iter().take(NAMED_MAX);
        let named: Vec<_> = named.map(|account| format!("{}/{}", account.wallet, account.asset)).collect();
        if !named.is_empty() {
            let detail = format!(
                "{} accounts are not empty, such as {}: move the amounts away and end the holds, or ask \
                 with balances=keep",
                left.len(),
                named.join(", ")
            );
            return Err(Problem::new(BALANCES_LEFT, detail));
        }
    }
    let new = Running::new(id, user.to_string(), caller.key_id(), now_ms());
    let begun = erasures.begin(new).map_err(not_kept)?.ok_or_else(|| {
        let detail = "as many erasures are under way or remembered as may be";
        Problem::new(ERASURES_FULL, detail).retry_after(Duration::from_secs(10))
    })?;
    let (id, is_of_user) = match &begun {
        Erasure::Running(one) => (one.id.clone(), one.user == user.as_str()),
        Erasure::Finished(one) => {
            (one.id.clone(), one.hash == erasures.hash(user.as_str()).map_err(not_kept)?)
        }
    };
    if !is_of_user {
        let detail = "the erasure that this key began is of another user; use a new key";
        return Err(Problem::new(ID_REUSED, detail));
    }
    tracing::info!(erasure = id, by = caller.key_id(), "A user is being erased");
    let place = format!("/api/erasures/{id}");
    let location = HeaderValue::from_str(&place).expect("hexadecimal digits are a header value");
    let report = Json(ErasureReport::of(begun));
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], Extension(AuditedPath(place)), report)
        .into_response())
}

/// The id that a caller's idempotency key stands for.
fn id_of(caller: &Caller, key: &str) -> String {
    hash(caller.key_id(), &format!("\n{key}"))[..32].to_owned()
}

/// The erasures, newest first, those under way before all others; and the key that signs receipts.
#[utoipa::path(get, operation_id = "list_erasures", path = "/api/erasures", tag = "Users",
    extensions(("x-right" = json!("user.erase"))),
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "How many; 100 by default.")),
    responses((status = 200, description = "The erasures.", body = ErasurePage),
              (status = 400, description = "`HTTP-017`", body = ProblemSchema),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 500, description = "`ERA-005`", body = ProblemSchema),
              (status = 503, description = "`HTTP-026`", body = ProblemSchema)))]
pub(crate) async fn list(
    _: Caller,
    State(app): State<Arc<App>>,
    State(erasures): State<Arc<Erasures>>,
    State(slot): State<Arc<ClusterSlot>>,
    uri: Uri,
) -> Result<Json<ErasurePage>, Problem> {
    let limit = Query::read(&uri, &["limit"])?.limit(PAGE.0, PAGE.1)?;
    // Until the shards run, the server may still be repeating what a restore undid.
    running(&app)?;
    let erasures = listed(of_cluster(&app, &slot)?, &erasures);
    let (_, public_key) = erasures.salt_and_key().map_err(not_kept)?;
    let newest = erasures.newest(limit).map_err(not_kept)?;
    Ok(Json(ErasurePage { erasures: newest.into_iter().map(ErasureReport::of).collect(), public_key }))
}

/// The progress of an erasure; its receipt once it has finished.
#[utoipa::path(get, operation_id = "find_erasure", path = "/api/erasures/{id}", tag = "Users",
    extensions(("x-right" = json!("user.erase"))),
    params(("id" = String, Path, description = "Of `Location`.", example = "0c1d2e3f405162738495a6b7c8d9eafb")),
    responses((status = 200, description = "The erasure.", body = ErasureReport),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`ERA-002`", body = ProblemSchema),
              (status = 500, description = "`ERA-005`", body = ProblemSchema),
              (status = 503, description = "`HTTP-026`", body = ProblemSchema)))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    State(erasures): State<Arc<Erasures>>,
    State(slot): State<Arc<ClusterSlot>>,
    Name(id): Name,
) -> Result<Json<ErasureReport>, Problem> {
    running(&app)?;
    let erasures = listed(of_cluster(&app, &slot)?, &erasures);
    let found = erasures.find(&id).map_err(not_kept)?;
    let unknown = || Problem::new(ERASURE_UNKNOWN, format!("no erasure has the id {id:?}"));
    found.map(|erasure| Json(ErasureReport::of(erasure))).ok_or_else(unknown)
}

/// Takes a node out of the cluster's list of nodes with sessions: erasures no longer wait for it.
///
/// For nodes whose data is lost, or that never come back. Such a node refuses to start with the
/// sessions that it had.
#[utoipa::path(delete, operation_id = "forget_session_node", path = "/api/erasures/nodes/{node}", tag = "Users",
    extensions(("x-right" = json!("user.erase"))),
    params(("node" = String, Path, description = "Its name, as in `waits_for`.", example = "stadium-3")),
    responses((status = 204, description = "It is out of the list."),
              (status = 401, description = "`HTTP-001`, `HTTP-002`", body = ProblemSchema),
              (status = 403, description = "`HTTP-003`", body = ProblemSchema),
              (status = 404, description = "`ERA-010`, `HTTP-037`", body = ProblemSchema),
              (status = 409, description = "`ERA-009`", body = ProblemSchema),
              (status = 503, description = "`ERA-007`, `HTTP-026`", body = ProblemSchema),
              (status = 504, description = "`HTTP-018`", body = ProblemSchema)))]
pub(crate) async fn forget_node(
    caller: Caller,
    State(app): State<Arc<App>>,
    State(slot): State<Arc<ClusterSlot>>,
    Name(node): Name,
) -> Result<StatusCode, Problem> {
    let cluster = of_cluster(&app, &slot)?;
    let alone = || Problem::new(NO_CLUSTER, "a standalone server has no list of nodes");
    let cluster = cluster.ok_or_else(alone)?;
    if cluster.nodes().registered().contains(&node) {
        let detail = format!("the node {node:?} takes part in the cluster: stop it first");
        return Err(Problem::new(NODE_ALIVE, detail));
    }
    if !cluster.list().forget(&node).map_err(not_kept)? {
        let detail = format!("no node in the list has the name {node:?}");
        return Err(Problem::new(NODE_UNKNOWN, detail));
    }
    tracing::warn!(node, by = caller.key_id(), "Erasures no longer wait for this node");
    Ok(StatusCode::NO_CONTENT)
}
