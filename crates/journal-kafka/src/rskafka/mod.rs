//! The topic by rskafka.
//!
//! A [`Node`] has a Tokio runtime, on which each partition has two tasks: one appends, finds and
//! trims, the other reads. Each has a connection of its own, since a broker answers the requests of
//! a connection one after another, and a read at the end of the log waits.

mod lane;
mod outcome;
mod partition;
mod reader;
mod request;
mod shared;
mod writer;

use std::sync::Arc;

use stadium_journal_log::partition::{Failure, Partition, Topic};

use crate::failure::{NO_TOPIC, Verdict};
use crate::settings::{Settings, SettingsError};
use partition::KafkaPartition;
use shared::{Shared, Threads};

/// The client of a node.
pub(crate) struct Node {
    shared: Arc<Shared>,
    shards: u32,
    threads: Arc<Threads>,
}

impl Node {
    /// Starts the threads. Partitions connect when they are used.
    pub(crate) fn open(settings: &Settings, shards: u32) -> Result<Self, SettingsError> {
        settings.check()?;
        let shared = Arc::new(Shared::new(settings)?);
        Ok(Self { shared, shards, threads: Arc::new(Threads::start()?) })
    }
}

impl Topic for Node {
    fn partition(&self, shard: u32) -> Result<Box<dyn Partition>, Failure> {
        if shard >= self.shards {
            let what = format!("topic {} has {} partitions, not {shard}", self.shared.topic, self.shards);
            return Err(Verdict::never(NO_TOPIC).failure(what));
        }
        Ok(Box::new(KafkaPartition::open(&self.shared, shard, &self.threads)))
    }
}
