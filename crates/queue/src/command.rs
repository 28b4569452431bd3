//! What can be asked of the queues.
//!
//! A command is all or nothing, except where its answer has an [`Outcome`](crate::Outcome) for each
//! job. Bounds that do not depend on state are checked where a command is made.

use bytes::Bytes;

use crate::{JobId, Key, Lease, Milliseconds, PrincipalId, QueueName, Time, WorkerName};

/// One thing to do. The queue comes with each, because its name determines the shard.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// New jobs, all or none. Makes the queue with the default settings where there is none.
    Put {
        /// Into which queue.
        queue: QueueName,
        /// The jobs.
        jobs: Vec<NewJob>,
        /// The principal that puts them. It is no part of their content.
        principal: Option<PrincipalId>,
    },
    /// Up to `jobs_max` jobs that are due, for the time of the lease.
    Reserve {
        /// Of which queue.
        queue: QueueName,
        /// At most so many, 1 to 1,000.
        jobs_max: u32,
        /// How long the worker has for them; the queue's own where none.
        lease: Option<Milliseconds>,
        /// How long to wait for a first job where none is due. The shard waits, not the machine.
        wait: Milliseconds,
        /// Who works on it.
        worker: Option<WorkerName>,
    },
    /// These are done.
    Settle {
        /// What was reserved.
        leases: Vec<Lease>,
    },
    /// This is done here, and becomes new work there, in one record. Both queues on one shard or not: see the shard.
    Forward {
        /// What was reserved.
        lease: Lease,
        /// Where it goes on.
        queue: QueueName,
        /// The work there. An empty payload means the payload it had.
        job: NewJob,
        /// The principal that puts the work there.
        principal: Option<PrincipalId>,
    },
    /// These are not done, and are to be tried again.
    Release {
        /// What was reserved.
        leases: Vec<Lease>,
        /// When it is due again, and whether the attempt counts.
        retry: Retry,
        /// What went wrong, for the history; at most 1,024 bytes.
        error: Option<String>,
    },
    /// The worker needs longer: the lease ends so long from now.
    Extend {
        /// What was reserved.
        leases: Vec<Lease>,
        /// From now.
        lease: Milliseconds,
    },
    /// Set aside until somebody looks: see `Kick`.
    Bury {
        /// What was reserved.
        leases: Vec<Lease>,
        /// Why, for the history and the list.
        reason: Option<String>,
    },
    /// Buried jobs are due again; attempts start anew.
    Kick {
        /// Of which queue.
        queue: QueueName,
        /// Which.
        jobs: JobSet,
    },
    /// Dead jobs are due again, here or in another queue; attempts start anew.
    Redrive {
        /// Whose dead letters.
        queue: QueueName,
        /// Which.
        jobs: JobSet,
        /// Where to, if not where they came from.
        to: Option<QueueName>,
    },
    /// Takes jobs out in whatever state; a reserved one's lease is lost.
    Delete {
        /// Which.
        jobs: Vec<JobId>,
    },
    /// Changes a job that is not reserved.
    Edit {
        /// Which.
        job: JobId,
        /// What becomes different.
        edit: Edit,
    },
    /// Takes all jobs in one state out of a queue.
    Purge {
        /// Of which queue.
        queue: QueueName,
        /// In which state; reserved ones keep their leases unless they are named.
        state: Option<crate::JobState>,
    },
    /// Nothing is reserved any more until `Resume`; puts go on.
    Pause {
        /// Which.
        queue: QueueName,
    },
    /// Jobs are handed out again.
    Resume {
        /// Which.
        queue: QueueName,
    },
    /// Makes the queue, or changes its settings.
    Declare {
        /// Which.
        queue: QueueName,
        /// All of its settings.
        settings: QueueSettings,
    },
    /// Takes the queue away with its schedules; refused while it holds jobs.
    Drop {
        /// Which.
        queue: QueueName,
    },
    /// Puts a job again and again. The same name replaces the schedule.
    Schedule {
        /// Into which queue.
        queue: QueueName,
        /// What the schedule is called; one name is one schedule of a queue.
        name: Key,
        /// When. Boxed, so that the rare command does not make all others larger.
        cron: Box<Cron>,
        /// The job; its `when` and `dedup` are ignored.
        job: NewJob,
        /// The principal that makes the schedule, and so puts its jobs.
        principal: Option<PrincipalId>,
    },
    /// Ends a schedule; jobs that it put stay.
    Unschedule {
        /// Of which queue.
        queue: QueueName,
        /// Which.
        name: Key,
    },
    /// Looks at jobs without touching them, oldest due first.
    Peek {
        /// Of which queue.
        queue: QueueName,
        /// In which state; all where none.
        state: Option<crate::JobState>,
        /// With this key.
        key: Option<Key>,
        /// After this job of the last page.
        after: Option<JobId>,
        /// At most so many, 1 to 1,000.
        jobs_max: u32,
    },
    /// One job as it stands.
    Find {
        /// Which.
        job: JobId,
    },
    /// What became of a job, newest first; the shard reads it from the journal.
    History {
        /// Which.
        job: JobId,
    },
    /// Figures of one queue.
    Stats {
        /// Of which.
        queue: QueueName,
    },
    /// Figures of all queues, by name.
    List {
        /// After this one of the last page.
        after: Option<QueueName>,
        /// At most so many, 1 to 1,000.
        queues_max: u32,
    },
    /// The schedules of a queue, by name.
    Schedules {
        /// Of which.
        queue: QueueName,
    },
}

/// Work to be done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewJob {
    /// What the worker gets; the queues never look into it.
    pub payload: Bytes,
    /// When it is due.
    pub when: When,
    /// Which goes first of those that are due: 0 to 9, 9 first. 4 is the usual one, as in JMS.
    pub priority: Option<u8>,
    /// Gone by itself when it was not settled so long after it was put.
    pub time_to_live: Option<Milliseconds>,
    /// At most one job with this id within the window.
    pub dedup: Option<Dedup>,
    /// Jobs of one key run one after another, in the order they were put; keys get fair shares.
    pub key: Option<Key>,
    /// Attempts before it is dead; the queue's own where none.
    pub attempts_max: Option<u16>,
}

/// When a job is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// So long after it was put.
    After(Milliseconds),
    /// At a time; at once where that has passed.
    At(Time),
}

/// An id that makes a put safe to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedup {
    /// The client's own id.
    pub id: Key,
    /// How long it is remembered from the first put on; the queue's own where none.
    pub window: Option<Milliseconds>,
}

/// When a job that was released is due again, and whether the attempt counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// After the queue's back-off for this attempt; dead after the last one.
    Backoff,
    /// After this delay; the attempt counts.
    After(Milliseconds),
    /// The worker never began: after this delay, and the attempt does not count.
    NotTried(Milliseconds),
}

/// Which jobs of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSet {
    /// These.
    Ids(Vec<JobId>),
    /// The oldest, at most so many.
    Oldest(u32),
}

/// What becomes different about a job; `None` leaves it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edit {
    /// Other work.
    pub payload: Option<Bytes>,
    /// Due at another time.
    pub when: Option<When>,
    /// Another priority.
    pub priority: Option<u8>,
    /// Another time to live, from now.
    pub time_to_live: Option<Milliseconds>,
    /// Another number of attempts.
    pub attempts_max: Option<u16>,
}

/// How a queue behaves. `Default` is what a queue gets that is made by its first put.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSettings {
    /// How long a worker has, 1 s to 12 h; 30 s.
    pub lease: Milliseconds,
    /// Attempts before a job is dead, 1 to 1,000; 10.
    pub attempts_max: u16,
    /// Delays between attempts.
    pub backoff: Backoff,
    /// Where dead jobs go.
    pub dead_letter: DeadLetter,
    /// How long dead jobs are kept; 14 days.
    pub dead_time_to_live: Milliseconds,
    /// How long a dedup id is remembered where the put does not set it; 1 hour.
    pub dedup_window: Milliseconds,
    /// Jobs that it holds at most, whatever their state; a put beyond it is answered Busy.
    /// 10,000,000.
    pub jobs_max: u64,
    /// How many are handed out a second over all keys.
    pub limit: Option<Limit>,
    /// How many are handed out a second for each key.
    pub key_limit: Option<Limit>,
    /// Whether it lives on one shard or on all.
    pub spread: Spread,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            lease: 30_000,
            attempts_max: 10,
            backoff: Backoff::default(),
            dead_letter: DeadLetter::Keep,
            dead_time_to_live: 14 * 24 * 3_600_000,
            dedup_window: 3_600_000,
            jobs_max: 10_000_000,
            limit: None,
            key_limit: None,
            spread: Spread::OneShard,
        }
    }
}

/// Exponential back-off with jitter: attempt n waits `first` x `factor`^(n-1), at most `max`, less a
/// random part of it up to `jitter`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// Before the second attempt; 1 s.
    pub first: Milliseconds,
    /// Times so much for each further one, 1.0 to 10.0; 2.0.
    pub factor: f32,
    /// Never longer; 10 min.
    pub max: Milliseconds,
    /// The part of it that is random, 0.0 to 1.0; 0.5.
    pub jitter: f32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: 1_000, factor: 2.0, max: 600_000, jitter: 0.5 }
    }
}

/// Where a job goes after its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadLetter {
    /// It stays in its queue as dead, with the reason.
    Keep,
    /// It is put into another queue, in the same record.
    Queue(QueueName),
    /// It is gone.
    Discard,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Jobs a second, 0.001 to 1,000,000.
    pub rate: f64,
    /// Jobs that may go at once after a rest, at least 1.
    pub burst: u32,
}

/// Whether a queue lives on one shard or on all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// Strict order of the whole queue.
    #[default]
    OneShard,
    /// Order within a key only; limits and priorities hold for each shard's part.
    AllShards,
}

/// When a schedule puts its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    /// Five fields, or six with seconds first; or @hourly, @daily, ...
    pub expression: String,
    /// IANA name, `UTC` by default.
    pub time_zone: String,
    /// The treatment of occurrences while the server was down.
    pub missed: Missed,
}

/// The treatment of occurrences of a schedule that passed while the server was down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// One job for all of them.
    #[default]
    Once,
    /// None.
    Skip,
    /// One for each, at most 100.
    All,
}
