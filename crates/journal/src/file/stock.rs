//! Where new segments come from: retired segments, fresh blocks, and at last the space that is set
//! aside for a full disk.
//!
//! A file gets a segment's name only when its blocks are allocated and its header is durable. Names of files
//! being made contain the epoch, so that a fenced writer and its successor never work on one file.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::file::segments::{SegmentFile, segment_name};
use crate::header::{HEADER_BYTES, HEADER_USED, Header};
use crate::{Epoch, JournalId, Options, Position, SegmentNumber};

/// The file that is set aside.
pub(crate) const RESERVE: &str = "reserve.file";

/// Files that aren't segments yet, or no longer.
pub(crate) struct Stock {
    disk: Arc<dyn Disk>,
    shard: u32,
    journal: JournalId,
    epoch: Epoch,
    segment_bytes: u64,
    reserve_bytes: u64,
    spares_max: usize,
    spares: Vec<String>,
    reserve: Option<u64>,
}

/// A segment that may be written.
pub(crate) struct Made {
    pub(crate) segment: Arc<SegmentFile>,
    pub(crate) file: Arc<dyn DiskFile>,
}

/// What a new segment may replace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// Nothing: if a file has its name, somebody else is the writer.
    Nothing,
    /// An empty one of that name, of an earlier epoch.
    Empty,
}

/// Whether there is time to leave the disk to others: of the bytes that are filled, and of how many.
pub(crate) type HasTime<'a> = &'a dyn Fn(u64, u64) -> bool;

/// Whether a new segment may be smaller than usual.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shrink {
    Never,
    IfFull,
}

/// The first segment's size; each next one is twice as large, up to that of the options. So a
/// journal that is hardly used takes little disk.
const FIRST_SEGMENT_BYTES: u64 = 2 << 20;

/// The smallest segment that opening on a full disk makes do with, bytes.
const SHRUNK_BYTES_MIN: u64 = 4 * HEADER_BYTES;

impl Stock {
    /// The stock that `names`, the files of the folder, leave.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        options: &Options,
        journal: JournalId,
        epoch: Epoch,
        names: &[String],
    ) -> io::Result<Self> {
        let reserve = match names.iter().find(|name| *name == RESERVE) {
            Some(name) => Some(disk.open(name)?.length()?),
            None => None,
        };
        let spares = names.iter().filter(|name| name.starts_with("spare-")).cloned().collect();
        Ok(Self {
            disk,
            shard: options.shard,
            journal,
            epoch,
            segment_bytes: options.segment_bytes,
            reserve_bytes: options.reserve_bytes,
            spares_max: options.spares_max,
            spares,
            reserve,
        })
    }

    /// Whether there is something set aside.
    pub(crate) fn has_reserve(&self) -> bool {
        self.reserve.is_some()
    }

    /// Bytes of spares and of what is set aside.
    pub(crate) fn bytes(&self) -> u64 {
        self.spares.len() as u64 * self.segment_bytes + self.reserve.unwrap_or(0)
    }

    /// Makes a segment of the usual size, or of so many bytes where they are more. `StorageFull` when nothing is left.
    pub(crate) fn segment(
        &mut self,
        number: SegmentNumber,
        base: Position,
        bytes_min: u64,
        replace: Replace,
        has_time: HasTime<'_>,
    ) -> io::Result<Made> {
        let shrink = if replace == Replace::Empty { Shrink::IfFull } else { Shrink::Never };
        let making = format!("{:012}-{}.new", number.0, self.epoch);
        let (file, capacity, from_reserve) = self.blocks(
            &making,
            self.usual_bytes(number).max(bytes_min.next_multiple_of(HEADER_BYTES)),
            shrink,
            has_time,
        )?;
        let header =
            Header { shard: self.shard, journal: self.journal, number, base, capacity, epoch: self.epoch };
        let page = header.encode();
        let used: &[u8; HEADER_USED] = page.first_chunk().expect("a page is longer than its header");
        let (_, seed) = Header::decode(used).expect("the header was encoded just now");
        file.write_at(&page, 0)?;
        file.sync()?;
        match replace {
            Replace::Nothing => self.disk.rename_new(&making, &segment_name(number))?,
            Replace::Empty => self.disk.rename(&making, &segment_name(number))?,
        }
        self.disk.sync_folder()?;
        Ok(Made { segment: Arc::new(SegmentFile { header, seed, from_reserve }), file })
    }

    /// The size of a segment whose records need no larger one.
    fn usual_bytes(&self, number: SegmentNumber) -> u64 {
        // 32 doublings are beyond the largest size.
        let doublings = number.0.saturating_sub(1).min(32);
        self.segment_bytes.min(FIRST_SEGMENT_BYTES << doublings)
    }

    /// A file with blocks, under the name `making`: a spare, a fresh one, or the one set aside.
    fn blocks(
        &mut self,
        making: &str,
        wanted: u64,
        shrink: Shrink,
        has_time: HasTime<'_>,
    ) -> io::Result<(Arc<dyn DiskFile>, u64, bool)> {
        // A file is opened before anything is done with its name: where no descriptor is left, all stays as it is.
        while wanted == self.segment_bytes
            && let Some(spare) = self.spares.last()
        {
            let file = self.disk.open(spare)?;
            let bytes = file.length()?;
            self.disk.rename(spare, making)?;
            self.spares.pop();
            if bytes == self.segment_bytes {
                return Ok((file, bytes, false));
            }
            self.disk.remove(making)?;
        }
        let fresh = self.fresh(making, wanted, has_time);
        match (fresh, self.reserve) {
            (Ok(file), _) => Ok((file, wanted, false)),
            (Err(error), Some(bytes)) if is_full(&error) && bytes > 2 * HEADER_BYTES => {
                let file = self.disk.open(RESERVE)?;
                self.disk.rename(RESERVE, making)?;
                self.reserve = None;
                Ok((file, bytes, true))
            }
            (Err(error), _) if is_full(&error) && shrink == Shrink::IfFull => {
                // Opening on a full disk: the space that cutting the last segment has freed may be
                // enough to free more.
                let mut bytes = self.segment_bytes / 2;
                while bytes >= SHRUNK_BYTES_MIN {
                    match self.fresh(making, bytes & !(HEADER_BYTES - 1), has_time) {
                        Ok(file) => return Ok((file, bytes & !(HEADER_BYTES - 1), true)),
                        Err(error) if is_full(&error) => bytes /= 2,
                        Err(error) => return Err(error),
                    }
                }
                Err(error)
            }
            (Err(error), _) => Err(error),
        }
    }

    fn fresh(&self, name: &str, bytes: u64, has_time: HasTime<'_>) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.create(name)?;
        if let Err(error) = file.allocate_beside(bytes, &|filled| has_time(filled, bytes)) {
            drop(file);
            self.disk.remove(name)?;
            return Err(error);
        }
        Ok(file)
    }

    /// Sets room aside, where it isn't: fresh blocks, or a retired segment.
    pub(crate) fn set_aside(&mut self) -> io::Result<()> {
        if self.reserve.is_some() {
            return Ok(());
        }
        let making = format!("reserve-{}.new", self.epoch);
        let bytes = match self.fresh(&making, self.reserve_bytes, &|_, _| true) {
            Ok(file) => {
                file.sync()?;
                self.reserve_bytes
            }
            Err(error) => {
                let spare = self.spares.last().filter(|_| is_full(&error)).ok_or(error)?;
                let bytes = self.disk.open(spare)?.length()?;
                self.disk.rename(spare, &making)?;
                self.spares.pop();
                bytes
            }
        };
        self.disk.rename(&making, RESERVE)?;
        self.disk.sync_folder()?;
        self.reserve = Some(bytes);
        Ok(())
    }

    /// Keeps a retired segment's file to be used again, or removes it. Its name need not be gone
    /// after a crash: then it is a segment without anything alive in it once more.
    pub(crate) fn recycle(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        if bytes == self.segment_bytes && self.spares.len() < self.spares_max {
            let spare = (0..)
                .map(|number| format!("spare-{number}.file"))
                .find(|spare| !self.spares.contains(spare))
                .expect("there are more numbers than spares");
            self.disk.rename(name, &spare)?;
            // While a crash may give the file its old name back, it is no spare: a new segment's header would stand under that name.
            self.disk.sync_folder()?;
            self.spares.push(spare);
            return Ok(());
        }
        self.disk.remove(name)?;
        self.disk.sync_folder()
    }
}

/// Whether an error means that the disk has no room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
