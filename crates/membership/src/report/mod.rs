//! A cluster as operators are shown it: nodes, shards and moves, as functions of a view.

mod node;
mod relocation;
mod shard;

pub use node::{AliveNode, NodeReport};
pub use relocation::{Relocation, Step};
pub use shard::{Problem, Replica, ShardReport};
