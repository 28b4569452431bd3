//! One shard on its simulated disk: the real core over the real journal code, without threads.
//!
//! The disk, and how far the journal's own work gets between two turns, are the simulation's to decide. A
//! [`Sabotage`] breaks one promise on purpose, so that tests can show that the checker notices.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stadium_journal::memory::MemoryDisk;
use stadium_journal::{
    Checkpoints, Disk, DiskFile, Epoch, Error, FileCheckpoints, FileJournal, Journal, JournalId, LockError,
    LockGuard, Metrics, Opening, Options, Position, Reader, Room, Segment, SegmentNumber, Stepper, Wake,
};
use stadium_queue::{Bounds, Place, Time};
use stadium_shard::core::{CheckpointWriting, Core, CoreSettings, Store};

use crate::plan::Plan;

/// A promise that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// None.
    #[default]
    None,
    /// The disk says that it synced, and did not.
    SyncDoesNothing,
    /// The journal says that all is durable as soon as it is appended.
    AnswersBeforeCommit,
    /// The disk gives other bytes than were written, where payloads are read one by one.
    ReadsAreWrong,
    /// A shard says that it noted what devices acknowledged, and did not.
    AcknowledgementsAreForgotten,
    /// A shard confirms what another one wrote to it about pushes, and did not take it in.
    LettersOfPushesAreForgotten,
}

/// A shard, its disks, and what moves its journal.
pub struct Machine {
    /// Where its journal is.
    pub disk: MemoryDisk,
    /// Where its checkpoints are.
    pub checkpoints: MemoryDisk,
    /// The shard, while its process lives.
    pub core: Option<Core<SimulatedStore, u64>>,
    stepper: Arc<Mutex<Option<Stepper>>>,
    settings: CoreSettings,
    options: Options,
    sabotage: Sabotage,
}

impl Machine {
    /// A shard with empty disks, not opened.
    pub fn new(plan: &Plan, shard: u16, sabotage: Sabotage) -> Machine {
        let place = Place { shard, shards: plan.shards, hash_seed: plan.seed };
        let settings = CoreSettings {
            bounds: Bounds { payload_bytes_max: 20 << 10, finished_max: 2_000, ..Bounds::default() },
            wallet: stadium_wallet::Bounds { transfers_remembered: 100_000, ..Default::default() },
            seed: plan.seed,
            // A tick of the push platform sets aside room for many numbers in each event.
            turn_events_max: if plan.pushes.is_some() { 8 } else { 32 },
            turn_commands_max: plan.turn_commands_max,
            checkpoint_bytes: plan.checkpoint_bytes,
            checkpoint_slice_bytes: plan.checkpoint_slice_bytes,
            checkpoint_writer: CheckpointWriting::InTurn,
            rewrite_slice_bytes: 4 << 10,
            history_keep_bytes: 64 << 10,
            ..CoreSettings::for_shard(place)
        };
        let options = Options {
            shard: u32::from(shard),
            segment_bytes: plan.segment_bytes,
            reserve_bytes: plan.segment_bytes,
            record_bytes_max: plan.segment_bytes as usize - (20 << 10),
            waiting_bytes_max: 128 << 10,
            tail_bytes: 32 << 10,
            spares_max: 1,
            opening: Opening::default(),
        };
        Machine {
            disk: MemoryDisk::new(plan.seed ^ u64::from(shard)),
            checkpoints: MemoryDisk::new(plan.seed ^ u64::from(shard) ^ 1),
            core: None,
            stepper: Arc::default(),
            settings,
            options,
            sabotage,
        }
    }

    /// Starts its process.
    ///
    /// # Errors
    ///
    /// As the core's opening.
    pub fn open(&mut self, now: Time) -> Result<(), stadium_shard::Error> {
        let store = SimulatedStore {
            disk: self.disk.clone(),
            checkpoints: self.checkpoints.clone(),
            stepper: Arc::clone(&self.stepper),
            options: self.options.clone(),
            sabotage: self.sabotage,
        };
        self.core = Some(Core::open(store, self.settings.clone(), now, &mut |_| ())?);
        Ok(())
    }

    /// Ends its process, as a crash does.
    pub fn end(&mut self) {
        self.core = None;
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Does so many steps of the journal's own work, or until there is none. Says whether some was done.
    pub fn work(&self, steps: u32) -> bool {
        let stepper = self.stepper.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(stepper) = stepper else { return false };
        let mut worked = false;
        for _ in 0..steps {
            let step = stepper.commit() | stepper.keep();
            worked |= step;
            if !step {
                break;
            }
        }
        worked
    }

    /// Whether power has failed.
    pub fn is_stopped(&self) -> bool {
        self.disk.is_stopped() || self.checkpoints.is_stopped()
    }
}

/// The journal and the checkpoints of a machine.
pub struct SimulatedStore {
    disk: MemoryDisk,
    checkpoints: MemoryDisk,
    stepper: Arc<Mutex<Option<Stepper>>>,
    options: Options,
    sabotage: Sabotage,
}

impl SimulatedStore {
    fn disk(&self, disk: &MemoryDisk) -> Arc<dyn Disk> {
        match self.sabotage {
            Sabotage::SyncDoesNothing => Arc::new(LyingDisk { disk: disk.clone() }),
            _ => Arc::new(disk.clone()),
        }
    }
}

impl Store for SimulatedStore {
    type Journal = SimulatedJournal;

    fn open(&mut self, opening: Opening) -> Result<SimulatedJournal, Error> {
        let options = Options { opening, ..self.options.clone() };
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (journal, stepper) = FileJournal::open_stepped(self.disk(&self.disk), &options)?;
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = Some(stepper);
        Ok(SimulatedJournal { journal, sabotage: self.sabotage })
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        let disk = self.disk(&self.checkpoints);
        Ok(Box::new(FileCheckpoints::open_on(disk, self.options.shard, journal)?))
    }
}

/// The file journal, with a sabotage.
pub struct SimulatedJournal {
    journal: FileJournal,
    sabotage: Sabotage,
}

impl Journal for SimulatedJournal {
    fn append(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.journal.append(record)
    }

    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.journal.append_reserved(record)
    }

    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.journal.make_room(bytes, room)
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.journal.commit()
    }

    fn durable(&mut self) -> Result<Position, Error> {
        let durable = self.journal.durable()?;
        Ok(match self.sabotage {
            Sabotage::AnswersBeforeCommit => self.journal.end(),
            _ => durable,
        })
    }

    fn wait(&mut self, timeout: Duration) -> Result<Position, Error> {
        self.journal.wait(timeout)
    }

    fn on_durable(&mut self, wake: Wake) {
        self.journal.on_durable(wake);
    }

    fn end(&self) -> Position {
        self.journal.end()
    }

    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        self.journal.read_at(record, offset, into)?;
        if self.sabotage == Sabotage::ReadsAreWrong
            && let Some(last) = into.last_mut()
        {
            *last ^= 1;
        }
        Ok(())
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.journal.reader()
    }

    fn segments(&self) -> Vec<Segment> {
        self.journal.segments()
    }

    fn segment_of(&self, position: Position) -> Option<SegmentNumber> {
        self.journal.segment_of(position)
    }

    fn remove(&mut self, segment: SegmentNumber) -> Result<(), Error> {
        self.journal.remove(segment)
    }

    fn seal(&mut self) -> Result<(), Error> {
        self.journal.seal()
    }

    fn room(&self) -> Option<Room> {
        self.journal.room()
    }

    fn id(&self) -> JournalId {
        self.journal.id()
    }

    fn epoch(&self) -> Epoch {
        self.journal.epoch()
    }

    fn metrics(&self) -> Metrics {
        self.journal.metrics()
    }
}

/// A disk whose syncs do nothing and say that all is well.
struct LyingDisk {
    disk: MemoryDisk,
}

struct LyingFile {
    file: Arc<dyn DiskFile>,
}

impl Disk for LyingDisk {
    fn place(&self) -> String {
        self.disk.place()
    }

    fn lock(&self) -> Result<LockGuard, LockError> {
        self.disk.lock()
    }

    fn list(&self) -> std::io::Result<Vec<String>> {
        self.disk.list()
    }

    fn open(&self, name: &str) -> std::io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(LyingFile { file: self.disk.open(name)? }))
    }

    fn create(&self, name: &str) -> std::io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(LyingFile { file: self.disk.create(name)? }))
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.disk.rename(from, to)
    }

    fn rename_new(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.disk.rename_new(from, to)
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_folder(&self) -> std::io::Result<()> {
        self.disk.sync_folder()
    }

    fn random(&self) -> u64 {
        self.disk.random()
    }
}

impl DiskFile for LyingFile {
    fn length(&self) -> std::io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn allocate(&self, bytes: u64) -> std::io::Result<()> {
        self.file.allocate(bytes)?;
        // Without this nothing would ever survive, and that is noticed too easily.
        self.file.sync()
    }

    fn truncate(&self, bytes: u64) -> std::io::Result<()> {
        self.file.truncate(bytes)
    }
}
