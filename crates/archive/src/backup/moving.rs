//! Moving segments whose records stay from a server's disk to its backups.
//!
//! The order keeps each record in a durable place. A backup names the segment as moved, so each
//! later one names it too and no removal takes its object. The object is read back and compared
//! with the file. The file `moved.json` names the segment, durably. Only then the shard may remove
//! its file. A process that ends in between begins the rest again with the next backup.

use std::path::Path;

use stadium_journal::inspect::Inspection;
use stadium_journal::{Position, SegmentNumber, shards};

use super::create::Inventory;
use super::files::hex;
use super::moment::TimeOf;
use super::record::Backup;
use crate::moved::{Moved, MovedSegment};
use crate::{Error, SegmentState};

/// Segments of a shard that one backup moves at most: the next backup waits until they are read
/// back.
pub const MOVED_AT_ONCE: usize = 16;

/// A segment that a shard keeps only for its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// Its number.
    pub number: SegmentNumber,
    /// After its last record.
    pub end: Position,
    /// Records from here on are in later segments.
    pub limit: Position,
}

/// The records that may move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closed {
    /// The record of a seal: those before it are in periods that it closed, or an earlier one.
    pub before: Position,
    /// They have earlier times, milliseconds since 1970.
    pub older_than_ms: u64,
}

/// The settled segments whose records are closed, oldest first, [`MOVED_AT_ONCE`] at most.
///
/// # Errors
/// `Journal`.
pub fn movable(
    data: &Path,
    shard: u16,
    settled: &[Settled],
    closed: Closed,
    time_of: TimeOf,
) -> Result<Vec<SegmentNumber>, Error> {
    let mut numbers = Vec::new();
    let settled = settled.iter().filter(|segment| segment.end <= closed.before).take(MOVED_AT_ONCE);
    let settled: Vec<_> = settled.collect();
    if settled.is_empty() {
        return Ok(numbers);
    }
    let journal = shards::folder(&data.join("shards"), shard).join("journal");
    let mut reader = Inspection::open(&journal)?.reader()?;
    for segment in settled {
        // The records of a segment are older than the first one behind it.
        reader.seek(segment.limit)?;
        let behind = reader.next()?.and_then(|record| time_of(record.body));
        if behind.is_none_or(|time_ms| time_ms >= closed.older_than_ms) {
            break;
        }
        numbers.push(segment.number);
    }
    Ok(numbers)
}

impl Inventory {
    /// Proves that the store has segments of a shard that a backup names as moved, and notes them
    /// in `moved.json` of the shard, with the URL of the store. Returns those that the shard may
    /// remove.
    ///
    /// # Errors
    /// `Damaged` where an object or a file is not what was stored: the segment stays on the disk.
    /// Of the store; `File`, `Journal`.
    pub async fn confirm_moved(
        &mut self,
        (data, url): (&Path, &str),
        backup: &Backup,
        shard: u16,
        segments: &[SegmentNumber],
    ) -> Result<Vec<SegmentNumber>, Error> {
        let of_shard = &backup.shards[usize::from(shard)];
        let Some(seal) = of_shard.seal.clone().filter(|_| !segments.is_empty()) else {
            return Ok(Vec::new());
        };
        let folder = shards::folder(&data.join("shards"), shard);
        let archive = &mut self.shards[usize::from(shard)];
        let manifest = archive.read(of_shard.manifest).await?;
        let mut confirmed = Vec::new();
        for segment in &manifest.segments {
            if segment.state != SegmentState::Moved || !segments.contains(&segment.number) {
                continue;
            }
            if !archive.read_back(&folder, segment).await? {
                continue;
            }
            confirmed.push(MovedSegment {
                number: segment.number.0,
                base: segment.base.0,
                limit: segment.base.plus(segment.capacity).0,
                bytes: segment.bytes,
                sha256: hex(&segment.copy.sha256),
                seal: seal.number,
                root: seal.root.clone(),
            });
        }
        let numbers = confirmed.iter().map(|segment| SegmentNumber(segment.number)).collect();
        let mut moved = Moved::read(&folder)?;
        moved.add(url, confirmed);
        moved.write(&folder)?;
        Ok(numbers)
    }
}
