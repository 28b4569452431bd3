//! A node's replicas of the shards of a cluster.
//!
//! [`ReplicatedStore`] is where a replica keeps its mirror and its checkpoints, and how it reaches
//! the log. `stadium_shard::Shards::open_replica` runs a replica on it.

mod store;

pub use store::ReplicatedStore;
