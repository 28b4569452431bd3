//! Segments whose records stay, and that an object store may have instead of the local disk.
//!
//! The shard names the segments that are kept for nothing but their records that stay. Another
//! thread stores them, reads them back, and orders their removal. The shard removes a segment only
//! if it still names it.

use std::sync::Arc;

use parking_lot::Mutex;
use stadium_journal::{Position, SegmentNumber};

/// Segments of a shard that may move to an object store. Clones share it: the thread that stores
/// them and the shard, which looks once a second.
#[derive(Debug, Clone, Default)]
pub struct SegmentMoves(Arc<Mutex<Option<Moves>>>);

#[derive(Debug, Default)]
struct Moves {
    settled: Vec<SettledSegment>,
    stored: Vec<SegmentNumber>,
}

/// A sealed segment that a recovery does not need and in which no payload is alive: it stays only
/// because people may look its records up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettledSegment {
    /// Its number.
    pub number: SegmentNumber,
    /// After its last record.
    pub end: Position,
    /// Records from here on are in later segments.
    pub limit: Position,
}

impl SegmentMoves {
    /// Has the shard name settled segments from now on.
    pub fn start(&self) {
        self.0.lock().get_or_insert_default();
    }

    /// The settled segments, oldest first, as the shard saw them last.
    #[must_use]
    pub fn settled(&self) -> Vec<SettledSegment> {
        self.0.lock().as_ref().map(|moves| moves.settled.clone()).unwrap_or_default()
    }

    /// Has the shard remove segments. The store was proved to have them: their bytes were read
    /// back, and every later backup names them.
    pub fn remove(&self, stored: &[SegmentNumber]) {
        if let Some(moves) = self.0.lock().as_mut() {
            moves.stored.retain(|number| !stored.contains(number));
            moves.stored.extend_from_slice(stored);
        }
    }

    /// Whether segments move at all.
    pub(super) fn is_on(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Names the settled segments. Returns those that are to be removed.
    pub(super) fn exchange(&self, settled: Vec<SettledSegment>) -> Vec<SegmentNumber> {
        let mut moves = self.0.lock();
        let Some(moves) = moves.as_mut() else { return Vec::new() };
        let stored = std::mem::take(&mut moves.stored);
        moves.settled = settled;
        moves.settled.retain(|segment| !stored.contains(&segment.number));
        stored
    }
}
