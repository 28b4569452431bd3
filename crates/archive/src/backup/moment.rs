//! The files from which a shard is restored to a moment: pure rules over manifests.
//!
//! Let A be the last backup whose moment is before the wanted one, and B the first whose moment is not.
//! The checkpoints of A have no record after the wanted moment, since they were listed before A's
//! moment. A shard keeps each segment until a backup names it. So the segments of A and B together
//! have each record up to the wanted moment, and each payload that was alive then.

use crate::{Error, Manifest, Segment, SegmentState};

/// Reads the time of a record from its body, milliseconds since 1970; `None` where it is of a version
/// that is not known.
pub type TimeOf = fn(&[u8]) -> Option<u64>;

/// The moment to which a server is restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// That of the newest backup.
    Newest,
    /// That of a backup.
    Backup(u64),
    /// The time: every record whose time is not later, milliseconds since 1970.
    At(u64),
    /// The time of the record at a position of a shard's journal, which is the last one.
    Record {
        /// The shard.
        shard: u16,
        /// The record's position.
        position: u64,
    },
}

/// The manifest from which a shard is written: `before` is that of backup A, `at` that of B. Where
/// the wanted moment is B's own, `before` is not needed.
///
/// # Errors
/// `NotCovered` where a segment between both is in neither, or its end is not: the server could not
/// keep it until a backup named it.
pub(super) fn together(before: Option<&Manifest>, at: &Manifest) -> Result<Manifest, Error> {
    let Some(before) = before else { return Ok(at.clone()) };
    if before.journal != at.journal {
        return Err(Error::Foreign(format!(
            "manifest {} of shard {} is of another journal than manifest {}",
            before.number, at.shard, at.number
        )));
    }
    let not_covered = |what: String| {
        Error::NotCovered(format!(
            "moments between two backups cannot be restored, only those of the backups: shard {}: {what}",
            at.shard
        ))
    };
    let mut segments: Vec<Segment> = at.segments.clone();
    for segment in &before.segments {
        match at.segments.iter().find(|later| later.number == segment.number) {
            Some(later) if later.seed == segment.seed => {}
            Some(_) => {
                return Err(Error::Damaged(format!(
                    "segment {} of shard {} is another one in manifest {} than in manifest {}",
                    segment.number, at.shard, before.number, at.number
                )));
            }
            // Records were appended to it after the earlier backup, and it went before the later
            // one.
            None if segment.state == SegmentState::Open => {
                return Err(not_covered(format!("the end of segment {} is missing", segment.number)));
            }
            None => segments.push(*segment),
        }
    }
    segments.sort_unstable_by_key(|segment| segment.number);
    let manifest = Manifest { checkpoints: before.checkpoints.clone(), segments, ..at.clone() };
    manifest.check().map_err(not_covered)?;
    Ok(manifest)
}

/// The places of backups A and B for a time, where the moments of all backups are known by their
/// place, oldest first. A is `None` where the time is B's own moment.
///
/// # Errors
/// `NotCovered`.
pub(super) fn around(moments: &[u64], time_ms: u64) -> Result<(Option<usize>, usize), Error> {
    let at = moments.partition_point(|moment| *moment < time_ms);
    match (moments.get(at), at.checked_sub(1)) {
        (Some(moment), _) if *moment == time_ms => Ok((None, at)),
        (Some(_), Some(before)) => Ok((Some(before), at)),
        _ => Err(Error::NotCovered(match (moments.first(), moments.last()) {
            (Some(first), Some(last)) => format!(
                "the backups reach from {first} to {last} (ms since 1970), which does not include {time_ms}"
            ),
            _ => "there is no backup".to_owned(),
        })),
    }
}
