//! The integration tests of this crate: a real etcd and real brokers, and nodes in this process.
//!
//! The nodes keep the logs of their shards in memory: Kafka is asked for the topic alone.

mod backup;
mod changes;
mod fixture;
mod making;
