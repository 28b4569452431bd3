//! Shards as a node of a cluster has them, beside their replicas.

use crate::{Settings, Shards};

impl Settings {
    /// The options of a mirror of each shard: those of the settings, or its part of the node's budget,
    /// as [`Shards::open`] gives them to journals.
    #[must_use]
    pub fn mirror(&self) -> stadium_journal::Options {
        self.journal_options()
    }
}

impl Shards {
    /// Finishes what a crash left half done: assets that only some shards know. [`Shards::open`] does
    /// it by itself; where shards have owners on other nodes, it is for one of these, once all
    /// shards answer. Waits for the answers, a few seconds for each shard at most. Without effect where one does
    /// not answer.
    pub fn finish_half_done(&self) {
        self.finish_declaring();
    }
}
