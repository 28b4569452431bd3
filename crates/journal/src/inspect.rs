//! Looking at a journal without opening it: its records, and its damage.
//!
//! For operators, `stadium journal verify` and `dump`. Nothing is changed, and a journal that a
//! server has open may be looked at; then its tail isn't judged. Repairing is in [`crate::repair`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::file::reader::FileReader;
use crate::file::recover::read_control;
use crate::file::scan::{Scan, Window, scan};
use crate::file::segments::{SegmentFile, Segments, segment_number};
use crate::file::shared::Shared;
use crate::folder::FolderDisk;
use crate::frame::{FRAME_ALIGN, SealReason};
use crate::header::{HEADER_USED, Header, NotOurs, Slot};
use crate::{Damage, Epoch, Error, JournalId, Options, Position, Reader, SegmentNumber};

/// A journal that is looked at.
pub struct Inspection {
    disk: Arc<dyn Disk>,
    in_use_by: Option<u32>,
    slot: Slot,
    segments: Vec<(Arc<SegmentFile>, u64)>,
    /// What was seen while reading the headers.
    damages: Vec<Damage>,
}

/// What [`Inspection::verify`] found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The folder.
    pub place: String,
    /// The shard whose journal it is.
    pub shard: u32,
    /// Which journal it is.
    pub journal: JournalId,
    /// How often it was opened.
    pub epoch: Epoch,
    /// The process that has it open, 0 where it isn't known; its tail isn't judged then.
    pub in_use_by: Option<u32>,
    /// Each segment, oldest first.
    pub segments: Vec<SegmentReport>,
    /// Records that are whole.
    pub records: u64,
    /// After the last record that follows the others without a hole.
    pub end: Position,
    /// Bytes at the end that a crash left unfinished. Opening cuts them; nothing in them was
    /// acknowledged.
    pub torn_bytes: u64,
    /// What is damaged. Empty: the journal is sound.
    pub damages: Vec<Damage>,
}

/// One segment of a [`Report`].
#[derive(Clone, Debug)]
pub struct SegmentReport {
    /// Its number.
    pub number: SegmentNumber,
    /// The file.
    pub file: String,
    /// The position of its first byte.
    pub start: Position,
    /// After its last valid frame.
    pub end: Position,
    /// Bytes of the file.
    pub bytes: u64,
    /// Who wrote it.
    pub epoch: Epoch,
    /// Records that are whole, up to the first damage.
    pub records: u64,
    /// Batches, up to the first damage.
    pub batches: u64,
    /// What state it is in.
    pub state: SegmentState,
}

/// What state a segment is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentState {
    /// Full, or sealed on purpose; another follows.
    Sealed,
    /// Sealed by the next opening: its writer had left it unfinished.
    Recovered,
    /// The last one with records.
    Open,
    /// Prepared.
    Empty,
    /// See the report's damages.
    Damaged,
}

impl SegmentState {
    /// A word for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Recovered => "recovered",
            Self::Open => "open",
            Self::Empty => "empty",
            Self::Damaged => "damaged",
        }
    }
}

impl Inspection {
    /// Reads the headers of the journal in a folder.
    ///
    /// # Errors
    /// `Foreign` if it is none, or of a newer version; `Io`.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let disk = FolderDisk::read_only(folder);
        let in_use_by = disk.holder();
        Self::of(Arc::new(disk), in_use_by)
    }

    /// Looks at a journal on any disk that nobody has open.
    ///
    /// # Errors
    /// As for [`Inspection::open`].
    pub fn open_on(disk: Arc<dyn Disk>) -> Result<Self, Error> {
        Self::of(disk, None)
    }

    /// Looks at a journal on any disk. `in_use_by` is the process that has it open, 0 where that is
    /// not known.
    ///
    /// # Errors
    /// As for [`Inspection::open`].
    pub fn open_used(disk: Arc<dyn Disk>, in_use_by: Option<u32>) -> Result<Self, Error> {
        Self::of(disk, in_use_by)
    }

    fn of(disk: Arc<dyn Disk>, in_use_by: Option<u32>) -> Result<Self, Error> {
        let names = disk
            .list()
            .map_err(|error| Error::io(format!("listing the files of {} failed", disk.place()), &error))?;
        let mut damages = Vec::new();
        let mut headers: BTreeMap<SegmentNumber, (Header, u32, u64)> = BTreeMap::new();
        for name in &names {
            let Some(number) = segment_number(name) else { continue };
            let file = format!("{}/{name}", disk.place());
            match read_header(&*disk, name)? {
                Ok((header, seed, bytes)) if header.number == number => {
                    headers.insert(number, (header, seed, bytes));
                }
                Ok((header, ..)) => damages.push(Damage {
                    file,
                    offset: 24,
                    position: header.base,
                    what: format!("it is segment {}", header.number),
                }),
                Err(NotOurs::Version(version)) => {
                    return Err(Error::Foreign(format!("{file} has version {version}, which is newer")));
                }
                Err(wrong) => {
                    let position = headers.values().next_back().map(|(header, ..)| header.limit());
                    let position = position.unwrap_or_default();
                    damages.push(Damage { file, offset: 0, position, what: wrong.to_string() });
                }
            }
        }
        let of_segments = headers.values().next_back().map(|(header, ..)| Slot {
            shard: header.shard,
            journal: header.journal,
            epoch: header.epoch,
        });
        let slot = match (read_control(&*disk, &names), of_segments) {
            (Ok((_, Some(slot))), _) => slot,
            (Err(Error::Corrupt(damage)), Some(slot)) => {
                damages.push(damage);
                slot
            }
            (Err(error), _) => return Err(error),
            (Ok((_, None)), _) => {
                return Err(Error::Foreign(format!("{} holds no journal", disk.place())));
            }
        };
        let segments = headers
            .into_values()
            .map(|(header, seed, bytes)| {
                (Arc::new(SegmentFile { header, seed, from_reserve: false }), bytes.min(header.capacity))
            })
            .collect();
        Ok(Self { disk, in_use_by, slot, segments, damages })
    }

    /// Reads everything. `checkpoint` is the newest checkpoint's position: nothing from there on
    /// may be missing.
    ///
    /// # Errors
    /// `Foreign` for frames of a newer version; `Io`.
    pub fn verify(&self, checkpoint: Position) -> Result<Report, Error> {
        let mut damages = self.damages.clone();
        let mut scans = Vec::new();
        let mut proof = checkpoint;
        for (segment, _) in &self.segments {
            let scan = self.scan(segment)?;
            proof = proof.max(scan.proof);
            scans.push(scan);
        }
        let mut segments = Vec::new();
        let mut torn_bytes = 0;
        let mut end = Position::START;
        let mut is_broken = false;
        let mut records = 0;
        let oldest = self.segments.first().map(|(segment, _)| segment.header);
        let mut expected = match oldest {
            _ if checkpoint == Position::START => Some((SegmentNumber(1), Position::START)),
            // It begins behind the checkpoint: the one before it was needed.
            Some(oldest) if oldest.base > checkpoint => {
                Some((SegmentNumber(oldest.number.0.saturating_sub(1)), checkpoint))
            }
            _ => None,
        };
        for (index, ((segment, bytes), scan)) in self.segments.iter().zip(&scans).enumerate() {
            let header = &segment.header;
            if let Some((number, position)) = expected
                && number != header.number
                && header.base > checkpoint
            {
                is_broken = true;
                damages.push(self.missing(number, position));
            }
            expected = Some((SegmentNumber(header.number.0 + 1), header.limit()));
            // Something after this segment's last frame was durable: in it, or in a later one.
            let is_followed = self.segments[index + 1..]
                .iter()
                .zip(&scans[index + 1..])
                .any(|((later, _), scan)| scan.end > later.header.first());
            let is_cut = *bytes < header.capacity;
            let is_proven = self.in_use_by.is_none() && proof > scan.end && proof > header.first();
            let is_short = scan.sealed.is_none() && (is_followed || is_cut || is_proven);
            let state = match scan.sealed {
                _ if is_short => SegmentState::Damaged,
                Some(SealReason::Rotation) => SegmentState::Sealed,
                Some(SealReason::Recovery) => SegmentState::Recovered,
                None if scan.end == header.first() => SegmentState::Empty,
                None => SegmentState::Open,
            };
            if is_short {
                damages.push(self.damage_at(
                    segment,
                    scan.end,
                    "this is no record, and later ones were durable",
                ));
            } else if state == SegmentState::Open {
                torn_bytes = scan.claimed_end.since(scan.end);
            }
            records += scan.records;
            if !is_broken && scan.records_end > header.first() {
                end = scan.records_end;
            }
            is_broken |= is_short;
            segments.push(SegmentReport {
                number: header.number,
                file: self.path(&segment.name()),
                start: header.base,
                end: scan.end,
                bytes: *bytes,
                epoch: header.epoch,
                records: scan.records,
                batches: scan.batches,
                state,
            });
        }
        let last_is_sealed = scans.last().is_some_and(|scan| scan.sealed == Some(SealReason::Rotation));
        if let Some((number, position)) = expected.filter(|_| last_is_sealed && self.in_use_by.is_none()) {
            damages.push(self.missing(number, position));
        }
        damages.sort_by_key(|damage| damage.position);
        Ok(Report {
            place: self.disk.place(),
            shard: self.slot.shard,
            journal: self.slot.journal,
            epoch: self.slot.epoch,
            in_use_by: self.in_use_by,
            segments,
            records,
            end,
            torn_bytes,
            damages,
        })
    }

    /// A reader of all whole records, also of those that a crash left at the end and that were not
    /// acknowledged. After `Corrupt` it may go on at the position that [`Inspection::after_damage`]
    /// returns.
    ///
    /// # Errors
    /// `Io`, `Foreign`.
    pub fn reader(&self) -> Result<Box<dyn Reader>, Error> {
        let options = Options { shard: self.slot.shard, ..Options::default() };
        let table = Segments::new(Arc::clone(&self.disk), options.open_segments_max);
        for (segment, bytes) in &self.segments {
            table.add(Arc::clone(segment), None, *bytes, None);
        }
        let end = self.last_scan()?.map_or(Position::START, |scan| scan.end);
        let Slot { journal, epoch, .. } = self.slot;
        let shared = Shared::new(Arc::clone(&self.disk), table, &options, journal, epoch, end);
        Ok(Box::new(FileReader::new(Arc::new(shared))))
    }

    /// The position after the last whole record. The bytes of its segment up to there never change,
    /// also where a server has the journal open.
    ///
    /// # Errors
    /// `Io`, `Foreign`.
    pub fn tail(&self) -> Result<Position, Error> {
        Ok(self.last_scan()?.map_or(Position::START, |scan| scan.records_end))
    }

    /// The last segment that has frames.
    fn last_scan(&self) -> Result<Option<Scan>, Error> {
        for (segment, _) in self.segments.iter().rev() {
            let scan = self.scan(segment)?;
            if scan.end > segment.header.first() {
                return Ok(Some(scan));
            }
        }
        Ok(None)
    }

    /// Where the next valid frame after a damaged one is, in the same segment or the next.
    ///
    /// # Errors
    /// `Io`.
    pub fn after_damage(&self, damaged: Position) -> Result<Option<Position>, Error> {
        for (segment, _) in &self.segments {
            if segment.header.limit() <= damaged {
                continue;
            }
            if segment.header.first() > damaged {
                return Ok(Some(segment.header.first()));
            }
            if let Some(found) = self.next_frame(segment, damaged)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn next_frame(&self, segment: &SegmentFile, damaged: Position) -> Result<Option<Position>, Error> {
        let failed = |error| Error::io(format!("reading {} failed", self.path(&segment.name())), &error);
        let file = self.disk.open(&segment.name()).map_err(failed)?;
        let mut window = Window::new(segment, &*file).map_err(failed)?;
        let mut at = damaged.plus(FRAME_ALIGN as u64);
        while segment.offset(at) < window.length() {
            if window.frame(at).map_err(failed)?.is_ok() {
                return Ok(Some(at));
            }
            at = at.plus(FRAME_ALIGN as u64);
        }
        Ok(None)
    }

    fn scan(&self, segment: &SegmentFile) -> Result<Scan, Error> {
        let name = segment.name();
        let failed = |error| Error::io(format!("reading {} failed", self.path(&name)), &error);
        let file = self.disk.open(&name).map_err(failed)?;
        let scan = scan(segment, &*file).map_err(failed)?;
        match scan.unknown {
            Some(kind) => Err(Error::Foreign(format!(
                "{} has a frame of kind {kind} at position {}, which a newer version wrote",
                self.path(&name),
                scan.end
            ))),
            None => Ok(scan),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.disk.place())
    }

    fn damage_at(&self, segment: &SegmentFile, position: Position, what: &str) -> Damage {
        Damage {
            file: self.path(&segment.name()),
            offset: segment.offset(position),
            position,
            what: what.to_owned(),
        }
    }

    fn missing(&self, number: SegmentNumber, position: Position) -> Damage {
        let file = self.path(&crate::file::segments::segment_name(number));
        Damage { file, offset: 0, position, what: "the segment is missing".to_owned() }
    }
}

/// A segment's header, its seed, and the file's length.
pub(crate) fn read_header(disk: &dyn Disk, name: &str) -> Result<Result<(Header, u32, u64), NotOurs>, Error> {
    let failed = |error| Error::io(format!("reading {}/{name} failed", disk.place()), &error);
    let file = disk.open(name).map_err(failed)?;
    let mut bytes = [0; HEADER_USED];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    let length = file.length().map_err(failed)?;
    Ok(Header::decode(&bytes).map(|(header, seed)| (header, seed, length)))
}
