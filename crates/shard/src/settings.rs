//! Sizes and bounds of all shards of a process.
//!
//! Where there are many, each has its part of what the whole node may have ([`NodeBudget`]).

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

/// What the journals of all shards of a node have together. A shard has an equal part of each, where
/// that is less than its own setting: with the usual settings from 17 shards on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeBudget {
    /// Bytes of disk that empty segments and reserves take: of each shard the segment that is written,
    /// the next one, and the reserve. 2.25 GiB.
    pub preallocated_bytes: u64,
    /// Bytes of memory for the newest records, and for those that are not yet durable. 384 MiB.
    pub memory_bytes: u64,
    /// Bytes of journal after which checkpoints are written: a recovery reads at most about as many
    /// for all shards. 1 GiB.
    pub recovery_bytes: u64,
    /// Segments whose files are kept open to be read. 4,096.
    pub open_segments: usize,
}

impl Default for NodeBudget {
    fn default() -> Self {
        Self {
            preallocated_bytes: 2_304 << 20,
            memory_bytes: 384 << 20,
            recovery_bytes: 1 << 30,
            open_segments: 4_096,
        }
    }
}

/// The smallest segment that a budget makes, bytes.
const SEGMENT_BYTES_MIN: u64 = 1 << 20;

/// The smallest reserve, bytes: the journal's own bound.
const RESERVE_BYTES_MIN: u64 = 64 << 10;

/// The least memory for the newest records, and for those that are not yet durable, bytes.
const MEMORY_BYTES_MIN: u64 = 64 << 10;

/// The least journal after which a checkpoint is written, bytes.
const CHECKPOINT_BYTES_MIN: u64 = 1 << 20;

/// Segments that each shard may keep open at least: a payload is then read with a descriptor of its own.
const OPEN_SEGMENTS_MIN: usize = 4;

/// Segments in which nothing is alive that all shards keep for histories, bytes.
const HISTORY_BYTES: u64 = 4 << 30;

/// Descriptors of a shard: its folders with what they hold in reserve (6), the lock, `control`, the
/// segment that is written and the next one, a checkpoint and the one before.
const DESCRIPTORS: u64 = 12;

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
    /// Disk and memory that the journals of all shards have together.
    pub budget: NodeBudget,
    /// Commands that wait in all mailboxes together at most. One always fits into each. 1,048,576.
    pub mailboxes_commands_max: usize,
    /// Bytes of payloads that wait in all of them together at most. 1 GiB.
    pub mailboxes_bytes_max: usize,
    /// Consumers of one shard that wait for a job at once. 100,000.
    pub waiting_max: usize,
    /// Bytes of journal after which a checkpoint is written, or so many as the last one had. 64 MiB.
    pub checkpoint_bytes: u64,
    /// Bytes of dead segments of all shards that stay until a backup has stored them, see
    /// [`crate::Shards::hold_segments`]. 4 GiB.
    pub hold_bytes_max: u64,
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

    /// The options of each shard's journal, or of its mirror on a node of a cluster: those of the
    /// settings, or its part of the node's budget.
    pub fn journal_options(&self) -> stadium_journal::Options {
        let (journal, budget, count) = (&self.journal, &self.budget, u64::from(self.count.max(1)));
        let (segment_bytes, reserve_bytes) = (journal.segment_bytes, journal.reserve_bytes);
        let disk = Share::of(budget.preallocated_bytes / count, 2 * segment_bytes + reserve_bytes);
        let (tail_bytes, waiting_bytes) = (journal.tail_bytes as u64, journal.waiting_bytes_max as u64);
        let memory = Share::of(budget.memory_bytes / count, tail_bytes + waiting_bytes);
        let pages = |bytes: u64, least: u64| (bytes & !4_095).max(least);
        let open_segments = budget.open_segments / self.count.max(1) as usize;
        stadium_journal::Options {
            segment_bytes: disk.part(segment_bytes, |bytes| pages(bytes, SEGMENT_BYTES_MIN)),
            reserve_bytes: disk.part(reserve_bytes, |bytes| pages(bytes, RESERVE_BYTES_MIN)),
            spares_max: if disk.is_whole() { journal.spares_max } else { journal.spares_max.min(1) },
            tail_bytes: if memory.is_whole() {
                // So it never grows.
                journal.tail_bytes.max(journal.waiting_bytes_max + 2 * journal.record_bytes_max)
            } else {
                memory.part(tail_bytes, |bytes| bytes.max(MEMORY_BYTES_MIN)) as usize
            },
            waiting_bytes_max: memory.part(waiting_bytes, |bytes| bytes.max(MEMORY_BYTES_MIN)) as usize,
            open_segments_max: journal.open_segments_max.min(open_segments.max(OPEN_SEGMENTS_MIN)),
            ..journal.clone()
        }
    }

    /// Bytes of disk that the empty journals of all shards take; none in memory.
    #[must_use]
    pub fn preallocated_bytes(&self) -> u64 {
        match self.storage {
            Storage::Files(_) => {
                let each = self.journal_options();
                u64::from(self.count) * (2 * each.segment_bytes + each.reserve_bytes)
            }
            Storage::Memory { .. } => 0,
        }
    }

    /// File descriptors that all shards may hold at once; none in memory.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        match self.storage {
            Storage::Files(_) => {
                let open_segments = self.journal_options().open_segments_max as u64;
                u64::from(self.count) * (DESCRIPTORS + open_segments)
            }
            Storage::Memory { .. } => 0,
        }
    }

    /// File descriptors that all shards hold in any case; none in memory.
    pub(crate) fn descriptors_min(&self) -> u64 {
        match self.storage {
            Storage::Files(_) => u64::from(self.count) * DESCRIPTORS,
            Storage::Memory { .. } => 0,
        }
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
        let count = u64::from(self.count.max(1));
        let checkpoint_bytes = (self.budget.recovery_bytes / count).max(CHECKPOINT_BYTES_MIN);
        CoreSettings {
            bounds: MachineBounds {
                queue: self.bounds.clone(),
                wallet: self.wallet.clone(),
                push: self.push.clone(),
                session: self.session,
            },
            more_machines: self.more_machines.clone(),
            waiting_max: self.waiting_max,
            checkpoint_bytes: self.checkpoint_bytes.min(checkpoint_bytes),
            history_keep_bytes: history_keep_bytes.min(HISTORY_BYTES / count),
            hold_bytes_max: self.hold_bytes_max / count,
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
            budget: NodeBudget::default(),
            mailboxes_commands_max: 1 << 20,
            mailboxes_bytes_max: 1 << 30,
            waiting_max: 100_000,
            checkpoint_bytes: 64 << 20,
            hold_bytes_max: 4 << 30,
        }
    }
}

/// A shard's part of what all have, where that is less than it asks for.
#[derive(Clone, Copy)]
struct Share {
    has: u64,
    asked: u64,
}

impl Share {
    fn of(has: u64, asked: u64) -> Self {
        Self { has, asked }
    }

    fn is_whole(self) -> bool {
        self.asked <= self.has
    }

    /// As much of one thing as it has of all, made a size that is possible, and never more than it
    /// asked for.
    fn part(self, asked: u64, possible: impl Fn(u64) -> u64) -> u64 {
        if self.is_whole() {
            return asked;
        }
        let part = u128::from(asked) * u128::from(self.has) / u128::from(self.asked);
        possible(part as u64).min(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    fn usual(count: u16) -> Settings {
        Settings::in_directory("data", count)
    }

    #[test]
    fn few_shards_have_what_the_settings_say() {
        for count in [1, 4, 16] {
            let settings = usual(count);
            let (each, asked) = (settings.journal_options(), &settings.journal);
            assert_eq!(each.segment_bytes, asked.segment_bytes);
            assert_eq!(each.reserve_bytes, asked.reserve_bytes);
            assert_eq!(each.waiting_bytes_max, asked.waiting_bytes_max);
            assert_eq!(
                (each.spares_max, each.open_segments_max),
                (asked.spares_max, asked.open_segments_max)
            );
            assert_eq!(each.tail_bytes, 26 << 20, "what may wait, and two records");
            assert!(settings.mailbox_budget().is_none(), "{count} mailboxes cannot exceed it");
            let core = settings.core(stadium_queue::Place { shard: 0, shards: count, hash_seed: 0 });
            assert_eq!((core.checkpoint_bytes, core.history_keep_bytes), (64 << 20, 256 << 20));
        }
    }

    #[test]
    fn many_shards_stay_within_the_budgets() {
        for count in [17, 64, 100, 1_000, 1_024] {
            let settings = usual(count);
            let (each, budget, shards) = (settings.journal_options(), settings.budget, u64::from(count));
            assert!(settings.preallocated_bytes() <= budget.preallocated_bytes, "{count}");
            assert!(shards * (each.tail_bytes + each.waiting_bytes_max) as u64 <= budget.memory_bytes);
            assert!(settings.descriptors() <= shards * 12 + budget.open_segments as u64, "{count}");
            assert!(each.segment_bytes.is_multiple_of(4_096) && each.reserve_bytes.is_multiple_of(4_096));
            assert!(settings.mailbox_budget().is_some());
        }
        let each = usual(1_024).journal_options();
        assert_eq!((each.segment_bytes, each.reserve_bytes), (1 << 20, 256 << 10));
        assert_eq!((each.tail_bytes, each.waiting_bytes_max), (256 << 10, 128 << 10));
    }

    #[test]
    fn a_shard_never_has_more_than_the_settings_say() {
        let mut settings = usual(1_024);
        settings.journal.segment_bytes = 64 << 10;
        settings.journal.reserve_bytes = 64 << 10;
        settings.budget.preallocated_bytes = 0;
        let each = settings.journal_options();
        assert_eq!((each.segment_bytes, each.reserve_bytes), (64 << 10, 64 << 10));
    }

    #[test]
    fn threads_are_as_many_as_make_sense() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(usual(1).threads(), 1);
        assert_eq!(usual(1_024).threads(), cores);
        assert_eq!(Settings { threads: 5, ..usual(3) }.threads(), 3);
        assert_eq!((usual(1).journal_threads(), usual(1_024).journal_threads()), ((1, 1), (8, 4)));
        assert_eq!(Settings { journal_threads: 2, ..usual(1_024) }.journal_threads(), (2, 4));
    }
}
