//! Shards as a node of a cluster has them, beside their replicas.

use crate::Settings;

impl Settings {
    /// The options of a mirror of each shard: those of the settings, or its part of the node's budget,
    /// as [`Shards::open`](crate::Shards::open) gives them to journals.
    #[must_use]
    pub fn mirror(&self) -> stadium_journal::Options {
        self.journal_options()
    }
}
