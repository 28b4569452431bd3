//! Opening a journal: which process may write, where the log ends, and the bytes after that end.
//!
//! The reasoning is in docs/formats/journal.md, "Opening: torn or corrupt": nothing that was durable is cut, nothing that wasn't is
//! believed before it is. Until the new segment exists, doing all of it again after a crash gives the same.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, LockError, LockGuard};
use crate::file::scan::{Scan, scan};
use crate::file::segments::{SegmentFile, Segments, segment_name, segment_number};
use crate::file::stock::{Made, RESERVE, Replace, Stock, is_full};
use crate::frame::{self, NOTE_BYTES, SealNote, SealReason};
use crate::header::{CONTROL_BYTES, HEADER_BYTES, HEADER_USED, Header, NotOurs, Slot};
use crate::{Damage, Epoch, Error, Holder, JournalId, Options, Position, SegmentNumber};

/// The file that names the writer that may write.
pub(crate) const CONTROL: &str = "control";

/// A journal that may be appended to.
pub(crate) struct Recovered {
    pub(crate) guard: Option<LockGuard>,
    pub(crate) control: Arc<dyn DiskFile>,
    pub(crate) id: JournalId,
    pub(crate) epoch: Epoch,
    pub(crate) segments: Segments,
    pub(crate) stock: Stock,
    /// The new segment.
    pub(crate) current: Made,
    /// After the last record.
    pub(crate) end: Position,
    /// After the last frame of the previous writer; all of it is durable.
    pub(crate) durable: Position,
    pub(crate) cut_bytes: u64,
}

/// A segment whose header was read.
pub(crate) struct Loaded {
    pub(crate) segment: Arc<SegmentFile>,
    pub(crate) file_bytes: u64,
}

/// The end of the log, as it was found.
struct Tail {
    /// How many of the loaded segments hold something; those after them are empty.
    used: usize,
    /// The scan of the last of them.
    last: Option<Scan>,
    /// All before it was durable for certain.
    proof: Position,
}

/// Opens a journal, or makes it.
pub(crate) fn recover(disk: &Arc<dyn Disk>, options: &Options) -> Result<Recovered, Error> {
    let guard = match disk.lock() {
        Ok(guard) => Some(guard),
        Err(LockError::Held(_)) if options.opening.holder == Holder::Fence => None,
        Err(LockError::Held(process)) => return Err(Error::InUse { place: disk.place(), process }),
        Err(LockError::Io(error)) => {
            return Err(Error::io(format!("cannot lock {}", disk.place()), &error));
        }
    };
    let mut names = list(&**disk)?;
    let (control, slot) = take_epoch(&**disk, &names, options.shard)?;
    if options.opening.holder == Holder::Fence {
        // The files as the older writer left them, after it can't acknowledge anything more.
        names = list(&**disk)?;
    }
    // A name that only the page cache has may go with the power, while others that build on it stay.
    disk.sync_folder().map_err(|error| on(&**disk, "syncing the folder", &error))?;
    clear(&**disk, &mut names, options.opening.holder).map_err(|error| on(&**disk, "cleaning", &error))?;
    let loaded = load(&**disk, &names, &slot)?;
    check_complete(&**disk, &loaded, options.opening.checkpoint)?;
    let tail = find_tail(&**disk, &loaded, options.opening.checkpoint)?;
    let mut stock = Stock::new(Arc::clone(disk), options, slot.journal, slot.epoch, &names)
        .map_err(|error| on(&**disk, "looking at spares", &error))?;

    let segments = Segments::new(Arc::clone(disk), options.open_segments_max);
    let mut recovered = Ends::default();
    for (index, one) in loaded[..tail.used].iter().enumerate() {
        let mut file_bytes = one.file_bytes;
        let mut sealed_at = one.segment.header.base.plus(one.file_bytes);
        if let Some(last) = tail.last.as_ref().filter(|_| index + 1 == tail.used) {
            recovered = mend(&**disk, &one.segment, last, tail.proof, options, slot.epoch)?;
            sealed_at = recovered.durable;
            file_bytes = recovered.file_bytes;
        }
        segments.add(Arc::clone(&one.segment), None, file_bytes, Some(sealed_at));
    }
    let current = begin(&**disk, &loaded, &tail, &mut stock, options.opening.holder)?;
    let capacity = current.segment.header.capacity;
    segments.add(Arc::clone(&current.segment), Some(Arc::clone(&current.file)), capacity, None);
    let Ends { end, durable, cut_bytes, .. } = recovered;
    let (id, epoch) = (slot.journal, slot.epoch);
    Ok(Recovered { guard, control, id, epoch, segments, stock, current, end, durable, cut_bytes })
}

fn on(disk: &dyn Disk, doing: &str, error: &io::Error) -> Error {
    if is_full(error) { Error::Full } else { Error::io(format!("{doing} in {} failed", disk.place()), error) }
}

fn list(disk: &dyn Disk) -> Result<Vec<String>, Error> {
    disk.list().map_err(|error| on(disk, "listing the files", &error))
}

fn damage(disk: &dyn Disk, name: &str, offset: u64, position: Position, what: impl Into<String>) -> Error {
    let file = format!("{}/{name}", disk.place());
    Error::Corrupt(Damage { file, offset, position, what: what.into() })
}

/// Reads `control`, or makes it for a new journal, and writes the next epoch there.
fn take_epoch(disk: &dyn Disk, names: &[String], shard: u32) -> Result<(Arc<dyn DiskFile>, Slot), Error> {
    let (file, before) = read_control(disk, names)?;
    if let (Some(file), Some(slot)) = (&file, &before) {
        // After a sync that failed, the page cache alone may show it. It is on the disk before the other slot is given up.
        let (offset, bytes) = slot.encode();
        let written = file.write_at(&bytes, offset).and_then(|()| file.sync());
        written.map_err(|error| on(disk, "writing control", &error))?;
    }
    let write = |file: Option<Arc<dyn DiskFile>>, slot: &Slot| -> io::Result<Arc<dyn DiskFile>> {
        let is_new = file.is_none();
        let file = match file {
            Some(file) => file,
            None => {
                let file = disk.create(CONTROL)?;
                file.write_at(&[0; CONTROL_BYTES], 0)?;
                file
            }
        };
        let (offset, bytes) = slot.encode();
        file.write_at(&bytes, offset)?;
        file.sync()?;
        if is_new {
            disk.sync_folder()?;
        }
        Ok(file)
    };
    let slot = match before {
        Some(slot) if slot.shard != shard => {
            return Err(Error::Foreign(format!(
                "{} is the journal of shard {}, not of shard {shard}",
                disk.place(),
                slot.shard
            )));
        }
        Some(slot) => Slot { epoch: Epoch(slot.epoch.0 + 1), ..slot },
        None => Slot { shard, journal: JournalId(disk.random()), epoch: Epoch(1) },
    };
    let file = write(file, &slot).map_err(|error| on(disk, "writing control", &error))?;
    Ok((file, slot))
}

/// The file and its newest slot; neither where the journal is new.
#[expect(clippy::type_complexity, reason = "two things that are there or not, each for itself")]
pub(crate) fn read_control(
    disk: &dyn Disk,
    names: &[String],
) -> Result<(Option<Arc<dyn DiskFile>>, Option<Slot>), Error> {
    let is_new = !names.iter().any(|name| segment_number(name).is_some());
    if !names.iter().any(|name| name == CONTROL) {
        if is_new {
            return Ok((None, None));
        }
        return Err(damage(disk, CONTROL, 0, Position::START, "the file is missing"));
    }
    let mut bytes = [0; CONTROL_BYTES];
    let file = disk.open(CONTROL).map_err(|error| on(disk, "opening control", &error))?;
    let read = file.read_at(&mut bytes, 0).map_err(|error| on(disk, "reading control", &error))?;
    match Slot::newest(&bytes[..read]) {
        Ok(slot) => Ok((Some(file), Some(slot))),
        Err(newer @ NotOurs::Version(_)) => {
            Err(Error::Foreign(format!("{}/{CONTROL} is not for this program: {newer}", disk.place())))
        }
        // A crash while it was being made.
        Err(_) if is_new => Ok((None, None)),
        Err(wrong) => Err(damage(disk, CONTROL, 0, Position::START, wrong.to_string())),
    }
}

/// Removes what was being made. After a fence also every file that the older writer may have open and use again.
fn clear(disk: &dyn Disk, names: &mut Vec<String>, holder: Holder) -> io::Result<()> {
    let is_left = |name: &String| {
        let is_stock = name.starts_with("spare-") || name == RESERVE;
        !(name.ends_with(".new") || (holder == Holder::Fence && is_stock))
    };
    for name in names.iter().filter(|name| !is_left(name)) {
        match disk.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    names.retain(is_left);
    Ok(())
}

/// The header in these bytes of a segment's file, which must be of this shard and journal, and of this
/// number. The inner error: it is no header of ours, as one that was never written whole.
pub(super) fn own_header(
    disk: &dyn Disk,
    name: &str,
    bytes: &[u8; HEADER_USED],
    (shard, journal, number): (u32, JournalId, SegmentNumber),
) -> Result<Result<(Header, u32), NotOurs>, Error> {
    let (header, seed) = match Header::decode(bytes) {
        Ok(decoded) => decoded,
        Err(newer @ NotOurs::Version(_)) => {
            return Err(Error::Foreign(format!("{}/{name} is not for this program: {newer}", disk.place())));
        }
        Err(wrong) => return Ok(Err(wrong)),
    };
    if (header.shard, header.journal, header.number) != (shard, journal, number) {
        return Err(Error::Foreign(format!(
            "{}/{name} is segment {} of journal {}, shard {}; it does not belong here",
            disk.place(),
            header.number,
            header.journal,
            header.shard
        )));
    }
    Ok(Ok((header, seed)))
}

/// Reads the headers of all segments, in the order of their numbers.
pub(crate) fn load(disk: &dyn Disk, names: &[String], slot: &Slot) -> Result<Vec<Loaded>, Error> {
    let mut loaded: Vec<Loaded> = Vec::new();
    for name in names {
        let Some(number) = segment_number(name) else { continue };
        let file = disk.open(name).map_err(|error| on(disk, "opening a segment", &error))?;
        let mut bytes = [0; HEADER_USED];
        file.read_at(&mut bytes, 0).map_err(|error| on(disk, "reading a segment's header", &error))?;
        let (header, seed) = own_header(disk, name, &bytes, (slot.shard, slot.journal, number))?
            .map_err(|wrong| damage(disk, name, 0, Position::START, wrong.to_string()))?;
        let file_bytes = file.length().map_err(|error| on(disk, "measuring a segment", &error))?;
        let segment = Arc::new(SegmentFile { header, seed, from_reserve: false });
        loaded.push(Loaded { segment, file_bytes: file_bytes.min(header.capacity) });
    }
    loaded.sort_by_key(|one| one.segment.header.number);
    for pair in loaded.windows(2) {
        let [before, after] = [pair[0].segment.header, pair[1].segment.header];
        let is_next = after.number.0 == before.number.0 + 1;
        if after.base < before.limit() || (is_next && after.base != before.limit()) {
            let what = "its positions are not those after the segment before";
            return Err(damage(disk, &segment_name(after.number), 32, after.base, what));
        }
    }
    Ok(loaded)
}

/// No segment that recovery reads may be missing.
fn check_complete(disk: &dyn Disk, loaded: &[Loaded], checkpoint: Position) -> Result<(), Error> {
    let missing = |number: SegmentNumber, position| {
        Err(damage(disk, &segment_name(number), 0, position, "the segment is missing"))
    };
    let Some(lowest) = loaded.first().map(|one| one.segment.header) else {
        if checkpoint > Position::START {
            return missing(SegmentNumber(1), checkpoint);
        }
        return Ok(());
    };
    let first = if checkpoint == Position::START {
        if lowest.number != SegmentNumber(1) {
            return missing(SegmentNumber(1), checkpoint);
        }
        0
    } else {
        let within = loaded.iter().rposition(|one| one.segment.header.base <= checkpoint);
        match within {
            Some(index) if checkpoint <= loaded[index].segment.header.limit() => index,
            Some(index) => {
                return missing(SegmentNumber(loaded[index].segment.header.number.0 + 1), checkpoint);
            }
            None => return missing(SegmentNumber(lowest.number.0.saturating_sub(1)), checkpoint),
        }
    };
    for pair in loaded[first..].windows(2) {
        let [before, after] = [pair[0].segment.header, pair[1].segment.header];
        if after.number.0 != before.number.0 + 1 {
            return missing(SegmentNumber(before.number.0 + 1), before.limit());
        }
    }
    Ok(())
}

/// Finds the last segment that holds something, and judges what follows its last frame.
fn find_tail(disk: &dyn Disk, loaded: &[Loaded], checkpoint: Position) -> Result<Tail, Error> {
    let mut tail = Tail { used: loaded.len(), last: None, proof: checkpoint };
    while tail.used > 0 && tail.last.is_none() {
        let segment = &loaded[tail.used - 1].segment;
        let name = segment.name();
        let file = disk.open(&name).map_err(|error| on(disk, "opening a segment", &error))?;
        let found = scan(segment, &*file).map_err(|error| on(disk, "reading a segment", &error))?;
        if let Some(kind) = found.unknown {
            return Err(Error::Foreign(format!(
                "{}/{name} has a frame of kind {kind} at position {}, which a newer version wrote",
                disk.place(),
                found.end
            )));
        }
        tail.proof = tail.proof.max(found.proof);
        if found.sealed.is_none() && loaded[tail.used - 1].file_bytes < segment.header.capacity {
            let offset = segment.offset(found.end);
            return Err(damage(disk, &name, offset, found.end, "the file is shorter than its segment"));
        }
        if found.sealed.is_some() || found.end > segment.header.first() {
            tail.last = Some(found);
        } else {
            tail.used -= 1;
        }
    }
    let empty = loaded.get(tail.used).map(|one| one.segment.header);
    let (at, header) = match (&tail.last, empty) {
        // The last segment promises another one.
        (Some(Scan { sealed: Some(SealReason::Rotation), .. }), None) => {
            let header = loaded[tail.used - 1].segment.header;
            let next = segment_name(SegmentNumber(header.number.0 + 1));
            return Err(damage(disk, &next, 0, header.limit(), "the segment is missing"));
        }
        // Nothing follows a seal here; so the missing records were at the beginning of the next.
        (Some(Scan { end, sealed: Some(_), .. }), Some(next)) if tail.proof > *end => (next.first(), next),
        (Some(Scan { end, .. }), _) => (*end, loaded[tail.used - 1].segment.header),
        (None, Some(next)) => (next.first(), next),
        (None, None) => return Ok(tail),
    };
    if tail.proof > at {
        let what = format!("this is no record, and all before position {} was durable", tail.proof);
        return Err(damage(disk, &segment_name(header.number), at.since(header.base), at, what));
    }
    Ok(tail)
}

/// Where the log ends now.
#[derive(Default)]
struct Ends {
    end: Position,
    durable: Position,
    file_bytes: u64,
    cut_bytes: u64,
}

/// Makes the tail durable and seals it: the bytes that were read may have been in the page cache
/// only.
fn mend(
    disk: &dyn Disk,
    segment: &SegmentFile,
    found: &Scan,
    proof: Position,
    options: &Options,
    epoch: Epoch,
) -> Result<Ends, Error> {
    let first = segment.header.first();
    let limit = match options.opening.after_failure {
        Some(durable) => durable.max(proof).max(first),
        None => found.end,
    };
    let name = segment.name();
    // The seal stays where it is, unless what is cut begins before it.
    let (cut, seals) = if found.end <= limit { (found.end, found.sealed.is_none()) } else { (limit, true) };
    let mut cut_bytes = found.claimed_end.since(cut);
    if found.sealed.is_some() && !seals {
        cut_bytes = 0;
    }
    if cut_bytes > 0 {
        tracing::warn!(
            file = format!("{}/{name}", disk.place()),
            position = %cut,
            bytes = cut_bytes,
            "Cut a torn tail; nothing in it was acknowledged"
        );
    }
    let mend = || -> io::Result<u64> {
        let file = disk.open(&name)?;
        let from = proof.max(first).min(cut);
        if file.length()? < segment.offset(cut) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; usize::try_from(cut.since(from)).expect("a segment fits in memory")];
        let read = file.read_at(&mut bytes, segment.offset(from))?;
        if read < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if seals {
            let note = SealNote { durable: proof.min(cut), reason: SealReason::Recovery };
            bytes.extend_from_slice(&frame::seal(segment.seed, cut, note));
        }
        let length = segment.offset(from) + bytes.len() as u64;
        if options.opening.holder == Holder::Fence {
            replace(disk, &*file, &name, epoch, (segment.offset(from), &bytes))?;
            return Ok(length);
        }
        if !bytes.is_empty() {
            file.write_at(&bytes, segment.offset(from))?;
        }
        file.sync()?;
        // Only behind a durable seal: a file that is short and not sealed is damage. Losing the cut is harmless.
        if seals {
            file.truncate(length)?;
        }
        Ok(if seals { length } else { file.length()?.min(segment.header.capacity) })
    };
    let file_bytes = mend().map_err(|error| on(disk, "mending the tail", &error))?;
    let durable = if seals { cut.plus(NOTE_BYTES as u64) } else { cut };
    let end = if seals { cut } else { found.records_end };
    Ok(Ends { end, durable, file_bytes, cut_bytes })
}

/// Puts a copy in the place of a file that a fenced writer may still write to: the bytes before the tail, and the tail.
fn replace(
    disk: &dyn Disk,
    file: &dyn DiskFile,
    name: &str,
    epoch: Epoch,
    (offset, tail): (u64, &[u8]),
) -> io::Result<()> {
    let making = format!("{name}-{epoch}.new");
    let copy = disk.create(&making)?;
    let mut buffer = vec![0; 1 << 18];
    let mut at = 0;
    while at < offset {
        let piece = usize::try_from(offset - at).unwrap_or(usize::MAX).min(buffer.len());
        let read = file.read_at(&mut buffer[..piece], at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        copy.write_at(&buffer[..read], at)?;
        at += read as u64;
    }
    copy.write_at(tail, offset)?;
    copy.sync()?;
    disk.rename(&making, name)?;
    disk.sync_folder()
}

/// Gives the empty segments' files back, and makes the new segment.
fn begin(
    disk: &dyn Disk,
    loaded: &[Loaded],
    tail: &Tail,
    stock: &mut Stock,
    holder: Holder,
) -> Result<Made, Error> {
    let before = tail.used.checked_sub(1).map(|last| loaded[last].segment.header);
    let (number, base) = match (before, loaded.first()) {
        (Some(header), _) => (SegmentNumber(header.number.0 + 1), header.limit()),
        (None, Some(one)) => (one.segment.header.number, one.segment.header.base),
        (None, None) => (SegmentNumber(1), Position::START),
    };
    let is_promised = tail.last.is_some_and(|last| last.sealed == Some(SealReason::Rotation));
    let make = |stock: &mut Stock| -> io::Result<Made> {
        // The last first, and each for good before the next: a crash in between leaves no hole.
        for one in loaded[tail.used..].iter().rev() {
            let header = one.segment.header;
            // The segment before may state that this one exists: then it steps aside only for the
            // new one.
            if header.number == number && is_promised {
                continue;
            }
            match holder {
                Holder::Respect => stock.recycle(&one.segment.name(), one.file_bytes)?,
                // The fenced writer may write to it yet.
                Holder::Fence => {
                    disk.remove(&one.segment.name())?;
                    disk.sync_folder()?;
                }
            }
        }
        stock.segment(number, base, 0, Replace::Empty, &|_, _| false)
    };
    make(stock).map_err(|error| on(disk, "making a segment", &error))
}

/// Whether a segment's size can hold what a segment must.
pub(crate) fn check_size(name: &str, bytes: u64) -> Result<(), Error> {
    let (least, most) = (16 * HEADER_BYTES, 4 << 30);
    if (least..=most).contains(&bytes) && bytes.is_multiple_of(HEADER_BYTES) {
        return Ok(());
    }
    Err(Error::Setting(format!(
        "{name} is {bytes}; it must be from {least} to {most} bytes and a multiple of {HEADER_BYTES}"
    )))
}
