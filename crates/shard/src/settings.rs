//! Sizes and bounds of all shards of a process.

use std::path::PathBuf;

use stadium_queue::{Bounds, Place};

use crate::core::{CoreSettings, Kind, MachineBounds};
use crate::mailbox::Budget;

/// Journals that are synced at once, where the settings name no number: a device gains little by
/// more, and while the disk of some hangs the others go on.
const WRITERS_USUAL: usize = 8;

/// Segments that are made at once.
const MAKERS_MAX: usize = 4;

/// Where the journals and checkpoints of all shards of a process are.
#[derive(Debug, Clone)]
pub enum Storage {
    /// In files: one folder for each shard below this directory, which is made where it is missing.
    Files(PathBuf),
    /// In memory: all is lost when the process ends.
    Memory {
        /// Bytes of memory that the journal of one shard takes; then puts are refused as on a full
        /// disk. Checkpoints take as much as the state that they hold, up to three times. 1 GiB.
        bytes_max: u64,
    },
}

/// Sizes and bounds of all shards of a process. `in_directory` and `in_memory` give the usual ones.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where their data is.
    pub storage: Storage,
    /// How many, 1 to 1,024; fixed when the directory is made. As many as there are cores, at most 4.
    pub count: u16,
    /// Threads that drive the shards; 0 for as many as there are cores, and never more than shards. 0.
    pub threads: u16,
    /// Threads that write and sync the journals of all shards: so many syncs run at once. 0 for as
    /// many as there are shards, at most 8. 0.
    pub journal_threads: u16,
    /// The journals' sizes and bounds; the shard's number and how it is opened are filled in. Those
    /// of files and segments mean nothing in memory.
    pub journal: stadium_journal::Options,
    /// Bounds of the queues of one shard.
    pub bounds: Bounds,
    /// Bounds of the wallets of one shard.
    pub wallet: stadium_wallet::Bounds,
    /// Bounds of the push platform.
    pub push: stadium_push::Bounds,
    /// How many MQTT sessions and retained messages one shard may keep.
    pub session: stadium_session::Bounds,
    /// State machines beside those of Stadium.
    pub more_machines: Vec<Kind>,
    /// Commands that wait in a shard's mailbox at most; another one is answered Busy. 65,536.
    pub mailbox_commands_max: usize,
    /// Bytes of payloads that wait there at most; one command always fits. 64 MiB.
    pub mailbox_bytes_max: usize,
    /// Commands that wait in all mailboxes together at most. One always fits into each. 1,048,576.
    pub mailboxes_commands_max: usize,
    /// Bytes of payloads that wait in all of them together at most. 1 GiB.
    pub mailboxes_bytes_max: usize,
    /// Consumers of one shard that wait for a job at once. 100,000.
    pub waiting_max: usize,
    /// Bytes of journal after which a checkpoint is written, or so many as the last one had. 64 MiB.
    pub checkpoint_bytes: u64,
}

impl Settings {
    /// The usual ones, with so many shards in files.
    pub fn in_directory(directory: impl Into<PathBuf>, count: u16) -> Self {
        Self::usual(Storage::Files(directory.into()), count)
    }

    /// The usual ones, with so many shards in memory.
    pub fn in_memory(count: u16) -> Self {
        Self::usual(Storage::Memory { bytes_max: 1 << 30 }, count)
    }

    /// Threads that drive the shards.
    pub(crate) fn threads(&self) -> usize {
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => usize::from(threads),
        };
        threads.clamp(1, usize::from(self.count).max(1))
    }

    /// Threads of the journals: those that write, and those that make segments.
    pub(crate) fn journal_threads(&self) -> (usize, usize) {
        let count = usize::from(self.count).max(1);
        let writers = match self.journal_threads {
            0 => count.min(WRITERS_USUAL),
            threads => count.min(usize::from(threads)),
        };
        (writers, count.min(MAKERS_MAX))
    }

    /// The bound of all mailboxes together; none where those of each keep it.
    pub(crate) fn mailbox_budget(&self) -> Option<Budget> {
        let count = usize::from(self.count);
        let is_kept = count.saturating_mul(self.mailbox_commands_max) <= self.mailboxes_commands_max
            && count.saturating_mul(self.mailbox_bytes_max) <= self.mailboxes_bytes_max;
        (!is_kept).then(|| Budget::new(self.mailboxes_commands_max, self.mailboxes_bytes_max))
    }

    /// Those of one shard's core.
    pub(crate) fn core(&self, place: Place) -> CoreSettings {
        let usual = CoreSettings::for_shard(place);
        let history_keep_bytes = match self.storage {
            Storage::Files(_) => usual.history_keep_bytes,
            // Records for histories leave room for those that a recovery needs.
            Storage::Memory { bytes_max } => usual.history_keep_bytes.min(bytes_max / 4),
        };
        CoreSettings {
            bounds: MachineBounds {
                queue: self.bounds.clone(),
                wallet: self.wallet.clone(),
                push: self.push.clone(),
                session: self.session,
            },
            more_machines: self.more_machines.clone(),
            waiting_max: self.waiting_max,
            checkpoint_bytes: self.checkpoint_bytes,
            history_keep_bytes,
            ..usual
        }
    }

    fn usual(storage: Storage, count: u16) -> Self {
        Self {
            storage,
            count,
            threads: 0,
            journal_threads: 0,
            journal: stadium_journal::Options::default(),
            bounds: Bounds::default(),
            wallet: stadium_wallet::Bounds::default(),
            push: stadium_push::Bounds::default(),
            session: stadium_session::Bounds::default(),
            more_machines: Vec::new(),
            mailbox_commands_max: 65_536,
            mailbox_bytes_max: 64 << 20,
            mailboxes_commands_max: 1 << 20,
            mailboxes_bytes_max: 1 << 30,
            waiting_max: 100_000,
            checkpoint_bytes: 64 << 20,
        }
    }
}
