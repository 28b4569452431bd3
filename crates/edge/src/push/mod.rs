//! Pushes at the edge: the ways from a push to the connections of devices.
//!
//! [`live`] sends a push to whoever is connected, without a shard. [`transport`] is how the shards
//! of the push platform reach devices by MQTT.

pub(crate) mod live;
pub(crate) mod transport;

pub use live::{Audience, NewPush, PushId, PushProgress, PushRecord, Refused};
pub(crate) use live::{Pushes, Receipts};
pub use transport::PushShards;
