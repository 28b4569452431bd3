//! The topic by librdkafka.
//!
//! A [`Node`] has warm producers, consumers that are assigned partitions one by one, and a few
//! threads for calls of librdkafka that wait. `partition.rs` turns all of it into events.

mod configuration;
mod outcome;
mod partition;
mod produce;
mod reading;
mod shared;
mod threads;

use std::sync::Arc;

use parking_lot::Mutex;
use rdkafka::admin::AdminClient;
use rdkafka::consumer::BaseConsumer;
use stadium_journal_log::partition::{Failure, Partition, Topic};

use crate::failure::{NO_TOPIC, Verdict};
use crate::settings::{Settings, SettingsError};
use outcome::Words;
use partition::KafkaPartition;
use produce::Producers;
use reading::Readers;
use shared::Shared;
use threads::Helpers;

/// The clients of a node.
pub(crate) struct Node {
    shared: Arc<Shared>,
    shards: u32,
}

impl Node {
    /// Makes the clients, which connect by themselves.
    pub(crate) fn open(settings: &Settings, shards: u32) -> Result<Self, SettingsError> {
        settings.check()?;
        // Both librdkafka and this check read the files: its words for a bad one name no file.
        settings.tls.as_ref().map(crate::tls::configuration).transpose()?;
        let words = Words::default();
        let asking = configuration::asking(settings);
        let refused = configuration::refused;
        let consumer: BaseConsumer<Words> =
            asking.create_with_context(words.clone()).map_err(|error| refused(&error))?;
        let admin: AdminClient<Words> =
            asking.create_with_context(words.clone()).map_err(|error| refused(&error))?;
        let helpers = Helpers::start(settings, consumer, admin)?;
        let shared = Shared {
            topic: settings.topic(),
            producers: Producers::open(settings, &words)?,
            readers: Readers { settings: settings.clone(), words, open: Mutex::default() },
            helpers,
        };
        Ok(Self { shared: Arc::new(shared), shards })
    }
}

impl Topic for Node {
    fn partition(&self, shard: u32) -> Result<Box<dyn Partition>, Failure> {
        if shard >= self.shards {
            let what = format!("topic {} has {} partitions, not {shard}", self.shared.topic, self.shards);
            return Err(Verdict::never(NO_TOPIC).failure(what));
        }
        Ok(Box::new(KafkaPartition::open(&self.shared, shard)?))
    }
}
