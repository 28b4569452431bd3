//! The clients that the partitions of a node share.
//!
//! It goes with the last of the node and its partitions.

use super::produce::Producers;
use super::reading::Readers;
use super::threads::{Helpers, Task};

/// The clients of a node, by what they are for.
pub(super) struct Shared {
    pub(super) topic: String,
    pub(super) producers: Producers,
    pub(super) readers: Readers,
    pub(super) helpers: Helpers,
}

impl Shared {
    /// Hands a task to a helper.
    pub(super) fn ask(&self, task: Task) {
        self.helpers.ask(task);
    }
}
