//! Nanoseconds for each transfer and its replay, and bytes of memory for each account and remembered id.
//!
//! `cargo run --release -p stadium-wallet --example speed [ACCOUNTS] [TRANSFERS]`. The machine's part only: records are kept in memory, and
//! nothing is written to a disk. Memory is what the allocator gave and did not get back; time is the thread's own on a processor, so that others on
//! the machine count little.

use std::time::Duration;

use bytes::Bytes;
use stadium_wallet::{
    AssetCode, Bounds, Command, Executed, Kind, Ledger, NewAccount, NewTransfer, Overdraft, Place, Record,
    Time, TransferId, WalletName,
};

const BATCH: u64 = 1_000;

struct Driver {
    ledger: Ledger,
    record: Record,
    at: u64,
    now: Time,
    journal: Vec<(u64, Vec<u8>)>,
}

impl Driver {
    fn ask(&mut self, command: &Command) {
        self.record.begin(24);
        let executed = self.ledger.execute(self.at, self.now, command, &mut self.record);
        assert!(matches!(executed, Ok(Executed::Done(_))), "everything here is allowed");
        if !self.record.is_empty() {
            self.journal.push((self.at, self.record.bytes()[24..].to_vec()));
        }
        self.at += self.record.bytes().len() as u64;
    }
}

/// How long the thread has run.
fn ran() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux reports it");
    let word = text.split(' ').next().expect("it begins with a number");
    Duration::from_nanos(word.parse().expect("it is a number"))
}

fn spread(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24
}

fn name(n: u64) -> WalletName {
    format!("user:{n:07}").parse().expect("a name")
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let accounts = arguments.next().unwrap_or(1_000_000);
    let transfers = arguments.next().unwrap_or(2_000_000);
    let bounds = Bounds { transfers_remembered: 20_000_000, ..Bounds::default() };
    let place = Place { shard: 0, shards: 1, hash_seed: 1 };
    let asset: AssetCode = "VOTE".parse().expect("an asset");
    let mut driver = Driver {
        ledger: Ledger::new(place, bounds.clone()),
        record: Record::new(),
        at: 4_096,
        now: Time(1_800_000_000_000),
        journal: Vec::new(),
    };
    driver.ask(&Command::Declare { asset: asset.clone(), scale: 0 });

    let began = ran();
    let mut bytes = 0;
    for from in (0..accounts).step_by(BATCH as usize) {
        let open = |n| NewAccount {
            wallet: name(spread(n) % 10_000_000 * 10 + n % 10),
            asset: asset.clone(),
            overdraft: Overdraft::Allowed,
            ceiling: None,
        };
        let command = Command::Open { accounts: (from..from + BATCH).map(open).collect() };
        bytes += allocation_counter::measure(|| driver.ask(&command)).bytes_current;
        let (_, section) = driver.journal.last().expect("a record");
        bytes -= section.len() as i64;
    }
    let each = (ran() - began).as_nanos() as u64 / accounts;
    println!("open: {each} ns, {} bytes each (house: {})", bytes / accounts as i64, driver.ledger.bytes());

    let candidate: WalletName = "@candidate:7".parse().expect("a name");
    let post = |n: u64| NewTransfer {
        id: TransferId(u128::from(spread(n)) << 64 | u128::from(n)),
        kind: Kind::Post {
            debit: name(spread(spread(n) % accounts) % 10_000_000 * 10 + spread(n) % accounts % 10),
            credit: candidate.clone(),
            asset: asset.clone(),
            amount: 1 + n % 5,
        },
        reference: String::new(),
        metadata: Bytes::new(),
        effective: None,
    };
    let (mut elapsed, mut allocations) = (Duration::ZERO, 0);
    for from in (0..transfers).step_by(BATCH as usize) {
        let command = Command::Transfer {
            transfers: (from..from + BATCH).map(post).collect(),
            linked: false,
            principal: None,
        };
        let began = ran();
        allocations += allocation_counter::measure(|| driver.ask(&command)).count_total;
        elapsed += ran() - began;
    }
    println!(
        "post: {} ns each, {} allocations for each 1,000",
        elapsed.as_nanos() as u64 / transfers,
        allocations * BATCH / transfers
    );

    let began = ran();
    let mut replayed = Ledger::new(place, bounds);
    let mut bytes = 0;
    for (at, section) in &driver.journal {
        replayed.apply(*at, driver.now, section).expect("the records follow each other");
        bytes += section.len() as u64;
    }
    let each = (ran() - began).as_nanos() as u64 / transfers;
    println!("replay, chain checked: {each} ns for each transfer, {} bytes each", bytes / transfers);
    assert_eq!(replayed.audit(), Ok(()), "the books balance");
}
