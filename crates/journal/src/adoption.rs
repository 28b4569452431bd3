//! Writes the segments of a journal into another folder, as those of another journal.
//!
//! Records keep their positions, so state that names positions goes on being right. Each checksum
//! begins with that of a segment's header, which names the journal: all of them are verified, and
//! written anew. The last segment is sealed, so that whoever goes on begins a segment of its own.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::copy;
use crate::file::segments::segment_name;
use crate::file::stock::is_full;
use crate::frame::{self, FRAME_ALIGN, Frame, NOTE_BYTES, SealNote, SealReason};
use crate::header::{HEADER_BYTES, HEADER_USED, Header};
use crate::{Damage, Epoch, Error, JournalId, Position, SegmentNumber};

/// The last segment that was adopted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adopted {
    /// The first bytes of its header, as in docs/formats/journal.md.
    pub header: [u8; HEADER_USED],
    /// The position after its last frame, which is a seal.
    pub end: Position,
}

/// How the last segment is sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Another segment is to follow: a replicated log goes on there.
    Followed,
    /// None has to follow: the next opening of a journal on files begins one.
    Left,
}

/// Writes all segments of the journal in `from` into `into`, an empty folder, as those of `journal`.
/// The caller keeps others from opening the journal ([`copy::hold`]), and has verified it: all
/// behind its last whole frame is left out. Returns the last segment; `None` where there is none.
///
/// The files are durable when this returns. Memory holds two segments.
///
/// # Errors
/// `Corrupt` where a segment before the last records is not whole; `Foreign`; `Full`, `Io`.
pub fn adopt(from: &Path, into: &Path, journal: JournalId, ending: Ending) -> Result<Option<Adopted>, Error> {
    let failed = |error: &io::Error| failed(from, error);
    let mut last: Option<Segment> = None;
    for number in copy::segments(from)? {
        let next = Segment::read(from, number)?;
        let Some(before) = last.replace(next) else { continue };
        // Those that are only prepared follow one that may be written yet.
        if !before.is_sealed && last.as_ref().is_some_and(Segment::has_frames) {
            return Err(Error::Corrupt(Damage {
                file: from.join(segment_name(before.header.number)).display().to_string(),
                offset: before.end.since(before.header.base),
                position: before.end,
                what: "the segment is not whole, and another one follows".to_owned(),
            }));
        }
        before.write(into, journal, Ending::Followed).map_err(|error| failed(&error))?;
    }
    let last = last.map(|last| last.write(into, journal, ending)).transpose();
    let last = last.map_err(|error| failed(&error))?;
    sync_folder(into).map_err(|error| failed(&error))?;
    Ok(last)
}

/// Writes the segment in which a journal ends, unless it is in the folder already: without records,
/// where nothing in it was needed any more. `header` is that of the segment, `None` for a journal
/// that never had a record. `end` is the position after its last frame.
///
/// # Errors
/// `Foreign` where the header is none; `Full`, `Io`.
pub fn stand_in(
    into: &Path,
    (shard, journal): (u32, JournalId),
    header: Option<&[u8; HEADER_USED]>,
    end: Position,
) -> Result<(), Error> {
    let header = match header {
        Some(bytes) => {
            let (header, _) = Header::decode(bytes)
                .map_err(|wrong| Error::Foreign(format!("a noted segment header is invalid: {wrong}")))?;
            Header { journal, ..header }
        }
        None => Header {
            shard,
            journal,
            number: SegmentNumber(1),
            base: Position::START,
            capacity: 16 * HEADER_BYTES,
            epoch: Epoch(1),
        },
    };
    if into.join(segment_name(header.number)).exists() {
        return Ok(());
    }
    let mut segment =
        Segment { header, seed: 0, bytes: header.encode(), end: header.first(), is_sealed: false };
    let used: &[u8; HEADER_USED] = segment.bytes.first_chunk().expect("a page is longer than its header");
    segment.seed = Header::decode(used).map_err(|wrong| Error::Setting(wrong.to_string()))?.1;
    // A seal stands where the journal's last frame ended, and a gap stands for those before it.
    let until = Position(end.0.saturating_sub(NOTE_BYTES as u64) & !(FRAME_ALIGN as u64 - 1));
    if until >= segment.end.plus(frame::GAP_BYTES as u64) {
        segment.bytes.extend_from_slice(&frame::gap(segment.seed, segment.end, until));
        segment.bytes.resize(segment.offset(until), 0);
    }
    let written = segment.write(into, journal, Ending::Left).and_then(|_| sync_folder(into));
    written.map_err(|error| failed(into, &error))
}

fn failed(folder: &Path, error: &io::Error) -> Error {
    match is_full(error) {
        true => Error::Full,
        false => Error::io(format!("copying the segments of {} failed", folder.display()), error),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// A segment that was read.
struct Segment {
    header: Header,
    seed: u32,
    bytes: Vec<u8>,
    /// After its last frame but for a seal.
    end: Position,
    is_sealed: bool,
}

impl Segment {
    fn read(folder: &Path, number: SegmentNumber) -> Result<Self, Error> {
        let path = folder.join(segment_name(number));
        let foreign = |what: &str| Error::Foreign(format!("{}: {what}", path.display()));
        let bytes = fs::read(&path)
            .map_err(|error| Error::io(format!("reading {} failed", path.display()), &error))?;
        let used = bytes.first_chunk().ok_or_else(|| foreign("it has no header"))?;
        let (header, seed) = Header::decode(used).map_err(|wrong| foreign(&wrong.to_string()))?;
        if header.number != number {
            return Err(foreign("its header has another number"));
        }
        let mut segment = Self { header, seed, bytes, end: header.first(), is_sealed: false };
        segment.walk(|_, _| ());
        Ok(segment)
    }

    fn has_frames(&self) -> bool {
        self.is_sealed || self.end > self.header.first()
    }

    fn offset(&self, position: Position) -> usize {
        usize::try_from(position.since(self.header.base)).unwrap_or(usize::MAX)
    }

    /// Finds the end, and calls `each` with the bytes from each frame on, and its position. A seal is
    /// not among them.
    fn walk(&mut self, mut each: impl FnMut(&mut [u8], Position)) {
        let mut at = self.header.first();
        self.is_sealed = false;
        loop {
            let offset = self.offset(at).min(self.bytes.len());
            let next = match frame::decode(self.seed, at, &self.bytes[offset..]) {
                Ok((Frame::Record(_), used)) => at.plus(used as u64),
                // A mark ends the journal for now.
                Ok((Frame::Batch(note), used)) if note.bytes > 0 => at.plus(used as u64),
                Ok((Frame::Gap(until), _)) => until,
                Ok((Frame::Seal(_), _)) => {
                    self.is_sealed = true;
                    break;
                }
                Ok((Frame::Batch(_), _)) | Err(_) => break,
            };
            each(&mut self.bytes[offset..], at);
            at = next;
        }
        self.end = at;
    }

    fn write(mut self, into: &Path, journal: JournalId, ending: Ending) -> io::Result<Adopted> {
        let header = Header { journal, ..self.header };
        let page = header.encode();
        let used: [u8; HEADER_USED] = *page.first_chunk().expect("a page is longer than its header");
        let (_, seed) = Header::decode(&used).map_err(|wrong| io::Error::other(wrong.to_string()))?;
        self.walk(|frame, at| frame::restamp(frame, seed, at));
        let end = self.offset(self.end);
        self.bytes.truncate(end);
        self.bytes[..HEADER_BYTES as usize].copy_from_slice(&page);
        let reason = match ending {
            Ending::Followed => SealReason::Rotation,
            Ending::Left => SealReason::Recovery,
        };
        // It claims nothing: the other frames tell what was durable.
        let note = SealNote { durable: Position::START, reason };
        self.bytes.extend_from_slice(&frame::seal(seed, self.end, note));
        let mut options = OpenOptions::new();
        let path = into.join(segment_name(header.number));
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&self.bytes)?;
        file.sync_all()?;
        Ok(Adopted { header: used, end: self.end.plus(NOTE_BYTES as u64) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{FileJournal, Journal, Options};

    fn options() -> Options {
        Options {
            segment_bytes: 64 << 10,
            reserve_bytes: 64 << 10,
            record_bytes_max: 16 << 10,
            ..Options::default()
        }
    }

    /// All records of a journal, with their positions.
    fn records(journal: &FileJournal) -> Vec<(Position, Vec<u8>)> {
        let mut reader = journal.reader();
        let mut records = Vec::new();
        while let Some(record) = reader.next().expect("the records are whole") {
            records.push((record.position, record.body.to_vec()));
        }
        records
    }

    /// Writes a record, and waits until it is durable.
    fn write(journal: &mut FileJournal, body: &[u8]) -> Position {
        let at = loop {
            match journal.append(body) {
                // The next segment is not made yet.
                Err(Error::Busy { .. }) => std::thread::sleep(Duration::from_millis(1)),
                appended => break appended.expect("there is room"),
            }
        };
        journal.commit().expect("it is taken");
        journal.wait(Duration::from_secs(60)).expect("it is written");
        at
    }

    #[test]
    fn records_keep_their_positions_in_another_journal() {
        let [from, into] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let mut written = Vec::new();
        // The second opening seals what the first one left, and begins a segment of its own.
        for opening in 0..2 {
            let mut journal = FileJournal::open(from.path(), &options()).expect("it opens");
            for number in 0..20_u8 {
                let body = vec![number ^ (opening << 7); 9_000];
                let at = write(&mut journal, &body);
                written.push((at, body));
            }
            journal.stop();
        }
        let adopted = adopt(from.path(), into.path(), JournalId(7), Ending::Left).expect("it is whole");
        let adopted = adopted.expect("there are records");
        assert!(adopted.end > written.last().expect("there are some").0);
        crate::copy::write_control(into.path(), 0, JournalId(7), crate::Epoch(3)).expect("written");
        let mut journal = FileJournal::open(into.path(), &options()).expect("it opens");
        assert_eq!((journal.id(), records(&journal)), (JournalId(7), written));
        assert!(journal.append(b"goes on").expect("there is room") > adopted.end);
    }

    #[test]
    fn a_damaged_segment_before_the_last_is_refused() {
        let [from, into] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let mut journal = FileJournal::open(from.path(), &options()).expect("it opens");
        for _ in 0..20 {
            write(&mut journal, &[1; 9_000]);
        }
        drop(journal);
        let path = from.path().join(segment_name(SegmentNumber(1)));
        let mut bytes = fs::read(&path).expect("the first segment");
        bytes[30_000] ^= 1;
        fs::write(&path, bytes).expect("nobody has it open");
        let refused = adopt(from.path(), into.path(), JournalId(7), Ending::Followed).expect_err("damage");
        assert!(matches!(refused, Error::Corrupt(_)), "{refused}");
    }

    #[test]
    fn a_segment_that_was_removed_is_stood_in_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let header = Header {
            shard: 0,
            journal: JournalId(7),
            number: SegmentNumber(5),
            base: Position(1 << 20),
            capacity: 64 << 10,
            epoch: Epoch(2),
        };
        let end = Position((1 << 20) + 50_000);
        let page = header.encode();
        let used = page.first_chunk().expect("a page is longer");
        stand_in(folder.path(), (0, JournalId(7)), Some(used), end).expect("it is written");
        copy::write_control(folder.path(), 0, JournalId(7), Epoch(3)).expect("written");
        let opening = crate::Opening { checkpoint: Position(end.0 - 24), ..crate::Opening::default() };
        let mut journal =
            FileJournal::open(folder.path(), &Options { opening, ..options() }).expect("it opens");
        assert_eq!(records(&journal), []);
        assert!(journal.append(b"goes on").expect("there is room") >= end);
        let empty = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(adopt(empty.path(), empty.path(), JournalId(7), Ending::Left).expect("nothing"), None);
        stand_in(empty.path(), (0, JournalId(7)), None, Position::START).expect("it is written");
        copy::write_control(empty.path(), 0, JournalId(7), Epoch(1)).expect("written");
        let journal = FileJournal::open(empty.path(), &options()).expect("it opens");
        assert_eq!(records(&journal), []);
    }
}
