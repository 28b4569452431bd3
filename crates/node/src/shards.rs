//! The shards of this node: opened, recovered, found by everybody else, and stopped.
//!
//! They are there once their journals are read. Until then whoever comes is told Busy, because nothing of what it asks
//! for can have happened.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stadium_queue::Command;
use stadium_rpc::Refusal;
use stadium_shard::core::Progress;
use stadium_shard::{Done, Error as ShardError, Settings as ShardSettings, Shards, Ticket, Together};
use stadium_wallet::Seal;

use crate::error::Error;
use crate::pushes;

/// When to come back to shards that are still reading.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// How often a recovery that takes long is told of.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The way to the shards. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ShardsDoor(Arc<OnceLock<Shards>>);

impl ShardsDoor {
    /// Opens the shards, and lets callers through once all have recovered. `tell` hears how far they are, in words.
    ///
    /// # Errors
    /// The first shard that cannot be opened; none is left running.
    pub(crate) fn open(
        &self,
        settings: ShardSettings,
        count: Count,
        tell: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Shards, Error> {
        let began = Instant::now();
        let recovery = Arc::new(Recovery { told: Mutex::new(began), tell: Box::new(tell) });
        let open = |settings| {
            let recovery = Arc::clone(&recovery);
            Shards::open(settings, move |shard, progress| recovery.heard(shard, progress))
        };
        let opened = match open(settings.clone()) {
            Err(ShardError::OtherShards { made_for, .. }) if count == Count::AsTheDirectorySays => {
                open(ShardSettings { count: made_for, ..settings })
            }
            opened => opened,
        };
        let shards = opened.map_err(|error| Error::Shards(error.to_string()))?;
        let jobs: u64 = shards.metrics().iter().map(|metrics| metrics.jobs).sum();
        let count = shards.metrics().len();
        tracing::info!(shards = count, jobs, took_ms = began.elapsed().as_millis(), "Shards are open");
        pushes::declare(&shards);
        // A node opens it once.
        let _ = self.0.set(shards.clone());
        Ok(shards)
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
        command: stadium_push::Command,
    ) -> Result<Ticket<stadium_push::Answer>, Refusal> {
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

    /// Lets consumers that wait for a job go, and nobody wait any more: the node is about to leave.
    pub(crate) fn stop_waiting(&self) {
        if let Some(shards) = self.0.get() {
            shards.stop_waiting();
        }
    }

    fn shards(&self) -> Result<&Shards, Refusal> {
        self.0.get().ok_or_else(|| {
            Refusal::busy(RETRY_AFTER, "the shards are not running yet: the journal is being read")
        })
    }

    /// Stops the shards, if they were opened: what they acknowledged is in their journals already.
    pub(crate) fn stop(&self, at_most: Duration) {
        if let Some(shards) = self.0.get()
            && !shards.stop(at_most)
        {
            tracing::warn!("Shards did not write their last checkpoints in time; the next start reads more");
        }
    }
}

/// Which seals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Of this shard; else of all.
    pub(crate) shard: Option<u16>,
    /// Numbered above this.
    pub(crate) after: u64,
    /// Of each shard at most so many.
    pub(crate) seals_max: usize,
}

/// Whether the number of shards was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// So many, or none.
    Asked,
    /// As many as the directory was made for.
    AsTheDirectorySays,
}

/// How far the shards are, told now and then.
struct Recovery {
    told: Mutex<Instant>,
    tell: Box<dyn Fn(String) + Send + Sync>,
}

impl Recovery {
    /// A shard's thread says how far it is.
    fn heard(&self, shard: u16, progress: Progress) {
        {
            let mut told = self.told.lock();
            if told.elapsed() < TELL_EVERY {
                return;
            }
            *told = Instant::now();
        }
        let words = match progress {
            Progress::Checkpoint { bytes, bytes_all } => {
                tracing::info!(shard, bytes, bytes_all, "Shard reads its checkpoint");
                let percent = bytes.saturating_mul(100) / bytes_all.max(1);
                format!("shard {shard} reads its checkpoint: {percent}%")
            }
            Progress::Records { records, bytes } => {
                tracing::info!(shard, records, bytes, "Shard reads its journal");
                format!("shard {shard} reads its journal: {records} records so far")
            }
        };
        (self.tell)(words);
    }
}
