//! Queues, jobs and leases as the API shows them: JSON with units in its names and moments in RFC 3339.
//!
//! Ids are strings: a job's id has 64 bits, and numbers of JSON keep 53 in many languages. A payload is `payload`
//! where its bytes are UTF-8 text, else `payload_base64`; putting back what was read gives the same bytes.

use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use stadium_queue::{
    Attempt, DeadLetter, Given, HistoryEntry, JobState, JobView, Limit, Missed, QueueSettings, QueueStats,
    Reserved, ScheduleView, Spread, Time,
};
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemDocument};
use crate::rfc3339;

/// A moment of the queues as text.
pub(crate) fn moment(time: Time) -> String {
    rfc3339::format(UNIX_EPOCH + Duration::from_millis(time.0))
}

/// A payload in one of its two spellings.
fn spelled(payload: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(payload) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(payload))),
    }
}

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
            lease_until: moment(reserved.until),
            attempt: reserved.attempt,
            put_at: moment(reserved.put_at),
            due_at: moment(reserved.due),
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

/// What became of a job.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutcomeWord {
    /// As asked.
    Done,
    /// It had been done before; nothing changed.
    Already,
    /// That was its last attempt: it is dead now.
    Dead,
}

impl OutcomeWord {
    pub(crate) fn of(given: Given) -> Self {
        match given {
            Given::Done => Self::Done,
            Given::Already => Self::Already,
            Given::Dead => Self::Dead,
        }
    }
}

/// What became of the one job that was named.
#[derive(Serialize, ToSchema)]
pub(crate) struct OneOutcome {
    pub(crate) outcome: OutcomeWord,
}

/// What became of one of several: `outcome` or `error`.
#[derive(Serialize, ToSchema)]
pub(crate) struct EachOutcome {
    /// The lease or the job, as it was named.
    pub(crate) of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<OutcomeWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::openapi::Problem>)]
    pub(crate) error: Option<ProblemDocument<'static>>,
}

/// What became of each, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct Outcomes {
    pub(crate) results: Vec<EachOutcome>,
}

impl Outcomes {
    pub(crate) fn of(named: Vec<String>, outcomes: Vec<stadium_queue::Outcome>) -> Self {
        let each = |(of, outcome): (String, stadium_queue::Outcome)| match outcome {
            Ok(given) => EachOutcome { of, outcome: Some(OutcomeWord::of(given)), error: None },
            Err(refusal) => {
                EachOutcome { of, outcome: None, error: Some(Problem::from(refusal).into_document()) }
            }
        };
        Self { results: named.into_iter().zip(outcomes).map(each).collect() }
    }
}

/// How many jobs it concerned.
#[derive(Serialize, ToSchema)]
pub(crate) struct Counted {
    pub(crate) count: u64,
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
            put_at: moment(job.put_at),
            due_at: moment(job.due),
            lease_until: job.lease_until.map(moment),
            expires_at: job.expires.map(moment),
            attempts: job.attempts,
            attempts_max: job.attempts_max,
            priority: job.priority,
            key: job.key.as_ref().map(ToString::to_string),
            reason: job.reason.clone(),
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
    /// `forwarded`, `deleted`, `expired`, or `trimmed`: what was before is in parts of the journal that are gone.
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
}

impl HistoryEvent {
    pub(crate) fn of(entry: HistoryEntry) -> Self {
        let event = |event| Self { event, ..Self::default() };
        let told = match entry.what {
            Attempt::Put { queue, due } => {
                Self { queue: Some(queue.to_string()), due_at: Some(moment(due)), ..event("put") }
            }
            Attempt::Reserved { attempt, worker, until } => Self {
                attempt: Some(attempt),
                worker: worker.as_ref().map(ToString::to_string),
                lease_until: Some(moment(until)),
                ..event("reserved")
            },
            Attempt::Extended { until } => Self { lease_until: Some(moment(until)), ..event("extended") },
            Attempt::Released { due, error } => {
                Self { due_at: Some(moment(due)), reason: error, ..event("released") }
            }
            Attempt::LeaseExpired { due } => Self { due_at: Some(moment(due)), ..event("lease_expired") },
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
        Self { at: moment(entry.at), ..told }
    }
}

/// A job's history, the newest event first.
#[derive(Serialize, ToSchema)]
pub(crate) struct History {
    pub(crate) events: Vec<HistoryEvent>,
}

/// Jobs of a queue by where they stand.
#[derive(Clone, Copy, Default, Serialize, ToSchema)]
pub(crate) struct JobCounts {
    /// All of them.
    pub(crate) total: u64,
    /// Their time has not come.
    pub(crate) delayed: u64,
    /// They may be reserved.
    pub(crate) due: u64,
    /// Somebody works on them.
    pub(crate) reserved: u64,
    /// Set aside by a worker.
    pub(crate) buried: u64,
    /// Their last attempt failed.
    pub(crate) dead: u64,
}

impl JobCounts {
    pub(crate) fn of(stats: &QueueStats) -> Self {
        let QueueStats { delayed, due, reserved, buried, dead, .. } = *stats;
        let total = delayed + due + reserved + buried + dead;
        Self { total, delayed, due, reserved, buried, dead }
    }

    /// Adds another queue's.
    pub(crate) fn add(&mut self, more: &Self) {
        self.total += more.total;
        self.delayed += more.delayed;
        self.due += more.due;
        self.reserved += more.reserved;
        self.buried += more.buried;
        self.dead += more.dead;
    }
}

/// What happened in a queue since it was made.
#[derive(Clone, Copy, Serialize, ToSchema)]
pub(crate) struct QueueTotals {
    /// Jobs put.
    put: u64,
    /// Jobs handed out, each attempt counted.
    handed_out: u64,
    /// Jobs done, forwarded ones included.
    settled: u64,
    /// Attempts that ended in another try: released, or the lease ran out.
    retried: u64,
    /// Jobs that died.
    died: u64,
    /// Puts of a `dedup_id` that was known.
    duplicates: u64,
}

/// A queue: its figures and its settings.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueReport {
    /// Its name.
    #[schema(example = "mails")]
    pub(crate) name: String,
    /// Whether nothing is handed out until it is resumed.
    paused: bool,
    /// Jobs by where they stand.
    jobs: JobCounts,
    /// When the oldest job that is due became due.
    oldest_due_at: Option<String>,
    /// Consumers that wait for a job now.
    waiting: u64,
    /// Since the queue was made.
    totals: QueueTotals,
    /// How it behaves.
    settings: QueueSettingsView,
}

impl QueueReport {
    pub(crate) fn of(stats: &QueueStats) -> Self {
        Self {
            name: stats.queue.to_string(),
            paused: stats.paused,
            jobs: JobCounts::of(stats),
            oldest_due_at: stats.oldest_due.map(moment),
            waiting: stats.waiting,
            totals: QueueTotals {
                put: stats.put,
                handed_out: stats.handed_out,
                settled: stats.settled,
                retried: stats.retried,
                died: stats.died,
                duplicates: stats.duplicates,
            },
            settings: QueueSettingsView::of(&stats.settings),
        }
    }
}

/// A page of the queues, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueuePage {
    pub(crate) queues: Vec<QueueReport>,
    /// `after` of the next page; none on the last one.
    pub(crate) next: Option<String>,
}

/// How a queue behaves.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueSettingsView {
    /// How long a worker has for a job, unless it asks for another time.
    lease_ms: u64,
    /// Attempts before a job is dead.
    attempts_max: u16,
    /// Delays between attempts.
    backoff: BackoffView,
    /// Where dead jobs go: `keep`, `discard`, or `{"queue": NAME}`.
    dead_letter: DeadLetterView,
    /// How long dead jobs are kept.
    dead_ttl_ms: u64,
    /// How long a `dedup_id` is remembered where the put does not say.
    dedup_window_ms: u64,
    /// Jobs that it holds at most.
    jobs_max: u64,
    /// How many are handed out a second over all keys.
    limit: Option<LimitView>,
    /// How many are handed out a second for each key.
    key_limit: Option<LimitView>,
    /// Whether it lives on one shard, in strict order, or on all of them.
    spread: SpreadWord,
}

/// Exponential back-off with jitter.
#[derive(Serialize, ToSchema)]
pub(crate) struct BackoffView {
    first_ms: u64,
    factor: f32,
    max_ms: u64,
    jitter: f32,
}

/// Where a job goes after its last attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeadLetterView {
    /// It stays in its queue as dead.
    Keep,
    /// It is gone.
    Discard,
    /// It is put into this queue.
    Queue(String),
}

/// A token bucket.
#[derive(Serialize, ToSchema)]
pub(crate) struct LimitView {
    /// Jobs a second.
    rate: f64,
    /// Jobs that may go at once after a rest.
    burst: u32,
}

/// Whether a queue lives on one shard or on all.
#[derive(Clone, Copy, Serialize, serde::Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpreadWord {
    /// Strict order of the whole queue.
    OneShard,
    /// Order within a key only.
    AllShards,
}

impl QueueSettingsView {
    fn of(settings: &QueueSettings) -> Self {
        let limit = |limit: Limit| LimitView { rate: limit.rate, burst: limit.burst };
        Self {
            lease_ms: settings.lease,
            attempts_max: settings.attempts_max,
            backoff: BackoffView {
                first_ms: settings.backoff.first,
                factor: settings.backoff.factor,
                max_ms: settings.backoff.max,
                jitter: settings.backoff.jitter,
            },
            dead_letter: match &settings.dead_letter {
                DeadLetter::Keep => DeadLetterView::Keep,
                DeadLetter::Discard => DeadLetterView::Discard,
                DeadLetter::Queue(name) => DeadLetterView::Queue(name.to_string()),
            },
            dead_ttl_ms: settings.dead_time_to_live,
            dedup_window_ms: settings.dedup_window,
            jobs_max: settings.jobs_max,
            limit: settings.limit.map(limit),
            key_limit: settings.key_limit.map(limit),
            spread: match settings.spread {
                Spread::OneShard => SpreadWord::OneShard,
                Spread::AllShards => SpreadWord::AllShards,
            },
        }
    }
}

/// A schedule as it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduleReport {
    /// Its name.
    name: String,
    /// When it puts.
    cron: String,
    /// The zone that `cron` is read in.
    time_zone: String,
    /// What becomes of moments at which the server was down.
    missed: MissedWord,
    /// The next moment; none where there is none.
    next_at: Option<String>,
    /// The last moment.
    last_at: Option<String>,
    /// The job that was put then.
    last_job: Option<String>,
}

/// What becomes of a schedule's moments that passed while the server was down.
#[derive(Clone, Copy, Default, Serialize, serde::Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissedWord {
    /// One job for all of them.
    #[default]
    Once,
    /// None.
    Skip,
    /// One for each, at most 100.
    All,
}

impl ScheduleReport {
    pub(crate) fn of(schedule: ScheduleView) -> Self {
        Self {
            name: schedule.name.to_string(),
            cron: schedule.cron.expression,
            time_zone: schedule.cron.time_zone,
            missed: match schedule.cron.missed {
                Missed::Once => MissedWord::Once,
                Missed::Skip => MissedWord::Skip,
                Missed::All => MissedWord::All,
            },
            next_at: schedule.next.map(moment),
            last_at: schedule.last.map(|(at, _)| moment(at)),
            last_job: schedule.last.map(|(_, job)| job.to_string()),
        }
    }
}

/// The schedules of a queue, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct Schedules {
    pub(crate) schedules: Vec<ScheduleReport>,
}
