//! A log in memory, and checkpoints beside it: for tests, where nothing has to outlive the process.
//!
//! A [`MemoryStore`] is the place, which outlives the handles: a [`MemoryLog`] that fails or is
//! dropped is opened again, as one on a disk. The log has no segments; it can only be trimmed. A
//! commit is durable at once, and takes the place of a disk's in everything else: uncommitted
//! records are lost with their handle.

mod blocks;
mod checkpoints;
mod reader;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use self::blocks::Blocks;
use self::checkpoints::{Kept, MemoryCheckpoints};
use self::reader::MemoryReader;
use crate::metrics::Buckets;
use crate::{
    Checkpoints, Damage, Epoch, Error, Holder, Journal, JournalId, Metrics, Opening, Position, Reader, Room,
    Wake,
};

/// The size of an ordinary record, for [`Journal::room`].
const ROOM_BYTES: usize = 4096;

/// Bounds of a log in memory.
#[derive(Clone, Debug)]
pub struct MemoryBounds {
    /// Bytes of memory that the log takes before `append` returns `Full`.
    pub bytes_max: u64,
    /// Bytes beside those for records that free room.
    pub reserve_bytes: u64,
    /// The longest record, bytes, less than 4 GiB.
    pub record_bytes_max: usize,
    /// Bytes appended and not yet committed before `append` returns `Busy`. One record always fits.
    pub waiting_bytes_max: usize,
}

/// A place in memory for one log and its checkpoints. Clones are the same place; it ends with the
/// last clone and handle.
#[derive(Clone)]
pub struct MemoryStore {
    log: Arc<RwLock<Log>>,
    checkpoints: Kept,
    bounds: MemoryBounds,
}

/// The state that handles and readers share.
struct Log {
    blocks: Blocks,
    durable: Position,
    epoch: Epoch,
    id: JournalId,
    /// A handle has it open.
    is_held: bool,
}

impl MemoryStore {
    /// An empty place for the journal with this id, which the caller draws.
    #[must_use]
    pub fn new(id: JournalId, bounds: MemoryBounds) -> Self {
        let blocks = Blocks::new();
        let log = Log { durable: blocks.end(), blocks, epoch: Epoch(0), id, is_held: false };
        Self { log: Arc::new(RwLock::new(log)), checkpoints: Kept::default(), bounds }
    }

    /// Opens the log.
    ///
    /// # Errors
    /// `InUse`; `Corrupt` where the checkpoint is beyond the log's end or before its start.
    pub fn open(&self, opening: Opening) -> Result<MemoryLog, Error> {
        let mut log = write(&self.log);
        if log.is_held && opening.holder == Holder::Respect {
            return Err(Error::InUse { place: "memory".to_owned(), process: std::process::id() });
        }
        let durable = opening.after_failure.unwrap_or(log.durable).min(log.durable);
        log.check_complete(opening.checkpoint, durable)?;
        log.blocks.cut(durable);
        // Positions that were given before are not given again, and nothing stands between.
        log.durable = log.blocks.end();
        log.epoch = Epoch(log.epoch.0 + 1);
        log.is_held = true;
        Ok(MemoryLog {
            epoch: log.epoch,
            id: log.id,
            end: log.durable,
            committed: log.durable,
            log: Arc::clone(&self.log),
            bounds: self.bounds.clone(),
            waiting: (0, 0),
            is_stopped: false,
            wake: None,
            records: 0,
            bytes: 0,
            commits: 0,
            batch_records: Buckets::default(),
            sync_us: Buckets::default(),
            reads: AtomicU64::new(0),
        })
    }

    /// The checkpoints beside the log.
    #[must_use]
    pub fn checkpoints(&self) -> Box<dyn Checkpoints> {
        Box::new(MemoryCheckpoints::new(self.checkpoints.clone()))
    }
}

impl Log {
    /// Whether all records from a checkpoint's position on are there.
    fn check_complete(&self, checkpoint: Position, durable: Position) -> Result<(), Error> {
        let trimmed = self.blocks.trimmed();
        let what = match () {
            () if checkpoint > durable => format!("the log ends at {durable}, before a checkpoint"),
            () if checkpoint < trimmed => {
                format!("the log was trimmed up to {trimmed}, which a recovery needs")
            }
            () => return Ok(()),
        };
        Err(Error::Corrupt(Damage { file: "memory".to_owned(), offset: 0, position: checkpoint, what }))
    }
}

/// A log in memory; see [`Journal`] for what it promises, and [`MemoryStore`] for where it is.
pub struct MemoryLog {
    log: Arc<RwLock<Log>>,
    bounds: MemoryBounds,
    epoch: Epoch,
    id: JournalId,
    /// After the last record.
    end: Position,
    /// After the last record that was committed by this handle.
    committed: Position,
    /// Records and bytes that were appended and not committed.
    waiting: (u64, u64),
    is_stopped: bool,
    wake: Option<Wake>,
    records: u64,
    bytes: u64,
    commits: u64,
    batch_records: Buckets,
    /// Stays empty: nothing is synced.
    sync_us: Buckets,
    reads: AtomicU64,
}

impl MemoryLog {
    /// The log, if this handle is still its writer.
    fn write(&self) -> Result<RwLockWriteGuard<'_, Log>, Error> {
        let log = write(&self.log);
        self.check(&log)?;
        Ok(log)
    }

    fn check(&self, log: &Log) -> Result<(), Error> {
        if log.epoch != self.epoch {
            return Err(Error::Fenced { epoch: self.epoch, newer: log.epoch });
        }
        if self.is_stopped {
            return Err(Error::Failed { durable: self.committed, what: "it was stopped".to_owned() });
        }
        Ok(())
    }

    /// Whether a record of so many bytes may be appended.
    fn check_room(&self, log: &Log, bytes: usize, room: Room) -> Result<(), Error> {
        self.check(log)?;
        let MemoryBounds { bytes_max, reserve_bytes, record_bytes_max, waiting_bytes_max } = self.bounds;
        if bytes > record_bytes_max {
            return Err(Error::TooLarge { bytes, bytes_max: record_bytes_max });
        }
        let (_, waiting) = self.waiting;
        if waiting > 0 && waiting + bytes as u64 > waiting_bytes_max as u64 {
            return Err(Error::Busy { waiting });
        }
        let held_max = match room {
            Room::Ordinary => bytes_max,
            Room::Reserved => bytes_max.saturating_add(reserve_bytes),
        };
        if log.blocks.has_room(bytes, held_max) { Ok(()) } else { Err(Error::Full) }
    }

    fn append_to(&mut self, record: &[u8], room: Room) -> Result<Position, Error> {
        if record.is_empty() {
            return Err(Error::Setting("a record has at least one byte".to_owned()));
        }
        let mut log = write(&self.log);
        self.check_room(&log, record.len(), room)?;
        let position = log.blocks.append(record);
        let end = log.blocks.end();
        drop(log);
        self.end = end;
        self.records += 1;
        self.bytes += record.len() as u64;
        self.waiting = (self.waiting.0 + 1, self.waiting.1 + record.len() as u64);
        Ok(position)
    }
}

impl Journal for MemoryLog {
    fn append(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.append_to(record, Room::Ordinary)
    }

    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.append_to(record, Room::Reserved)
    }

    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.check_room(&read(&self.log), bytes, room)?;
        // A block begins where the one before it ends, so that the next record stands here wherever
        // it has room.
        Ok(self.end)
    }

    fn commit(&mut self) -> Result<(), Error> {
        let mut log = self.write()?;
        let (records, _) = self.waiting;
        if records == 0 {
            return Ok(());
        }
        log.durable = self.end;
        drop(log);
        self.committed = self.end;
        self.waiting = (0, 0);
        self.commits += 1;
        self.batch_records.add(records);
        if let Some(wake) = &self.wake {
            wake();
        }
        Ok(())
    }

    fn durable(&mut self) -> Result<Position, Error> {
        self.check(&read(&self.log))?;
        Ok(self.committed)
    }

    fn wait(&mut self, _timeout: Duration) -> Result<Position, Error> {
        self.durable()
    }

    fn stop(&mut self) -> Option<Position> {
        self.is_stopped = true;
        Some(self.committed)
    }

    fn on_durable(&mut self, wake: Wake) {
        self.wake = Some(wake);
    }

    fn end(&self) -> Position {
        self.end
    }

    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let log = read(&self.log);
        let found = log.blocks.at(record)?;
        let part = found.body.get(offset as usize..).and_then(|part| part.get(..into.len()));
        into.copy_from_slice(part.ok_or(Error::NoRecord(record))?);
        Ok(())
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(MemoryReader::new(Arc::clone(&self.log)))
    }

    fn start(&self) -> Position {
        read(&self.log).blocks.start().min(self.end)
    }

    fn trim(&mut self, below: Position) -> Result<(), Error> {
        let mut log = self.write()?;
        let below = below.min(log.durable);
        log.blocks.trim(below);
        Ok(())
    }

    fn room(&self) -> Option<Room> {
        let MemoryBounds { bytes_max, reserve_bytes, .. } = self.bounds;
        read(&self.log).blocks.room(ROOM_BYTES, bytes_max, reserve_bytes)
    }

    fn id(&self) -> JournalId {
        self.id
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn metrics(&self) -> Metrics {
        Metrics {
            records: self.records,
            bytes: self.bytes,
            commits: self.commits,
            sync_us: self.sync_us.snapshot(),
            batch_records: self.batch_records.snapshot(),
            waiting_bytes: self.waiting.1,
            tail_bytes: read(&self.log).blocks.held(),
            reads_from_memory: self.reads.load(Ordering::Relaxed),
            ..Metrics::default()
        }
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        let mut log = write(&self.log);
        if log.epoch == self.epoch {
            log.is_held = false;
        }
    }
}

/// A panic while it was locked left it whole: no lock is held while anything of others is called.
fn read(log: &RwLock<Log>) -> RwLockReadGuard<'_, Log> {
    log.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(log: &RwLock<Log>) -> RwLockWriteGuard<'_, Log> {
    log.write().unwrap_or_else(PoisonError::into_inner)
}
