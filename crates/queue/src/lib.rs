//! Named queues of jobs: due, reserve, settle, retry, dead letter, as one state machine without I/O.
//!
//! It takes commands and the current time and returns answers, events for the journal, and its next
//! deadline. It never reads a clock, draws a random number or sees a payload's bytes: a job knows
//! where in the journal its payload stands. The shard (`stadium-shard`) drives it.
//!
//! ```text
//! execute, tick ─▶ decide ─▶ write events ─┬─▶ apply to the state
//! apply (replay) ────────▶ read events ────┘
//! ```

mod answer;
mod apply;
mod bounds;
mod checkpoint;
mod clock;
mod command;
mod cron;
mod decoding;
mod delivery;
mod encoding;
mod entries;
mod events;
mod execute;
mod history;
mod index;
mod job;
mod leases;
mod lists;
mod manage;
mod moving;
mod name;
mod paged;
mod put;
mod read;
mod record;
pub mod refusal;
mod reserve;
mod state;
mod tick;
mod timers;
mod transfer;
mod validate;

use std::fmt;

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
pub use history::{Described, describe};
pub use moving::{MoveCursor, PayloadChange};
pub use name::{InvalidName, JobId, Key, Lease, Milliseconds, QueueName, Time, WorkerName};
pub use record::Record;
pub use refusal::{CODES, Refusal};
pub use state::Queues;
pub use tick::Ticked;
pub use transfer::Outgoing;

/// Events or a checkpoint that this machine cannot have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// What is wrong with what.
    pub reason: String,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Corrupt {}
