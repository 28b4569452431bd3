//! Writes to etcd that membership asks for: each is one transaction with conditions.

use crate::entry::Entry;
use crate::name::{NodeName, Shard};

/// A write that happens only if all conditions hold. The driver adds that the writer is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What is written.
    pub action: Action,
    /// What must hold.
    pub conditions: Vec<Condition>,
}

/// What a write does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes the entry of a shard.
    Entry(Shard, Entry),
    /// Removes a request that is done or makes no sense.
    Done(String),
}

/// What must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The entry of the shard was last written at this revision; 0: there is none.
    Entry(Shard, i64),
    /// The key of the node was last written at this revision; 0: it is not alive.
    Node(NodeName, i64),
    /// The request was last written at this revision.
    Request(String, i64),
}
