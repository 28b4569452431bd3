//! Opening a mirror: up to which point its files are believed.
//!
//! A point is noted after a sync of all before it. The log is read again from there, so no torn
//! tail has to be judged. Frames behind the point were accepted too: the log must still have them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{Last, Point};
use crate::disk::Disk;
use crate::error::Damage;
use crate::file::recover::{CONTROL, own_header, read_control};
use crate::file::scan::{Scan, scan};
use crate::file::segments::{SegmentFile, Segments, segment_name, segment_number};
use crate::frame::SealReason;
use crate::header::{CONTROL_BYTES, HEADER_USED, Header, Slot};
use crate::{Epoch, Error, JournalId, Options, Position};

/// The segments with a whole header, by their bases.
type Found = BTreeMap<Position, (Header, u32)>;

/// The files as they were found.
pub(super) struct Opened {
    pub(super) segments: Segments,
    pub(super) left: Found,
    pub(super) known_end: Position,
    pub(super) last: Option<Last>,
    pub(super) end: Position,
    /// Which of the points it is.
    pub(super) chosen: usize,
}

fn failed(disk: &dyn Disk, doing: &str, error: &std::io::Error) -> Error {
    Error::io(format!("{doing} in {} failed", disk.place()), error)
}

/// Checks whose mirror it is, or makes it that of this journal. So the tools for journals know it.
pub(super) fn check_control(disk: &dyn Disk, shard: u32, id: JournalId) -> Result<(), Error> {
    let names = disk.list().map_err(|error| failed(disk, "listing the files", &error))?;
    // Segments without it may have been copied here.
    let has_control = names.iter().any(|name| name == CONTROL);
    let slot = if has_control { read_control(disk, &names)?.1 } else { None };
    if let Some(slot) = slot {
        if (slot.shard, slot.journal) != (shard, id) {
            return Err(Error::Foreign(format!(
                "{} mirrors journal {}, shard {}; not journal {id}, shard {shard}",
                disk.place(),
                slot.journal,
                slot.shard
            )));
        }
        return Ok(());
    }
    let (offset, bytes) = Slot { shard, journal: id, epoch: Epoch(1) }.encode();
    let write = || {
        let file = disk.create(CONTROL)?;
        file.write_at(&[0; CONTROL_BYTES], 0)?;
        file.write_at(&bytes, offset)?;
        file.sync()?;
        disk.sync_folder()
    };
    write().map_err(|error| failed(disk, "writing control", &error))
}

/// Opens the files at the first of the points that they reach. The checkpoint is the position from
/// which on no segment may be missing.
pub(super) fn open(
    disk: &Arc<dyn Disk>,
    options: &Options,
    id: JournalId,
    points: &[Point],
) -> Result<Opened, Error> {
    let found = load(&**disk, options.shard, id)?;
    let mut refused = Error::Corrupt(Damage {
        file: disk.place(),
        offset: 0,
        position: options.opening.checkpoint,
        what: "the mirror has no point to read on from".to_owned(),
    });
    for (chosen, point) in points.iter().enumerate() {
        match try_point(disk, &found, options, point)? {
            Ok(opened) => return Ok(Opened { chosen, ..opened }),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

/// Reads the headers of all segments. One without a valid header was never synced.
fn load(disk: &dyn Disk, shard: u32, id: JournalId) -> Result<Found, Error> {
    let names = disk.list().map_err(|error| failed(disk, "listing the files", &error))?;
    let mut found = Found::new();
    for name in &names {
        let Some(number) = segment_number(name) else { continue };
        let file = disk.open(name).map_err(|error| failed(disk, "opening a segment", &error))?;
        let mut bytes = [0; HEADER_USED];
        file.read_at(&mut bytes, 0).map_err(|error| failed(disk, "reading a segment", &error))?;
        if let Ok((header, seed)) = own_header(disk, name, &bytes, (shard, id, number))? {
            found.insert(header.base, (header, seed));
        }
    }
    Ok(found)
}

/// Opens the files at a point, or gives the reason for which they do not reach it.
fn try_point(
    disk: &Arc<dyn Disk>,
    found: &Found,
    options: &Options,
    point: &Point,
) -> Result<Result<Opened, Error>, Error> {
    let damage = |header: &Header, position: Position, what: &str| {
        Error::Corrupt(Damage {
            file: format!("{}/{}", disk.place(), segment_name(header.number)),
            offset: position.since(header.base),
            position,
            what: what.to_owned(),
        })
    };
    let mut last = None;
    let mut scanned = None;
    if let Some(segment) = &point.segment {
        let (header, seed) = Header::decode(&segment.header)
            .map_err(|wrong| Error::Foreign(format!("a noted segment header is invalid: {wrong}")))?;
        match found.get(&header.base) {
            Some((there, _)) if *there == header => {
                let scan = scan_of(disk, &header, seed)?;
                if scan.end < point.end {
                    return Ok(Err(damage(
                        &header,
                        scan.end,
                        "the mirror ends before a point that was noted",
                    )));
                }
                scanned = Some(scan);
            }
            Some(_) => {
                return Ok(Err(damage(&header, header.base, "the mirror has another segment there")));
            }
            // It was removed, or the mirror begins here.
            None => {}
        }
        last = Some(Last { header, seed, is_sealed: segment.is_sealed });
    }
    // Those of the point and before it; the log gives those behind it again.
    let before = |header: &Header| last.as_ref().is_some_and(|last| header.base <= last.header.base);
    let kept: Vec<(Header, u32)> = found.values().filter(|(header, _)| before(header)).copied().collect();
    if let Err(missing) = check_complete(&kept, options.opening.checkpoint, point) {
        let header = last.as_ref().map_or_else(
            || {
                Error::Corrupt(Damage {
                    file: disk.place(),
                    offset: 0,
                    position: missing,
                    what: "the segment of this position is missing".to_owned(),
                })
            },
            |last| damage(&last.header, missing, "an earlier segment is missing"),
        );
        return Ok(Err(header));
    }
    let mut left: Found = found.clone();
    let segments = Segments::new(Arc::clone(disk), options.open_segments_max);
    for (header, seed) in kept {
        left.remove(&header.base);
        let is_last = last.as_ref().is_some_and(|last| last.header.base == header.base);
        let file_bytes = file_bytes(disk, &header)?;
        let sealed_at = match (&last, is_last) {
            (Some(last), true) => last.is_sealed.then_some(point.end),
            _ => Some(header.base.plus(file_bytes)),
        };
        let segment = SegmentFile { header, seed, from_reserve: false };
        segments.add(Arc::new(segment), None, file_bytes, sealed_at);
    }
    let known_end = known_end(disk, &left, last.as_ref(), scanned.as_ref(), point)?;
    Ok(Ok(Opened { segments, left, known_end, last, end: point.end, chosen: 0 }))
}

/// Whether the segments from the checkpoint up to the point are all there; else a position that is
/// missing.
fn check_complete(kept: &[(Header, u32)], checkpoint: Position, point: &Point) -> Result<(), Position> {
    let mut reached = checkpoint;
    if checkpoint == Position::START && point.end > Position::START && kept.is_empty() {
        return Err(checkpoint);
    }
    for (header, _) in kept.iter().filter(|(header, _)| header.limit() > checkpoint) {
        if header.base > reached {
            break;
        }
        reached = reached.max(header.limit());
    }
    if reached < point.end { Err(reached) } else { Ok(()) }
}

/// After the last frame that the files have behind the point. It was accepted before.
fn known_end(
    disk: &Arc<dyn Disk>,
    left: &Found,
    last: Option<&Last>,
    scanned: Option<&Scan>,
    point: &Point,
) -> Result<Position, Error> {
    let (mut end, mut next) = match (last, scanned) {
        (Some(last), Some(scan)) => {
            (scan.end, (scan.sealed == Some(SealReason::Rotation)).then(|| last.header.limit()))
        }
        (Some(last), None) => (point.end, last.is_sealed.then(|| last.header.limit())),
        (None, _) => (point.end, Some(Position::START)),
    };
    while let Some((header, seed)) = next.and_then(|base| left.get(&base)) {
        let scan = scan_of(disk, header, *seed)?;
        if scan.end > header.first() {
            end = scan.end;
        }
        next = (scan.sealed == Some(SealReason::Rotation)).then(|| header.limit());
    }
    Ok(end)
}

fn scan_of(disk: &Arc<dyn Disk>, header: &Header, seed: u32) -> Result<Scan, Error> {
    let segment = SegmentFile { header: *header, seed, from_reserve: false };
    let file = disk.open(&segment.name()).map_err(|error| failed(&**disk, "opening a segment", &error))?;
    scan(&segment, &*file).map_err(|error| failed(&**disk, "reading a segment", &error))
}

fn file_bytes(disk: &Arc<dyn Disk>, header: &Header) -> Result<u64, Error> {
    let file = disk
        .open(&segment_name(header.number))
        .map_err(|error| failed(&**disk, "opening a segment", &error))?;
    let bytes = file.length().map_err(|error| failed(&**disk, "measuring a segment", &error))?;
    Ok(bytes.min(header.capacity))
}
