//! Schedules: jobs that are put again and again.
//!
//! The queue checks expressions and time zones; this is only their JSON.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use bytes::Bytes;
use stadium_grants::Verb;
use stadium_queue::{Command, Key, ScheduleView};

use crate::queue::description::{LookProblems, WorkProblems};
use crate::queue::fields::ScheduleFields;
use crate::queue::routes::queues::queue_name;
use crate::queue::views::{Payloads, ScheduleReport, Schedules};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json;
use crate::request::problem::{NAME_WRONG, Problem};
use crate::request::query::{Name, Names};
use crate::shards::ask_for;

/// The schedules of a queue, by name.
#[utoipa::path(get, operation_id = "list_schedules", path = "/api/queues/{queue}/schedules", tag = "Queues",
    extensions(("x-right" = json!("queue.read:{queue}"))),
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, description = "Its schedules.", body = Schedules), LookProblems))]
pub(crate) async fn list(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
) -> Result<Json<Schedules>, Problem> {
    let queue = queue_name(&queue)?;
    let payloads = match caller.allows(Verb::QueuePayload, queue.as_str()) {
        true => Payloads::Shown,
        false => Payloads::Hidden,
    };
    let schedules: Vec<ScheduleView<Bytes>> = ask_for(&app, Command::Schedules { queue }).await?;
    let report = |schedule| ScheduleReport::of(schedule, payloads);
    Ok(Json(Schedules { schedules: schedules.into_iter().map(report).collect() }))
}

/// Puts a job at each occurrence of a cron expression. The same name replaces the schedule.
#[utoipa::path(put, operation_id = "set_schedule", path = "/api/queues/{queue}/schedules/{name}", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))), request_body = ScheduleFields,
    params(("queue" = String, Path, description = "The queue that the jobs are put into."),
           ("name" = String, Path, description = "What the schedule is called; one name is one schedule of a queue.")),
    responses((status = 204, description = "It is on disk."), WorkProblems))]
pub(crate) async fn set(
    caller: Caller,
    State(app): State<Arc<App>>,
    Names(queue, name): Names,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (queue, name) = (queue_name(&queue)?, schedule_name(&name)?);
    let (fields, _): (ScheduleFields, _) = read_json(&app, request).await?;
    let (cron, job) = fields.check()?;
    let command = Command::Schedule { queue, name, cron: Box::new(cron), job, principal: caller.principal() };
    let () = ask_for(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a schedule; jobs that it put stay.
#[utoipa::path(delete, operation_id = "end_schedule", path = "/api/queues/{queue}/schedules/{name}", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))),
    params(("queue" = String, Path, description = "The queue."),
           ("name" = String, Path, description = "The schedule.")),
    responses((status = 204, description = "It puts nothing any more."), WorkProblems))]
pub(crate) async fn end(
    _: Caller,
    State(app): State<Arc<App>>,
    Names(queue, name): Names,
) -> Result<StatusCode, Problem> {
    let (queue, name) = (queue_name(&queue)?, schedule_name(&name)?);
    let () = ask_for(&app, Command::Unschedule { queue, name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A schedule's name out of the path.
fn schedule_name(text: &str) -> Result<Key, Problem> {
    Key::new(text).map_err(|error| Problem::new(NAME_WRONG, error.to_string()).at("name"))
}
