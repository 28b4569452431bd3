//! The codes of the queues' refusals.
//!
//! Every code that the machine answers is in [`CODES`], and every one of it has a page in docs/reference/errors.

pub(crate) use stadium_state_machine::{busy, rejected};

stadium_state_machine::codes! {
    /// A command names no job, or more than [`Bounds::JOBS_MAX`](crate::Bounds::JOBS_MAX).
    COUNT = "QUE-001", "too many or no jobs in a command";
    /// A priority above 9.
    PRIORITY = "QUE-002", "priority out of bounds";
    /// A delay or a time too far away.
    DELAY = "QUE-003", "due too far in the future";
    /// A payload larger than the setting allows.
    PAYLOAD = "QUE-004", "payload too large";
    /// A time to live of nothing, or too long a one.
    TIME_TO_LIVE = "QUE-005", "time to live out of bounds";
    /// A dedup window of nothing, or too long a one.
    DEDUP_WINDOW = "QUE-006", "dedup window out of bounds";
    /// No attempts, or too many.
    ATTEMPTS = "QUE-007", "attempts out of bounds";
    /// A lease too short or too long.
    LEASE = "QUE-008", "lease out of bounds";
    /// A reason or an error that is too long.
    REASON = "QUE-009", "reason too long";
    /// A setting of a queue out of its bounds.
    SETTINGS = "QUE-010", "queue setting out of bounds";
    /// A cron expression that is none, or that never comes.
    CRON = "QUE-011", "not a cron expression";
    /// A time zone that nobody knows.
    TIME_ZONE = "QUE-012", "unknown time zone";
    /// A command whose jobs together are too large for one record.
    COMMAND_BYTES = "QUE-013", "command too large";
    /// A wait that is too long.
    WAIT = "QUE-014", "wait out of bounds";
    /// No queue has that name.
    QUEUE_UNKNOWN = "QUE-020", "unknown queue";
    /// No job has that id, or not any more.
    JOB_UNKNOWN = "QUE-021", "unknown job";
    /// The lease ended, and the job went on without it.
    LEASE_LOST = "QUE-022", "lease lost";
    /// The job is in a state in which this cannot be done.
    STATE = "QUE-023", "wrong state for this";
    /// The dedup id was used with another content.
    DEDUP_CONTENT = "QUE-024", "dedup id reused with other content";
    /// A queue that still holds jobs.
    NOT_EMPTY = "QUE-025", "queue holds jobs";
    /// No schedule of the queue has that name.
    SCHEDULE_UNKNOWN = "QUE-026", "unknown schedule";
    /// Whether a queue is spread is decided when it is made.
    SPREAD = "QUE-027", "spread cannot change";
    /// The command is none for this function; a driver's mistake.
    MISDIRECTED = "QUE-028", "command sent to the wrong place";
    /// The queue holds as many jobs as its settings allow.
    QUEUE_FULL = "QUE-040", "queue full";
    /// The shard holds as many jobs as the settings allow.
    SHARD_FULL = "QUE-041", "shard full";
    /// There are as many queues as the settings allow.
    QUEUES_FULL = "QUE-042", "too many queues";
    /// There are as many dedup ids as the settings allow.
    DEDUPS_FULL = "QUE-043", "too many dedup ids";
    /// There are as many schedules as the settings allow.
    SCHEDULES_FULL = "QUE-044", "too many schedules";
    /// Too many jobs wait to be taken over by other shards.
    OUTGOING_FULL = "QUE-045", "too many jobs on their way to other shards";
}
