//! Going on without what is damaged.
//!
//! Nothing is destroyed: a file that is changed is kept under another name (`.damaged`). Whole
//! records keep their positions; the bytes between them become a gap, which readers step over.
//! Losses are listed.

use std::io;
use std::path::Path;

use crate::disk::{Disk, LockError};
use crate::file::recover::{CONTROL, read_control};
use crate::file::scan::scan;
use crate::file::segments::{SegmentFile, segment_name, segment_number};
use crate::folder::FolderDisk;
use crate::frame::{self, FRAME_ALIGN, Frame, NOTE_BYTES, NoFrame, SealNote, SealReason};
use crate::header::{HEADER_BYTES, HEADER_USED, Header, Slot};
use crate::inspect::read_header;
use crate::{Epoch, Error, Position, SegmentNumber};

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Repaired {
    /// What is lost, oldest first. Empty: nothing needed repairing, or only what held no records.
    pub lost: Vec<Lost>,
    /// Files as they were, under their new names.
    pub kept: Vec<String>,
    /// Files that were written anew.
    pub written: Vec<String>,
}

/// A range of positions whose records can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first position.
    pub from: Position,
    /// After the last one.
    pub until: Position,
    /// Why.
    pub what: String,
}

/// Repairs the journal in a folder, which nobody may have open. `checkpoint` is the newest checkpoint's position, or START.
///
/// The journal opens afterwards. [`Repaired::lost`] shows whether the shard can go on with the
/// rest: records before the checkpoint are payloads and history only.
///
/// # Errors
/// `InUse`, `Foreign`, `Full`, `Io`. The changes made until then stay, and repairing may be tried
/// again.
pub fn repair(folder: &Path, checkpoint: Position) -> Result<Repaired, Error> {
    let disk = FolderDisk::create(folder)
        .map_err(|error| Error::io(format!("cannot open {}", folder.display()), &error))?;
    repair_on(&disk, checkpoint)
}

/// Repairs a journal on any disk; see [`repair`].
///
/// # Errors
/// As for [`repair`].
pub fn repair_on(disk: &dyn Disk, checkpoint: Position) -> Result<Repaired, Error> {
    let _guard = disk.lock().map_err(|error| match error {
        LockError::Held(process) => Error::InUse { place: disk.place(), process },
        LockError::Io(error) => Error::io(format!("cannot lock {}", disk.place()), &error),
    })?;
    let mut work =
        Work { disk, done: Repaired::default(), slot: None, segments: Vec::new(), broken: Vec::new() };
    work.load()?;
    work.replace_missing(checkpoint)?;
    work.mend_segments(checkpoint)?;
    // A seal that was found behind damage may promise a segment that isn't there.
    work.broken.clear();
    work.replace_missing(checkpoint)?;
    work.done.lost.sort_by_key(|lost| lost.from);
    Ok(work.done)
}

struct Work<'a> {
    disk: &'a dyn Disk,
    done: Repaired,
    slot: Option<Slot>,
    /// Segments with a header.
    segments: Vec<(SegmentFile, u64)>,
    /// Files with a segment's name and no header, and their lengths.
    broken: Vec<(SegmentNumber, u64)>,
}

impl Work<'_> {
    fn failed(&self, doing: &str, error: &io::Error) -> Error {
        if crate::file::stock::is_full(error) {
            Error::Full
        } else {
            Error::io(format!("{doing} in {} failed", self.disk.place()), error)
        }
    }

    fn load(&mut self) -> Result<(), Error> {
        let names = self.disk.list().map_err(|error| self.failed("listing the files", &error))?;
        for name in &names {
            let Some(number) = segment_number(name) else { continue };
            match read_header(self.disk, name)? {
                Ok((header, seed, bytes)) if header.number == number => {
                    self.segments.push((SegmentFile { header, seed, from_reserve: false }, bytes));
                }
                _ => {
                    let length = self.disk.open(name).and_then(|file| file.length());
                    let length = length.map_err(|error| self.failed("measuring a segment", &error))?;
                    self.broken.push((number, length));
                }
            }
        }
        self.segments.sort_by_key(|(segment, _)| segment.header.number);
        let of_segments = self.segments.last().map(|(segment, _)| Slot {
            shard: segment.header.shard,
            journal: segment.header.journal,
            epoch: segment.header.epoch,
        });
        let slot = match (read_control(self.disk, &names), of_segments) {
            (Ok((_, Some(slot))), _) => slot,
            (Ok((_, None)), _) => {
                return Err(Error::Foreign(format!("{} holds no journal", self.disk.place())));
            }
            (Err(Error::Corrupt(_)), Some(slot)) => {
                let slot = Slot { epoch: Epoch(slot.epoch.0 + 1), ..slot };
                self.write_control(&names, slot)?;
                slot
            }
            (Err(Error::Corrupt(damage)), None) => {
                return Err(Error::Foreign(format!("{damage}; no segment identifies this journal")));
            }
            (Err(error), _) => return Err(error),
        };
        self.slot = Some(slot);
        Ok(())
    }

    fn write_control(&mut self, names: &[String], slot: Slot) -> Result<(), Error> {
        if names.iter().any(|name| name == CONTROL) {
            self.keep(CONTROL)?;
        }
        self.put(CONTROL, &slot.control())
    }

    /// Gives a file another name, under which nothing looks for it.
    fn keep(&mut self, name: &str) -> Result<(), Error> {
        for number in 0.. {
            let kept =
                if number == 0 { format!("{name}.damaged") } else { format!("{name}.damaged-{number}") };
            match self.disk.rename_new(name, &kept) {
                Ok(()) => {
                    self.done.kept.push(format!("{}/{kept}", self.disk.place()));
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed("keeping a damaged file", &error)),
            }
        }
        Ok(())
    }

    /// Writes a file whole, under another name first.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let making = format!("{name}.new");
        let write = || -> io::Result<()> {
            let file = self.disk.create(&making)?;
            file.write_at(bytes, 0)?;
            file.sync()?;
            self.disk.rename(&making, name)?;
            self.disk.sync_folder()
        };
        write().map_err(|error| self.failed("writing a file anew", &error))?;
        self.done.written.push(format!("{}/{name}", self.disk.place()));
        Ok(())
    }

    /// Puts sealed segments without records in the place of those that recovery would miss, and of those without a header.
    fn replace_missing(&mut self, checkpoint: Position) -> Result<(), Error> {
        let slot = self.slot.expect("it was read before");
        let mut wanted: Vec<(Header, &str)> = Vec::new();
        let header = |number, base, capacity| Header {
            shard: slot.shard,
            journal: slot.journal,
            number,
            base,
            capacity,
            epoch: slot.epoch,
        };
        let usual = self.segments.last().map_or(16 * HEADER_BYTES, |(segment, _)| segment.header.capacity);
        let why = |number: SegmentNumber| {
            let is_broken = self.broken.iter().any(|(broken, _)| *broken == number);
            if is_broken { "the segment's header can't be read" } else { "the segment is missing" }
        };
        let mut expected = (SegmentNumber(1), Position::START);
        for (index, (segment, _)) in self.segments.iter().enumerate() {
            let next = &segment.header;
            let is_needed = next.base > checkpoint;
            let mut count = next.number.0.saturating_sub(expected.0.0);
            let is_any_broken =
                (0..count).any(|step| self.broken.iter().any(|(number, _)| number.0 == expected.0.0 + step));
            if index == 0 && checkpoint > Position::START && is_needed && !is_any_broken && count > 1 {
                // Those before the checkpoint were removed on purpose: one from the checkpoint on is enough.
                let page = checkpoint.0 / HEADER_BYTES * HEADER_BYTES;
                expected = (SegmentNumber(next.number.0 - 1), Position(page.saturating_sub(HEADER_BYTES)));
                count = 1;
            }
            if count > 0 && (is_needed || is_any_broken) && next.base > expected.1 {
                // Several that are missing share the positions between their neighbours.
                let room = next.base.since(expected.1) / HEADER_BYTES * HEADER_BYTES;
                let each = (room / count / HEADER_BYTES * HEADER_BYTES).max(2 * HEADER_BYTES);
                for step in 0..count {
                    let base = expected.1.plus(step * each);
                    let capacity = if step + 1 == count { next.base.since(base) } else { each };
                    let number = SegmentNumber(expected.0.0 + step);
                    wanted.push((header(number, base, capacity), why(number)));
                }
            }
            expected = (SegmentNumber(next.number.0 + 1), next.limit());
        }
        // Behind the last one: the part without a header, records that a seal promises, and those
        // that the checkpoint has seen.
        let last_is_sealed = match self.segments.last() {
            Some((segment, _)) => self.scan(segment)?.sealed == Some(SealReason::Rotation),
            None => false,
        };
        let broken_last = self.broken.iter().map(|(number, _)| *number).max();
        while broken_last.is_some_and(|last| last >= expected.0)
            || (last_is_sealed && wanted.last().is_none_or(|(last, _)| last.number < expected.0) && {
                self.segments.last().is_some_and(|(segment, _)| segment.header.number.0 + 1 == expected.0.0)
            })
            || checkpoint > expected.1
        {
            let capacity =
                usual.max(checkpoint.since(expected.1).next_multiple_of(HEADER_BYTES) + HEADER_BYTES);
            let made = header(expected.0, expected.1, capacity);
            wanted.push((made, why(expected.0)));
            expected = (SegmentNumber(made.number.0 + 1), made.limit());
        }
        for (made, what) in wanted {
            let what = what.to_owned();
            let name = segment_name(made.number);
            if self.broken.iter().any(|(number, _)| *number == made.number) {
                self.keep(&name)?;
            }
            let mut bytes = made.encode();
            let used: &[u8; HEADER_USED] = bytes.first_chunk().expect("a page is longer");
            let (_, seed) = Header::decode(used).map_err(|wrong| Error::Setting(wrong.to_string()))?;
            end_with(&mut bytes, &made, seed, made.first(), checkpoint);
            self.put(&name, &bytes)?;
            self.done.lost.push(Lost { from: made.first(), until: made.limit(), what });
            let length = bytes.len() as u64;
            self.segments.push((SegmentFile { header: made, seed, from_reserve: false }, length));
        }
        self.segments.sort_by_key(|(segment, _)| segment.header.number);
        Ok(())
    }

    fn scan(&self, segment: &SegmentFile) -> Result<crate::file::scan::Scan, Error> {
        let scan = self.disk.open(&segment.name()).and_then(|file| scan(segment, &*file));
        scan.map_err(|error| self.failed("reading a segment", &error))
    }

    /// Bridges what can't be read within segments.
    fn mend_segments(&mut self, checkpoint: Position) -> Result<(), Error> {
        let mut scans = Vec::new();
        for (segment, _) in &self.segments {
            scans.push(self.scan(segment)?);
        }
        let proof = scans.iter().map(|scan| scan.proof).max().unwrap_or_default().max(checkpoint);
        let mut segments = std::mem::take(&mut self.segments);
        let mut left = segments.len();
        for (index, ((segment, length), found)) in segments.iter().zip(&scans).enumerate() {
            let header = &segment.header;
            let is_followed = segments[index + 1..]
                .iter()
                .zip(&scans[index + 1..])
                .any(|((later, _), scan)| scan.end > later.header.first());
            let is_proven = proof > found.end && proof > header.first();
            let is_cut = *length < header.capacity;
            let is_short = found.sealed.is_none() && (is_followed || is_cut || is_proven);
            if !is_short {
                continue;
            }
            let name = segment.name();
            let is_promised = index > 0 && scans[index - 1].sealed == Some(SealReason::Rotation);
            if !is_followed && !is_proven && found.end == header.first() && !is_promised {
                // Nothing is in it, nor in those after it, and no seal states that they exist. The
                // bytes that were cut off are not known.
                for (empty, length) in &segments[index..] {
                    let header = &empty.header;
                    if *length < header.capacity {
                        let what = "the file was cut; it may have held records".to_owned();
                        self.done.lost.push(Lost { from: header.first(), until: header.limit(), what });
                    }
                    self.keep(&empty.name())?;
                }
                left = index;
                break;
            }
            let mut bytes = vec![0; usize::try_from(*length).expect("a segment fits in memory")];
            let read = self.disk.open(&name).and_then(|file| file.read_at(&mut bytes, 0));
            let read = read.map_err(|error| self.failed("reading a segment", &error))?;
            bytes.truncate(read);
            // The greatest position in this segment that must be before its end.
            let is_whole = !(is_followed || is_cut || proof > header.limit());
            self.mend(segment, &mut bytes, found.end, is_whole.then_some(proof));
            self.keep(&name)?;
            self.put(&name, &bytes)?;
        }
        segments.truncate(left);
        self.segments = segments;
        Ok(())
    }

    /// `least`: where the last records are known to have ended; nothing if they may have gone on to the segment's limit.
    fn mend(
        &mut self,
        segment: &SegmentFile,
        bytes: &mut Vec<u8>,
        damaged: Position,
        least: Option<Position>,
    ) {
        let what = "the checksum is wrong, or the bytes are not there";
        let offset = |position| usize::try_from(segment.offset(position)).expect("a segment fits in memory");
        let mut at = damaged;
        loop {
            // To the next thing that is no frame.
            let step = match frame::decode(segment.seed, at, bytes.get(offset(at)..).unwrap_or_default()) {
                Ok((Frame::Seal(_), _)) => return,
                Ok((Frame::Gap(until), _)) => Some(until),
                Ok((Frame::Batch(note), used)) if note.bytes == 0 => {
                    least.is_some_and(|least| at < least).then_some(at.plus(used as u64))
                }
                Ok((_, used)) => Some(at.plus(used as u64)),
                Err(NoFrame::Short(_) | NoFrame::Invalid | NoFrame::Unknown(_)) => None,
            };
            if let Some(next) = step {
                at = next;
                continue;
            }
            let found = (offset(at) + FRAME_ALIGN..bytes.len()).step_by(FRAME_ALIGN).find(|from| {
                let position = segment.header.base.plus(*from as u64);
                frame::decode(segment.seed, position, &bytes[*from..]).is_ok()
            });
            let Some(found) = found else { break };
            let next = segment.header.base.plus(found as u64);
            let gap = frame::gap(segment.seed, at, next);
            if found - offset(at) < gap.len() {
                // Too narrow for a gap: the frame after it goes as well.
                bytes[found..found + FRAME_ALIGN].fill(0);
                continue;
            }
            bytes[offset(at)..offset(at) + gap.len()].copy_from_slice(&gap);
            self.done.lost.push(Lost { from: at, until: next, what: what.to_owned() });
            at = next;
        }
        let until = least.unwrap_or(segment.header.limit());
        if until > at {
            self.done.lost.push(Lost { from: at, until, what: what.to_owned() });
        }
        bytes.resize(offset(at), 0);
        end_with(bytes, &segment.header, segment.seed, at, least.unwrap_or_default());
    }
}

/// Ends a segment at `at`, or after a gap up to `least` if that is later and in it.
fn end_with(bytes: &mut Vec<u8>, header: &Header, seed: u32, at: Position, least: Position) {
    let last = header.base.plus((header.capacity - NOTE_BYTES as u64) & !(FRAME_ALIGN as u64 - 1));
    let mut end = at.min(last);
    let least = Position(least.0.next_multiple_of(FRAME_ALIGN as u64));
    if least > end.plus(frame::GAP_BYTES as u64) && least <= header.limit() {
        let until = least.min(last);
        bytes.extend_from_slice(&frame::gap(seed, end, until));
        let until_offset = usize::try_from(until.since(header.base)).expect("a segment fits in memory");
        bytes.resize(until_offset, 0);
        end = until;
    }
    // It claims nothing: what it follows is known from the other frames.
    let note = SealNote { durable: Position::START, reason: SealReason::Recovery };
    bytes.extend_from_slice(&frame::seal(seed, end, note));
}
