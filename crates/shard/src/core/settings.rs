//! Sizes and bounds of one shard.
//!
//! A driver fills them in from the server's configuration; the core never changes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use stadium_journal::Position;
use stadium_state_machine::{Milliseconds, Place};

use super::composition::bounds::MachineBounds;
use super::kinds::Kind;
use super::moves::SegmentMoves;
use super::ports::NodeLease;

/// Sizes and bounds of one shard. `for_shard` gives the usual ones.
#[derive(Debug, Clone)]
pub struct CoreSettings {
    /// Which shard of how many.
    pub place: Place,
    /// Bounds of its state machines.
    pub bounds: MachineBounds,
    /// State machines beside those. A journal that has records of one can be read by shards only
    /// that have it.
    pub more_machines: Vec<Kind>,
    /// Where its random numbers start; retries' jitter comes from them. Decisions are in the
    /// journal, so it may differ at each start.
    pub seed: u64,
    /// Commands that wait for an item at once; another one is answered Busy. About 200 bytes each.
    /// 100,000.
    pub waiting_max: usize,
    /// Commands that one turn takes on, so that answers of the last batch do not wait for it too
    /// long. 1,024.
    pub turn_commands_max: usize,
    /// Jobs in the commands that one turn takes on, the last command's excess aside: about a third
    /// of a millisecond. 512.
    ///
    /// Between turns answers leave and the next commit begins.
    pub turn_jobs_max: usize,
    /// Events of time (leases that end, ...) that one turn takes on. 1,024.
    pub turn_events_max: u32,
    /// Bytes of journal after which a checkpoint is written, or so many as the last checkpoint had,
    /// if that is more. 64 MiB.
    ///
    /// More means less written in all, and a longer recovery.
    pub checkpoint_bytes: u64,
    /// Bytes of a checkpoint that one turn encodes: about a fifth of a millisecond. 64 KiB.
    pub checkpoint_slice_bytes: usize,
    /// Where checkpoints are written.
    pub checkpoint_writer: CheckpointWriting,
    /// Allows checkpoints to be written at once, together with other shards.
    pub checkpoint_permits: CheckpointPermits,
    /// A segment with a smaller part of it alive, in percent, is rewritten. 25.
    pub rewrite_below_percent: u8,
    /// Bytes of payloads that one turn rewrites. 256 KiB.
    pub rewrite_slice_bytes: usize,
    /// Bytes of segments in which nothing is alive that are kept all the same, for histories of
    /// finished jobs; none while the disk is full. 256 MiB.
    pub history_keep_bytes: u64,
    /// The segments that a backup has yet to store: they stay although nothing in them is alive.
    pub hold: SegmentHold,
    /// Bytes of such segments at most; then the oldest go, and moments between two backups cannot be
    /// restored. None stay while the disk is full. 4 GiB.
    pub hold_bytes_max: u64,
    /// Which segments may move to an object store. None do, unless it is started.
    pub moves: SegmentMoves,
    /// Bytes of a log without segments that are accounted for together. Fewer are given back
    /// earlier, and make more accounts, which are looked at every second. 1 MiB.
    pub stretch_bytes: u64,
    /// Bytes of records that a history reads at most; older ones are left out. 16 MiB.
    pub history_bytes_max: usize,
    /// How long callers wait for a commit; then they hear that the outcome is unknown, and the
    /// shard is busy until the commit is through. None: as long as it takes, where the log is on a
    /// disk of this machine.
    pub commit_wait: Option<Milliseconds>,
    /// After so long without a confirmation a message is sent to its shard again: it may be lost. Where
    /// another process has that shard, links lose messages too. 10 s.
    pub confirmed_within: Milliseconds,
    /// The lease of this node: while it is uncertain, answers from memory wait for a commit. None: no
    /// other node can own the shard.
    pub lease: Option<Arc<dyn NodeLease>>,
    /// How long after a failure of the journal it is opened again; doubled up to 16 times so long.
    /// 100 ms.
    pub reopen_after: Milliseconds,
    /// A stopwatch: microseconds since an arbitrary time. Metrics, lengths of slices and
    /// `commit_wait` depend on it.
    pub stopwatch: fn() -> u64,
}

/// Which segments of a shard stay for a backup. Clones share it: the thread that stores backups moves
/// it on, and the shard reads it once a second.
#[derive(Debug, Clone)]
pub struct SegmentHold(Arc<AtomicU64>);

impl SegmentHold {
    /// Segments with records from this position on stay; those before it are stored.
    pub fn from(&self, stored: Position) {
        self.0.store(stored.0, Ordering::Relaxed);
    }

    /// Whether a segment that ends there stays.
    pub(super) fn holds(&self, end: Position) -> bool {
        end.0 > self.0.load(Ordering::Relaxed)
    }
}

impl Default for SegmentHold {
    /// It holds nothing.
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }
}

/// Where checkpoints are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointWriting {
    /// By a thread of their own, so that no turn waits for the disk.
    OwnThread,
    /// Within the turn: for a simulator, which has no threads.
    InTurn,
}

/// How many checkpoints may be written at once by all shards that have a clone of it.
#[derive(Debug, Clone)]
pub struct CheckpointPermits(Arc<AtomicUsize>);

impl CheckpointPermits {
    /// So many.
    #[must_use]
    pub fn new(checkpoints_max: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(checkpoints_max)))
    }

    /// The right to write one, until it is dropped; none where as many as may are being written.
    pub(super) fn take(&self) -> Option<CheckpointPermit> {
        let one_less = |left: usize| left.checked_sub(1);
        let taken = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        taken.is_ok().then(|| CheckpointPermit(Arc::clone(&self.0)))
    }
}

/// The right to write a checkpoint.
pub(super) struct CheckpointPermit(Arc<AtomicUsize>);

impl Drop for CheckpointPermit {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

impl CoreSettings {
    /// The usual ones.
    pub fn for_shard(place: Place) -> Self {
        Self {
            place,
            bounds: MachineBounds::default(),
            more_machines: Vec::new(),
            seed: place.hash_seed,
            waiting_max: 100_000,
            turn_commands_max: 1_024,
            turn_jobs_max: 512,
            turn_events_max: 1_024,
            checkpoint_bytes: 64 << 20,
            checkpoint_slice_bytes: 64 << 10,
            checkpoint_writer: CheckpointWriting::OwnThread,
            checkpoint_permits: CheckpointPermits::new(usize::MAX),
            rewrite_below_percent: 25,
            rewrite_slice_bytes: 256 << 10,
            history_keep_bytes: 256 << 20,
            hold: SegmentHold::default(),
            hold_bytes_max: 4 << 30,
            moves: SegmentMoves::default(),
            stretch_bytes: 1 << 20,
            history_bytes_max: 16 << 20,
            commit_wait: None,
            confirmed_within: 10_000,
            lease: None,
            reopen_after: 100,
            stopwatch: stopped,
        }
    }
}

fn stopped() -> u64 {
    0
}
