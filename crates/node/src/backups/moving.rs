//! Which segments with records of wallets may move to the store, and how much did.
//!
//! A segment may move when its shard keeps it only for its records, when a seal closed their
//! periods before the backup's moment, and when they are old enough. The order of steps that loses
//! nothing is in `stadium_archive`.

use std::path::Path;

use stadium_archive::{Closed, Error, Moved, Settled, movable as movable_of};
use stadium_journal::{Position, SegmentNumber, shards as folders};
use stadium_shard::{Shards, record_time};

/// The segments of each shard that may move. `closed` is the record of the newest seal of each
/// shard; records from `older_than_ms` on stay.
pub(super) fn movable(
    shards: &Shards,
    data: &Path,
    closed: &[Option<Position>],
    older_than_ms: u64,
) -> Result<Vec<Vec<SegmentNumber>>, Error> {
    let of_shard = |(shard, closed): (u16, &Option<Position>)| {
        let (Some(before), Some(moves)) = (*closed, shards.moves(shard)) else { return Ok(Vec::new()) };
        let settled: Vec<Settled> = moves
            .settled()
            .into_iter()
            .map(|segment| Settled { number: segment.number, end: segment.end, limit: segment.limit })
            .collect();
        movable_of(data, shard, &settled, Closed { before, older_than_ms }, record_time)
    };
    (0..).zip(closed).map(of_shard).collect()
}

/// Bytes of the segments that are only in the store.
pub(super) fn moved_bytes(data: &Path, shards: u16) -> u64 {
    let of_shard = |shard| {
        let folder = folders::folder(&data.join("shards"), shard);
        let moved = Moved::read(&folder)?;
        Ok::<u64, Error>(moved.gone(&folder)?.iter().map(|segment| segment.bytes).sum())
    };
    let read = |shard| {
        of_shard(shard).unwrap_or_else(|error| {
            tracing::warn!(%error, shard, "It is not known how many segments of wallets are in the store");
            0
        })
    };
    (0..shards).map(read).sum()
}
