//! Runs the state machines on journals: validate, append, apply, commit, answer; checkpoints and
//! recovery.
//!
//! One thread drives a shard, and a thread drives many. Anybody submits commands from any thread
//! and gets a [`Ticket`], a future that can also be waited for. No answer leaves before everything
//! that it may have seen is durable.

mod alarms;
mod answer;
mod asked;
mod bell;
mod blocking;
mod client;
mod contents;
pub mod core;
mod describe;
mod directory;
mod drive;
mod driver;
mod elsewhere;
mod error;
mod forwarded;
mod frame;
mod inner;
mod lag;
mod lifecycle;
mod mailbox;
mod metrics;
mod pushes;
mod replay;
mod replica;
mod reply_slot;
mod routes;
mod scatter_gather;
mod search;
mod settings;
mod start;
mod store;
mod threads;
mod ticket;
mod wallets;
mod worker;

pub use answer::{Answer, Done, Together};
pub use client::Shards;
pub use contents::Contents;
pub use describe::{RecordDescription, describe_record};
pub use elsewhere::{Asker, Elsewhere, Forwarded, GivenUp};
pub use error::{
    CODES, Error, LOG_AWAY, MOVED, NOT_HERE, OUTCOME_UNKNOWN, STOPPING, TOO_OLD, UNKNOWN, UNREACHABLE,
};
pub use lag::FollowerLag;
pub use metrics::{ShardMetrics, ThreadMetrics};
pub use replay::{Replayed, record_time, replay};
pub use replica::ReplicaState;
pub use settings::{NodeBudget, Settings, Storage};
pub use ticket::Ticket;
