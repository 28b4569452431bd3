//! The shards of this node, as everybody else in it finds them.
//!
//! They are there once their journals are read. Until then whoever comes is told Busy, because nothing of what it asks
//! for can have happened.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stadium_queue::Command;
use stadium_rpc::Refusal;
use stadium_shard::{Shards, Ticket};

/// When to come back to shards that are still reading.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// The way to the shards. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ShardsDoor(Arc<OnceLock<Shards>>);

impl ShardsDoor {
    /// They are there from now on.
    pub(crate) fn open(&self, shards: Shards) {
        // A node opens it once.
        let _ = self.0.set(shards);
    }

    /// Hands a command to the shards.
    ///
    /// # Errors
    /// Busy while they are not there.
    pub(crate) fn submit(&self, command: Command) -> Result<Ticket, Refusal> {
        let shards = self.0.get().ok_or_else(|| {
            Refusal::busy(RETRY_AFTER, "the shards are not running yet: the journal is being read")
        })?;
        Ok(shards.submit(command))
    }
}
