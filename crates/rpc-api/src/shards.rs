//! The way from a call to the shards, and what is answered while they are not there.
//!
//! They are there once their journals are read. Until then a caller gets Busy, because nothing of
//! what it asks for can have happened.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stadium_queue::Command;
use stadium_rpc::Refusal;
use stadium_shard::{Done, Shards, Ticket, Together};
use stadium_telemetry::Tracer;
use stadium_wallet::Seal;

/// When a caller should try again while the shards are reading.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// The shards of a node, once they are open. Cheap to clone.
#[derive(Clone, Default)]
pub struct ShardsHandle {
    opened: Arc<OnceLock<Shards>>,
    tracer: Tracer,
}

impl ShardsHandle {
    /// One whose calls have spans of this tracer.
    pub fn traced(tracer: Tracer) -> Self {
        Self { opened: Arc::default(), tracer }
    }

    /// Records the spans of calls.
    pub(crate) fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// From now on calls go to these shards. The first ones stay: a second call changes nothing.
    pub fn open(&self, shards: Shards) {
        let _ = self.opened.set(shards);
    }

    /// The shards; `None` while they read their journals.
    pub fn get(&self) -> Option<&Shards> {
        self.opened.get()
    }

    /// Hands a command to the queues.
    ///
    /// # Errors
    /// Busy while the shards are not there.
    pub(crate) fn submit(&self, command: Command) -> Result<Ticket, Refusal> {
        Ok(self.shards()?.submit(command))
    }

    /// Hands a command to the wallets.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub(crate) fn submit_wallet(
        &self,
        command: stadium_wallet::Command,
    ) -> Result<Ticket<stadium_wallet::Answer>, Refusal> {
        Ok(self.shards()?.submit_wallet(command))
    }

    /// Hands a command to the push platform.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub(crate) fn submit_push(
        &self,
        mut command: stadium_push::Command,
    ) -> Result<Ticket<stadium_push::Answer>, Refusal> {
        if let stadium_push::Command::Send { push } = &mut command {
            push.options.trace = stadium_telemetry::current().and_then(|trace| trace.sampled_context());
        }
        Ok(self.shards()?.submit_push(command))
    }

    /// Hands transfers and jobs over that happen in one record or not at all.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub(crate) fn submit_together(&self, together: Together) -> Result<Ticket<Done>, Refusal> {
        Ok(self.shards()?.submit_together(together))
    }

    /// Seals of the wallets' chains, oldest first.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub(crate) fn seals(&self, wanted: Wanted) -> Result<Ticket<Vec<(u16, Seal)>>, Refusal> {
        Ok(self.shards()?.seals(wanted.shard, wanted.after, wanted.seals_max))
    }

    /// The shards.
    ///
    /// # Errors
    /// Busy while they read their journals.
    pub(crate) fn shards(&self) -> Result<&Shards, Refusal> {
        self.opened.get().ok_or_else(|| {
            Refusal::busy(RETRY_AFTER, "the shards are not running yet: the journal is being read")
        })
    }
}

/// The seals that are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Of this shard; else of all.
    pub(crate) shard: Option<u16>,
    /// Numbered above this.
    pub(crate) after: u64,
    /// Of each shard at most so many.
    pub(crate) seals_max: usize,
}
