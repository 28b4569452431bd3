//! Runs the state machines on journals: validate, append, apply, commit, answer; checkpoints and recovery.
//!
//! One thread owns a shard. Anybody submits commands from any thread and gets a [`Ticket`], a future
//! that can also be waited for. No answer leaves before everything that it may have seen is durable.

mod answer;
mod client;
pub mod core;
mod describe;
mod directory;
mod driver;
mod error;
mod frame;
mod inner;
mod mailbox;
mod metrics;
mod pushes;
mod replay;
mod reply_slot;
mod routes;
mod scatter_gather;
mod settings;
mod store;
mod threads;
mod ticket;
mod wallets;

pub use answer::{Answer, Done, Together};
pub use client::Shards;
pub use describe::{RecordDescription, describe_record};
pub use error::{CODES, Error, LOG_AWAY, MOVED, OUTCOME_UNKNOWN, TOO_OLD, UNKNOWN};
pub use metrics::ShardMetrics;
pub use replay::{Replayed, replay};
pub use settings::{Settings, Storage};
pub use ticket::Ticket;
