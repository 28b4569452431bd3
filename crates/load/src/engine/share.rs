//! A loop's part of the users: they are dealt like cards.

use serde::{Deserialize, Serialize};

/// A loop's part: every `of`-th, from `index` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of the loop, over all processes of the run.
    pub index: u32,
    /// How many loops there are.
    pub of: u32,
}

impl Share {
    /// How many of `total` are its own.
    pub(crate) fn part(self, total: u32) -> u32 {
        (total / self.of) + u32::from(self.index < total % self.of)
    }
}
