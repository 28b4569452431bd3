//! Jobs: put, reserved, as they stand, and what happened to them.
//!
//! These are the words of JSON for what the queues answer.

use bytes::Bytes;
use serde::Serialize;
use stadium_queue::{Attempt, HistoryEntry, JobState, JobView, Reserved};
use utoipa::ToSchema;

use crate::spelling::{spelled, timestamp};

/// How much of a payload is shown.
#[derive(Clone, Copy)]
pub(crate) enum PayloadShown {
    /// All of it.
    Whole,
    /// At most so many bytes.
    Begin(usize),
}

impl PayloadShown {
    /// The part that is shown. A character that it would cut in two stays out.
    fn of(self, payload: &[u8]) -> &[u8] {
        match self {
            Self::Begin(bytes) if bytes < payload.len() => {
                let begin = &payload[..bytes];
                match std::str::from_utf8(begin) {
                    Err(error) if error.error_len().is_none() => &begin[..error.valid_up_to()],
                    _ => begin,
                }
            }
            _ => payload,
        }
    }
}

/// A job that was put.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlacedJob {
    /// The job. For a duplicate, the one that was put first.
    #[schema(example = "18014398509481985")]
    pub(crate) id: String,
    /// Whether its `dedup_id` (or the `Idempotency-Key`) was known, so that nothing was put.
    pub(crate) duplicate: bool,
}

/// Jobs that were put, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlacedJobs {
    pub(crate) jobs: Vec<PlacedJob>,
}

/// The answer to a put: one job, or several under `jobs`, as in the request.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the answer, which is made of its two cases")]
pub(crate) enum Placement {
    /// One job.
    One(PlacedJob),
    /// Several jobs.
    Several(PlacedJobs),
}

impl PlacedJob {
    pub(crate) fn of(placed: &stadium_queue::Placed) -> Self {
        Self { id: placed.job.to_string(), duplicate: placed.duplicate }
    }
}

/// A job to work on until its lease ends.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReservedJob {
    /// The job.
    #[schema(example = "18014398509481985")]
    id: String,
    /// The right to work on it: settle, release, extend, bury or forward it under this name.
    #[schema(example = "18014398509481985-1")]
    lease: String,
    /// When the lease ends; then the job is tried again.
    lease_until: String,
    /// Which attempt this is, from 1.
    attempt: u16,
    /// When it was put.
    put_at: String,
    /// When it was due.
    due_at: String,
    /// 0 to 9, 9 first.
    priority: u8,
    /// The key of its order and share.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The payload, where it is UTF-8 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    /// The payload otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

impl ReservedJob {
    pub(crate) fn of(reserved: &Reserved<Bytes>) -> Self {
        let (payload, payload_base64) = spelled(&reserved.payload);
        Self {
            id: reserved.lease.job.to_string(),
            lease: reserved.lease.to_string(),
            lease_until: timestamp(reserved.until),
            attempt: reserved.attempt,
            put_at: timestamp(reserved.put_at),
            due_at: timestamp(reserved.due),
            priority: reserved.priority,
            key: reserved.key.as_ref().map(ToString::to_string),
            payload,
            payload_base64,
        }
    }
}

/// Jobs to work on; none where nothing became due in time.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReservedJobs {
    pub(crate) jobs: Vec<ReservedJob>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StateWord {
    /// Its time has not come.
    Delayed,
    /// It may be reserved.
    Due,
    /// Somebody works on it.
    Reserved,
    /// Set aside by a worker.
    Buried,
    /// Its last attempt failed.
    Dead,
}

impl StateWord {
    /// The words, as the query parameter `state` takes them.
    pub(crate) const WORDS: [(&'static str, JobState); 5] = [
        ("delayed", JobState::Delayed),
        ("due", JobState::Due),
        ("reserved", JobState::Reserved),
        ("buried", JobState::Buried),
        ("dead", JobState::Dead),
    ];

    fn of(state: JobState) -> Self {
        match state {
            JobState::Delayed => Self::Delayed,
            JobState::Due => Self::Due,
            JobState::Reserved => Self::Reserved,
            JobState::Buried => Self::Buried,
            JobState::Dead => Self::Dead,
        }
    }
}

/// A job as it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobReport {
    /// The job.
    #[schema(example = "18014398509481985")]
    id: String,
    /// Its queue.
    queue: String,
    /// Where it stands.
    state: StateWord,
    /// When it was put.
    put_at: String,
    /// When it is due, or was.
    due_at: String,
    /// When its lease ends, while it is reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_until: Option<String>,
    /// When it goes by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// Attempts so far.
    attempts: u16,
    /// Attempts before it is dead.
    attempts_max: u16,
    /// 0 to 9, 9 first.
    priority: u8,
    /// The key of its order and share.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Why it is buried or dead, or the last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The id of the principal that put it: an API key, a person, or the holder of a token or a
    /// certificate. None where the server did itself, and of a job that an older version put.
    #[schema(example = "k_0011223344556677")]
    principal: Option<String>,
    /// Bytes of the payload.
    payload_bytes: u64,
    /// Whether only its begin is here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    payload_cut: bool,
    /// The payload, where it is UTF-8 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    /// The payload otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

impl JobReport {
    pub(crate) fn of(job: &JobView<Bytes>, shown: PayloadShown) -> Self {
        let part = shown.of(&job.payload);
        let (payload, payload_base64) = spelled(part);
        Self {
            id: job.job.to_string(),
            queue: job.queue.to_string(),
            state: StateWord::of(job.state),
            put_at: timestamp(job.put_at),
            due_at: timestamp(job.due),
            lease_until: job.lease_until.map(timestamp),
            expires_at: job.expires.map(timestamp),
            attempts: job.attempts,
            attempts_max: job.attempts_max,
            priority: job.priority,
            key: job.key.as_ref().map(ToString::to_string),
            reason: job.reason.clone(),
            principal: job.principal.as_ref().map(ToString::to_string),
            payload_bytes: job.payload.len() as u64,
            payload_cut: part.len() < job.payload.len(),
            payload,
            payload_base64,
        }
    }
}

/// A page of a queue's jobs.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobPage {
    pub(crate) jobs: Vec<JobReport>,
    /// `after` of the next page; none on the last one.
    pub(crate) next: Option<String>,
}

/// What happened to a job; which fields there are depends on `event`.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct HistoryEvent {
    /// When.
    at: String,
    /// `put`, `reserved`, `extended`, `released`, `lease_expired`, `buried`, `revived`, `dead`, `edited`, `settled`,
    /// `forwarded`, `deleted`, `expired`, or `trimmed`: earlier events are in parts of the journal
    /// that are gone.
    #[schema(example = "reserved")]
    event: &'static str,
    /// The queue it was put, revived or forwarded into.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    /// When it was due then.
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at: Option<String>,
    /// Which attempt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u16>,
    /// Who began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// The lease's end then.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_until: Option<String>,
    /// What went wrong, or why it was buried or died.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// As which job it went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// The principal that put it.
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
}

impl HistoryEvent {
    pub(crate) fn of(entry: HistoryEntry) -> Self {
        let event = |event| Self { event, ..Self::default() };
        let event = match entry.what {
            Attempt::Put { queue, due, principal } => Self {
                queue: Some(queue.to_string()),
                due_at: Some(timestamp(due)),
                principal: principal.as_ref().map(ToString::to_string),
                ..event("put")
            },
            Attempt::Reserved { attempt, worker, until } => Self {
                attempt: Some(attempt),
                worker: worker.as_ref().map(ToString::to_string),
                lease_until: Some(timestamp(until)),
                ..event("reserved")
            },
            Attempt::Extended { until } => Self { lease_until: Some(timestamp(until)), ..event("extended") },
            Attempt::Released { due, error } => {
                Self { due_at: Some(timestamp(due)), reason: error, ..event("released") }
            }
            Attempt::LeaseExpired { due } => Self { due_at: Some(timestamp(due)), ..event("lease_expired") },
            Attempt::Buried { reason } => Self { reason, ..event("buried") },
            Attempt::Revived { queue } => Self { queue: Some(queue.to_string()), ..event("revived") },
            Attempt::Dead { reason } => Self { reason: Some(reason), ..event("dead") },
            Attempt::Edited => event("edited"),
            Attempt::Settled => event("settled"),
            Attempt::Forwarded { queue, job } => {
                Self { queue: Some(queue.to_string()), job: Some(job.to_string()), ..event("forwarded") }
            }
            Attempt::Deleted => event("deleted"),
            Attempt::Expired => event("expired"),
            Attempt::Trimmed => event("trimmed"),
        };
        Self { at: timestamp(entry.at), ..event }
    }
}

/// A job's history, the newest event first.
#[derive(Serialize, ToSchema)]
pub(crate) struct History {
    pub(crate) events: Vec<HistoryEvent>,
}
