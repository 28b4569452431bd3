//! Named queues of jobs: due, reserve, settle, retry, dead letter, as one state machine without I/O.
//!
//! It takes commands and the current time and returns answers, events for the journal, and its next
//! deadline. It never reads a clock, draws a random number or sees a payload's bytes: a job knows
//! where in the journal its payload stands. The shard (`stadium-shard`) drives it.

mod answer;
mod bounds;
mod command;
mod delivery;
mod name;
mod queues;
mod record;
pub mod refusal;

pub use answer::{
    Answer, Attempt, Given, HistoryEntry, JobState, JobView, Outcome, PayloadAt, Placed, QueueStats,
    Reserved, ScheduleView,
};
pub use bounds::{Bounds, Place};
pub use command::{
    Backoff, Command, Cron, DeadLetter, Dedup, Edit, JobSet, Limit, Missed, NewJob, QueueSettings, Retry,
    Spread, When,
};
pub use delivery::Delivery;
pub use name::{InvalidName, JobId, Key, Lease, Milliseconds, QueueName, Time, WorkerName};
pub use queues::{Corrupt, MoveCursor, Outgoing, PayloadChange, Queues, Ticked};
pub use record::Record;
pub use refusal::{CODES, Refusal};
