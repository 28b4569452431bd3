//! A shard on a log that can only be trimmed: how its old end is given back, and when it is not.
//!
//! The log is in memory.

use bytes::Bytes;
use stadium_journal::{
    Checkpoints, Error, Journal as _, JournalId, MemoryBounds, MemoryLog, MemoryStore, Opening,
};
use stadium_queue::{Answer, Command, Queues, Time};
use stadium_shard::core::{Core, Output, Request, Search, Store};
use stadium_wallet::{AssetCode, Command as WalletCommand, Ledger};

use crate::fixture::machine::Machine;
use crate::fixture::{put, queue, reserve};

#[derive(Clone)]
struct InMemory(MemoryStore);

impl Store for InMemory {
    type Journal = MemoryLog;

    fn open(&mut self, opening: Opening) -> Result<MemoryLog, Error> {
        self.0.open(opening)
    }

    fn checkpoints(&mut self, _journal: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        Ok(self.0.checkpoints())
    }
}

/// A shard whose log is in memory.
struct Shard {
    core: Core<InMemory, u64, Queues>,
    output: Output<u64, Queues>,
    now: u64,
    callers: u64,
}

/// Bytes of memory that the log may take.
const BYTES_MAX: u64 = 32 << 20;

fn store() -> InMemory {
    let bounds = MemoryBounds {
        bytes_max: BYTES_MAX,
        reserve_bytes: 2 << 20,
        record_bytes_max: 1 << 20,
        waiting_bytes_max: 1 << 20,
    };
    InMemory(MemoryStore::new(JournalId(1), bounds))
}

impl Shard {
    fn boot(store: InMemory) -> Self {
        let settings = Machine::new().settings();
        let core = Core::open(store, settings, Time(1_000_000), &mut |_| ()).expect("the shard starts");
        Self { core, output: Output::default(), now: 1_000_000, callers: 0 }
    }

    fn ask(&mut self, command: Command) -> Result<Answer<Bytes>, stadium_queue::Refusal> {
        self.callers += 1;
        self.core.submit(Request { caller: self.callers, command, search: Search::Here });
        match self.answered() {
            Ok(stadium_shard::Answer::Queue(answer)) => Ok(answer),
            Ok(_) => panic!("an answer of the queues"),
            Err(refusal) => Err(refusal),
        }
    }

    fn answered(&mut self) -> Result<stadium_shard::Answer, stadium_queue::Refusal> {
        for _ in 0..100 {
            self.now += 1;
            self.core.turn(Time(self.now), &mut self.output);
            if let Some(reply) = self.output.replies.drain(..).next() {
                return reply.answer;
            }
        }
        panic!("no answer");
    }

    /// Puts `count` jobs of 8 KiB, reserves as many, and settles all but the last `kept` of them.
    fn work(&mut self, count: usize, kept: usize) {
        let payload = "x".repeat(8 << 10);
        for _ in 0..count {
            self.ask(put("mail", &payload)).expect("there is room");
        }
        let mut leases = Vec::new();
        while leases.len() < count {
            let Ok(Answer::Reserved(jobs)) = self.ask(reserve("mail", 100)) else { panic!("jobs") };
            assert!(!jobs.is_empty(), "{} of {count} jobs are due", leases.len());
            leases.extend(jobs.iter().map(|job| job.lease));
        }
        leases.truncate(count - kept);
        if !leases.is_empty() {
            self.ask(Command::Settle { leases }).expect("settles have room");
        }
    }

    /// A checkpoint, and what is done in the background until nothing more is.
    fn rest(&mut self) {
        self.core.checkpoint_soon();
        for _ in 0..5 {
            // Beyond the time after which it looks what may go.
            self.now += 2_000;
            loop {
                self.now += 1;
                let next = self.core.turn(Time(self.now), &mut self.output);
                if !next.at_once && next.awaited == 0 {
                    break;
                }
            }
        }
    }

    fn held(&mut self) -> u64 {
        self.core.journal().expect("it is open").metrics().tail_bytes
    }

    /// Jobs that are not settled.
    fn left(&mut self) -> u64 {
        let Ok(Answer::Queues(stats)) = self.ask(Command::Stats { queue: queue("mail") }) else {
            panic!("stats")
        };
        stats[0].delayed + stats[0].due + stats[0].reserved
    }
}

#[test]
fn memory_of_settled_jobs_is_given_back() {
    let mut shard = Shard::boot(store());
    // Six times what the log may take.
    for _ in 0..40 {
        shard.work(600, 0);
        shard.rest();
        assert!(shard.held() <= 16 << 20, "{} bytes are held, of which nothing is needed", shard.held());
    }
    let metrics = shard.core.metrics();
    assert!(metrics.journal.bytes > 5 * BYTES_MAX, "{} bytes were written", metrics.journal.bytes);
    assert!(metrics.segments_removed > 100, "{} stretches were trimmed", metrics.segments_removed);
    assert_eq!(metrics.rewritten_bytes, 0, "nothing that lived held anything up");
    assert_eq!(shard.left(), 0);
}

#[test]
fn living_payloads_at_the_old_end_are_written_again() {
    let store = store();
    let mut shard = Shard::boot(store.clone());
    for round in 0..40 {
        shard.work(600, 1);
        shard.rest();
        assert!(shard.held() <= 24 << 20, "{} bytes are held in round {round}", shard.held());
    }
    let metrics = shard.core.metrics();
    assert!(metrics.rewritten_bytes > 0, "living payloads were moved");
    assert!(metrics.journal.bytes > 5 * BYTES_MAX, "{} bytes were written", metrics.journal.bytes);
    // All are whole, also where the state is built anew.
    for _ in 0..2 {
        assert_eq!(shard.left(), 40);
        let all = Command::Peek { queue: queue("mail"), state: None, key: None, after: None, jobs_max: 100 };
        let Ok(Answer::Jobs(jobs)) = shard.ask(all) else { panic!("jobs") };
        assert_eq!(jobs.len(), 40);
        assert!(jobs.iter().all(|job| job.payload.len() == 8 << 10), "every payload is whole");
        drop(shard);
        shard = Shard::boot(store.clone());
    }
}

#[test]
fn kept_checkpoints_and_records_after_them_stay() {
    let store = store();
    let mut shard = Shard::boot(store.clone());
    shard.work(600, 0);
    // No checkpoint: a recovery needs all of it.
    for _ in 0..5 {
        shard.now += 2_000;
        shard.core.turn(Time(shard.now), &mut shard.output);
    }
    assert_eq!(shard.core.metrics().segments_removed, 0);
    shard.rest();
    shard.work(300, 300);
    let older = store.0.checkpoints().list().expect("memory works");
    let floor = older.last().expect("there is one").position;
    assert!(shard.core.journal().expect("it is open").start() <= floor);
    drop(shard);
    assert_eq!(Shard::boot(store).left(), 300);
}

#[test]
fn nothing_is_trimmed_from_the_first_record_of_the_wallets_on() {
    let store = store();
    let mut shard = Shard::boot(store.clone());
    for _ in 0..3 {
        shard.work(300, 0);
        shard.rest();
    }
    let trimmed = shard.core.metrics().segments_removed;
    assert!(trimmed > 0);
    let asset = AssetCode::new("VOTES").expect("a code");
    shard.callers += 1;
    shard.core.submit_to::<Ledger>(shard.callers, WalletCommand::Declare { asset, scale: 0 });
    let before = shard.core.journal().expect("it is open").end();
    shard.answered().expect("it is declared");
    // Also when it is known from a checkpoint only.
    for _ in 0..3 {
        for _ in 0..2 {
            shard.work(200, 0);
            shard.rest();
        }
        let start = shard.core.journal().expect("it is open").start();
        assert!(start <= before, "the log begins at {start}; the wallets' record stands at {before}");
        assert!(before.since(start) <= 4 << 20, "what precedes it is given back");
        drop(shard);
        shard = Shard::boot(store.clone());
    }
}
