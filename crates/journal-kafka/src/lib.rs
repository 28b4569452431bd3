//! The partitions of Kafka that hold the logs of a cluster's shards.
//!
//! A [`Topic`] is opened by one of two clients, `rdkafka` or `rskafka`, and both keep the contract
//! of [`stadium_journal_log::partition`]; the same tests hold both to it. [`make_or_check`] makes
//! the topic, or says what is wrong with its settings, over a connection of its own; [`inspect`] only
//! looks, and needs neither client. docs/kafka.md says what is asked of Kafka, and why.

mod admin;
mod failure;
#[cfg(any(feature = "rdkafka", feature = "rskafka"))]
mod outbox;
#[cfg(feature = "rdkafka")]
mod rdkafka;
#[cfg(feature = "rskafka")]
mod rskafka;
mod settings;
mod tls;

#[cfg(any(feature = "rdkafka", feature = "rskafka"))]
use std::sync::Arc;

#[cfg(any(feature = "rdkafka", feature = "rskafka"))]
use stadium_journal_log::partition::Topic;

pub use admin::{
    BrokerState, Checked, Error, Inspection, Replication, TopicState, Wrong, inspect, make_or_check,
};
pub use failure::CODES;
pub use settings::{
    Identity, MESSAGE_BYTES_MAX, Mechanism, Sasl, Secret, ServerName, Settings, SettingsError, Tls,
    topic_name,
};

/// A client of Kafka that this build links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    /// librdkafka.
    #[cfg(feature = "rdkafka")]
    Rdkafka,
    /// rskafka, which is Rust throughout.
    #[cfg(feature = "rskafka")]
    Rskafka,
}

impl Client {
    /// The clients that this build links; the first is the one to use.
    pub const ALL: &[Self] = &[
        #[cfg(feature = "rdkafka")]
        Self::Rdkafka,
        #[cfg(feature = "rskafka")]
        Self::Rskafka,
    ];
}

/// Opens a cluster's topic, whose partitions are numbered from 0 to `shards` - 1.
///
/// It reads files, starts threads and waits for no broker: those that are away are tried again for
/// as long as the topic is open. Dropping the topic and its partitions ends the threads.
///
/// # Errors
/// The settings cannot be used: a file is missing, or TLS refuses its content.
#[cfg(any(feature = "rdkafka", feature = "rskafka"))]
pub fn open(client: Client, settings: &Settings, shards: u32) -> Result<Arc<dyn Topic>, SettingsError> {
    match client {
        #[cfg(feature = "rdkafka")]
        Client::Rdkafka => Ok(Arc::new(rdkafka::Node::open(settings, shards)?)),
        #[cfg(feature = "rskafka")]
        Client::Rskafka => Ok(Arc::new(rskafka::Node::open(settings, shards)?)),
    }
}
