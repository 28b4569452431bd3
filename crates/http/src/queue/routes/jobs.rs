//! Jobs: put them, look at one, read its history, change it, take it out.
//!
//! A put that is repeated with its `Idempotency-Key` puts nothing again, also after the server was started anew: the key
//! becomes the jobs' dedup id where they have none of their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use stadium_grants::Verb;
use stadium_queue::{Command, Dedup, JobId, JobView, Key, NewJob, Placed};

use bytes::Bytes;

use crate::queue::ask_for_one;
use crate::queue::description::{LookProblems, WorkProblems};
use crate::queue::fields::{
    DeleteFields, EditFields, JobFields, Payload, PutFields, PutProbe, SeveralJobs, job_ids,
};
use crate::queue::routes::queues::{queue_name, shown_to};
use crate::queue::views::{
    History, HistoryEvent, JobReport, OneOutcome, OutcomeWord, Outcomes, PayloadShown, PlacedJob, PlacedJobs,
    Placement,
};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::body::{idempotency_key, parse, read_json};
use crate::request::problem::{ID_REUSED, NAME_WRONG, Problem};
use crate::request::query::Name;
use crate::shards::{ask_for, strange};
use crate::spelling::hex;

/// How long a request's own name is remembered: longer than any sensible retry.
const IDEMPOTENCY_WINDOW_MS: u64 = 24 * 3_600_000;

/// Puts a job, or several under `jobs`: all of them or none.
///
/// 201: the jobs are on disk. Makes the queue, with the usual settings, where there is none. With the header
/// `Idempotency-Key` or with a `dedup_id` a repeated request puts nothing and answers the first jobs' ids with 200.
#[utoipa::path(post, operation_id = "put_jobs", path = "/api/queues/{queue}/jobs", tag = "Queues",
    extensions(("x-right" = json!("queue.put:{queue}"))), request_body = PutFields,
    params(("queue" = String, Path, description = "Letters, digits, `-`, `_` and `.`; at most 128 bytes."),
           ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters that name this request.")),
    responses((status = 201, description = "The jobs are on disk.", body = Placement,
               headers(("Location" = String, description = "The job, where there is one."))),
              (status = 200, description = "Each of them was known already; nothing was put.", body = Placement,
               headers(("Idempotent-Replayed" = String, description = "`true`"))),
              WorkProblems))]
pub(crate) async fn put(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(queue): Name,
    request: Request,
) -> Result<Response, Problem> {
    let queue = queue_name(&queue)?;
    let key = idempotency_key(request.headers())?;
    let (probe, body): (PutProbe, Bytes) = read_json(&app, request).await?;
    let mut jobs = match probe.jobs {
        None => vec![parse::<JobFields>(&body)?.check("", Payload::Needed)?],
        Some(_) => several(parse::<SeveralJobs>(&body)?)?,
    };
    if let Some(key) = &key {
        name_jobs(&mut jobs, caller.key_id(), key);
    }
    let asked = jobs.len();
    let command = Command::Put { queue, jobs, principal: caller.principal() };
    let placed: Vec<Placed> = match ask_for(&app, command).await {
        // The dedup id that was used with other content is one that we made.
        Err(problem) if key.is_some() && problem.has_code(stadium_queue::refusal::DEDUP_CONTENT) => {
            let detail = "the `Idempotency-Key` (or a `dedup_id`) came with other jobs before";
            return Err(Problem::new(ID_REUSED, detail));
        }
        placed => placed?,
    };
    if placed.len() != asked {
        return Err(strange());
    }
    Ok(answer(&placed, probe.jobs.is_none()))
}

fn several(fields: SeveralJobs) -> Result<Vec<NewJob>, Problem> {
    let each = |(index, job): (usize, JobFields)| job.check(&format!("jobs[{index}]."), Payload::Needed);
    fields.jobs.into_iter().enumerate().map(each).collect()
}

/// Gives each job a dedup id of the caller's key, the request's and the job's place in it.
fn name_jobs(jobs: &mut [NewJob], caller: &str, key: &str) {
    for (index, job) in jobs.iter_mut().enumerate() {
        let name = format!("{caller}\n{key}\n{index}");
        let hash = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
        let id = Key::new(&hex(hash.as_ref())).expect("64 hexadecimal digits are a key");
        job.dedup.get_or_insert(Dedup { id, window: Some(IDEMPOTENCY_WINDOW_MS) });
    }
}

fn answer(placed: &[Placed], one: bool) -> Response {
    let known = !placed.is_empty() && placed.iter().all(|placed| placed.duplicate);
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    let mut response = match placed {
        [job] if one => {
            let url = format!("/api/jobs/{}", job.job);
            let location = HeaderValue::from_str(&url).expect("a path of digits is a header value");
            (status, [(header::LOCATION, location)], Json(PlacedJob::of(job))).into_response()
        }
        jobs => (status, Json(PlacedJobs { jobs: jobs.iter().map(PlacedJob::of).collect() })).into_response(),
    };
    if known {
        let replayed = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
    }
    response
}

/// One job as it stands, with its payload.
#[utoipa::path(get, operation_id = "find_job", path = "/api/jobs/{job}", tag = "Queues",
    extensions(("x-right" = json!(["queue.read:{queue}", "queue.payload:{queue}?"]))),
    params(("job" = String, Path, description = "The job's id.")),
    responses((status = 200, description = "The job.", body = JobReport), LookProblems))]
pub(crate) async fn show(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(job): Name,
) -> Result<Json<JobReport>, Problem> {
    let jobs: Vec<JobView<Bytes>> = ask_for(&app, Command::Find { job: job_id(&job)? }).await?;
    let found = jobs.first().ok_or_else(strange)?;
    caller.may(Verb::QueueRead, found.queue.as_str())?;
    Ok(Json(JobReport::of(found, shown_to(&caller, &found.queue, PayloadShown::Whole))))
}

/// What became of a job: every attempt, worker and error, the newest first. Also for a while after it is done.
#[utoipa::path(get, operation_id = "job_history", path = "/api/jobs/{job}/history", tag = "Queues",
    extensions(("x-right" = json!("queue.read:{queue}"))),
    params(("job" = String, Path, description = "The job's id.")),
    responses((status = 200, description = "Its events.", body = History), LookProblems))]
pub(crate) async fn history(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(job): Name,
) -> Result<Json<History>, Problem> {
    let command = Command::History { job: job_id(&job)? };
    caller.may_ask_queue(&app, &command).await?;
    let entries: Vec<stadium_queue::HistoryEntry> = ask_for(&app, command).await?;
    Ok(Json(History { events: entries.into_iter().map(HistoryEvent::of).collect() }))
}

/// Changes a job that nobody works on: payload, due time, priority, time to live, attempts.
#[utoipa::path(patch, operation_id = "edit_job", path = "/api/jobs/{job}", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))), request_body = EditFields,
    params(("job" = String, Path, description = "The job's id.")),
    responses((status = 204, description = "It is changed."), WorkProblems))]
pub(crate) async fn edit(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(job): Name,
    request: Request,
) -> Result<StatusCode, Problem> {
    let job = job_id(&job)?;
    let (fields, _): (EditFields, _) = read_json(&app, request).await?;
    let command = Command::Edit { job, edit: fields.check()? };
    caller.may_ask_queue(&app, &command).await?;
    let () = ask_for(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a job out, whatever its state; a worker that has it loses its lease.
#[utoipa::path(delete, operation_id = "delete_job", path = "/api/jobs/{job}", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))),
    params(("job" = String, Path, description = "The job's id.")),
    responses((status = 200, description = "It is gone.", body = OneOutcome), WorkProblems))]
pub(crate) async fn delete(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(job): Name,
) -> Result<Json<OneOutcome>, Problem> {
    let command = Command::Delete { jobs: vec![job_id(&job)?] };
    caller.may_ask_queue(&app, &command).await?;
    let given = ask_for_one(&app, command).await?;
    Ok(Json(OneOutcome { outcome: OutcomeWord::of(given) }))
}

/// Takes several jobs out; each has its own outcome.
#[utoipa::path(post, operation_id = "delete_jobs", path = "/api/jobs/delete", tag = "Queues",
    extensions(("x-right" = json!("queue.control:{queue}"))), request_body = DeleteFields,
    responses((status = 200, description = "What became of each.", body = Outcomes), WorkProblems))]
pub(crate) async fn delete_several(
    caller: Caller,
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Outcomes>, Problem> {
    let (fields, _): (DeleteFields, _) = read_json(&app, request).await?;
    let command = Command::Delete { jobs: job_ids("jobs", &fields.jobs)? };
    caller.may_ask_queue(&app, &command).await?;
    let outcomes = ask_for(&app, command).await?;
    Ok(Json(Outcomes::of(fields.jobs, outcomes)))
}

/// A job's id out of the path.
fn job_id(text: &str) -> Result<JobId, Problem> {
    text.parse()
        .map_err(|error: stadium_queue::InvalidName| Problem::new(NAME_WRONG, error.to_string()).at("job"))
}
