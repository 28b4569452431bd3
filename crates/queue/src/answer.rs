//! What came of a command.
//!
//! `P` is the payload: [`PayloadAt`] inside, bytes once the shard has read them.

use crate::{
    Cron, JobId, Key, Lease, PayloadAt, PrincipalId, QueueName, QueueSettings, Refusal, Time, WorkerName,
};

/// What came of a command, one case for each kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<P = PayloadAt> {
    /// Of a put, in its order; of a forward, one.
    Placed(Vec<Placed>),
    /// Of a reserve; none where nothing was due.
    Reserved(Vec<Reserved<P>>),
    /// Of settle, release, extend, bury, delete: one for each, in its order.
    Given(Vec<Outcome>),
    /// Of kick, redrive, purge: how many.
    Count(u64),
    /// For a command whose only result is that it is done.
    Done,
    /// Of a peek and a find.
    Jobs(Vec<JobView<P>>),
    /// Of a history, newest first.
    History(Vec<HistoryEntry>),
    /// Of stats and list.
    Queues(Vec<QueueStats>),
    /// Of schedules.
    Schedules(Vec<ScheduleView<P>>),
}

/// A job that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its id; the first one's where it is a duplicate.
    pub job: JobId,
    /// Whether its dedup id was known, so that nothing was put.
    pub duplicate: bool,
}

/// A job to work on.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserved<P> {
    /// The right to it, and its id.
    pub lease: Lease,
    /// When the lease ends.
    pub until: Time,
    /// Which attempt this is, from 1.
    pub attempt: u16,
    /// When it was put.
    pub put_at: Time,
    /// When it was due.
    pub due: Time,
    /// Its priority.
    pub priority: u8,
    /// Its key.
    pub key: Option<Key>,
    /// What to do.
    pub payload: P,
}

/// What became of one job of several.
pub type Outcome = Result<Given, Refusal>;

/// What was done to one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// As asked.
    Done,
    /// It had been done before: the same lease was settled already.
    Already,
    /// That was its last attempt: it is dead now.
    Dead,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
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

/// A job as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView<P> {
    /// Its id.
    pub job: JobId,
    /// Its queue.
    pub queue: QueueName,
    /// Where it stands.
    pub state: JobState,
    /// When it was put.
    pub put_at: Time,
    /// When it is due, or was.
    pub due: Time,
    /// When its lease ends.
    pub lease_until: Option<Time>,
    /// When it goes by itself.
    pub expires: Option<Time>,
    /// Attempts so far.
    pub attempts: u16,
    /// Attempts before it is dead.
    pub attempts_max: u16,
    /// Its priority.
    pub priority: u8,
    /// Its key.
    pub key: Option<Key>,
    /// Why it is buried or dead, or the last error.
    pub reason: Option<String>,
    /// The principal that put it; none where the server did itself, and of jobs of older versions.
    pub principal: Option<PrincipalId>,
    /// What to do.
    pub payload: P,
}

macro_rules! with_payload {
    ($name:ident { $($field:ident),* }) => {
        impl<P> $name<P> {
            /// The same with another payload: where it stands becomes its bytes.
            pub fn with_payload<Q>(self, payload: Q) -> $name<Q> {
                let $name { $($field,)* payload: _ } = self;
                $name { $($field,)* payload }
            }
        }
    };
}

with_payload!(Reserved { lease, until, attempt, put_at, due, priority, key });
with_payload!(JobView {
    job,
    queue,
    state,
    put_at,
    due,
    lease_until,
    expires,
    attempts,
    attempts_max,
    priority,
    key,
    reason,
    principal
});

impl<P> ScheduleView<P> {
    /// The same with another payload, if any.
    pub fn with_payload<Q>(self, payload: Option<Q>) -> ScheduleView<Q> {
        let Self { name, cron, next, last, principal, priority, attempts_max, key, time_to_live, payload: _ } =
            self;
        ScheduleView { name, cron, next, last, principal, priority, attempts_max, key, time_to_live, payload }
    }
}

/// One event of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When.
    pub at: Time,
    /// What.
    pub what: Attempt,
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// It was put, due at a time.
    Put {
        /// Into which queue.
        queue: QueueName,
        /// When it is due.
        due: Time,
        /// The principal that put it.
        principal: Option<PrincipalId>,
    },
    /// Somebody began.
    Reserved {
        /// Which attempt.
        attempt: u16,
        /// Who.
        worker: Option<WorkerName>,
        /// The lease's end.
        until: Time,
    },
    /// The lease was made longer.
    Extended {
        /// The lease's new end.
        until: Time,
    },
    /// It is to be tried again.
    Released {
        /// When.
        due: Time,
        /// What went wrong.
        error: Option<String>,
    },
    /// The worker was not heard of in time; to be tried again.
    LeaseExpired {
        /// When.
        due: Time,
    },
    /// Set aside.
    Buried {
        /// Why.
        reason: Option<String>,
    },
    /// Taken back from the buried or the dead.
    Revived {
        /// Into which queue.
        queue: QueueName,
    },
    /// Its last attempt failed.
    Dead {
        /// Why.
        reason: String,
    },
    /// It was changed.
    Edited,
    /// Done.
    Settled,
    /// Done here, and gone on there.
    Forwarded {
        /// Where.
        queue: QueueName,
        /// As which job.
        job: JobId,
    },
    /// Taken out by somebody.
    Deleted,
    /// Its time to live was over.
    Expired,
    /// Older entries are in segments that are gone.
    Trimmed,
}

/// Figures of a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueStats {
    /// Its name.
    pub queue: QueueName,
    /// Its settings.
    pub settings: QueueSettings,
    /// Whether it is paused.
    pub paused: bool,
    /// Jobs by where they stand.
    pub delayed: u64,
    /// May be reserved.
    pub due: u64,
    /// Worked on.
    pub reserved: u64,
    /// Set aside.
    pub buried: u64,
    /// Dead.
    pub dead: u64,
    /// When the oldest job that is due became due.
    pub oldest_due: Option<Time>,
    /// Since the queue was made: put.
    pub put: u64,
    /// Handed out.
    pub handed_out: u64,
    /// Settled, forwarded included.
    pub settled: u64,
    /// Released or their lease ran out.
    pub retried: u64,
    /// Died.
    pub died: u64,
    /// Duplicates that were not put.
    pub duplicates: u64,
    /// Consumers that wait now.
    pub waiting: u64,
}

/// A schedule as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleView<P> {
    /// Its name.
    pub name: Key,
    /// When it puts.
    pub cron: Cron,
    /// The next time.
    pub next: Option<Time>,
    /// The last time, and the job that was put.
    pub last: Option<(Time, JobId)>,
    /// The principal that made it, and so puts its jobs.
    pub principal: Option<PrincipalId>,
    /// Its jobs' priority.
    pub priority: u8,
    /// Attempts before such a job is dead.
    pub attempts_max: u16,
    /// Their key.
    pub key: Option<Key>,
    /// How long after it was put such a job goes by itself, in milliseconds.
    pub time_to_live: Option<u64>,
    /// Their payload. None where the payloads before it fill the answer, or where it cannot be read.
    pub payload: Option<P>,
}
