//! Segments with records of wallets that move to an object store: which ones the shard names, when
//! it removes them, and what goes on without them.
//!
//! The store is played by the test; the disk is in memory.

use bytes::Bytes;
use stadium_journal::SegmentNumber;
use stadium_queue::{Refusal, Time};
use stadium_shard::core::{Core, Output, SegmentMoves};
use stadium_wallet::{
    AccountView, Answer, AssetCode, Command, Kind, Ledger, NewAccount, NewTransfer, Overdraft, Range,
    TransferId, WalletName,
};

use crate::fixture::machine::{Machine, Shard};

const FIRST: SegmentNumber = SegmentNumber(1);

/// A shard that names settled segments.
fn boot(machine: &Machine) -> (Shard, SegmentMoves) {
    let mut settings = machine.settings();
    let moves = SegmentMoves::default();
    moves.start();
    settings.moves = moves.clone();
    let core = Core::open(machine.clone(), settings, Time(1_000_000), &mut |_| ()).expect("it starts");
    let shard =
        Shard { core, machine: machine.clone(), now: 1_000_000, callers: 0, output: Output::default() };
    (shard, moves)
}

fn wallet(name: &str) -> WalletName {
    WalletName::new(name).expect("a name")
}

fn votes() -> AssetCode {
    AssetCode::new("VOTE").expect("a code")
}

fn transfer(id: u128) -> NewTransfer {
    NewTransfer {
        id: TransferId(id),
        kind: Kind::Post { debit: wallet("@bank"), credit: wallet("alice"), asset: votes(), amount: 1 },
        reference: String::new(),
        metadata: Bytes::from(vec![7; 1_000]),
        effective: None,
    }
}

fn ask(shard: &mut Shard, command: Command) -> Result<Answer, Refusal> {
    let caller = shard.caller();
    shard.core.submit_to::<Ledger>(caller, command);
    let answer = shard.answered(caller).expect("power is on")?;
    Ok(answer.from_machine::<Ledger>().expect("an answer of the wallets"))
}

fn book(shard: &mut Shard, ids: std::ops::RangeInclusive<u128>) {
    for id in ids.step_by(10) {
        let transfers = (id..id + 10).map(transfer).collect();
        ask(shard, Command::Transfer { transfers, linked: false, principal: None }).expect("they are booked");
    }
}

/// Seals, two checkpoints, and looks at what may go.
fn rest(shard: &mut Shard) {
    for _ in 0..3 {
        shard.core.checkpoint_soon();
        shard.now += 61_000;
        shard.settle_down();
    }
}

/// A shard whose first two segments are full, with 800 transfers to alice.
fn booked(machine: &Machine) -> (Shard, SegmentMoves) {
    let (mut shard, moves) = boot(machine);
    ask(&mut shard, Command::Declare { asset: votes(), scale: 0 }).expect("it is declared");
    let account =
        NewAccount { wallet: wallet("alice"), asset: votes(), overdraft: Overdraft::Never, ceiling: None };
    ask(&mut shard, Command::Open { accounts: vec![account] }).expect("it is open");
    book(&mut shard, 1..=800);
    (shard, moves)
}

fn has_first(machine: &Machine) -> bool {
    machine.disk.files().iter().any(|(name, _)| name == "000000000001.segment")
}

fn alice(shard: &mut Shard) -> AccountView {
    match ask(shard, Command::Wallet { wallet: wallet("alice") }) {
        Ok(Answer::Accounts(mut accounts)) => accounts.remove(0),
        other => panic!("{other:?}"),
    }
}

/// All that goes on without the oldest records, and what is refused.
fn check(shard: &mut Shard, moves: &SegmentMoves, is_moved: bool) {
    assert_eq!(alice(shard).balance.posted, 800);
    let again = Command::Transfer { transfers: vec![transfer(1)], linked: false, principal: None };
    match ask(shard, again) {
        Ok(Answer::Booked(booked)) => assert!(booked[0].as_ref().is_ok_and(|booked| booked.duplicate)),
        other => panic!("{other:?}"),
    }
    assert_eq!(alice(shard).balance.posted, 800);
    let found = ask(shard, Command::Find { transfer: TransferId(1) });
    let (mut entries, mut range) = (0, Range { entries_max: 1_000, ..Range::default() });
    let history = loop {
        let (wallet, asset) = (wallet("alice"), votes());
        match ask(shard, Command::History { wallet, asset, range: range.clone() }) {
            Ok(Answer::History(page)) => {
                entries += page.entries.len();
                range.before = page.before;
                if page.before.is_none() {
                    break Ok(());
                }
            }
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => break Err(refusal),
        }
    };
    if is_moved {
        for refusal in [found.expect_err("its record is gone"), history.expect_err("its records are gone")] {
            assert_eq!(refusal.code(), "WAL-035", "{refusal}");
            assert!(refusal.to_string().contains("--backup"), "{refusal}");
        }
        assert!((1..800).contains(&entries), "{entries} entries are here");
    } else {
        found.expect("it is here");
        history.expect("it is here");
        assert_eq!(entries, 800);
    }
    assert!(moves.settled().iter().all(|segment| !is_moved || segment.number != FIRST));
}

#[test]
fn settled_segments_go_when_a_store_has_them_and_the_books_go_on() {
    let machine = Machine::new();
    let (mut shard, moves) = booked(&machine);
    rest(&mut shard);
    let settled = moves.settled();
    assert!(settled.len() >= 2 && settled[0].number == FIRST, "{settled:?}");
    let seal = shard.core.metrics().newest_seal.expect("there is one");
    assert!(settled[0].end.0 < seal.position, "a seal closed it");
    assert!(has_first(&machine), "nothing goes by itself");
    check(&mut shard, &moves, false);
    let bytes = shard.core.metrics().pinned_bytes;
    moves.remove(&[FIRST]);
    rest(&mut shard);
    assert!(!has_first(&machine));
    assert!(shard.core.metrics().pinned_bytes < bytes);
    check(&mut shard, &moves, true);
    // As a new start finds it, also with the checkpoint that lists the segment.
    drop(shard);
    let (mut shard, moves) = boot(&machine);
    rest(&mut shard);
    check(&mut shard, &moves, true);
    let left: Vec<_> = moves.settled().iter().map(|segment| segment.number).collect();
    assert!(!left.is_empty() && !left.contains(&FIRST), "{left:?}");
}

#[test]
fn segments_that_are_needed_stay_whatever_is_ordered() {
    let machine = Machine::new();
    let (mut shard, moves) = booked(&machine);
    // No checkpoint is behind them.
    shard.now += 2_000;
    shard.settle_down();
    assert_eq!(moves.settled(), []);
    moves.remove(&[FIRST, SegmentNumber(2), SegmentNumber(3), SegmentNumber(99)]);
    shard.now += 2_000;
    shard.settle_down();
    assert!(has_first(&machine));
    check(&mut shard, &moves, false);
}

#[test]
fn a_crash_at_any_operation_of_a_removal_leaves_whole_books() {
    let machine = Machine::new();
    let (mut shard, moves) = booked(&machine);
    rest(&mut shard);
    moves.remove(&[FIRST]);
    let before = machine.disk.operations();
    rest(&mut shard);
    let operations = machine.disk.operations() - before;
    drop(shard);
    let mut removed = [0, 0];
    for stop in 1..=operations {
        for survives in [false, true] {
            let machine = Machine::new();
            let (mut shard, moves) = booked(&machine);
            rest(&mut shard);
            moves.remove(&[FIRST]);
            machine.disk.stop_after(stop);
            for _ in 0..200 {
                shard.now += 500;
                shard.turn();
                machine.step();
                if machine.disk.is_stopped() {
                    break;
                }
            }
            drop(shard);
            machine.crash(survives);
            let is_moved = !has_first(&machine);
            removed[usize::from(is_moved)] += 1;
            let (mut shard, moves) = boot(&machine);
            check(&mut shard, &moves, is_moved);
        }
    }
    assert!(removed.iter().all(|count| *count > 0), "{removed:?}");
}
