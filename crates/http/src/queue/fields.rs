//! Requests about queues, read strictly: a misspelt field is refused with its path.
//!
//! Spans are whole milliseconds, timestamps are RFC 3339. Bounds of values are the queue's own to
//! check, so that every interface has the same ones; here is checked what is JSON's alone.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use stadium_queue::{
    Backoff, Command, Cron, DeadLetter, Dedup, Edit, JobId, JobSet, Key, Lease, Limit, Missed, NewJob,
    QueueName, QueueSettings, Retry, Spread, When, WorkerName,
};
use utoipa::ToSchema;

use crate::queue::views::{MissedWord, SpreadWord};
use crate::request::problem::Problem;
use crate::spelling::{bytes_of, field, named, optional, parse_timestamp};

/// A job to put. At most one of `payload` and `payload_base64` is given, and of `delay_ms` and `run_at`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobFields {
    /// What the worker gets. A string is kept as its UTF-8 text; anything else as the JSON text given.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>, example = "mail 17 to seat-0042")]
    payload: Option<Box<RawValue>>,
    /// The payload as base64, for bytes that are not text.
    #[serde(default)]
    payload_base64: Option<String>,
    /// Due so many milliseconds from now.
    #[serde(default)]
    #[schema(example = 60000)]
    delay_ms: Option<u64>,
    /// Due at this time (RFC 3339); at once where it has passed.
    #[serde(default)]
    #[schema(example = "2030-01-01T20:00:00Z")]
    run_at: Option<String>,
    /// Which goes first of the jobs that are due: 0 to 9, 9 first; 4 by default.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9)]
    priority: Option<u8>,
    /// Gone by itself when it is not settled so many milliseconds after it was put.
    #[serde(default)]
    ttl_ms: Option<u64>,
    /// The client's own id: at most one job with it within the window.
    #[serde(default)]
    #[schema(max_length = 128)]
    dedup_id: Option<String>,
    /// How long `dedup_id` is remembered; the queue's own window by default.
    #[serde(default)]
    dedup_window_ms: Option<u64>,
    /// Jobs of one key run one after another in the order they were put, and keys get fair shares.
    #[serde(default)]
    #[schema(max_length = 128, example = "tenant-7")]
    key: Option<String>,
    /// Attempts before it is dead; the queue's own number by default.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    attempts_max: Option<u16>,
}

/// Several jobs: all of them are put, or none.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeveralJobs {
    /// 1 to 1,000.
    pub(crate) jobs: Vec<JobFields>,
}

/// What is put: one job, or several under `jobs`.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body; its two cases are read as themselves, for better errors")]
pub(crate) enum PutFields {
    /// One job.
    One(JobFields),
    /// Several jobs.
    Several(SeveralJobs),
}

/// Distinguishes the two cases of [`PutFields`].
#[derive(Deserialize)]
pub(crate) struct PutProbe {
    pub(crate) jobs: Option<serde::de::IgnoredAny>,
}

/// Whether a payload may be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A put without one is most likely a mistake.
    Needed,
    /// A job that goes on keeps what it had.
    Kept,
}

impl JobFields {
    /// The job. `at` is where the fields are in the body: empty, or as in `jobs[3].`.
    pub(crate) fn check(self, at: &str, payload: Payload) -> Result<NewJob, Problem> {
        let given = bytes_of(at, "payload", self.payload.as_deref(), self.payload_base64.as_deref())?;
        let payload = match (given, payload) {
            (Some(given), _) => given,
            (None, Payload::Kept) => Bytes::new(),
            (None, Payload::Needed) => {
                return Err(field(&format!("{at}payload"), "give `payload` or `payload_base64`"));
            }
        };
        let dedup = match (self.dedup_id, self.dedup_window_ms) {
            (None, None) => None,
            (Some(id), window) => Some(Dedup { id: named(&format!("{at}dedup_id"), Key::new(&id))?, window }),
            (None, Some(_)) => {
                return Err(field(&format!("{at}dedup_window_ms"), "it says nothing without `dedup_id`"));
            }
        };
        Ok(NewJob {
            payload,
            when: when_of(at, self.delay_ms, self.run_at.as_deref())?.unwrap_or_default(),
            priority: self.priority,
            time_to_live: self.ttl_ms,
            dedup,
            key: optional(&format!("{at}key"), self.key.as_deref(), Key::new)?,
            attempts_max: self.attempts_max,
        })
    }
}

/// The fields of a job that change; fields that are left out stay.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFields {
    /// Another payload, as in a put.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    /// Another payload as base64.
    #[serde(default)]
    payload_base64: Option<String>,
    /// Due so many milliseconds from now.
    #[serde(default)]
    delay_ms: Option<u64>,
    /// Due at this time (RFC 3339).
    #[serde(default)]
    run_at: Option<String>,
    /// Another priority.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9)]
    priority: Option<u8>,
    /// Gone so many milliseconds from now.
    #[serde(default)]
    ttl_ms: Option<u64>,
    /// Another number of attempts.
    #[serde(default)]
    attempts_max: Option<u16>,
}

impl EditFields {
    pub(crate) fn check(self) -> Result<Edit, Problem> {
        Ok(Edit {
            payload: bytes_of("", "payload", self.payload.as_deref(), self.payload_base64.as_deref())?,
            when: when_of("", self.delay_ms, self.run_at.as_deref())?,
            priority: self.priority,
            time_to_live: self.ttl_ms,
            attempts_max: self.attempts_max,
        })
    }
}

/// How many jobs to reserve, for how long, for whom.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReserveFields {
    /// At most so many jobs, 1 to 1,000; 1 by default.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) max: Option<u32>,
    /// How long the worker has for them; the queue's own time by default.
    #[serde(default)]
    pub(crate) lease_ms: Option<u64>,
    /// How long to wait for a first job where none is due, at most 60,000; not at all by default.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub(crate) wait_ms: Option<u64>,
    /// Who works on them, for the history.
    #[serde(default)]
    #[schema(max_length = 64, example = "mailer-3")]
    pub(crate) worker: Option<String>,
}

impl ReserveFields {
    pub(crate) fn worker(&self) -> Result<Option<WorkerName>, Problem> {
        optional("worker", self.worker.as_deref(), WorkerName::new)
    }
}

/// Leases to settle.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleFields {
    /// What was reserved, 1 to 1,000.
    leases: Vec<String>,
}

/// When a job is tried again. Without `delay_ms` after the queue's back-off for this attempt.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseFields {
    /// Tried again so many milliseconds from now.
    #[serde(default)]
    delay_ms: Option<u64>,
    /// The worker never began: the attempt does not count.
    #[serde(default)]
    not_tried: bool,
    /// What went wrong, for the history: at most 1,024 bytes.
    #[serde(default)]
    #[schema(max_length = 1024, example = "smtp: 451 try again later")]
    pub(crate) error: Option<String>,
}

impl ReleaseFields {
    pub(crate) fn retry(&self) -> Retry {
        match (self.not_tried, self.delay_ms) {
            (true, delay) => Retry::NotTried(delay.unwrap_or_default()),
            (false, Some(delay)) => Retry::After(delay),
            (false, None) => Retry::Backoff,
        }
    }
}

/// As `ReleaseFields`, for several leases.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseManyFields {
    /// What was reserved, 1 to 1,000.
    leases: Vec<String>,
    /// Tried again so many milliseconds from now.
    #[serde(default)]
    delay_ms: Option<u64>,
    /// The worker never began: the attempts do not count.
    #[serde(default)]
    not_tried: bool,
    /// What went wrong, for the history: at most 1,024 bytes.
    #[serde(default)]
    #[schema(max_length = 1024)]
    error: Option<String>,
}

/// How much longer a worker needs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendFields {
    /// The lease ends so many milliseconds from now.
    #[schema(example = 30000)]
    pub(crate) lease_ms: u64,
}

/// As `ExtendFields`, for several leases.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendManyFields {
    /// What was reserved, 1 to 1,000.
    leases: Vec<String>,
    /// The leases end so many milliseconds from now.
    #[schema(example = 30000)]
    lease_ms: u64,
}

/// Why a job is set aside.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuryFields {
    /// For the history and the list: at most 1,024 bytes.
    #[serde(default)]
    #[schema(max_length = 1024, example = "no such template")]
    pub(crate) reason: Option<String>,
}

/// As `BuryFields`, for several leases.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuryManyFields {
    /// What was reserved, 1 to 1,000.
    leases: Vec<String>,
    /// For the history and the list: at most 1,024 bytes.
    #[serde(default)]
    #[schema(max_length = 1024)]
    reason: Option<String>,
}

/// What is done with several leases at once.
pub(crate) trait OfLeases {
    /// The leases as they were named, and what is done with them.
    fn parts(self) -> (Vec<String>, impl FnOnce(Vec<Lease>) -> Command);
}

impl OfLeases for SettleFields {
    fn parts(self) -> (Vec<String>, impl FnOnce(Vec<Lease>) -> Command) {
        (self.leases, |leases| Command::Settle { leases })
    }
}

impl OfLeases for ReleaseManyFields {
    fn parts(self) -> (Vec<String>, impl FnOnce(Vec<Lease>) -> Command) {
        let Self { leases, delay_ms, not_tried, error } = self;
        let fields = ReleaseFields { delay_ms, not_tried, error };
        (leases, |leases| Command::Release { leases, retry: fields.retry(), error: fields.error })
    }
}

impl OfLeases for ExtendManyFields {
    fn parts(self) -> (Vec<String>, impl FnOnce(Vec<Lease>) -> Command) {
        let Self { leases, lease_ms } = self;
        (leases, move |leases| Command::Extend { leases, lease: lease_ms })
    }
}

impl OfLeases for BuryManyFields {
    fn parts(self) -> (Vec<String>, impl FnOnce(Vec<Lease>) -> Command) {
        let Self { leases, reason } = self;
        (leases, |leases| Command::Bury { leases, reason })
    }
}

/// Where a job goes on.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForwardFields {
    /// The queue.
    #[schema(example = "outgoing")]
    pub(crate) queue: String,
    /// The job there. Without a payload it keeps the one it had.
    #[serde(default)]
    pub(crate) job: JobFields,
}

/// Which jobs of a queue: these, or the oldest ones.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobSetFields {
    /// These, 1 to 1,000.
    #[serde(default)]
    jobs: Option<Vec<String>>,
    /// The oldest, at most so many, 1 to 1,000; 1,000 where neither is given.
    #[serde(default)]
    max: Option<u32>,
}

impl JobSetFields {
    pub(crate) fn check(self) -> Result<JobSet, Problem> {
        match (self.jobs, self.max) {
            (Some(_), Some(_)) => Err(field("max", "give `jobs` or `max`, not both")),
            (Some(ids), None) => Ok(JobSet::Ids(job_ids("jobs", &ids)?)),
            (None, max) => Ok(JobSet::Oldest(max.unwrap_or(1_000))),
        }
    }
}

/// Which dead jobs are tried again, and where.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedriveFields {
    /// These, 1 to 1,000.
    #[serde(default)]
    jobs: Option<Vec<String>>,
    /// The oldest, at most so many, 1 to 1,000; 1,000 where neither is given.
    #[serde(default)]
    max: Option<u32>,
    /// Into another queue than the one they died in.
    #[serde(default)]
    to: Option<String>,
}

impl RedriveFields {
    pub(crate) fn check(self) -> Result<(JobSet, Option<QueueName>), Problem> {
        let to = optional("to", self.to.as_deref(), QueueName::new)?;
        Ok((JobSetFields { jobs: self.jobs, max: self.max }.check()?, to))
    }
}

/// Jobs to take out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteFields {
    /// Their ids, 1 to 1,000.
    pub(crate) jobs: Vec<String>,
}

/// Which jobs to take out of a queue.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PurgeFields {
    /// `delayed`, `due`, `reserved`, `buried` or `dead`; all but reserved ones where none is named.
    #[serde(default)]
    #[schema(example = "dead")]
    pub(crate) state: Option<String>,
}

/// A queue's settings. A setting that is left out gets its default, which `GET` of the queue shows.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingsFields {
    /// How long a worker has for a job: 1,000 to 43,200,000; 30,000.
    lease_ms: Option<u64>,
    /// Attempts before a job is dead: 1 to 1,000; 10.
    attempts_max: Option<u16>,
    /// Delays between attempts.
    backoff: Option<BackoffFields>,
    /// Where dead jobs go: `"keep"`, `"discard"`, or `{"queue": NAME}`; `"keep"`.
    dead_letter: Option<DeadLetterFields>,
    /// How long dead jobs are kept; 14 days.
    dead_ttl_ms: Option<u64>,
    /// How long a `dedup_id` is remembered where the put does not state it; 1 hour.
    dedup_window_ms: Option<u64>,
    /// Jobs that it holds at most, whatever their state; 10,000,000. A put beyond it gets 429.
    jobs_max: Option<u64>,
    /// How many are handed out a second over all keys; no limit.
    limit: Option<LimitFields>,
    /// How many are handed out a second for each key; no limit.
    key_limit: Option<LimitFields>,
    /// `one_shard` (strict order) or `all_shards` (order within a key only). Stays as it was made.
    spread: Option<SpreadWord>,
}

/// Exponential back-off with jitter: attempt n waits `first_ms` x `factor`^(n-1), at most `max_ms`, less a random part.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BackoffFields {
    /// Before the second attempt; 1,000.
    first_ms: Option<u64>,
    /// 1.0 to 10.0; 2.0.
    factor: Option<f32>,
    /// Never longer; 600,000.
    max_ms: Option<u64>,
    /// The part of it that is random, 0.0 to 1.0; 0.5.
    jitter: Option<f32>,
}

/// Where a job goes after its last attempt.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DeadLetterFields {
    /// It stays in its queue as dead.
    Keep,
    /// It is gone.
    Discard,
    /// It is put into this queue.
    Queue(String),
}

/// A token bucket.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LimitFields {
    /// Jobs a second: 0.001 to 1,000,000.
    rate: f64,
    /// Jobs that may go at once after a rest; as many as a second's, at least 1, by default.
    burst: Option<u32>,
}

impl SettingsFields {
    pub(crate) fn check(self) -> Result<QueueSettings, Problem> {
        let usual = QueueSettings::default();
        let backoff = match self.backoff {
            None => usual.backoff,
            Some(BackoffFields { first_ms, factor, max_ms, jitter }) => Backoff {
                first: first_ms.unwrap_or(usual.backoff.first),
                factor: factor.unwrap_or(usual.backoff.factor),
                max: max_ms.unwrap_or(usual.backoff.max),
                jitter: jitter.unwrap_or(usual.backoff.jitter),
            },
        };
        let dead_letter = match self.dead_letter {
            None => usual.dead_letter,
            Some(DeadLetterFields::Keep) => DeadLetter::Keep,
            Some(DeadLetterFields::Discard) => DeadLetter::Discard,
            Some(DeadLetterFields::Queue(name)) => {
                DeadLetter::Queue(named("dead_letter.queue", QueueName::new(&name))?)
            }
        };
        let limit = |fields: LimitFields| Limit {
            rate: fields.rate,
            burst: fields.burst.unwrap_or_else(|| fields.rate.clamp(1.0, 1_000_000.0) as u32),
        };
        Ok(QueueSettings {
            lease: self.lease_ms.unwrap_or(usual.lease),
            attempts_max: self.attempts_max.unwrap_or(usual.attempts_max),
            backoff,
            dead_letter,
            dead_time_to_live: self.dead_ttl_ms.unwrap_or(usual.dead_time_to_live),
            dedup_window: self.dedup_window_ms.unwrap_or(usual.dedup_window),
            jobs_max: self.jobs_max.unwrap_or(usual.jobs_max),
            limit: self.limit.map(limit),
            key_limit: self.key_limit.map(limit),
            spread: match self.spread {
                None => usual.spread,
                Some(SpreadWord::OneShard) => Spread::OneShard,
                Some(SpreadWord::AllShards) => Spread::AllShards,
            },
        })
    }
}

/// A job that is put again and again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleFields {
    /// Five fields (minute, hour, day, month, weekday), or six with seconds first; or `@hourly`, `@daily`, ...
    #[schema(example = "0 20 * * FRI")]
    cron: String,
    /// The zone that `cron` is read in, by its IANA name; `UTC` by default.
    #[serde(default)]
    #[schema(example = "Europe/Berlin")]
    time_zone: Option<String>,
    /// Handling of occurrences that passed while the server was down: `once`, `skip` or `all`;
    /// `once` by default.
    #[serde(default)]
    missed: MissedWord,
    /// The job; it names no `delay_ms`, `run_at` or `dedup_id`.
    job: JobFields,
}

impl ScheduleFields {
    pub(crate) fn check(self) -> Result<(Cron, NewJob), Problem> {
        for (name, given) in [
            ("job.delay_ms", self.job.delay_ms.is_some()),
            ("job.run_at", self.job.run_at.is_some()),
            ("job.dedup_id", self.job.dedup_id.is_some()),
        ] {
            if given {
                return Err(field(name, "the schedule says when its job is put, and puts it once each time"));
            }
        }
        let cron = Cron {
            expression: self.cron,
            time_zone: self.time_zone.unwrap_or_else(|| "UTC".to_owned()),
            missed: match self.missed {
                MissedWord::Once => Missed::Once,
                MissedWord::Skip => Missed::Skip,
                MissedWord::All => Missed::All,
            },
        };
        Ok((cron, self.job.check("job.", Payload::Needed)?))
    }
}

/// Ids of jobs, with the path of the one that is none.
pub(crate) fn job_ids(path: &str, ids: &[String]) -> Result<Vec<JobId>, Problem> {
    ids.iter().enumerate().map(|(index, id)| named(&format!("{path}[{index}]"), id.parse())).collect()
}

/// Leases, with the path of the one that is none.
pub(crate) fn leases(leases: &[String]) -> Result<Vec<Lease>, Problem> {
    leases
        .iter()
        .enumerate()
        .map(|(index, lease)| named(&format!("leases[{index}]"), lease.parse()))
        .collect()
}

fn when_of(at: &str, delay_ms: Option<u64>, run_at: Option<&str>) -> Result<Option<When>, Problem> {
    match (delay_ms, run_at) {
        (None, None) => Ok(None),
        (Some(delay), None) => Ok(Some(When::After(delay))),
        (None, Some(text)) => {
            let timestamp = parse_timestamp(text).map_err(|detail| field(&format!("{at}run_at"), &detail))?;
            Ok(Some(When::At(timestamp)))
        }
        (Some(_), Some(_)) => Err(field(&format!("{at}run_at"), "give `delay_ms` or `run_at`, not both")),
    }
}
