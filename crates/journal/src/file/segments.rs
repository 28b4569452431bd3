//! The segments that there are, shared by the shard's thread, the journal's, and readers.
//!
//! The table is behind a lock that is held for look-ups only, never while the disk works. Open files are kept, up to a bound.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskFile};
use crate::error::lacks_descriptors;
use crate::header::Header;
use crate::{Error, Position, Segment, SegmentNumber};

/// What never changes of a segment.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub(crate) header: Header,
    /// What the checksums of its frames begin with.
    pub(crate) seed: u32,
    /// Whether it was made of what is set aside for a full disk.
    pub(crate) from_reserve: bool,
}

impl SegmentFile {
    /// The name of its file.
    pub(crate) fn name(&self) -> String {
        segment_name(self.header.number)
    }

    /// Where in the file a position is. The position is in the segment.
    pub(crate) fn offset(&self, position: Position) -> u64 {
        position.since(self.header.base)
    }
}

/// The name of a segment's file.
#[must_use]
pub fn segment_name(number: SegmentNumber) -> String {
    format!("{:012}.segment", number.0)
}

/// The number in a segment's file name.
pub(crate) fn segment_number(name: &str) -> Option<SegmentNumber> {
    let digits = name.strip_suffix(".segment")?;
    let well_formed = digits.len() >= 12 && digits.bytes().all(|digit| digit.is_ascii_digit());
    well_formed.then(|| digits.parse().ok().map(SegmentNumber))?
}

/// A segment with its open file.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) segment: Arc<SegmentFile>,
    pub(crate) file: Arc<dyn DiskFile>,
}

/// All segments, by their base.
pub(crate) struct Segments {
    disk: Arc<dyn Disk>,
    table: Mutex<Table>,
}

struct Table {
    entries: BTreeMap<Position, Entry>,
    open: usize,
    open_max: usize,
    uses: u64,
}

struct Entry {
    segment: Arc<SegmentFile>,
    file: Option<Arc<dyn DiskFile>>,
    file_bytes: u64,
    /// After the last frame, once it is sealed.
    sealed_at: Option<Position>,
    last_use: u64,
}

impl Segments {
    /// None yet. So many files are kept open.
    pub(crate) fn new(disk: Arc<dyn Disk>, open_max: usize) -> Self {
        let table = Table { entries: BTreeMap::new(), open: 0, open_max, uses: 0 };
        Self { disk, table: Mutex::new(table) }
    }

    /// Adds a segment; `file` stays open until others are used more.
    pub(crate) fn add(
        &self,
        segment: Arc<SegmentFile>,
        file: Option<Arc<dyn DiskFile>>,
        file_bytes: u64,
        sealed_at: Option<Position>,
    ) {
        let mut table = self.table();
        table.uses += 1;
        table.open += usize::from(file.is_some());
        let last_use = table.uses;
        let base = segment.header.base;
        table.entries.insert(base, Entry { segment, file, file_bytes, sealed_at, last_use });
        table.close_some();
    }

    /// Notes that a segment ends.
    pub(crate) fn seal(&self, segment: &SegmentFile, at: Position) {
        if let Some(entry) = self.table().entries.get_mut(&segment.header.base) {
            entry.sealed_at = Some(at);
        }
    }

    /// Takes a sealed segment out, all of which is before `durable`.
    pub(crate) fn remove(&self, number: SegmentNumber, durable: Position) -> Option<(Arc<SegmentFile>, u64)> {
        let mut table = self.table();
        let base = table.entries.values().find_map(|entry| {
            let is_it = entry.segment.header.number == number
                && entry.sealed_at.is_some_and(|sealed| sealed <= durable);
            is_it.then_some(entry.segment.header.base)
        })?;
        table.take(base)
    }

    /// Takes the first segment out, if it is sealed and all of it is before `below`, which is
    /// durable.
    pub(crate) fn remove_first(&self, below: Position) -> Option<(Arc<SegmentFile>, u64)> {
        let mut table = self.table();
        let (&base, entry) = table.entries.first_key_value()?;
        entry.sealed_at.filter(|&sealed| sealed <= below)?;
        table.take(base)
    }

    /// Takes the next segment out again, which nobody has written to.
    pub(crate) fn withdraw(&self, segment: &SegmentFile) {
        self.table().take(segment.header.base);
    }

    /// Takes out the segments that begin at `from` or later.
    pub(crate) fn cut(&self, from: Position) -> Vec<Arc<SegmentFile>> {
        let mut table = self.table();
        let bases: Vec<Position> = table.entries.range(from..).map(|(&base, _)| base).collect();
        bases.into_iter().filter_map(|base| table.take(base).map(|(segment, _)| segment)).collect()
    }

    /// Where the first segment begins.
    pub(crate) fn start(&self) -> Position {
        self.table().entries.first_key_value().map_or(Position::START, |(&base, _)| base)
    }

    /// The segment in which `position` lies.
    pub(crate) fn at(&self, position: Position) -> Option<Arc<SegmentFile>> {
        let table = self.table();
        let (_, entry) = table.entries.range(..=position).next_back()?;
        (position < entry.segment.header.limit()).then(|| Arc::clone(&entry.segment))
    }

    /// The first segment that begins at `position` or later.
    pub(crate) fn from(&self, position: Position) -> Option<Arc<SegmentFile>> {
        self.table().entries.range(position..).next().map(|(_, entry)| Arc::clone(&entry.segment))
    }

    /// Whether this very segment is still there.
    pub(crate) fn holds(&self, segment: &Arc<SegmentFile>) -> bool {
        let table = self.table();
        table.entries.get(&segment.header.base).is_some_and(|entry| Arc::ptr_eq(&entry.segment, segment))
    }

    /// Opens the segment in which `position` lies.
    pub(crate) fn open_at(&self, position: Position) -> Result<Opened, Error> {
        let mut table = self.table();
        table.uses += 1;
        let uses = table.uses;
        let Some((_, entry)) = table.entries.range_mut(..=position).next_back() else {
            return Err(Error::Gone(position));
        };
        if position >= entry.segment.header.limit() {
            return Err(Error::Gone(position));
        }
        entry.last_use = uses;
        let segment = Arc::clone(&entry.segment);
        if let Some(file) = &entry.file {
            return Ok(Opened { segment, file: Arc::clone(file) });
        }
        // Rare, and quick: the lock stays held, so that a removal waits until the file is open.
        let name = segment.name();
        let mut opened: io::Result<Arc<dyn DiskFile>> = self.disk.open(&name);
        // A payload is read with a descriptor of ours, where the process has no other.
        while opened.as_ref().is_err_and(lacks_descriptors) && table.close_oldest() {
            opened = self.disk.open(&name);
        }
        let file = opened.map_err(|error| Error::io(format!("cannot open {name}"), &error))?;
        if let Some(entry) = table.entries.get_mut(&segment.header.base) {
            entry.file = Some(Arc::clone(&file));
            table.open += 1;
        }
        table.close_some();
        drop(table);
        Ok(Opened { segment, file })
    }

    /// Reads from `from` on, a place within the record at `record`.
    pub(crate) fn read(&self, from: Position, record: Position, into: &mut [u8]) -> Result<(), Error> {
        let opened = self.open_at(record)?;
        let name = || format!("cannot read position {record} of {}", opened.segment.name());
        let read = opened
            .file
            .read_at(into, opened.segment.offset(from))
            .map_err(|error| Error::io(name(), &error))?;
        if read < into.len() { Err(Error::NoRecord(record)) } else { Ok(()) }
    }

    /// Lets go of the file that was used longest ago, so that its descriptor can be used otherwise. False where none is open.
    pub(crate) fn close_oldest(&self) -> bool {
        self.table().close_oldest()
    }

    /// The segments, as their owner gets them.
    pub(crate) fn list(&self, end: Position) -> Vec<Segment> {
        let table = self.table();
        let last = table.entries.len().saturating_sub(1);
        table
            .entries
            .values()
            .enumerate()
            .map(|(index, entry)| {
                let header = &entry.segment.header;
                let own_end = entry.sealed_at.unwrap_or(if index == last { end } else { header.limit() });
                Segment {
                    number: header.number,
                    start: header.base,
                    end: own_end.max(header.first()),
                    limit: header.limit(),
                    bytes: entry.file_bytes,
                    is_sealed: entry.sealed_at.is_some(),
                }
            })
            .collect()
    }

    /// How many there are, and the bytes of their files.
    pub(crate) fn size(&self) -> (u64, u64) {
        let table = self.table();
        (table.entries.len() as u64, table.entries.values().map(|entry| entry.file_bytes).sum())
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn take(&mut self, base: Position) -> Option<(Arc<SegmentFile>, u64)> {
        let entry = self.entries.remove(&base)?;
        self.open -= usize::from(entry.file.is_some());
        Some((entry.segment, entry.file_bytes))
    }

    fn close_some(&mut self) {
        while self.open > self.open_max && self.close_oldest() {}
    }

    /// Lets go of the file that was used longest ago, if one is open.
    fn close_oldest(&mut self) -> bool {
        let oldest = self.entries.values_mut().filter(|entry| entry.file.is_some());
        let Some(oldest) = oldest.min_by_key(|entry| entry.last_use) else { return false };
        oldest.file = None;
        self.open -= 1;
        true
    }
}
