//! The principal of each transfer: whose request it was, as histories and lookups show it.
//!
//! It stands in the journal only, once in a record, and goes with a transaction to other shards.

use crate::harness;

use harness::{Harness, Place, capture, checkpoint, hold, post, restored, void, wallet};
use stadium_state_machine::Section;
use stadium_wallet::{Bounds, Command, Executed, Ledger, NewTransfer, PrincipalId, Range};

const ANNA: &str = "k_00000000000000aa";
const BEN: &str = "oidc:ben@example.com";

fn found(harness: &mut Harness, id: u128) -> Option<String> {
    harness.find(id).expect("it is known").principal.map(|principal| principal.to_string())
}

/// The principals of an account's entries, newest first.
fn listed(harness: &mut Harness, name: &str) -> Vec<Option<String>> {
    let page = harness.history(name, "EUR", Range::default()).expect("it has entries");
    page.entries.into_iter().map(|entry| entry.transfer.principal.map(|of| of.to_string())).collect()
}

fn some(principal: &str) -> Option<String> {
    Some(principal.to_owned())
}

/// The events of the last record in words.
fn last_record(harness: &Harness) -> Vec<String> {
    let written = harness.records.last().expect("there is one");
    let section = Section { shard: 0, at: 0, time: written.time, offset: 0, events: &written.section };
    let mut described = Vec::new();
    Ledger::describe(section, &mut described).expect("its own section");
    described.into_iter().map(|one| one.text).collect()
}

/// A harness with an asset, and transfers of nobody, Anna and Ben.
fn of_two() -> Harness {
    let mut harness = Harness::new();
    harness.declare("EUR", 2);
    harness.open(vec![harness::account("alice", "EUR")]).remove(0).expect("opened");
    harness.book(post(1, "@bank", "alice", "EUR", 100)).expect("booked");
    harness.be(ANNA);
    harness.book(post(2, "alice", "@shop", "EUR", 10)).expect("booked");
    harness.book(hold(3, "alice", "@shop", "EUR", 20, 60_000)).expect("held");
    harness.book(hold(4, "alice", "@shop", "EUR", 5, 60_000)).expect("held");
    harness.be(BEN);
    harness.book(capture(5, 3, None)).expect("captured");
    harness.book(void(6, 4)).expect("voided");
    harness
}

#[test]
fn a_transfer_names_its_principal_after_a_crash_and_after_a_restart() {
    let mut harness = of_two();
    for round in 0..3 {
        match round {
            0 => {}
            1 => harness.crash(),
            _ => harness.restart(64),
        }
        assert_eq!(found(&mut harness, 1), None);
        assert_eq!([2, 3, 4].map(|id| found(&mut harness, id)), [some(ANNA), some(ANNA), some(ANNA)]);
        assert_eq!([5, 6].map(|id| found(&mut harness, id)), [some(BEN), some(BEN)]);
        assert_eq!(listed(&mut harness, "alice"), [some(BEN), some(ANNA), None]);
        assert_eq!(listed(&mut harness, "@shop"), [some(BEN), some(ANNA)]);
    }
}

#[test]
fn a_repeated_transfer_keeps_its_first_principal_and_is_no_other_transfer() {
    let mut harness = of_two();
    let records = harness.records.len();
    harness.be(BEN);
    let again = harness.book(post(2, "alice", "@shop", "EUR", 10)).expect("known");
    assert!(again.duplicate);
    assert_eq!(harness.records.len(), records, "nothing was written");
    assert_eq!(found(&mut harness, 2), some(ANNA));
    harness.book(post(7, "alice", "@shop", "EUR", 1_000)).expect_err("there is not so much");
    assert_eq!(harness.records.len(), records, "a refusal names nobody");
}

#[test]
fn a_principal_stands_once_in_a_record_and_none_not_at_all() {
    let mut harness = of_two();
    let posts = |from: u128| (from..from + 20).map(|id| post(id, "alice", "@shop", "EUR", 1)).collect();
    harness.transfers(posts(100), false).expect("booked");
    let words = last_record(&harness);
    assert_eq!(words[0], format!("by the principal {BEN}"));
    assert_eq!(words.iter().filter(|text| text.contains(BEN)).count(), 1);
    assert_eq!(words.len(), 22, "the principal, twenty transfers, the chain value");
    harness.principal = None;
    harness.transfers(posts(200), false).expect("booked");
    assert!(last_record(&harness).iter().all(|text| !text.contains("principal")));
}

/// Carries the messages of one shard to the other, and the answers back.
fn carry(harnesses: &mut [Harness; 2], from: usize) {
    for (to, delivery) in harnesses[from].messages() {
        let to = &mut harnesses[usize::from(to)];
        let taken = to.record(|ledger, at, now, record| ledger.receive(at, now, &delivery, record));
        let number = delivery.number;
        harnesses[from].record(|ledger, at, now, record| ledger.confirm(at, now, number, &taken, record));
    }
}

fn restart(harnesses: &mut [Harness; 2]) {
    for harness in harnesses {
        let chunks = checkpoint(&mut harness.ledger, 64);
        harness.ledger = restored(harness.place, &harness.bounds, &chunks);
    }
}

#[test]
fn a_transfer_between_shards_has_its_principal_in_the_histories_of_both() {
    for with_checkpoints in [false, true] {
        let place = |shard| Place { shard, shards: 2, hash_seed: 7 };
        let mut harnesses = [0, 1].map(|shard| Harness::with(Bounds::default(), place(shard)));
        for (harness, name) in harnesses.iter_mut().zip(["alice", "bob"]) {
            assert_eq!(wallet(name).home(2), Some(harness.place.shard));
            harness.declare("EUR", 2);
            harness.open(vec![harness::account(name, "EUR")]).remove(0).expect("opened");
        }
        harnesses[0].book(post(1, "@bank", "alice", "EUR", 100)).expect("booked");
        let principal: PrincipalId = ANNA.parse().expect("a principal");
        let transfers: Vec<NewTransfer> = vec![post(2, "alice", "bob", "EUR", 30)];
        let command = Command::Transfer { transfers, linked: false, principal: Some(principal.clone()) };
        assert!(matches!(harnesses[0].execute(&command), Ok(Executed::Pending(_))));
        let pending = harnesses[0].find(2).expect("it is under way");
        assert_eq!(pending.principal, Some(principal.clone()));
        // Each step, with a restart or a crash of both shards in between.
        for _ in 0..3 {
            carry(&mut harnesses, 0);
            match with_checkpoints {
                true => restart(&mut harnesses),
                false => harnesses.iter_mut().for_each(Harness::crash),
            }
        }
        assert_eq!(harnesses[1].balance("bob", "EUR").posted, 30);
        assert_eq!(found(&mut harnesses[0], 2), some(ANNA));
        assert_eq!(listed(&mut harnesses[0], "alice"), [some(ANNA), None]);
        assert_eq!(listed(&mut harnesses[1], "bob"), [some(ANNA)]);
        // The next transaction of nobody has none.
        let transfers = vec![post(3, "alice", "bob", "EUR", 1)];
        let command = Command::Transfer { transfers, linked: false, principal: None };
        assert!(matches!(harnesses[0].execute(&command), Ok(Executed::Pending(_))));
        for _ in 0..3 {
            carry(&mut harnesses, 0);
        }
        assert_eq!(listed(&mut harnesses[1], "bob"), [None, some(ANNA)]);
    }
}
