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
mod entries;
mod events;
mod execute;
mod finished;
mod history;
mod job;
mod leases;
mod lists;
mod machine;
mod manage;
mod merging;
mod moving;
mod name;
mod principals;
mod put;
mod read;
mod record;
pub mod refusal;
mod reserve;
mod resolving;
mod rests;
mod routing;
mod sequences;
mod state;
mod tick;
mod timers;
mod together;
mod transfer;
mod validate;
mod waiting;

pub use answer::{
    Answer, Attempt, Given, HistoryEntry, JobState, JobView, Outcome, Placed, QueueStats, Reserved,
    ScheduleView,
};
pub use bounds::Bounds;
pub use command::{
    Backoff, Command, Cron, DeadLetter, Dedup, Edit, JobSet, Limit, Missed, NewJob, QueueSettings, Retry,
    Spread, When,
};
pub use delivery::{Delivery, ShardMessage};
pub use history::History;
pub use machine::put_each_bytes_max;
pub use merging::{Merge, merge};
pub use name::{JobId, Key, Lease, QueueName, WorkerName};
pub use refusal::CODES;
pub use routing::{Reach, Route, Spreading};
pub use stadium_state_machine::{
    Corrupt, InvalidName, Milliseconds, PayloadAt, PayloadChange, Place, PrincipalId, Record, Refusal, Time,
};
pub use state::Queues;
pub use tick::Ticked;
pub use transfer::Outgoing;
