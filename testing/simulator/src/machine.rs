//! One shard on its simulated disk: the real core over the real journal code, without threads.
//!
//! The disk, and how far the journal's own work gets between two turns, are the simulation's to decide. A
//! [`Sabotage`] breaks one promise on purpose, so that tests can show that the checker notices.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stadium_journal::memory::{Kept, MemoryDisk};
use stadium_journal::{
    Checkpoints, Disk, DiskFile, Epoch, Error, FileCheckpoints, FileJournal, Journal, JournalId, LockError,
    LockGuard, Metrics, Opening, Options, Position, Reader, Record, Room, Segment, SegmentNumber, Stepper,
    Wake,
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
    /// The folder of a disk says that its names are synced, and they are not.
    FolderSyncDoesNothing,
    /// One checkpoint is kept instead of two.
    OneCheckpointIsKept,
    /// What a recovery reads lacks a record.
    RecoveryForgetsARecord,
    /// An edge tells nobody what sessions are owed.
    KeptMessagesAreForgotten,
    /// An edge tells nobody what is retained.
    RetainedMessagesAreForgotten,
    /// An edge delivers what a shard knows already.
    KnownMessagesAreDelivered,
    /// An edge reads the wall clock when it starts, and never again.
    EdgeClockIsFixed,
    /// An edge keeps twice as many messages for a session as it is told to.
    SessionsKeepMore,
    /// An edge does not hand wills to the shards.
    WillsAreForgotten,
    /// An edge does not read DISCONNECT.
    DisconnectsAreNotRead,
    /// An edge publishes wills without RETAIN.
    WillsAreNotRetained,
    /// A loop delivers its part of a message that was refused.
    RefusedPartsAreDelivered,
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
    /// Checkpoints that are damaged.
    damaged: BTreeSet<String>,
    was_damaged: bool,
    /// Checkpoints that were there at a start.
    written: BTreeSet<String>,
}

impl Machine {
    /// A shard with empty disks, not opened.
    pub fn new(plan: &Plan, shard: u16, sabotage: Sabotage) -> Machine {
        let place = Place { shard, shards: plan.shards, hash_seed: plan.seed };
        let settings = CoreSettings {
            bounds: Bounds { payload_bytes_max: 20 << 10, finished_max: 2_000, ..Bounds::default() },
            wallet: stadium_wallet::Bounds { transfers_remembered: 100_000, ..Default::default() },
            session: stadium_session::Bounds {
                message_bytes_max: plan.mqtt.as_ref().map_or(u64::MAX, |mqtt| mqtt.message_bytes_max),
                ..Default::default()
            },
            seed: plan.seed,
            // A tick of the push platform sets aside room for many numbers in each event.
            turn_events_max: if plan.pushes.is_some() {
                plan.turn_events_max.min(8)
            } else {
                plan.turn_events_max
            },
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
        let disk = |random| {
            let disk = MemoryDisk::new(random);
            disk.names_in_any_order(plan.faults.any_order);
            disk
        };
        Machine {
            disk: disk(plan.seed ^ u64::from(shard)),
            checkpoints: disk(plan.seed ^ u64::from(shard) ^ 1),
            core: None,
            stepper: Arc::default(),
            settings,
            options,
            sabotage,
            damaged: BTreeSet::new(),
            was_damaged: false,
            written: BTreeSet::new(),
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

    /// Another shard with the same files, not opened.
    pub fn fork(&self) -> Machine {
        Machine {
            disk: self.disk.fork(),
            checkpoints: self.checkpoints.fork(),
            core: None,
            stepper: Arc::default(),
            settings: self.settings.clone(),
            options: self.options.clone(),
            sabotage: self.sabotage,
            damaged: BTreeSet::new(),
            was_damaged: false,
            written: BTreeSet::new(),
        }
    }

    /// Something of its disks fails at the next start: a read, once; or the newest of its checkpoints for ever, where there must be
    /// another whole one.
    pub fn hurt(&mut self, random: &mut fastrand::Rng, reads: u32, checkpoints: u32) {
        let mut once_in = |one_in: u32| one_in > 0 && random.u32(..one_in) == 0;
        let (read, checkpoint) = (once_in(reads), once_in(checkpoints));
        if read {
            let disk = if random.bool() { &self.disk } else { &self.checkpoints };
            disk.fail_read(Some(random.u64(..12)));
        }
        let mut names: Vec<String> = self.checkpoints.files().into_iter().map(|(name, _)| name).collect();
        names.retain(|name| name.ends_with(".checkpoint"));
        self.damaged.retain(|name| names.contains(name));
        self.written.extend(names.iter().cloned());
        let Some(newest) =
            names.iter().max().filter(|newest| checkpoint && !self.damaged.contains(newest.as_str()))
        else {
            return;
        };
        // Two whole ones are kept: with a damaged one beside the newest there is another whole one.
        // Where none was damaged, there are two as soon as two were written.
        if names.len() < 2 && (self.written.len() < 2 || self.was_damaged) {
            return;
        }
        self.was_damaged = true;
        if random.bool() {
            self.checkpoints.make_unreadable(newest);
        } else {
            let bytes = self.checkpoints.content(newest).map_or(0, |content| content.len() as u64);
            self.checkpoints.flip_bit(newest, random.u64(..bytes.max(1)), random.u8(..8));
        }
        self.damaged.insert(newest.clone());
    }

    /// Its disks are as good as new, but for files that are damaged.
    pub fn heal(&self) {
        for disk in [&self.disk, &self.checkpoints] {
            disk.set_capacity(None);
            disk.fail_sync(u64::MAX, Kept::Everything);
            disk.fail_write(u64::MAX);
            disk.fail_read(None);
            disk.fail_name(None);
            disk.set_open_max(None);
        }
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
            Sabotage::SyncDoesNothing | Sabotage::FolderSyncDoesNothing | Sabotage::OneCheckpointIsKept => {
                Arc::new(LyingDisk { disk: disk.clone(), sabotage: self.sabotage })
            }
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
        match self.sabotage {
            Sabotage::RecoveryForgetsARecord => {
                Box::new(ForgetfulReader { reader: self.journal.reader(), read: 0 })
            }
            _ => self.journal.reader(),
        }
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

/// A disk that says that all is well where something was not done.
struct LyingDisk {
    disk: MemoryDisk,
    sabotage: Sabotage,
}

struct LyingFile {
    file: Arc<dyn DiskFile>,
    sabotage: Sabotage,
}

/// A reader of records that passes over the third one.
struct ForgetfulReader {
    reader: Box<dyn Reader>,
    read: u64,
}

impl Reader for ForgetfulReader {
    fn seek(&mut self, position: Position) -> Result<(), Error> {
        self.reader.seek(position)
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        self.read += 1;
        if self.read == 3 {
            self.reader.next()?;
        }
        self.reader.next()
    }

    fn record(&mut self, at: Position) -> Result<Record<'_>, Error> {
        self.reader.record(at)
    }
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
        Ok(Arc::new(LyingFile { file: self.disk.open(name)?, sabotage: self.sabotage }))
    }

    fn create(&self, name: &str) -> std::io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(LyingFile { file: self.disk.create(name)?, sabotage: self.sabotage }))
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.disk.rename(from, to)?;
        if self.sabotage == Sabotage::OneCheckpointIsKept && to.ends_with(".checkpoint") {
            let others =
                self.disk.list()?.into_iter().filter(|name| name.ends_with(".checkpoint") && name != to);
            others.for_each(|name| drop(self.disk.remove(&name)));
        }
        Ok(())
    }

    fn rename_new(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.disk.rename_new(from, to)
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_folder(&self) -> std::io::Result<()> {
        match self.sabotage {
            Sabotage::FolderSyncDoesNothing => Ok(()),
            _ => self.disk.sync_folder(),
        }
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
        match self.sabotage {
            Sabotage::SyncDoesNothing => Ok(()),
            _ => self.file.sync(),
        }
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
