//! MQTT sessions that outlive the process, kept by the shards.
//!
//! The broker reports the changes. A loop batches the changes of its turn for each shard and hands
//! them over as one batch, one batch of a loop at a time: so the changes of a loop arrive in their
//! order. A packet that waits for a change goes on when its batch is durable. [`writer`] does that,
//! [`mapping`] puts the broker's words into those of the shards, [`restore`] brings all of it back
//! when the server starts.

mod mapping;
mod restore;
mod writer;

pub(crate) use mapping::{ask, forget, withdraw};
pub(crate) use restore::Returning;
pub(crate) use writer::{SessionWriter, persisted};
