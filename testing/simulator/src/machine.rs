//! One shard on its simulated disk: the real core over the real journal code, without threads.
//!
//! The disk, and how far the journal's own work gets between two turns, are the simulation's to decide. A
//! [`Sabotage`] breaks one promise on purpose, so that tests can show that the checker notices.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stadium_journal::memory::{Kept, MemoryDisk};
use stadium_journal::{
    Checkpoints, Disk, Epoch, Error, FileCheckpoints, FileJournal, Journal, JournalId, Metrics, Opening,
    Options, Position, Reader, Record, Room, Segmented, Stepper, Wake,
};
use stadium_queue::{Bounds, Place, Queues, Time};
use stadium_shard::core::{
    CheckpointWriting, Core, CoreSettings, Follower, Kind, MachineBounds, Next, NodeLease, Output,
    SegmentMoves, Store,
};

use crate::asker::{Asker, take_cut};
use crate::clock::stopwatch;
use crate::counter::Counter;
use crate::lying::{LyingDisk, lies};
use crate::plan::Plan;

/// A promise that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// None.
    #[default]
    None,
    /// The disk reports that it synced, and did not.
    SyncDoesNothing,
    /// The journal reports that all is durable as soon as it is appended.
    AnswersBeforeCommit,
    /// The disk gives other bytes than were written, where payloads are read one by one.
    ReadsAreWrong,
    /// A shard reports that it noted acknowledgements of devices, and did not.
    AcknowledgementsAreForgotten,
    /// A shard confirms what another one wrote to it about pushes, and did not take it in.
    MessagesOfPushesAreForgotten,
    /// A shard dispatches live pushes twice.
    LivePushesAreDoubled,
    /// Where an app's home refused a cancellation, other shards cancel what comes next.
    RefusedCancellationsStay,
    /// A shard confirms amounts that moved to its counter, and did not take them in.
    MessagesOfCountersAreForgotten,
    /// Shards are not notified of a cancellation whose push is still on its way to them.
    CancelledMessagesStart,
    /// The folder of a disk reports that its names are synced, and they are not.
    FolderSyncDoesNothing,
    /// One checkpoint is kept instead of two.
    OneCheckpointIsKept,
    /// A checkpoint that is damaged counts as one of the two that are kept.
    DamagedCheckpointsCount,
    /// Where the newest checkpoint cannot be read, none is.
    UnreadCheckpointsAreTheEnd,
    /// A log is trimmed up to its end.
    TrimTakesMore,
    /// What a recovery reads lacks a record.
    RecoveryForgetsARecord,
    /// An edge reports to nobody what sessions are owed.
    KeptMessagesAreForgotten,
    /// An edge reports to nobody what is retained.
    RetainedMessagesAreForgotten,
    /// An edge has no quota of retained messages for a device.
    QuotasAreIgnored,
    /// An edge does not report whose a retained message is.
    OwnersAreForgotten,
    /// An edge delivers what a shard knows already.
    KnownMessagesAreDelivered,
    /// An edge reads the wall clock when it starts, and never again.
    EdgeClockIsFixed,
    /// A publish at QoS 2 is remembered by its origin and by the loop that keeps a part of it.
    LoopsAreInOrigins,
    /// An edge keeps twice as many messages for a session as its bound allows.
    SessionsKeepMore,
    /// An edge does not end sessions that an operator has forgotten: it only cuts their clients.
    ForgottenSessionsStay,
    /// An edge does not hand wills to the shards.
    WillsAreForgotten,
    /// An edge does not read DISCONNECT.
    DisconnectsAreNotRead,
    /// An edge publishes wills without RETAIN.
    WillsAreNotRetained,
    /// A loop delivers its part of a message that was refused.
    RefusedPartsAreDelivered,
    /// An edge does not have messages of shared subscriptions kept.
    SharedMessagesAreForgotten,
    /// An edge gives a message of a shared subscription to the next member too, where its turn is on another loop.
    SharedMessagesAreDoubled,
    /// An edge hands on nothing of a member of a shared subscription whose session ended.
    SharedMessagesAreNotHandedOn,
    /// Where a read fails, a file ends.
    FailedReadsAreEnds,
    /// A rename that failed counts as done.
    FailedRenamesAreIgnored,
    /// A folder from which a file could not be removed once is never tried again.
    FailedRemovalsAreForEver,
    /// A folder in which a file could not be created once is never tried again.
    FailedCreatesAreForEver,
    /// A folder in which a file could not be opened once is never tried again.
    FailedOpensAreForEver,
    /// The folder is synced only after every other change of its names.
    EveryOtherFolderSync,
    /// Control has one slot instead of two.
    OneControlSlot,
    /// A process that once may open no more files is taken for a disk that failed for good.
    DescriptorsAreTheDisk,
    /// Who is cut off by a panic hears that nothing happened.
    CutCallersHearBusy,
    /// Who has waited too long for a commit hears that nothing happened.
    LateCommitsAreBusy,
    /// A standby leaves out a record.
    StandbysForgetARecord,
    /// A shard answers from memory whether its node's lease is certain or not.
    LeasesAreNotAsked,
}

/// A shard, its disks, and what moves its journal.
pub struct Machine {
    /// Where its journal is.
    pub disk: MemoryDisk,
    /// Where its checkpoints are.
    pub checkpoints: MemoryDisk,
    /// The shard, while its process lives.
    pub core: Option<Core<SimulatedStore, Asker, Queues>>,
    stepper: Arc<Mutex<Option<Stepper>>>,
    settings: CoreSettings,
    options: Options,
    sabotage: Sabotage,
    can_only_trim: bool,
    /// Checkpoints that are damaged.
    damaged: BTreeSet<String>,
    was_damaged: bool,
    /// Checkpoints that were there at a start.
    written: BTreeSet<String>,
    /// Times that its process opened the journal.
    opened: u64,
    /// Calls of the journal until a turn panics.
    panics_in: Option<u64>,
    /// Turns for which its journal commits nothing.
    away: u32,
    /// A standby that applies each record when it is durable, where there is one.
    standby: Option<Follower>,
    has_standby: bool,
    /// Times that a standby became the owner.
    promoted: u64,
    /// The lease of its node, where nodes may be stopped.
    lease: Option<Arc<Lease>>,
    /// Another owner has claimed what its process writes to.
    is_fenced: Arc<AtomicBool>,
    fuse: Fuse,
}

/// The lease of a node, by the time that has passed.
#[derive(Debug, Default)]
struct Lease {
    /// Microseconds of [`stopwatch`].
    until_us: AtomicU64,
}

impl NodeLease for Lease {
    fn is_certain(&self, _shard: u16) -> bool {
        stopwatch() < self.until_us.load(Ordering::Relaxed)
    }
}

/// How long a lease is certain after it was renewed, milliseconds.
pub const CERTAIN: u64 = 1_500;

/// An owner whose node was stopped, and that another one has fenced meanwhile.
pub struct Zombie {
    /// Which shard it owned.
    pub shard: u16,
    /// With its memory, and the commands that it had not taken on.
    pub core: Core<SimulatedStore, Asker, Queues>,
}

/// How long callers wait for a commit, milliseconds, where commits may not come.
const COMMIT_WAIT: u64 = 500;

/// Calls of the journal, before or after what they do, until one panics; [`NO_PANIC`] for none.
type Fuse = Arc<AtomicU64>;

/// A fuse that does not burn.
const NO_PANIC: u64 = u64::MAX;

/// Operations of a disk that no run reaches.
pub(crate) const NEVER: u64 = 1 << 40;

/// How the panics begin that the simulation makes.
pub(crate) const PLANNED: &str = "planned by the simulation";

impl Machine {
    /// A shard with empty disks, not opened.
    pub fn new(plan: &Plan, shard: u16, sabotage: Sabotage) -> Machine {
        let place = Place { shard, shards: plan.shards, hash_seed: plan.seed };
        let usual = CoreSettings::for_shard(place);
        let settings = CoreSettings {
            bounds: MachineBounds {
                queue: Bounds { payload_bytes_max: 20 << 10, finished_max: 2_000, ..Bounds::default() },
                wallet: stadium_wallet::Bounds { transfers_remembered: 100_000, ..Default::default() },
                session: stadium_session::Bounds {
                    message_bytes_max: plan.mqtt.as_ref().map_or(u64::MAX, |mqtt| mqtt.message_bytes_max),
                    ..Default::default()
                },
                ..MachineBounds::default()
            },
            more_machines: match plan.counters {
                Some(_) => vec![Kind::of(Counter::new)],
                None => Vec::new(),
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
            stretch_bytes: 16 << 10,
            commit_wait: (plan.faults.away > 0).then_some(COMMIT_WAIT),
            // The lengths of slices depend on it too.
            stopwatch: if plan.faults.away > 0 { stopwatch } else { usual.stopwatch },
            ..usual
        };
        if plan.wallets.as_ref().is_some_and(|wallets| wallets.moves) {
            settings.moves.start();
        }
        let options = Options {
            shard: u32::from(shard),
            segment_bytes: plan.segment_bytes,
            reserve_bytes: plan.segment_bytes,
            record_bytes_max: plan.segment_bytes as usize - (20 << 10),
            waiting_bytes_max: 128 << 10,
            tail_bytes: 32 << 10,
            spares_max: 1,
            open_segments_max: 8,
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
            can_only_trim: plan.can_only_trim,
            damaged: BTreeSet::new(),
            was_damaged: false,
            written: BTreeSet::new(),
            opened: 0,
            panics_in: None,
            away: 0,
            standby: None,
            has_standby: plan.has_standby,
            promoted: 0,
            lease: (plan.faults.stops > 0).then(Arc::default),
            is_fenced: Arc::default(),
            fuse: Arc::new(AtomicU64::new(NO_PANIC)),
        }
    }

    /// The segments that may leave its disk.
    pub fn moves(&self) -> &SegmentMoves {
        &self.settings.moves
    }

    /// Starts its process.
    ///
    /// # Errors
    ///
    /// As the core's opening.
    pub fn open(&mut self, now: Time) -> Result<(), stadium_shard::Error> {
        let store = SimulatedStore {
            disk: self.as_seen(&self.disk),
            checkpoints: self.as_seen(&self.checkpoints),
            stepper: Arc::clone(&self.stepper),
            options: self.options.clone(),
            sabotage: self.sabotage,
            can_only_trim: self.can_only_trim,
            is_fenced: Arc::clone(&self.is_fenced),
            fuse: Arc::clone(&self.fuse),
        };
        let asked = self.lease.clone().filter(|_| self.sabotage != Sabotage::LeasesAreNotAsked);
        self.settings.lease = asked.map(|lease| lease as Arc<dyn NodeLease>);
        self.core = Some(match self.standby.take() {
            Some(standby) => {
                self.promoted += 1;
                self.promote(store, standby)?
            }
            None => Core::open(store, self.settings.clone(), now, &mut |_| ())?,
        });
        self.opened += 1;
        Ok(())
    }

    /// The shard whose standby takes over: it reads what it has not applied, and goes on.
    fn promote(
        &self,
        mut store: SimulatedStore,
        mut standby: Follower,
    ) -> Result<Core<SimulatedStore, Asker, Queues>, stadium_shard::Error> {
        let newest = store.checkpoints(None)?.list()?.first().map(|info| info.position);
        let checkpoint = newest.unwrap_or(Position::START);
        let journal = store.open(Opening { checkpoint, ..Opening::default() })?;
        let mut reader = journal.reader();
        reader.seek(standby.end())?;
        while let Some(record) = reader.next()? {
            standby.apply(record)?;
        }
        Core::promote(store, self.settings.clone(), standby, journal)
    }

    /// Lets the standby apply what became durable; begins one where there is to be one.
    ///
    /// # Errors
    ///
    /// It cannot apply a record of its owner.
    pub fn follow(&mut self) -> Result<(), stadium_shard::Error> {
        let Some(core) = self.core.as_mut().filter(|_| self.has_standby) else { return Ok(()) };
        if self.standby.is_none() {
            // A checkpoint that cannot be read now is asked for again.
            let Ok(Ok(newest)) = core.store().checkpoints(None).map(|checkpoints| checkpoints.newest())
            else {
                return Ok(());
            };
            self.standby = Some(Follower::new(&self.settings, newest, &mut |_| ())?);
        }
        let Some(standby) = &mut self.standby else { return Ok(()) };
        let Some(journal) = core.journal() else { return Ok(()) };
        let Ok(durable) = journal.durable() else { return Ok(()) };
        let mut reader = journal.reader();
        if standby.end() >= durable || reader.seek(standby.end()).is_err() {
            return Ok(());
        }
        loop {
            if self.sabotage == Sabotage::StandbysForgetARecord && standby.records() == 2 {
                let _ = reader.next();
            }
            // A record that cannot be read now is read in the next turn.
            let Ok(Some(record)) = reader.next() else { break };
            if record.end > durable {
                break;
            }
            standby.apply(record)?;
        }
        standby.settle(journal);
        if standby.end() >= durable {
            standby.caught_up(journal);
        }
        Ok(())
    }

    /// The standby, where it has applied everything that the owner wrote.
    pub fn standby(&mut self) -> Option<&mut Follower> {
        let end = self.core.as_mut()?.journal()?.end();
        self.standby.as_mut().filter(|standby| standby.end() == end)
    }

    /// Times that a standby became the owner.
    pub fn promoted(&self) -> u64 {
        self.promoted
    }

    /// A disk as the shard's process sees it.
    fn as_seen(&self, disk: &MemoryDisk) -> Arc<dyn Disk> {
        if lies(self.sabotage) {
            Arc::new(LyingDisk::new(disk.clone(), self.sabotage))
        } else {
            Arc::new(disk.clone())
        }
    }

    /// A turn panics after so many calls of the journal, once. `None`: none does.
    pub fn panic_in(&mut self, calls: Option<u64>) {
        self.panics_in = calls;
    }

    /// A turn of the shard, where its process lives. Returns whose answers were cut off by a panic.
    pub fn turn(&mut self, now: Time, output: &mut Output<Asker, Queues>) -> Option<(Next, Vec<u64>)> {
        let core = self.core.as_mut()?;
        drop(take_cut());
        self.fuse.store(self.panics_in.unwrap_or(NO_PANIC), Ordering::Relaxed);
        let next = core.turn(now, output);
        let left = self.fuse.swap(NO_PANIC, Ordering::Relaxed);
        self.panics_in = (left != NO_PANIC).then_some(left);
        Some((next, take_cut()))
    }

    /// Its journal commits nothing for so many turns.
    pub fn go_away(&mut self, turns: u32) {
        self.away = turns;
    }

    /// Its node's lease is certain for some time from now on.
    pub fn renew(&self) {
        if let Some(lease) = &self.lease {
            lease.until_us.store(stopwatch() + CERTAIN * 1_000, Ordering::Relaxed);
        }
    }

    /// Its process stops, and another one is to own the shard: on a copy of the files, as the log is
    /// where another owner claims it. What the process goes on writing counts no more.
    pub fn stop(&mut self) -> Option<Zombie> {
        let mut core = self.core.take()?;
        core.journal()?;
        self.heal();
        self.disk.stop_after(NEVER);
        self.checkpoints.stop_after(NEVER);
        (self.disk, self.checkpoints) = (self.disk.fork(), self.checkpoints.fork());
        std::mem::take(&mut self.is_fenced).store(true, Ordering::Relaxed);
        self.lease = Some(Arc::default());
        self.stepper = Arc::default();
        self.fuse = Arc::new(AtomicU64::new(NO_PANIC));
        Some(Zombie { shard: core.settings().place.shard, core })
    }

    /// Barriers that its process has written.
    pub fn barriers(&self) -> u64 {
        self.core.as_ref().map_or(0, |core| core.metrics().barriers)
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
            can_only_trim: self.can_only_trim,
            damaged: BTreeSet::new(),
            was_damaged: false,
            written: BTreeSet::new(),
            opened: 0,
            panics_in: None,
            away: 0,
            standby: None,
            has_standby: false,
            promoted: 0,
            lease: None,
            is_fenced: Arc::default(),
            fuse: Arc::new(AtomicU64::new(NO_PANIC)),
        }
    }

    /// Something of its disks fails at the next start: a read, once; or the newest of its checkpoints for ever, where there must be
    /// another whole one.
    pub fn hurt(&mut self, random: &mut fastrand::Rng, reads: u32, checkpoints: u32) {
        let mut once_in = |one_in: u32| one_in > 0 && random.u32(..one_in) == 0;
        let (read, checkpoint) = (once_in(reads), once_in(checkpoints));
        if read {
            let disk = if random.bool() { &self.disk } else { &self.checkpoints };
            let reads = if random.bool() { 12 } else { 60 };
            disk.fail_read(Some(random.u64(..reads)));
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

    /// A checkpoint of it is damaged, so that one other read that fails leaves none.
    pub fn has_damage(&self) -> bool {
        !self.damaged.is_empty()
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
        self.panics_in = None;
        self.away = 0;
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A bit of `control` flips. Returns whether it did: one of two slots is written at each
    /// opening, and it is the one that may be damaged.
    pub fn flip_control(&mut self, random: &mut fastrand::Rng) -> bool {
        let is_open = self.core.as_mut().is_some_and(|core| core.journal().is_some());
        if !is_open || self.opened < 2 {
            return false;
        }
        // Of a slot's 512 bytes 36 are used.
        let byte = random.u64(..36) + if random.bool() { 512 } else { 0 };
        self.disk.flip_bit("control", byte, random.u8(..8))
    }

    /// Does so many steps of the journal's own work, or until there is none. Returns whether some
    /// was done.
    pub fn work(&mut self, steps: u32) -> bool {
        if self.away > 0 {
            self.away -= 1;
            return false;
        }
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
    disk: Arc<dyn Disk>,
    checkpoints: Arc<dyn Disk>,
    stepper: Arc<Mutex<Option<Stepper>>>,
    options: Options,
    sabotage: Sabotage,
    can_only_trim: bool,
    is_fenced: Arc<AtomicBool>,
    fuse: Fuse,
}

impl Store for SimulatedStore {
    type Journal = SimulatedJournal;

    fn open(&mut self, opening: Opening) -> Result<SimulatedJournal, Error> {
        let options = Options { opening, ..self.options.clone() };
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (journal, stepper) = FileJournal::open_stepped(Arc::clone(&self.disk), &options)?;
        *self.stepper.lock().unwrap_or_else(PoisonError::into_inner) = Some(stepper);
        let stepper = Arc::clone(&self.stepper);
        Ok(SimulatedJournal {
            journal,
            stepper,
            sabotage: self.sabotage,
            can_only_trim: self.can_only_trim,
            is_fenced: Arc::clone(&self.is_fenced),
            fenced_looks: 0,
            fuse: Arc::clone(&self.fuse),
        })
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        let disk = Arc::clone(&self.checkpoints);
        Ok(Box::new(FileCheckpoints::open_on(disk, self.options.shard, journal)?))
    }
}

/// The file journal, with a sabotage.
pub struct SimulatedJournal {
    journal: FileJournal,
    stepper: Arc<Mutex<Option<Stepper>>>,
    sabotage: Sabotage,
    /// It does not offer segments.
    can_only_trim: bool,
    /// Its commits never come back, and it learns why after some of them.
    is_fenced: Arc<AtomicBool>,
    /// Times that it was asked what is durable while a commit stood behind the fence.
    fenced_looks: u32,
    fuse: Fuse,
}

/// Times that a fenced owner asks what is durable until it learns that its commit does not count.
const FENCED_LOOKS: u32 = 3;

impl SimulatedJournal {
    fn is_fenced(&self) -> bool {
        self.is_fenced.load(Ordering::Relaxed)
    }

    /// Panics, where it is time for that.
    fn burn(&self) {
        match self.fuse.load(Ordering::Relaxed) {
            NO_PANIC => {}
            0 => {
                self.fuse.store(NO_PANIC, Ordering::Relaxed);
                panic!("{PLANNED}");
            }
            left => self.fuse.store(left - 1, Ordering::Relaxed),
        }
    }

    /// Something that the journal does; a turn may panic before or after.
    fn around<T>(&mut self, what: impl FnOnce(&mut FileJournal) -> T) -> T {
        self.burn();
        let done = what(&mut self.journal);
        self.burn();
        done
    }
}

impl Journal for SimulatedJournal {
    fn append(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.around(|journal| journal.append(record))
    }

    fn append_reserved(&mut self, record: &[u8]) -> Result<Position, Error> {
        self.around(|journal| journal.append_reserved(record))
    }

    fn make_room(&mut self, bytes: usize, room: Room) -> Result<Position, Error> {
        self.around(|journal| journal.make_room(bytes, room))
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.around(FileJournal::commit)
    }

    fn durable(&mut self) -> Result<Position, Error> {
        let durable = self.around(FileJournal::durable)?;
        if self.is_fenced() && durable < self.journal.end() {
            self.fenced_looks += 1;
            if self.fenced_looks > FENCED_LOOKS {
                let epoch = self.journal.epoch();
                return Err(Error::Fenced { epoch, newer: Epoch(epoch.0 + 1) });
            }
        }
        Ok(match self.sabotage {
            Sabotage::AnswersBeforeCommit => self.journal.end(),
            _ => durable,
        })
    }

    fn wait(&mut self, timeout: Duration) -> Result<Position, Error> {
        self.journal.wait(timeout)
    }

    fn stop(&mut self) -> Option<Position> {
        if self.is_fenced() {
            return self.journal.durable().ok();
        }
        // Records that were handed over become durable or do not, as with a thread of its own.
        let stepper = self.stepper.lock().unwrap_or_else(PoisonError::into_inner).clone();
        while stepper.as_ref().is_some_and(Stepper::commit) {}
        let durable = self.journal.stop();
        match self.sabotage {
            Sabotage::AnswersBeforeCommit => Some(self.journal.end()),
            _ => durable,
        }
    }

    fn on_durable(&mut self, wake: Wake) {
        self.journal.on_durable(wake);
    }

    fn end(&self) -> Position {
        self.journal.end()
    }

    fn read_at(&self, record: Position, offset: u32, into: &mut [u8]) -> Result<(), Error> {
        self.burn();
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

    fn start(&self) -> Position {
        self.journal.start()
    }

    fn trim(&mut self, below: Position) -> Result<(), Error> {
        match self.sabotage {
            Sabotage::TrimTakesMore => self.journal.trim(self.journal.end()),
            _ => self.journal.trim(below),
        }
    }

    fn segmented(&self) -> Option<&dyn Segmented> {
        self.journal.segmented().filter(|_| !self.can_only_trim)
    }

    fn segmented_mut(&mut self) -> Option<&mut dyn Segmented> {
        self.journal.segmented_mut().filter(|_| !self.can_only_trim)
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

/// A reader of records that skips the third one.
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
