//! Pushes at the edge: the ways from a push to the connections of devices.
//!
//! [`transport`] is how the shards of the push platform reach devices by MQTT. [`live`] counts the
//! outcomes of live pushes, and sends those to channels and clients, which need no shard.

pub(crate) mod live;
pub(crate) mod transport;

pub use live::{PushRecord, Refused};
pub(crate) use live::{Pushes, Receipts};
pub use transport::PushShards;
