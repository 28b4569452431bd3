//! A mirror: the files of a journal whose records a replicated log makes durable.
//!
//! It has the segment files of [`crate::FileJournal`], with the same bytes on each replica, and no
//! thread. Its files hold accepted records only. The owner's records get their positions here and
//! wait in memory as [`Batch`]es. They reach the files by [`Mirror::accept_own`], those of others by
//! [`Mirror::accept`]. The journal that does so is in another crate.

mod blocks;
mod body;
mod files;
mod known;
mod open;
mod sync;
mod writing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use body::{BODY_HEADER_BYTES, Body, Records};
pub use files::{Point, PointSegment};
pub use sync::SyncJob;
pub use writing::Batch;

use crate::disk::{Disk, LockError, LockGuard};
use crate::file::reader::FileReader;
use crate::file::shared::Shared;
use crate::{Epoch, Error, JournalId, Metrics, Options, Position, Reader, Room, Segment, SegmentNumber};
use blocks::Blocks;
use files::Files;
use writing::{Writing, body_at};

/// The files of a replicated journal on one replica.
pub struct Mirror {
    files: Files,
    writing: Option<Writing>,
    options: Options,
    _guard: LockGuard,
}

impl Mirror {
    /// Opens the mirror on a disk, or makes it there, at the first of `points` that its files reach.
    /// Returns which one. The log is to be read on from there.
    ///
    /// Of the options, `spares_max` means nothing here, and of the opening only the checkpoint
    /// counts: no segment from it up to the point may be missing.
    ///
    /// # Errors
    /// `InUse`, `Foreign`, `Setting`, `Io`; `Corrupt` if the files reach none of the points.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: &Options,
        id: JournalId,
        points: &[Point],
    ) -> Result<(Self, usize), Error> {
        super::check(options)?;
        let guard = disk.lock().map_err(|error| match error {
            LockError::Held(process) => Error::InUse { place: disk.place(), process },
            LockError::Io(error) => Error::io(format!("cannot lock {}", disk.place()), &error),
        })?;
        open::check_control(&*disk, options.shard, id)?;
        let found = open::open(&disk, options, id, points)?;
        let blocks = Blocks::new(Arc::clone(&disk), options.segment_bytes, options.reserve_bytes)?;
        let shared = Shared::new(disk, found.segments, options, id, Epoch(0), found.end);
        let files = Files {
            shared: Arc::new(shared),
            blocks,
            left: found.left,
            known_end: found.known_end,
            last: found.last,
            writing: None,
            unsynced: Default::default(),
            records_end: found.end,
        };
        Ok((Self { files, writing: None, options: options.clone(), _guard: guard }, found.chosen))
    }

    /// Where the log goes on: after the last accepted frame.
    #[must_use]
    pub fn point(&self) -> Point {
        self.files.point()
    }

    /// After the last accepted frame. Readers see all before it.
    #[must_use]
    pub fn accepted(&self) -> Position {
        self.files.end()
    }

    /// After the last frame that the files had when the mirror was opened. The log accepted all
    /// before it once, so a log that ends earlier has lost records.
    #[must_use]
    pub fn known_end(&self) -> Position {
        self.files.known_end
    }

    /// Writes frames that the log has accepted.
    ///
    /// # Errors
    /// `Corrupt` if the mirror has others there; `Foreign`, `Full`, `Descriptors`, `Io`. The mirror
    /// is behind the log then and must be opened again.
    pub fn accept(&mut self, body: &Body<'_>) -> Result<(), Error> {
        self.files.accept(body)
    }

    /// Begins to give positions to records, behind all that was accepted. `epoch` is that of the
    /// claim; segments that are made from now on state it.
    ///
    /// # Errors
    /// `Full`, `Descriptors`, `Io`.
    pub fn begin_writing(&mut self, epoch: Epoch) -> Result<(), Error> {
        self.end_writing()?;
        self.writing = Some(Writing::begin(&mut self.files, epoch, &self.options)?);
        Ok(())
    }

    /// Forgets all records that were not accepted.
    ///
    /// # Errors
    /// `Io`.
    pub fn end_writing(&mut self) -> Result<(), Error> {
        if self.writing.take().is_none() {
            return Ok(());
        }
        self.files.discard(self.files.end())
    }

    /// As [`crate::Journal::append`].
    ///
    /// # Errors
    /// As there. `NoRecord` if nothing is written here.
    pub fn append(&mut self, record: &[u8], room: Room) -> Result<Position, Error> {
        let writing = writing(&mut self.writing, &self.files)?;
        writing.append(&mut self.files, record, room)
    }

    /// As [`crate::Journal::make_room`].
    ///
    /// # Errors
    /// As there. `NoRecord` if nothing is written here.
    pub fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        let writing = writing(&mut self.writing, &self.files)?;
        writing.place(&mut self.files, bytes, room)
    }

    /// As [`crate::Segmented::seal`].
    ///
    /// # Errors
    /// As there. `NoRecord` if nothing is written here.
    pub fn seal(&mut self) -> Result<(), Error> {
        let writing = writing(&mut self.writing, &self.files)?;
        if writing.is_at_first() {
            return Ok(());
        }
        writing.rotate(&mut self.files, 0, Room::Ordinary)
    }

    /// Takes the oldest batch that is to be sent. The open batch is closed if there is no other.
    pub fn take_batch(&mut self) -> Option<Batch> {
        let writing = self.writing.as_mut()?;
        if !writing.has_closed() {
            writing.close(&self.files);
        }
        writing.take()
    }

    /// Whether records wait to be sent.
    #[must_use]
    pub fn has_batch(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.has_closed() || writing.has_open())
    }

    /// Batches that were taken and given up, oldest first, are the next ones to be sent.
    pub fn put_back(&mut self, batches: &mut VecDeque<Batch>) {
        if let Some(writing) = &mut self.writing {
            writing.put_back(batches);
        }
    }

    /// The log has accepted a batch that was taken. It is written, unless [`Mirror::accept`] was
    /// called with its message.
    ///
    /// # Errors
    /// As for [`Mirror::accept`].
    pub fn accept_own(&mut self, batch: Batch) -> Result<(), Error> {
        if batch.end > self.files.end() {
            self.files.accept(&batch.view())?;
        }
        if let Some(writing) = &mut self.writing {
            writing.accepted(&self.files, batch);
        }
        Ok(())
    }

    /// A batch of the files that begins at `from`, where a batch begins and which is not accepted
    /// again yet; as many more of its segment as fit in `bytes_max`. `None` where no whole batch
    /// follows. It is for a log that has lost them.
    ///
    /// # Errors
    /// `Io`; `Corrupt` where something else stands.
    pub fn known_batch(&self, from: Position, bytes_max: usize) -> Result<Option<Batch>, Error> {
        known::batch(&self.files, from, bytes_max)
    }

    /// The sync of all that was written and not synced yet. After it, [`Mirror::point`] as it is now
    /// may be noted: the files will reach it.
    pub fn sync(&mut self) -> SyncJob {
        self.files.unsynced.take(&self.files.shared.disk)
    }

    /// Removes a sealed segment. Returns whether it was there and accepted as a whole. A point
    /// behind it must have been noted.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove(&mut self, segment: SegmentNumber) -> Result<bool, Error> {
        self.files.remove(segment)
    }

    /// Removes the first segment if all of it is sealed and before `below`. Returns whether it did.
    /// A point behind it must have been noted.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_first(&mut self, below: Position) -> Result<bool, Error> {
        self.files.remove_first(below)
    }

    /// As [`crate::Segmented::segments`].
    #[must_use]
    pub fn segments(&self) -> Vec<Segment> {
        let end = self.writing.as_ref().map_or(self.files.end(), Writing::segments_end);
        self.files.shared.segments.list(end)
    }

    /// As [`crate::Journal::start`].
    #[must_use]
    pub fn start(&self) -> Position {
        self.files.shared.segments.start().min(self.end())
    }

    /// As [`crate::Journal::end`].
    #[must_use]
    pub fn end(&self) -> Position {
        self.writing.as_ref().map_or(self.files.records_end, Writing::end)
    }

    /// Bytes that were appended and not accepted.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        self.writing.as_ref().map_or(0, Writing::waiting_bytes)
    }

    /// As [`crate::Journal::room`].
    #[must_use]
    pub fn room(&self) -> Option<Room> {
        self.writing.as_ref().and_then(|writing| writing.room(&self.files))
    }

    /// As [`crate::Journal::read_at`].
    ///
    /// # Errors
    /// As there.
    pub fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        let from = body_at(record, offset);
        if from.plus(into.len() as u64) > self.end() {
            return Err(Error::NoRecord(record));
        }
        let shared = &self.files.shared;
        if self.writing.as_ref().is_some_and(|writing| writing.tail().read(from, into)) {
            shared.counters.reads_from_memory.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        shared.counters.reads_from_disk.fetch_add(1, Ordering::Relaxed);
        shared.segments.read(from, record, into)
    }

    /// A reader of accepted records, for any thread.
    #[must_use]
    pub fn reader(&self) -> Box<dyn Reader> {
        Box::new(FileReader::new(Arc::clone(&self.files.shared)))
    }

    /// The journal that it mirrors.
    #[must_use]
    pub fn id(&self) -> JournalId {
        self.files.shared.id
    }

    /// The disk on which it is.
    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.files.shared.disk
    }

    /// Counts since it was opened. Nothing is synced on the way of a commit, so `sync_us` is empty.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let counters = &self.files.shared.counters;
        let (segments, disk_bytes) = self.files.shared.segments.size();
        Metrics {
            records: counters.records.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
            commits: counters.commits.load(Ordering::Relaxed),
            sync_us: counters.sync_us.snapshot(),
            batch_records: counters.batch_records.snapshot(),
            waiting_bytes: self.waiting_bytes(),
            segments,
            disk_bytes,
            tail_bytes: self.writing.as_ref().map_or(0, |writing| writing.tail().bytes() as u64),
            reads_from_memory: counters.reads_from_memory.load(Ordering::Relaxed),
            reads_from_disk: counters.reads_from_disk.load(Ordering::Relaxed),
            opening_us: 0,
            cut_bytes: 0,
        }
    }
}

fn writing<'a>(writing: &'a mut Option<Writing>, files: &Files) -> Result<&'a mut Writing, Error> {
    writing.as_mut().ok_or(Error::NoRecord(files.end()))
}
