//! The journal on files: the shard's side of it.
//!
//! Appending encodes into the open batch and into memory; a commit hands the batch to the journal's
//! writer ([`writer`]); the maintenance keeps the next segment ready ([`maintenance`]). Threads that
//! many journals share do the work of both ([`threads`]). Opening is in [`recover`]. The shard's
//! thread never waits for the disk unless it asks to.

mod maintenance;
pub mod mirror;
mod pace;
mod pool;
pub(crate) mod reader;
pub(crate) mod recover;
pub(crate) mod scan;
pub(crate) mod segments;
pub(crate) mod shared;
pub(crate) mod stock;
mod tail;
pub(crate) mod threads;
mod writer;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Disk, DiskFile, LockGuard};
use crate::folder::FolderDisk;
use crate::frame::{self, BODY_BYTES_MAX, FRAME_HEADER_BYTES, NOTE_BYTES, SealNote, SealReason};
use crate::header::HEADER_BYTES;
use crate::{
    Epoch, Error, Journal, JournalId, Metrics, Options, Position, Reader, Room, Segment, SegmentNumber,
    Segmented, Wake,
};
use maintenance::{Maintenance, NextSegment, Orders};
use reader::FileReader;
use segments::SegmentFile;
use shared::{Batch, Pushed, QUEUED_BATCHES_MAX, Shared};
use tail::Tail;
use threads::{Hired, JournalThreads, ThreadCounts};
use writer::{Progress, Writer};

/// Room that is kept in each segment behind the last record, for a seal and the frame of its batch:
/// the batch before may have been committed alone.
const SEAL_ROOM: u64 = 2 * NOTE_BYTES as u64;

/// What [`Journal::room`] looks for: an ordinary record.
const ROOM_BYTES: u64 = 4096;

/// A journal on files; see [`Journal`] for what it promises.
pub struct FileJournal {
    shared: Arc<Shared>,
    orders: Arc<Orders>,
    hands: Hands,
    /// Held until the threads have let go of the journal; nothing if the lock was another's when it was fenced.
    guard: Option<LockGuard>,
    current: (Arc<SegmentFile>, Arc<dyn DiskFile>),
    open: Open,
    /// Closed batches that the writer hasn't taken yet.
    closed: VecDeque<Batch>,
    closed_bytes: u64,
    /// A commit was asked for while enough batches waited.
    commit_wanted: bool,
    /// After the last batch that was committed.
    committed: Position,
    /// After the last record.
    end: Position,
    tail: Tail,
    record_bytes_max: usize,
    waiting_bytes_max: u64,
    opening_us: u64,
    cut_bytes: u64,
}

/// The batch that appends go to.
struct Open {
    /// Where its frame stands, in the current segment.
    start: Position,
    /// Empty, or a place for its frame and the frames that belong to it.
    bytes: Vec<u8>,
    records: u32,
}

impl Open {
    fn end(&self) -> Position {
        self.start.plus(self.bytes.len() as u64)
    }
}

/// Who does the journal's own work.
enum Hands {
    Threads(Hired),
    Stepper(Stepper),
}

/// Does the journal's own work step by step, for a simulator: one operation that changes the disk at a time.
#[derive(Clone)]
pub struct Stepper {
    writer: Arc<Mutex<Writer>>,
    maintenance: Arc<Mutex<Maintenance>>,
}

impl Stepper {
    /// Goes on with the commit that runs, or begins the next. False if there is nothing to do.
    pub fn commit(&self) -> bool {
        lock(&self.writer).step() == Progress::Worked
    }

    /// Makes the next segment or the reserve, or uses a removed segment's file again. False if there is nothing that can be done now.
    pub fn keep(&self) -> bool {
        lock(&self.maintenance).step() == Progress::Worked
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileJournal {
    /// Opens the journal in a folder, or makes it there, with two threads of its own.
    ///
    /// # Errors
    /// `InUse`, `Corrupt`, `Foreign`, `Setting`, `Full`, `Io`.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, Error> {
        Self::open_with(folder, options, own_threads()?)
    }

    /// Opens the journal in a folder, or makes it there, with threads that others may have too.
    ///
    /// # Errors
    /// As for [`FileJournal::open`].
    pub fn open_with(folder: &Path, options: &Options, threads: JournalThreads) -> Result<Self, Error> {
        let disk = FolderDisk::create(folder)
            .map_err(|error| Error::io(format!("cannot make {}", folder.display()), &error))?;
        Self::open_on_with(Arc::new(disk), options, threads)
    }

    /// Opens the journal on any disk, with two threads of its own.
    ///
    /// # Errors
    /// As for [`FileJournal::open`].
    pub fn open_on(disk: Arc<dyn Disk>, options: &Options) -> Result<Self, Error> {
        Self::open_on_with(disk, options, own_threads()?)
    }

    /// Opens the journal on any disk, with threads that others may have too.
    ///
    /// # Errors
    /// As for [`FileJournal::open`].
    pub fn open_on_with(
        disk: Arc<dyn Disk>,
        options: &Options,
        threads: JournalThreads,
    ) -> Result<Self, Error> {
        let journal = Self::recover(disk, options, |shared, orders, writer, maintenance| {
            Hands::Threads(Hired::new(threads, shared, orders, writer, maintenance))
        })?;
        journal.order();
        Ok(journal)
    }

    /// Opens the journal on any disk, with no thread: the [`Stepper`]'s owner does the work. [`Journal::wait`] does it too.
    /// Dropping such a journal is a crash of its process: nothing more is written.
    ///
    /// # Errors
    /// As for [`FileJournal::open`].
    pub fn open_stepped(disk: Arc<dyn Disk>, options: &Options) -> Result<(Self, Stepper), Error> {
        let mut given = None;
        let journal = Self::recover(disk, options, |_, _, writer, maintenance| {
            let (writer, maintenance) = (Arc::new(Mutex::new(writer)), Arc::new(Mutex::new(maintenance)));
            Hands::Stepper(given.insert(Stepper { writer, maintenance }).clone())
        })?;
        Ok((journal, given.expect("it was made with the journal")))
    }

    fn recover(
        disk: Arc<dyn Disk>,
        options: &Options,
        hands: impl FnOnce(&Arc<Shared>, &Arc<Orders>, Writer, Maintenance) -> Hands,
    ) -> Result<Self, Error> {
        let begun = Instant::now();
        check(options)?;
        let found = recover::recover(&disk, options)?;
        let shared = Shared::new(disk, found.segments, options, found.id, found.epoch, found.durable);
        let shared = Arc::new(shared);
        let made = found.current;
        let orders = Arc::new(Orders::new(&made.segment));
        let writer = Writer::new(
            Arc::clone(&shared),
            Arc::clone(&found.control),
            Arc::clone(&made.segment),
            Arc::clone(&made.file),
        );
        let maintenance =
            Maintenance::new(Arc::clone(&shared), found.control, Arc::clone(&orders), found.stock);
        let tail_bytes_max = options.waiting_bytes_max + 2 * options.record_bytes_max;
        let first = made.segment.header.first();
        let opening_us = begun.elapsed().as_micros().try_into().unwrap_or(u64::MAX);
        tracing::info!(
            shard = options.shard,
            end = %found.end,
            epoch = %found.epoch,
            segments = shared.segments.size().0,
            opening_us,
            "The journal is open"
        );
        Ok(Self {
            hands: hands(&shared, &orders, writer, maintenance),
            orders,
            guard: found.guard,
            current: (made.segment, made.file),
            open: Open { start: first, bytes: Vec::new(), records: 0 },
            closed: VecDeque::with_capacity(4),
            closed_bytes: 0,
            commit_wanted: false,
            committed: found.durable,
            end: found.end,
            tail: Tail::new(options.tail_bytes, tail_bytes_max, first),
            record_bytes_max: options.record_bytes_max,
            waiting_bytes_max: options.waiting_bytes_max as u64,
            opening_us,
            cut_bytes: found.cut_bytes,
            shared,
        })
    }

    /// Ends the threads' work for this journal, where it has threads: the operation under way is
    /// finished.
    fn end_work(&self) {
        if let Hands::Threads(hired) = &self.hands {
            hired.end();
        }
    }

    /// There are orders for the maintenance.
    fn order(&self) {
        if self.orders.schedule()
            && let Hands::Threads(hired) = &self.hands
        {
            hired.make();
        }
    }

    /// Bytes appended and not yet durable.
    fn waiting_bytes(&self) -> u64 {
        self.shared.waiting.load(Ordering::Relaxed) + self.closed_bytes + self.open.bytes.len() as u64
    }

    /// Whether records of this kind may go into a segment now.
    fn allows(&self, segment: &SegmentFile, room: Room) -> bool {
        room == Room::Reserved || !self.shared.is_reserved(segment)
    }

    /// Finds the place for a record; begins another segment if need be.
    fn place(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.shared.check()?;
        if bytes > self.record_bytes_max {
            return Err(Error::TooLarge { bytes, bytes_max: self.record_bytes_max });
        }
        let frame = frame::frame_bytes(bytes) as u64;
        let waiting = self.waiting_bytes();
        if waiting > 0 && waiting + frame > self.waiting_bytes_max {
            return Err(Error::Busy { waiting });
        }
        // In the next segment it begins a batch.
        let needed = NOTE_BYTES as u64 + frame + SEAL_ROOM;
        let needed_here = self.note_bytes() + frame + SEAL_ROOM;
        if self.open.end().plus(needed_here) > self.current.0.header.limit()
            || !self.allows(&self.current.0, room)
        {
            self.rotate(HEADER_BYTES + needed, room)?;
        }
        Ok(self.open.end().plus(self.note_bytes()))
    }

    /// Bytes of the batch frame that the next record needs: none where a batch is open.
    fn note_bytes(&self) -> u64 {
        if self.open.bytes.is_empty() { NOTE_BYTES as u64 } else { 0 }
    }

    /// Seals the current segment and goes on in the next, in which so many bytes are needed.
    fn rotate(&mut self, needed: u64, room: Room) -> Result<(), Error> {
        match self.orders.next(needed, &self.shared) {
            NextSegment::Ready => {}
            NextSegment::ReadyReserved if room == Room::Reserved => {}
            NextSegment::ReadyReserved => return Err(Error::Full),
            NextSegment::Lacks(lack) => return Err(lack.error()),
            NextSegment::Soon => return Err(Error::Busy { waiting: self.waiting_bytes() }),
            NextSegment::Ordered => {
                self.order();
                return Err(Error::Busy { waiting: self.waiting_bytes() });
            }
        }
        let Some(next) = self.orders.take() else {
            return Err(Error::Busy { waiting: self.waiting_bytes() });
        };
        self.order();
        self.begin_batch();
        let at = self.open.end();
        let note = SealNote { durable: self.shared.durable(), reason: SealReason::Rotation };
        self.open.bytes.extend_from_slice(&frame::seal(self.current.0.seed, at, note));
        self.shared.segments.seal(&self.current.0, self.open.end());
        self.close_batch(Some(next.clone()));
        self.open.start = next.0.header.first();
        self.current = next;
        Ok(())
    }

    fn begin_batch(&mut self) {
        if self.open.bytes.is_empty() {
            self.open.bytes.extend_from_slice(&[0; NOTE_BYTES]);
        }
    }

    fn close_batch(&mut self, next: Option<(Arc<SegmentFile>, Arc<dyn DiskFile>)>) {
        if self.open.bytes.is_empty() {
            return;
        }
        let end = self.open.end();
        let bytes = std::mem::replace(&mut self.open.bytes, self.shared.buffer());
        self.closed_bytes += bytes.len() as u64;
        self.closed.push_back(Batch {
            segment: Arc::clone(&self.current.0),
            file: Arc::clone(&self.current.1),
            start: self.open.start,
            bytes,
            records: std::mem::take(&mut self.open.records),
            next,
        });
        self.open.start = end;
    }

    fn append_to(&mut self, record: &[u8], room: Room) -> Result<Position, Error> {
        if record.is_empty() {
            return Err(Error::Setting("a record has at least one byte".to_owned()));
        }
        let position = self.place(record.len(), room)?;
        self.begin_batch();
        let from = self.open.bytes.len();
        frame::encode_record(&mut self.open.bytes, self.current.0.seed, position, record);
        self.tail.put(position, &self.open.bytes[from..], self.shared.durable());
        self.open.records += 1;
        self.end = self.open.end();
        self.shared.counters.records.fetch_add(1, Ordering::Relaxed);
        self.shared.counters.bytes.fetch_add((self.open.bytes.len() - from) as u64, Ordering::Relaxed);
        Ok(position)
    }

    /// Hands over what was committed while the writer had enough.
    fn commit_if_wanted(&mut self) {
        if !self.commit_wanted || !self.shared.takes_batches() {
            return;
        }
        self.close_batch(None);
        let Some(last) = self.closed.back() else {
            self.commit_wanted = false;
            return;
        };
        let end = last.end();
        let pushed = self.shared.push(&mut self.closed);
        if pushed == Pushed::Refused {
            return;
        }
        self.committed = end;
        self.closed_bytes = 0;
        self.commit_wanted = false;
        if pushed == Pushed::Waking
            && let Hands::Threads(hired) = &self.hands
        {
            hired.write();
        }
    }
}

/// Threads for one journal.
fn own_threads() -> Result<JournalThreads, Error> {
    JournalThreads::start(ThreadCounts { writers: 1, makers: 1 })
}

fn check(options: &Options) -> Result<(), Error> {
    recover::check_size("segment_bytes", options.segment_bytes)?;
    recover::check_size("reserve_bytes", options.reserve_bytes)?;
    if options.record_bytes_max == 0 || options.record_bytes_max > BODY_BYTES_MAX {
        return Err(Error::Setting(format!(
            "record_bytes_max is {}; it must be from 1 to {BODY_BYTES_MAX}",
            options.record_bytes_max
        )));
    }
    Ok(())
}

impl Journal for FileJournal {
    fn append(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.append_to(record, Room::Ordinary)
    }

    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.append_to(record, Room::Reserved)
    }

    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.place(bytes, room)
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.shared.check()?;
        self.commit_wanted = true;
        self.commit_if_wanted();
        Ok(())
    }

    fn durable(&mut self) -> Result<Position, Error> {
        self.shared.check()?;
        self.commit_if_wanted();
        Ok(self.shared.durable())
    }

    fn wait(&mut self, timeout: Duration) -> Result<Position, Error> {
        let deadline = Instant::now() + timeout;
        if let Hands::Stepper(stepper) = &self.hands {
            while stepper.keep() {}
        }
        loop {
            self.shared.check()?;
            self.commit_if_wanted();
            let committed = self.committed;
            let is_done = |shared: &Shared| shared.has_failed() || shared.durable() >= committed;
            if is_done(&self.shared) && !self.commit_wanted {
                self.shared.check()?;
                return Ok(self.shared.durable());
            }
            if let Hands::Stepper(stepper) = &self.hands {
                if !stepper.commit() && !stepper.keep() {
                    return self.durable();
                }
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.durable();
            }
            let wants_more = self.commit_wanted;
            self.shared.wait_until(left, |shared, queued| {
                is_done(shared) || (wants_more && queued < QUEUED_BATCHES_MAX)
            });
        }
    }

    fn stop(&mut self) -> Option<Position> {
        self.end_work();
        // Who fenced this handle may have read records of it that were written and not yet durable.
        match self.shared.check() {
            Err(Error::Fenced { .. }) => None,
            _ => Some(self.shared.durable()),
        }
    }

    fn on_durable(&mut self, wake: Wake) {
        self.shared.set_wake(wake);
    }

    fn end(&self) -> Position {
        self.end
    }

    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        let from = record.plus(FRAME_HEADER_BYTES as u64 + u64::from(offset));
        if from.plus(into.len() as u64) > self.end {
            return Err(Error::NoRecord(record));
        }
        if self.tail.read(from, into) {
            self.shared.counters.reads_from_memory.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        self.shared.counters.reads_from_disk.fetch_add(1, Ordering::Relaxed);
        self.shared.segments.read(from, record, into)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(FileReader::new(Arc::clone(&self.shared)))
    }

    fn start(&self) -> Position {
        self.shared.segments.start().min(self.end)
    }

    fn trim(&mut self, below: Position) -> Result<(), Error> {
        self.shared.check()?;
        let below = below.min(self.shared.durable());
        while let Some((file, bytes)) = self.shared.segments.remove_first(below) {
            self.orders.removed(file.name(), bytes);
            self.order();
        }
        Ok(())
    }

    #[inline]
    fn segmented(&self) -> Option<&dyn Segmented> {
        Some(self)
    }

    #[inline]
    fn segmented_mut(&mut self) -> Option<&mut dyn Segmented> {
        Some(self)
    }

    fn room(&self) -> Option<Room> {
        let needed = NOTE_BYTES as u64 + ROOM_BYTES + SEAL_ROOM;
        let has_room = self.open.end().plus(needed) <= self.current.0.header.limit();
        let next = self.orders.next(needed, &self.shared);
        if matches!(next, NextSegment::Ready | NextSegment::Soon)
            || (has_room && self.allows(&self.current.0, Room::Ordinary))
        {
            return Some(Room::Ordinary);
        }
        (has_room || matches!(next, NextSegment::ReadyReserved)).then_some(Room::Reserved)
    }

    fn id(&self) -> JournalId {
        self.shared.id
    }

    fn epoch(&self) -> Epoch {
        self.shared.epoch
    }

    fn metrics(&self) -> Metrics {
        let counters = &self.shared.counters;
        let (segments, segment_bytes) = self.shared.segments.size();
        Metrics {
            records: counters.records.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
            commits: counters.commits.load(Ordering::Relaxed),
            sync_us: counters.sync_us.snapshot(),
            batch_records: counters.batch_records.snapshot(),
            waiting_bytes: self.waiting_bytes(),
            segments,
            disk_bytes: segment_bytes + counters.spare_bytes.load(Ordering::Relaxed),
            tail_bytes: self.tail.bytes() as u64,
            reads_from_memory: counters.reads_from_memory.load(Ordering::Relaxed),
            reads_from_disk: counters.reads_from_disk.load(Ordering::Relaxed),
            opening_us: self.opening_us,
            cut_bytes: self.cut_bytes,
        }
    }
}

impl Segmented for FileJournal {
    fn segments(&self) -> Vec<Segment> {
        let mut list = self.shared.segments.list(self.open.end());
        // The next one is prepared, and nobody's yet.
        list.retain(|segment| segment.number <= self.current.0.header.number);
        if let Some(current) = list.last_mut() {
            current.end = self.open.end();
        }
        list
    }

    fn remove(&mut self, segment: SegmentNumber) -> Result<(), Error> {
        self.shared.check()?;
        match self.shared.segments.remove(segment, self.shared.durable()) {
            Some((file, bytes)) => {
                self.orders.removed(file.name(), bytes);
                self.order();
                Ok(())
            }
            None => Err(Error::NoRecord(self.end)),
        }
    }

    fn seal(&mut self) -> Result<(), Error> {
        self.shared.check()?;
        if self.open.end() == self.current.0.header.first() {
            return Ok(());
        }
        self.rotate(0, Room::Ordinary)
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        self.end_work();
        if matches!(self.hands, Hands::Threads(_)) {
            self.guard = None;
        }
    }
}
