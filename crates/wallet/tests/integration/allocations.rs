//! Once warm, a transfer costs no allocation, and neither does its replay.
//!
//! A whole command allocates the list in its answer and nothing else, however many transfers it is
//! about.

use bytes::Bytes;
use stadium_wallet::{
    Bounds, Command, Executed, Kind, Ledger, NewAccount, NewTransfer, Overdraft, Place, Record, Time,
    TransferId, WalletName,
};

const HEADER: usize = 24;

fn wallet(number: u64) -> WalletName {
    format!("user:{number}").parse().expect("a name")
}

fn posts(from: u64) -> Command {
    let post = |number: u64| NewTransfer {
        id: TransferId(u128::from(number) << 64 | 7),
        kind: Kind::Post {
            debit: wallet(number % 100),
            credit: if number.is_multiple_of(3) {
                wallet((number + 1) % 100)
            } else {
                "@shop".parse().expect("a name")
            },
            asset: "EUR".parse().expect("an asset"),
            amount: 1 + number % 9,
        },
        reference: String::from("order"),
        metadata: Bytes::from_static(b"metadata"),
        effective: None,
    };
    let principal = Some("k_0123456789abcdef".parse().expect("a principal"));
    Command::Transfer { transfers: (from..from + 100).map(post).collect(), linked: false, principal }
}

#[test]
fn a_warm_machine_allocates_nothing_for_a_transfer() {
    let bounds = Bounds { transfers_remembered: 2_000, ..Bounds::default() };
    let place = Place { shard: 0, shards: 1, hash_seed: 1 };
    let (mut ledger, mut replayed) = (Ledger::new(place, bounds.clone()), Ledger::new(place, bounds));
    let (mut record, mut at, now) = (Record::new(), 4_096, Time(1_800_000_000_000));
    let mut first = vec![Command::Declare { asset: "EUR".parse().expect("an asset"), scale: 2 }];
    let accounts = (0..100)
        .map(|number| NewAccount {
            wallet: wallet(number),
            asset: "EUR".parse().expect("an asset"),
            overdraft: Overdraft::Allowed,
            ceiling: None,
        })
        .collect();
    first.push(Command::Open { accounts });
    let mut measured = (0, 0);
    let rounds = 300;
    for round in 0..rounds + first.len() {
        let command = if round < first.len() { first[round].clone() } else { posts(round as u64 * 100) };
        record.begin(HEADER);
        let mut executed = None;
        let wrote = allocation_counter::measure(|| {
            executed = Some(ledger.execute(at, now, &command, &mut record));
        });
        assert!(matches!(executed, Some(Ok(Executed::Done(_)))), "{executed:?}");
        let section = &record.bytes()[HEADER..];
        let read = allocation_counter::measure(|| {
            replayed.apply(at, now, section).expect("the records follow each other");
        });
        at += record.bytes().len() as u64;
        if round >= rounds - 100 {
            measured.0 += wrote.count_total;
            measured.1 += read.count_total;
        }
    }
    // The answer's list and what the trees of hashes grow by: a few for each command of 100 transfers.
    assert!(measured.0 <= 300, "{} allocations for 100 warm commands of 100 transfers", measured.0);
    assert!(measured.1 <= 600, "{} allocations for replaying them", measured.1);
    assert_eq!(ledger.audit(), Ok(()));
}

/// The bytes that a ledger holds, as the allocator and as the ledger counts them.
fn held_by(make: impl FnOnce(&mut Ledger, &mut dyn FnMut(&mut Ledger, &Command))) -> (usize, usize) {
    let place = Place { shard: 0, shards: 1, hash_seed: 1 };
    let mut ledger = Ledger::new(place, Bounds::default());
    let counted = allocation_counter::measure(|| {
        let (mut record, mut at, now) = (Record::new(), 4_096, Time(1_800_000_000_000));
        let mut run = |ledger: &mut Ledger, command: &Command| {
            record.begin(HEADER);
            let executed = ledger.execute(at, now, command, &mut record);
            assert!(matches!(executed, Ok(Executed::Done(_))), "{executed:?}");
            at += record.bytes().len() as u64;
        };
        run(&mut ledger, &Command::Declare { asset: "EUR".parse().expect("an asset"), scale: 2 });
        make(&mut ledger, &mut run);
    });
    (usize::try_from(counted.bytes_current).expect("it holds something"), ledger.bytes())
}

#[test]
fn a_ledger_counts_the_bytes_that_it_holds() {
    let asset = || "EUR".parse().expect("an asset");
    let accounts = |range: std::ops::Range<u64>| Command::Open {
        accounts: range
            .map(|number| NewAccount {
                wallet: wallet(number),
                asset: asset(),
                overdraft: Overdraft::Allowed,
                ceiling: None,
            })
            .collect(),
    };
    let holds = |range: std::ops::Range<u64>| Command::Transfer {
        transfers: range
            .map(|number| NewTransfer {
                id: TransferId(u128::from(number) << 64 | 7),
                kind: Kind::Hold {
                    debit: wallet(number % 100),
                    credit: "@shop".parse().expect("a name"),
                    asset: asset(),
                    amount: 1,
                    expires_after: 60_000 + number,
                },
                reference: String::new(),
                metadata: Bytes::new(),
                effective: None,
            })
            .collect(),
        linked: false,
        principal: None,
    };
    let of_accounts = held_by(|ledger, run| {
        (0..200).for_each(|round| run(ledger, &accounts(round * 100..round * 100 + 100)));
    });
    let of_holds = held_by(|ledger, run| {
        run(ledger, &accounts(0..100));
        (0..200).for_each(|round| run(ledger, &holds(round * 100..round * 100 + 100)));
    });
    for (what, (held, counted), share) in [("accounts", of_accounts, 20), ("holds", of_holds, 12)] {
        assert!(counted.abs_diff(held) <= held / share, "{what}: {held} bytes are held, {counted} counted");
    }
}
