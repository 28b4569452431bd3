//! A shard's core on disks in memory: the journal's work is done step by step, so that each story decides what is durable when.
//!
//! Nothing runs by itself: no thread, no clock.

use std::sync::{Arc, Mutex};

use stadium_journal::memory::MemoryDisk;
use stadium_journal::{
    Checkpoints, Error, FileCheckpoints, FileJournal, JournalId, Opening, Options, Stepper,
};
use stadium_queue::{Command, Place, Refusal, Time};
use stadium_shard::Answer;
use stadium_shard::core::{
    CheckpointWriting, Core, CoreSettings, Next, Output, Reply, Request, Search, Store,
};

/// Two disks and whoever steps the journal.
#[derive(Clone)]
pub struct Machine {
    pub disk: MemoryDisk,
    pub checkpoints: MemoryDisk,
    pub stepper: Arc<Mutex<Option<Stepper>>>,
    pub place: Place,
}

impl Store for Machine {
    type Journal = FileJournal;

    fn open(&mut self, opening: Opening) -> Result<FileJournal, Error> {
        let options = Options {
            shard: u32::from(self.place.shard),
            segment_bytes: 256 << 10,
            reserve_bytes: 64 << 10,
            record_bytes_max: 128 << 10,
            waiting_bytes_max: 64 << 10,
            opening,
            ..Options::default()
        };
        *self.stepper.lock().expect("no story panics in it") = None;
        let (journal, stepper) = FileJournal::open_stepped(Arc::new(self.disk.clone()), &options)?;
        *self.stepper.lock().expect("no story panics in it") = Some(stepper);
        Ok(journal)
    }

    fn checkpoints(&mut self, journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        let disk = Arc::new(self.checkpoints.clone());
        Ok(Box::new(FileCheckpoints::open_on(disk, u32::from(self.place.shard), journal)?))
    }
}

impl Machine {
    pub fn new() -> Self {
        Self::of(0, 1)
    }

    pub fn of(shard: u16, shards: u16) -> Self {
        Machine {
            disk: MemoryDisk::new(1),
            checkpoints: MemoryDisk::new(2),
            stepper: Arc::default(),
            place: Place { shard, shards, hash_seed: 7 },
        }
    }

    pub fn settings(&self) -> CoreSettings {
        let mut settings = CoreSettings::for_shard(self.place);
        settings.checkpoint_writer = CheckpointWriting::InTurn;
        settings.turn_events_max = 64;
        settings.history_keep_bytes = 0;
        settings.bounds.payload_bytes_max = 16 << 10;
        settings.rewrite_slice_bytes = 16 << 10;
        settings
    }

    pub fn boot(&self) -> Shard {
        self.try_boot().expect("the shard starts")
    }

    pub fn try_boot(&self) -> Result<Shard, stadium_shard::Error> {
        let core = Core::open(self.clone(), self.settings(), Time(1_000_000), &mut |_| ())?;
        Ok(Shard { core, machine: self.clone(), now: 1_000_000, callers: 0, output: Output::default() })
    }

    /// Power fails; what was not synced is lost, or has happened.
    pub fn crash(&self, survives: bool) {
        let mut choose = |choices: usize| if survives { choices - 1 } else { 0 };
        self.disk.crash(&mut choose);
        self.checkpoints.crash(&mut choose);
    }

    /// One step of the journal's own work; false where there is none.
    pub fn step(&self) -> bool {
        let stepper = self.stepper.lock().expect("no story panics in it").clone();
        stepper.is_some_and(|stepper| stepper.commit() | stepper.keep())
    }
}

pub struct Shard {
    pub core: Core<Machine, u64>,
    pub machine: Machine,
    pub now: u64,
    pub callers: u64,
    pub output: Output<u64>,
}

/// What came of a request.
pub type Answered = Result<Answer, Refusal>;

impl Shard {
    /// The number of whoever asks next.
    pub fn caller(&mut self) -> u64 {
        self.callers += 1;
        self.callers
    }

    pub fn submit(&mut self, command: Command) -> u64 {
        let caller = self.caller();
        self.core.submit(Request { caller, command, search: Search::Here });
        caller
    }

    /// A turn a millisecond later.
    pub fn next_turn(&mut self) -> Next {
        self.now += 1;
        self.core.turn(Time(self.now), &mut self.output)
    }

    pub fn turn(&mut self) -> Vec<Reply<u64>> {
        self.next_turn();
        std::mem::take(&mut self.output.replies)
    }

    /// Turns and steps until the answer is there; none where the power has failed.
    pub fn answered(&mut self, caller: u64) -> Option<Answered> {
        for _ in 0..2_000 {
            if let Some(reply) = self.turn().into_iter().find(|reply| reply.caller == caller) {
                return Some(reply.answer);
            }
            self.machine.step();
            if self.machine.disk.is_stopped() || self.machine.checkpoints.is_stopped() {
                return None;
            }
        }
        panic!("no answer to {caller}");
    }

    /// Runs until nothing is left to do.
    pub fn settle_down(&mut self) {
        for _ in 0..10_000 {
            let next = self.next_turn();
            if !self.machine.step() && !next.at_once && next.awaited == 0 {
                return;
            }
        }
        panic!("it does not come to rest");
    }
}
