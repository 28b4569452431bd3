//! Restored data cost memory in proportion to the bytes that are there, whatever numbers these
//! name.
//!
//! Checkpoints and records of all machines, as the fixtures of their crates hold them, are changed at random, most of all where they
//! may hold a count, a length or a page's number. Whether one is refused or not: its restore stays within the budget. A page of 256 entries
//! may be there for one entry, so the budget is some thousand bytes for each byte.

use std::path::PathBuf;

use stadium_push::Platform;
use stadium_queue::Queues;
use stadium_session::Sessions;
use stadium_state_machine::{Checkpointed as _, Corrupt, MachineState as _, Place, Time};
use stadium_wallet::Ledger;

/// Of lists that grow with the highest page's number: at most 400 KiB for each table and what is beside it.
const BUDGET_BYTES: u64 = 8 << 20;
/// For each byte of what is restored.
const BUDGET_FACTOR: u64 = 4_096;

const PLACE: Place = Place { shard: 0, shards: 2, hash_seed: 7 };

/// A machine that is new for each try.
enum Machine {
    Wallet(Box<Ledger>),
    Queue(Box<Queues>),
    Session(Box<Sessions>),
    Push(Box<Platform>),
}

impl Machine {
    fn new(name: &str) -> Self {
        match name {
            "wallet" => Machine::Wallet(Box::new(Ledger::new(PLACE, stadium_wallet::Bounds::default()))),
            "queue" => Machine::Queue(Box::new(Queues::new(PLACE, stadium_queue::Bounds::default()))),
            "session" => Machine::Session(Box::new(Sessions::new(PLACE, stadium_session::Bounds::default()))),
            _ => Machine::Push(Box::new(Platform::new(PLACE, stadium_push::Bounds::default()))),
        }
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        match self {
            Machine::Wallet(machine) => machine.restore(chunk),
            Machine::Queue(machine) => machine.restore(chunk),
            Machine::Session(machine) => machine.restore(chunk),
            Machine::Push(machine) => machine.restore(chunk),
        }
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        match self {
            Machine::Wallet(machine) => machine.restore_finish(),
            Machine::Queue(machine) => machine.restore_finish(),
            Machine::Session(machine) => machine.restore_finish(),
            Machine::Push(machine) => machine.restore_finish(),
        }
    }

    fn apply(&mut self, events: &[u8]) -> Result<(), Corrupt> {
        let time = Time(1_700_000_000_000);
        match self {
            Machine::Session(machine) => machine.apply(4_096, time, 0, events),
            Machine::Push(machine) => machine.apply(4_096, time, 0, events),
            Machine::Wallet(_) | Machine::Queue(_) => Ok(()),
        }
    }
}

/// The chunks of a checkpoint that a fixture holds: each behind its length.
fn fixture(name: &str) -> Vec<Vec<u8>> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read(crates.join(path)).expect("the fixture is there");
    let mut chunks = Vec::new();
    let mut take = |rest: &mut &[u8], bytes: usize| {
        let (chunk, behind) = rest.split_at(bytes);
        chunks.push(chunk.to_vec());
        *rest = behind;
    };
    match name {
        "session" => {
            let file = read("session/tests/fixtures/v1/checkpoint");
            let mut rest = &file[..];
            while let Some((length, behind)) = rest.split_first_chunk::<4>() {
                rest = behind;
                take(&mut rest, u32::from_le_bytes(*length) as usize);
            }
        }
        "push" => {
            let file = read("push/tests/fixtures/v2/shard-0-checkpoint");
            let mut rest = &file[..];
            while !rest.is_empty() {
                let mut input = stadium_state_machine::encoding::Reader::new(rest);
                let length = (0..3).map(|_| input.number().expect("a number")).last().expect("three");
                rest = &rest[input.position()..];
                take(&mut rest, length as usize);
            }
        }
        name => {
            let path = match name {
                "wallet" => "wallet/tests/fixtures/v1-homes/shard-0-checkpoint.bin",
                _ => "queue/tests/fixtures/v1/checkpoint.bin",
            };
            let file = read(path);
            let mut rest = &file[..];
            while let Some((length, behind)) = rest.split_first_chunk::<8>() {
                rest = behind;
                take(&mut rest, u64::from_le_bytes(*length) as usize);
            }
        }
    }
    chunks
}

/// Restores, finishes where that is possible, and answers the most bytes that were held at once.
fn cost(name: &str, chunks: &[Vec<u8>]) -> (u64, Result<(), Corrupt>) {
    let mut result = Ok(());
    let allocated = allocation_counter::measure(|| {
        let mut machine = Machine::new(name);
        result = chunks.iter().try_for_each(|chunk| machine.restore(chunk));
        if result.is_ok() {
            result = machine.restore_finish();
        }
    });
    (allocated.bytes_max, result)
}

fn check(name: &str, what: &str, chunks: &[Vec<u8>]) {
    let bytes = chunks.iter().map(Vec::len).sum::<usize>() as u64;
    let (held, _) = cost(name, chunks);
    let budget = BUDGET_BYTES + BUDGET_FACTOR * bytes;
    assert!(held <= budget, "{name}, {what}: {bytes} bytes cost {held}, the budget is {budget}");
}

/// Numbers without a source of chance: the same at each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

const MACHINES: [&str; 4] = ["wallet", "queue", "session", "push"];

#[test]
fn the_fixtures_are_restored_within_the_budget() {
    for name in MACHINES {
        let chunks = fixture(name);
        let (_, result) = cost(name, &chunks);
        assert_eq!(result, Ok(()), "{name}");
        check(name, "as it was written", &chunks);
    }
}

/// A wallet's chunk of 23 bytes that once cost 2 GB, found by fuzzing.
#[test]
fn a_page_number_of_a_wallet_costs_nothing() {
    let chunk = [0, 6, 2, 108, 108, 0, 6, 2, 108, 108, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 26];
    check("wallet", "fuzzed", &[chunk.to_vec()]);
    check("wallet", "fuzzed", &[chunk[1..].to_vec()]);
    for table in 1..=7 {
        let page = [&[table, 1][..], &0x003f_fff0_u32.to_le_bytes(), &[1; 64]].concat();
        let entry = [&[table, 2][..], &0x3fff_fff0_u32.to_le_bytes(), &[0; 200]].concat();
        for name in MACHINES {
            check(name, "a high page", std::slice::from_ref(&page));
            check(name, "a high entry", std::slice::from_ref(&entry));
        }
    }
}

#[test]
fn a_changed_checkpoint_costs_no_more_than_its_bytes() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for name in MACHINES {
        let whole = fixture(name);
        for _ in 0..4_000 {
            let mut chunks = whole.clone();
            for _ in 0..=numbers.below(2) {
                let chunk = numbers.below(chunks.len());
                let bytes = &mut chunks[chunk];
                let at = numbers.below(bytes.len());
                let value = 1_u64 << numbers.below(40);
                match numbers.below(4) {
                    // A number of four bytes: pages and entries have them.
                    0 if bytes.len() >= at + 4 => {
                        bytes[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
                    }
                    // A number, seven bits a byte: a count or a length.
                    1 => {
                        let mut long = Vec::new();
                        stadium_state_machine::encoding::number(&mut long, value);
                        bytes.splice(at..=at, long);
                    }
                    2 => bytes[at] ^= 1 << numbers.below(8),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            check(name, "changed", &chunks);
        }
    }
}

/// Events of one kind each, with nothing behind them but what may be a count.
#[test]
fn events_that_claim_much_cost_nothing() {
    for name in ["session", "push"] {
        for kind in 0..=255_u8 {
            for count in [0x7f_u8, 0xff] {
                let events =
                    [&[kind][..], &[count, 0xff, 0xff, 0x7f, 1, 1, 1, 1], &[count; 20], &[1; 40]].concat();
                let allocated = allocation_counter::measure(|| {
                    let _ = Machine::new(name).apply(&events);
                });
                let budget = BUDGET_BYTES + BUDGET_FACTOR * events.len() as u64;
                assert!(allocated.bytes_max <= budget, "{name}, kind {kind}: {}", allocated.bytes_max);
            }
        }
    }
}
