//! Leases: reserve jobs, and report their outcome.
//!
//! A reserve may wait for a job; a client that goes away meanwhile takes its reserve back. Each way to end a lease takes
//! one lease in the path, or several in the body with an outcome for each.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use stadium_queue::{Command, Lease, Outcome, Placed, QueueName, Reserved};

use crate::queue::ask_for_one;
use crate::queue::description::WorkProblems;
use crate::queue::fields::{
    BuryFields, BuryManyFields, ExtendFields, ExtendManyFields, ForwardFields, OfLeases, Payload,
    ReleaseFields, ReleaseManyFields, ReserveFields, SettleFields, leases,
};
use crate::queue::routes::queues::queue_name;
use crate::queue::views::{OneOutcome, OutcomeWord, Outcomes, PlacedJob, ReservedJob, ReservedJobs};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{read_json, read_json_or_default};
use crate::request::problem::{NAME_WRONG, Problem};
use crate::request::query::Name;
use crate::shards::{ask_for, strange};
use crate::spelling::{field, named};

/// The longest wait of a reserve: what proxies and load balancers usually let a silent request live. A worker that
/// wants longer asks again.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// Reserves jobs that are due, for a worker.
///
/// With `wait_ms` it waits for a first job where none is due. No jobs is an answer, not an error. The answer waits until
/// the reservation is on disk; a client that is gone by then gives its jobs back.
#[utoipa::path(post, operation_id = "reserve_jobs", path = "/api/queues/{queue}/reserve", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = Option<ReserveFields>,
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, description = "The jobs.", body = ReservedJobs), WorkProblems))]
pub(crate) async fn reserve(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    request: Request,
) -> Result<Json<ReservedJobs>, Problem> {
    let queue = queue_name(&queue)?;
    let fields: ReserveFields = read_json_or_default(&app, request).await?;
    let wait = fields.wait_ms.unwrap_or_default();
    if u128::from(wait) > WAIT_MAX.as_millis() {
        return Err(field("wait_ms", &format!("at most {}; ask again after that", WAIT_MAX.as_millis())));
    }
    let mut draining = app.draining.subscribe();
    let command = Command::Reserve {
        queue,
        jobs_max: fields.max.unwrap_or(1),
        lease: fields.lease_ms,
        // A server that stops still hands out what is due, and lets nobody wait.
        wait: if *draining.borrow_and_update() { 0 } else { wait },
        worker: fields.worker()?,
    };
    let reserved = ask_for::<Vec<Reserved<Bytes>>, _>(&app, command);
    let jobs = if wait == 0 {
        reserved.await?
    } else {
        tokio::select! {
            biased;
            reserved = reserved => reserved?,
            _ = draining.wait_for(|draining| *draining) => Vec::new(),
        }
    };
    Ok(Json(ReservedJobs { jobs: jobs.iter().map(ReservedJob::of).collect() }))
}

/// The job is done.
///
/// Settling again what was settled answers `already`.
#[utoipa::path(post, operation_id = "settle_lease", path = "/api/leases/{lease}/settle", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))),
    params(("lease" = String, Path, description = "What was reserved.")),
    responses((status = 200, description = "It is done, on disk.", body = OneOutcome), WorkProblems))]
pub(crate) async fn settle(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(lease): Name,
) -> Result<Json<OneOutcome>, Problem> {
    one(&caller, &app, Command::Settle { leases: vec![in_path(&lease)?] }).await
}

/// Several jobs are done; each lease has its own outcome.
#[utoipa::path(post, operation_id = "settle_leases", path = "/api/leases/settle", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = SettleFields,
    responses((status = 200, description = "What became of each.", body = Outcomes), WorkProblems))]
pub(crate) async fn settle_several(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    several::<SettleFields>(&caller, &app, request).await
}

/// The job is not done, and is to be tried again: after the queue's back-off, or after `delay_ms`.
///
/// `dead` means that it was its last attempt.
#[utoipa::path(post, operation_id = "release_lease", path = "/api/leases/{lease}/release", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = Option<ReleaseFields>,
    params(("lease" = String, Path, description = "What was reserved.")),
    responses((status = 200, description = "It is to be tried again, or dead.", body = OneOutcome), WorkProblems))]
pub(crate) async fn release(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(lease): Name,
    request: Request,
) -> Result<Json<OneOutcome>, Problem> {
    let leases = vec![in_path(&lease)?];
    let fields: ReleaseFields = read_json_or_default(&app, request).await?;
    one(&caller, &app, Command::Release { leases, retry: fields.retry(), error: fields.error }).await
}

/// Several jobs are to be tried again; each lease has its own outcome.
#[utoipa::path(post, operation_id = "release_leases", path = "/api/leases/release", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = ReleaseManyFields,
    responses((status = 200, description = "What became of each.", body = Outcomes), WorkProblems))]
pub(crate) async fn release_several(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    several::<ReleaseManyFields>(&caller, &app, request).await
}

/// The worker needs longer: the lease ends `lease_ms` from now.
#[utoipa::path(post, operation_id = "extend_lease", path = "/api/leases/{lease}/extend", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = ExtendFields,
    params(("lease" = String, Path, description = "What was reserved.")),
    responses((status = 200, description = "The lease is longer.", body = OneOutcome), WorkProblems))]
pub(crate) async fn extend(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(lease): Name,
    request: Request,
) -> Result<Json<OneOutcome>, Problem> {
    let leases = vec![in_path(&lease)?];
    let (fields, _): (ExtendFields, _) = read_json(&app, request).await?;
    one(&caller, &app, Command::Extend { leases, lease: fields.lease_ms }).await
}

/// Several leases end later; each has its own outcome.
#[utoipa::path(post, operation_id = "extend_leases", path = "/api/leases/extend", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = ExtendManyFields,
    responses((status = 200, description = "What became of each.", body = Outcomes), WorkProblems))]
pub(crate) async fn extend_several(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    several::<ExtendManyFields>(&caller, &app, request).await
}

/// Sets the job aside until somebody kicks it: it is wrong, and another attempt would not help.
#[utoipa::path(post, operation_id = "bury_lease", path = "/api/leases/{lease}/bury", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = Option<BuryFields>,
    params(("lease" = String, Path, description = "What was reserved.")),
    responses((status = 200, description = "It is buried.", body = OneOutcome), WorkProblems))]
pub(crate) async fn bury(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(lease): Name,
    request: Request,
) -> Result<Json<OneOutcome>, Problem> {
    let leases = vec![in_path(&lease)?];
    let fields: BuryFields = read_json_or_default(&app, request).await?;
    one(&caller, &app, Command::Bury { leases, reason: fields.reason }).await
}

/// Sets several jobs aside; each lease has its own outcome.
#[utoipa::path(post, operation_id = "bury_leases", path = "/api/leases/bury", tag = "Queues",
    extensions(("x-right" = json!("queue.reserve:{queue}"))), request_body = BuryManyFields,
    responses((status = 200, description = "What became of each.", body = Outcomes), WorkProblems))]
pub(crate) async fn bury_several(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    several::<BuryManyFields>(&caller, &app, request).await
}

/// The job is done here and becomes a new one in another queue, in one step: it is always in exactly one of them.
#[utoipa::path(post, operation_id = "forward_lease", path = "/api/leases/{lease}/forward", tag = "Queues",
    extensions(("x-right" = json!(["queue.reserve:{queue}", "queue.put:{to}"]))), request_body = ForwardFields,
    params(("lease" = String, Path, description = "What was reserved.")),
    responses((status = 201, description = "The job there.", body = PlacedJob), WorkProblems))]
pub(crate) async fn forward(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(lease): Name,
    request: Request,
) -> Result<(StatusCode, Json<PlacedJob>), Problem> {
    let lease = in_path(&lease)?;
    let (fields, _): (ForwardFields, _) = read_json(&app, request).await?;
    let queue = named("queue", QueueName::new(&fields.queue))?;
    let job = fields.job.check("job.", Payload::Kept)?;
    let command = Command::Forward { lease, queue, job, principal: caller.principal() };
    caller.may_ask_queue(&app, &command).await?;
    let placed: Vec<Placed> = ask_for(&app, command).await?;
    Ok((StatusCode::CREATED, Json(PlacedJob::of(placed.first().ok_or_else(strange)?))))
}

async fn one(caller: &Caller, app: &App, command: Command) -> Result<Json<OneOutcome>, Problem> {
    caller.may_ask_queue(app, &command).await?;
    let given = ask_for_one(app, command).await?;
    Ok(Json(OneOutcome { outcome: OutcomeWord::of(given) }))
}

/// Reads which leases and what is done with them, and gives each its outcome.
async fn several<F: DeserializeOwned + OfLeases>(
    caller: &Caller,
    app: &App,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    let (fields, _): (F, _) = read_json(app, request).await?;
    let (named, command) = fields.parts();
    let command = command(leases(&named)?);
    caller.may_ask_queue(app, &command).await?;
    let outcomes: Vec<Outcome> = ask_for(app, command).await?;
    Ok(Json(Outcomes::of(named, outcomes)))
}

/// A lease out of the path.
fn in_path(text: &str) -> Result<Lease, Problem> {
    text.parse()
        .map_err(|error: stadium_queue::InvalidName| Problem::new(NAME_WRONG, error.to_string()).at("lease"))
}
