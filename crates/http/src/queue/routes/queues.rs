//! Queues: their figures and settings, their jobs, and what an operator does to them.
//!
//! A key that may send may pause, kick and redrive; requests that lose jobs or change a queue for
//! everybody take an admin.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use bytes::Bytes;
use stadium_grants::Verb;
use stadium_queue::{Bounds, Command, JobView, Key, QueueName, QueueStats};

use crate::queue::description::{LookProblems, WorkProblems};
use crate::queue::fields::{JobSetFields, PurgeFields, RedriveFields, SettingsFields};
use crate::queue::views::{Counted, JobPage, JobReport, PayloadShown, QueuePage, QueueReport, StateWord};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::read_json_or_default;
use crate::request::problem::{NAME_WRONG, Problem};
use crate::request::query::{Name, Query, wrong};
use crate::shards::{ask_for, strange};
use crate::spelling::field;

/// Queues and jobs on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 100;

/// Jobs on a page at most: their payloads are on it, too.
const PAGE_JOBS_MAX: usize = 1_000;

/// Queues that a search looks at for one page. A search of more goes on at `next`.
const SEARCHED_MAX: usize = 10_000;

/// The queues by name, with their figures.
///
/// With `search` a page may hold fewer queues than `limit`, even none, and still have a `next`: 10,000 queues are looked
/// at for one page.
#[utoipa::path(get, operation_id = "list_queues", path = "/api/queues", tag = "Queues",
    extensions(("x-right" = json!("queue.read:{queue}"))),
    params(("search" = Option<String>, Query, description = "Only queues whose name contains this."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Queues on the page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only names after this one: `next` of the page before.")),
    responses((status = 200, description = "A page of queues.", body = QueuePage), LookProblems))]
pub(crate) async fn list(
    caller: Caller,
    State(app): State<Arc<App>>,
    uri: Uri,
) -> Result<Json<QueuePage>, Problem> {
    let query = Query::read(&uri, &["search", "limit", "after"])?;
    let limit = query.limit(PAGE_DEFAULT, Bounds::JOBS_MAX)?;
    let mut after = match query.value("after") {
        None => None,
        Some(text) => Some(QueueName::new(text).map_err(|error| wrong("after", error.to_string()))?),
    };
    let search = query.value("search").unwrap_or_default().to_ascii_lowercase();
    let mut queues = Vec::new();
    let mut searched = 0;
    let next = loop {
        let queues_max = if search.is_empty() { limit } else { Bounds::JOBS_MAX };
        let command = Command::List { after: after.take(), queues_max: queues_max as u32 };
        let page: Vec<QueueStats> = ask_for(&app, command).await?;
        let more = page.len() >= queues_max;
        searched += page.len();
        let last = page.last().map(|stats| stats.queue.clone());
        let wanted = |stats: &QueueStats| {
            let name = stats.queue.as_str();
            caller.allows(Verb::QueueRead, name) && name.to_ascii_lowercase().contains(search.as_str())
        };
        queues.extend(page.iter().filter(|stats| wanted(stats)).map(QueueReport::of));
        if queues.len() > limit {
            queues.truncate(limit);
            break queues.last().map(|queue: &QueueReport| queue.name.clone());
        }
        if !more {
            break None;
        }
        if queues.len() == limit || searched >= SEARCHED_MAX {
            break last.map(|name| name.to_string());
        }
        after = last;
    };
    Ok(Json(QueuePage { queues, next }))
}

/// A queue's figures and settings.
#[utoipa::path(get, operation_id = "find_queue", path = "/api/queues/{queue}", tag = "Queues",
    extensions(("x-right" = json!("queue.read:{queue}"))),
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, description = "The queue.", body = QueueReport), LookProblems))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
) -> Result<Json<QueueReport>, Problem> {
    Ok(Json(stats(&app, queue_name(&queue)?).await?))
}

async fn stats(app: &App, queue: QueueName) -> Result<QueueReport, Problem> {
    let queues: Vec<QueueStats> = ask_for(app, Command::Stats { queue }).await?;
    Ok(QueueReport::of(queues.first().ok_or_else(strange)?))
}

/// Makes a queue, or gives one these settings; settings that are left out get their defaults.
///
/// A queue that is put into without being made has the defaults.
#[utoipa::path(put, operation_id = "declare_queue", path = "/api/queues/{queue}", tag = "Queues",
    extensions(("x-right" = json!("queue.manage:{queue}"))), request_body = Option<SettingsFields>,
    params(("queue" = String, Path, description = "Letters, digits, `-`, `_` and `.`; at most 128 bytes.")),
    responses((status = 200, description = "The queue.", body = QueueReport), WorkProblems))]
pub(crate) async fn declare(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    request: Request,
) -> Result<Json<QueueReport>, Problem> {
    let queue = queue_name(&queue)?;
    let fields: SettingsFields = read_json_or_default(&app, request).await?;
    let settings = fields.check()?;
    let () = ask_for(&app, Command::Declare { queue: queue.clone(), settings }).await?;
    tracing::info!(queue = queue.as_str(), by = caller.key_id(), "Queue declared");
    Ok(Json(stats(&app, queue).await?))
}

/// Takes a queue away with its schedules; refused while it holds jobs.
#[utoipa::path(delete, operation_id = "drop_queue", path = "/api/queues/{queue}", tag = "Queues",
    extensions(("x-right" = json!("queue.manage:{queue}"))),
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 204, description = "It is gone."), WorkProblems))]
pub(crate) async fn remove(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
) -> Result<StatusCode, Problem> {
    let queue = queue_name(&queue)?;
    let () = ask_for(&app, Command::Drop { queue: queue.clone() }).await?;
    tracing::info!(queue = queue.as_str(), by = caller.key_id(), "Queue dropped");
    Ok(StatusCode::NO_CONTENT)
}

/// A queue's jobs with their payloads, without touching them.
///
/// Of one state the oldest due are first; of all, jobs that are due come first, then reserved, delayed, buried and dead ones.
#[utoipa::path(get, operation_id = "peek_jobs", path = "/api/queues/{queue}/jobs", tag = "Queues",
    extensions(("x-right" = json!(["queue.read:{queue}", "queue.payload:{queue}?"]))),
    params(("queue" = String, Path, description = "The queue."),
           ("state" = Option<String>, Query, description = "Only `delayed`, `due`, `reserved`, `buried` or `dead` jobs."),
           ("key" = Option<String>, Query, description = "Only jobs with this key."),
           ("payload_bytes_max" = Option<u32>, Query, description = "Only so many bytes of each payload; all of them by default."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Jobs on the page; 100 by default."),
           ("after" = Option<String>, Query, description = "Only jobs after this one: `next` of the page before.")),
    responses((status = 200, description = "A page of jobs.", body = JobPage), LookProblems))]
pub(crate) async fn peek(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    uri: Uri,
) -> Result<Json<JobPage>, Problem> {
    let queue = queue_name(&queue)?;
    let query = Query::read(&uri, &["state", "key", "payload_bytes_max", "limit", "after"])?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_JOBS_MAX)?;
    let state = match query.value("state") {
        None => None,
        Some(word) => Some(state_of(word).ok_or_else(|| wrong("state", no_state(word)))?),
    };
    let key = query.value("key").map(Key::new).transpose();
    let key = key.map_err(|error| wrong("key", error.to_string()))?;
    let after = query.value("after").map(str::parse).transpose();
    let after = after.map_err(|error: stadium_queue::InvalidName| wrong("after", error.to_string()))?;
    let shown = query.number("payload_bytes_max")?.map_or(PayloadShown::Whole, PayloadShown::Begin);
    let shown = shown_to(&caller, &queue, shown);
    let command = Command::Peek { queue, state, key, after, jobs_max: limit as u32 };
    let jobs: Vec<JobView<Bytes>> = ask_for(&app, command).await?;
    let next = jobs.last().filter(|_| jobs.len() >= limit).map(|job| job.job.to_string());
    Ok(Json(JobPage { jobs: jobs.iter().map(|job| JobReport::of(job, shown)).collect(), next }))
}

/// Hands nothing out until the queue is resumed; puts go on.
#[utoipa::path(post, operation_id = "pause_queue", path = "/api/queues/{queue}/pause", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))),
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 204, description = "It is paused."), WorkProblems))]
pub(crate) async fn pause(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
) -> Result<StatusCode, Problem> {
    let queue = queue_name(&queue)?;
    let () = ask_for(&app, Command::Pause { queue: queue.clone() }).await?;
    tracing::info!(queue = queue.as_str(), by = caller.key_id(), "Queue paused");
    Ok(StatusCode::NO_CONTENT)
}

/// Hands jobs out again.
#[utoipa::path(post, operation_id = "resume_queue", path = "/api/queues/{queue}/resume", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))),
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 204, description = "It hands out."), WorkProblems))]
pub(crate) async fn resume(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
) -> Result<StatusCode, Problem> {
    let queue = queue_name(&queue)?;
    let () = ask_for(&app, Command::Resume { queue: queue.clone() }).await?;
    tracing::info!(queue = queue.as_str(), by = caller.key_id(), "Queue resumed");
    Ok(StatusCode::NO_CONTENT)
}

/// Takes all jobs in one state out of a queue, or all but reserved ones.
#[utoipa::path(post, operation_id = "purge_queue", path = "/api/queues/{queue}/purge", tag = "Queues",
    extensions(("x-right" = json!("queue.manage:{queue}"))), request_body = Option<PurgeFields>,
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, description = "How many jobs it takes out. Some 2,000 are gone with the answer, the others follow in the background: figures and peeks show what is left, none of those that were due is handed out.", body = Counted), WorkProblems))]
pub(crate) async fn purge(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    request: Request,
) -> Result<Json<Counted>, Problem> {
    let queue = queue_name(&queue)?;
    let fields: PurgeFields = read_json_or_default(&app, request).await?;
    let state = match fields.state.as_deref() {
        None => None,
        Some(word) => Some(state_of(word).ok_or_else(|| field("state", &no_state(word)))?),
    };
    let count = ask_for(&app, Command::Purge { queue: queue.clone(), state }).await?;
    tracing::info!(queue = queue.as_str(), state = ?state, count, by = caller.key_id(), "Queue purged");
    Ok(Json(Counted { count }))
}

/// Buried jobs are due again, and their attempts start anew.
#[utoipa::path(post, operation_id = "kick_jobs", path = "/api/queues/{queue}/kick", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))), request_body = Option<JobSetFields>,
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, description = "How many jobs are due again.", body = Counted), WorkProblems))]
pub(crate) async fn kick(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    request: Request,
) -> Result<Json<Counted>, Problem> {
    let queue = queue_name(&queue)?;
    let fields: JobSetFields = read_json_or_default(&app, request).await?;
    let count = ask_for(&app, Command::Kick { queue, jobs: fields.check()? }).await?;
    Ok(Json(Counted { count }))
}

/// Dead jobs are due again, here or in another queue, and their attempts start anew.
#[utoipa::path(post, operation_id = "redrive_jobs", path = "/api/queues/{queue}/redrive", tag = "Queues",
    extensions(("x-right" = json!(["queue.control:{queue}", "queue.put:{to}?"]))), request_body = Option<RedriveFields>,
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, description = "How many jobs are due again.", body = Counted), WorkProblems))]
pub(crate) async fn redrive(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    request: Request,
) -> Result<Json<Counted>, Problem> {
    let queue = queue_name(&queue)?;
    let fields: RedriveFields = read_json_or_default(&app, request).await?;
    let (jobs, to) = fields.check()?;
    if let Some(to) = &to {
        caller.may_also(Verb::QueuePut, to.as_str())?;
    }
    let count = ask_for(&app, Command::Redrive { queue: queue.clone(), jobs, to }).await?;
    tracing::info!(queue = queue.as_str(), count, by = caller.key_id(), "Dead jobs redriven");
    Ok(Json(Counted { count }))
}

/// How much of a queue's payloads a caller sees.
pub(crate) fn shown_to(caller: &Caller, queue: &QueueName, wanted: PayloadShown) -> PayloadShown {
    match caller.allows(Verb::QueuePayload, queue.as_str()) {
        true => wanted,
        false => PayloadShown::Begin(0),
    }
}

/// A queue's name out of the path.
pub(crate) fn queue_name(text: &str) -> Result<QueueName, Problem> {
    QueueName::new(text).map_err(|error| Problem::new(NAME_WRONG, error.to_string()).at("queue"))
}

pub(crate) fn state_of(word: &str) -> Option<stadium_queue::JobState> {
    StateWord::WORDS.iter().find(|(known, _)| *known == word).map(|(_, state)| *state)
}

pub(crate) fn no_state(word: &str) -> String {
    let known: Vec<_> = StateWord::WORDS.iter().map(|(word, _)| *word).collect();
    format!("{word:?} is no state of a job; there are: {}", known.join(", "))
}
