//! A queue: its figures and its settings.
//!
//! These are the words of JSON for what the queues answer and take.

use serde::Serialize;
use stadium_queue::{DeadLetter, Limit, QueueSettings, QueueStats, Spread};
use utoipa::ToSchema;

use crate::spelling::timestamp;

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
            oldest_due_at: stats.oldest_due.map(timestamp),
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
    /// How long a `dedup_id` is remembered where the put does not state it.
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
