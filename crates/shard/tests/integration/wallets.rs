//! Behaviours of wallets on shards: two machines in one record, transfers between shards, and what
//! crashes do to them.
//!
//! Cores without threads on disks in memory, stopped at every operation of a disk in turn.

use crate::fixture;

use bytes::Bytes;
use fixture::town::{Town, on, post, votes_asset, wallet};
use stadium_journal::Segmented as _;
use stadium_journal::memory::Kept;
use stadium_queue::{Command as QueueCommand, NewJob, QueueName};
use stadium_shard::Together;
use stadium_wallet::{Answer, Balance, BookState, Command, Kind, NewTransfer, Range, Seal, TransferId};

fn ballots() -> QueueName {
    QueueName::new("ballots").expect("a test's queue")
}

fn ballot(text: &str) -> NewJob {
    NewJob { payload: Bytes::copy_from_slice(text.as_bytes()), ..NewJob::default() }
}

/// A vote: a debit and a ballot.
fn vote(id: u128, voter: &str) -> Together {
    Together {
        transfers: vec![post(id, voter, "@candidate", 1)],
        jobs: vec![(ballots(), ballot(&format!("ballot {id}")))],
        principal: None,
    }
}

/// How many ballots there are.
fn ballots_of(town: &mut Town) -> u64 {
    let shard = town.shard(0);
    let caller = shard.submit(QueueCommand::Stats { queue: ballots() });
    match shard.answered(caller).expect("power is on") {
        Ok(stadium_shard::Answer::Queue(stadium_queue::Answer::Queues(stats))) => stats[0].due,
        // Nobody has voted.
        Err(refusal) if refusal.code() == "QUE-020" => 0,
        other => panic!("{other:?}"),
    }
}

fn posted(posted: i64) -> Balance {
    Balance { posted, held: 0 }
}

#[test]
fn booked_transfers_are_there_after_a_crash_with_and_without_a_checkpoint() {
    for with_checkpoint in [false, true] {
        let mut town = Town::new(1);
        town.open(&["ada", "bob"], 10);
        town.book(post(1, "ada", "bob", 3)).expect("power is on").expect("booked");
        if with_checkpoint {
            town.shard(0).core.checkpoint_soon();
            town.settle_down();
        }
        town.book(post(2, "ada", "@shop", 2)).expect("power is on").expect("booked");
        town.crash(false);
        assert_eq!(town.balance("ada"), posted(5), "with a checkpoint in between: {with_checkpoint}");
        assert_eq!((town.balance("bob"), town.balance("@shop")), (posted(13), posted(2)));
        let again = town.book(post(2, "ada", "@shop", 2)).expect("power is on").expect("known");
        assert!(again.duplicate);
        town.audit();
    }
}

#[test]
fn transfers_and_jobs_are_one_record() {
    let mut town = Town::new(1);
    town.open(&["ada"], 2);
    town.settle_down();
    let before = town.shard(0).core.metrics().records;
    let done = town.together(vote(1, "ada")).expect("power is on").expect("voted");
    assert_eq!((done.booked.len(), done.placed.len()), (1, 1));
    assert_eq!(town.shard(0).core.metrics().records, before + 1);
    assert_eq!((town.balance("ada"), ballots_of(&mut town)), (posted(1), 1));
    // The same again puts nothing again.
    let again = town.together(vote(1, "ada")).expect("power is on").expect("known");
    assert!(again.booked[0].duplicate && again.placed.is_empty());
    town.together(vote(2, "ada")).expect("power is on").expect("voted");
    // A person without credit has no ballot either.
    let refused = town.together(vote(3, "ada")).expect("power is on").expect_err("nothing is left");
    assert!(refused.to_string().contains("WAL-023"), "{refused}");
    assert_eq!(ballots_of(&mut town), 2);
    town.crash(false);
    assert_eq!((town.balance("ada"), ballots_of(&mut town)), (posted(0), 2));
    town.audit();
}

#[test]
fn a_job_that_is_refused_leaves_the_transfers_undone() {
    let mut town = Town::new(1);
    town.open(&["ada"], 2);
    let mut too_large = vote(1, "ada");
    too_large.jobs.push((ballots(), ballot(&"x".repeat(20 << 10))));
    let refused = town.together(too_large).expect("power is on").expect_err("a payload is too large");
    assert!(refused.code().starts_with("QUE-"), "{refused}");
    assert_eq!((town.balance("ada"), ballots_of(&mut town)), (posted(2), 0));
    town.together(vote(1, "ada")).expect("power is on").expect("its id was not used");
}

#[test]
fn a_crash_at_any_operation_leaves_a_debit_with_its_job_or_neither() {
    let mut crashes = 0;
    for stop in 1..200 {
        for survives in [false, true] {
            let mut town = Town::new(1);
            town.open(&["ada"], 10);
            town.settle_down();
            town.machines[0].disk.stop_after(stop);
            let answered = (1..=4)
                .map_while(|id| town.together(vote(id, "ada")))
                .inspect(|answer| assert!(answer.is_ok(), "{answer:?}"))
                .count() as i64;
            if answered == 4 {
                continue;
            }
            crashes += 1;
            town.crash(survives);
            let spent = 10 - town.balance("ada").posted;
            assert_eq!(ballots_of(&mut town) as i64, spent, "stop {stop}, {survives}");
            assert!(spent == answered || spent == answered + 1, "answered {answered}, spent {spent}");
            town.audit();
        }
    }
    assert!(crashes > 10, "it was cut {crashes} times");
}

#[test]
fn a_job_whose_queue_lives_on_another_shard_gets_there_once() {
    let mut town = Town::new(2);
    let voter = on(0, 2);
    town.open(&[&voter], 10);
    let far = (0..)
        .map(|number| format!("q{number}"))
        .find(|name| stadium_queue::Place::home(&QueueName::new(name).expect("a name"), 2) == 1);
    let far = QueueName::new(&far.expect("names spread over shards")).expect("a name");
    let mut together = vote(1, &voter);
    together.jobs = vec![(far.clone(), ballot("far away"))];
    let done = town.together(together).expect("power is on").expect("voted");
    assert_eq!(done.placed[0].job.sequence(), 0, "it has no id yet");
    town.crash(false);
    town.settle_down();
    let shard = town.shard(1);
    let caller = shard.submit(QueueCommand::Stats { queue: far });
    let Some(Ok(stadium_shard::Answer::Queue(stadium_queue::Answer::Queues(stats)))) = shard.answered(caller)
    else {
        panic!("its queue is there")
    };
    assert_eq!(stats[0].due, 1);
}

#[test]
fn a_transfer_between_shards_is_booked_on_both() {
    let mut town = Town::new(2);
    let (ada, bob) = (on(0, 2), on(1, 2));
    town.open(&[&ada, &bob], 10);
    town.book(post(1, &ada, &bob, 4)).expect("power is on").expect("booked");
    town.settle_down();
    assert_eq!((town.balance(&ada), town.balance(&bob)), (posted(6), posted(14)));
    let again = town.book(post(1, &ada, &bob, 4)).expect("power is on").expect("known");
    assert!(again.duplicate);
    let refused = town.book(post(2, &ada, &bob, 7)).expect("power is on").expect_err("there are 6");
    assert_eq!(refused.code(), "WAL-023");
    let stranger = town.book(post(3, &ada, &format!("{{{bob}}}x"), 1)).expect("power is on");
    assert_eq!(stranger.expect_err("nobody has that name").code(), "WAL-021");
    town.settle_down();
    assert_eq!((town.balance(&ada), town.balance(&bob)), (posted(6), posted(14)));
    assert!((0..2).all(|shard| {
        let figures = town.shard(shard).core.metrics().wallet;
        (figures.pending, figures.outgoing) == (0, 0)
    }));
    town.audit();
}

#[test]
fn a_shard_that_dies_in_the_middle_of_a_transfer_loses_and_makes_nothing() {
    let (ada, bob) = (on(0, 2), on(1, 2));
    let mut cut = [0, 0];
    for dies in [0, 1] {
        for stop in 1..120 {
            for survives in [false, true] {
                let mut town = Town::new(2);
                town.open(&[&ada, &bob], 10);
                town.settle_down();
                town.machines[dies].disk.stop_after(stop);
                let answer = town.book(post(1, &ada, &bob, 4));
                if town.is_whole() {
                    continue;
                }
                cut[dies] += 1;
                town.machines[dies].crash(survives);
                town.boot();
                town.settle_down();
                let (mine, theirs) = (town.balance(&ada), town.balance(&bob));
                let booked = (mine, theirs) == (posted(6), posted(14));
                let context = format!("shard {dies} stops at {stop}, {survives}: {mine:?} {theirs:?}");
                assert!(booked || (mine, theirs) == (posted(10), posted(10)), "{context}");
                if let Some(answer) = answer {
                    assert_eq!(answer.is_ok(), booked, "{context}: {answer:?}");
                }
                // Asked again it is booked, once.
                let again = town.book(post(1, &ada, &bob, 4)).expect("power is on").expect(&context);
                assert_eq!(again.duplicate, booked, "{context}");
                town.settle_down();
                assert_eq!((town.balance(&ada), town.balance(&bob)), (posted(6), posted(14)), "{context}");
                town.audit();
            }
        }
    }
    assert!(cut[0] > 10 && cut[1] > 5, "it was cut {cut:?} times");
}

#[test]
fn a_shard_whose_journal_fails_in_the_middle_of_a_transfer_goes_on() {
    let (ada, bob) = (on(0, 2), on(1, 2));
    let mut failed = 0;
    // The coordinator syncs that it began, decided, and is confirmed; the other shard that it is prepared, and has settled.
    for (fails, syncs) in [(0, 3), (1, 2)] {
        for sync in 0..syncs {
            let mut town = Town::new(2);
            town.open(&[&ada, &bob], 10);
            town.settle_down();
            town.machines[fails].disk.fail_sync(sync, Kept::Nothing);
            let answer = town.book(post(1, &ada, &bob, 4)).expect("power is on");
            town.settle_down();
            failed += town.shard(fails as u16).core.reopened();
            // A caller that was answered Busy asks again, and gets the outcome.
            if let Err(refusal) = &answer {
                // The answer that nothing happened is given only where the transfer had not begun.
                assert_eq!(refusal.code(), "WAL-043", "{fails} {sync}: {refusal}");
                town.book(post(1, &ada, &bob, 4)).expect("power is on").expect("booked");
                town.settle_down();
            }
            assert_eq!((town.balance(&ada), town.balance(&bob)), (posted(6), posted(14)), "{fails} {sync}");
            town.audit();
        }
    }
    assert_eq!(failed, 5, "each of them failed once");
}

#[test]
fn a_system_wallet_is_the_sum_of_its_parts() {
    let mut town = Town::new(3);
    let names: Vec<String> = (0..3).map(|shard| on(shard, 3)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    town.open(&names, 100);
    for (at, name) in names.iter().enumerate() {
        for number in 0..10 {
            town.book(post(10 * at as u128 + number, name, "@shop", 1 + at as u64))
                .expect("power is on")
                .expect("booked");
        }
    }
    assert_eq!(town.balance("@shop"), posted(60));
    assert_eq!(town.balance("@bank"), posted(-300));
    // Its history goes through all parts by time, page by page.
    let (mut before, mut seen) = (None, Vec::new());
    loop {
        let range = Range { before, entries_max: 7, ..Range::default() };
        let command = Command::History { wallet: wallet("@shop"), asset: votes_asset(), range };
        let stadium_wallet::Answer::History(page) = town.done(command) else { panic!("a history") };
        assert!(page.entries.len() <= 7);
        seen.extend(page.entries.iter().map(|entry| (entry.transfer.at, entry.transfer.transfer)));
        before = page.before;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 30);
    assert!(seen.windows(2).all(|pair| pair[0].0 >= pair[1].0), "newest first");
    let mut ids: Vec<_> = seen.iter().map(|&(_, id)| id).collect();
    ids.sort();
    assert_eq!(ids, (0..30).map(TransferId).collect::<Vec<_>>());
    // Its balance after the tenth transfer, by the clocks of the shards.
    let tenth = seen[20].0;
    let command = Command::BalanceAt { wallet: wallet("@shop"), asset: votes_asset(), at: tenth };
    let stadium_wallet::Answer::Balance(then) = town.done(command) else { panic!("a balance") };
    let until = |id: &TransferId| 1 + (id.0 / 10) as i64;
    let expected: i64 = seen.iter().filter(|(at, _)| *at <= tenth).map(|(_, id)| until(id)).sum();
    assert_eq!(then.posted, expected);
    town.audit();
}

#[test]
fn a_command_with_only_an_id_is_done_by_the_shard_that_knows_it() {
    let mut town = Town::new(3);
    let (ada, bob) = (on(1, 3), on(2, 3));
    town.open(&[&ada, &bob], 10);
    let named = |id, kind| NewTransfer { kind, ..post(id, "a", "b", 1) };
    let hold = Kind::Hold {
        debit: wallet(&ada),
        credit: wallet(&bob),
        asset: votes_asset(),
        amount: 6,
        expires_after: 60_000,
    };
    town.book(named(1, hold)).expect("power is on").expect("held");
    assert_eq!(town.balance(&ada), Balance { posted: 10, held: 6 });
    let capture = Kind::Capture { hold: TransferId(1), amount: Some(4) };
    town.book(named(2, capture)).expect("power is on").expect("captured");
    town.settle_down();
    assert_eq!((town.balance(&ada), town.balance(&bob)), (posted(6), posted(14)));
    let reverse = Kind::Reverse { transfer: TransferId(2) };
    town.book(named(3, reverse)).expect("power is on").expect("reversed");
    town.settle_down();
    assert_eq!((town.balance(&ada), town.balance(&bob)), (posted(10), posted(10)));
    let void = Kind::Void { hold: TransferId(77) };
    let unknown = town.book(named(4, void)).expect("power is on").expect_err("nobody knows it");
    assert_eq!(unknown.code(), "WAL-022");
    let stadium_wallet::Answer::Transfer(found) = town.done(Command::Find { transfer: TransferId(1) }) else {
        panic!("it is remembered")
    };
    assert_eq!((found.state, found.amount), (BookState::Captured, 6));
    town.audit();
}

#[test]
fn segments_with_records_of_the_wallets_stay_and_their_history_is_read() {
    let mut town = Town::new(1);
    town.open(&["ada"], 1_000);
    let queue = QueueName::new("mail").expect("a test's queue");
    for round in 0..30_u128 {
        if round % 6 == 0 {
            town.book(post(round, "ada", "@shop", 1)).expect("power is on").expect("booked");
        }
        let shard = town.shard(0);
        for _ in 0..10 {
            let put = QueueCommand::Put {
                queue: queue.clone(),
                jobs: vec![ballot(&"x".repeat(8 << 10))],
                principal: None,
            };
            let caller = shard.submit(put);
            shard.answered(caller).expect("power is on").expect("put");
        }
        let purge = QueueCommand::Purge { queue: queue.clone(), state: None };
        let caller = shard.submit(purge);
        shard.answered(caller).expect("power is on").expect("purged");
        shard.core.checkpoint_soon();
        shard.now += 2_000;
        shard.settle_down();
    }
    for _ in 0..2 {
        let metrics = town.shard(0).core.metrics();
        let first = town.shard(0).core.journal().expect("it is open").segments()[0].number;
        assert!(metrics.segments >= 5, "{} segments are there", metrics.segments);
        assert_eq!(first.0, 1, "the first one holds the account's opening");
        let range = Range { entries_max: 100, ..Range::default() };
        let command = Command::History { wallet: wallet("ada"), asset: votes_asset(), range };
        let stadium_wallet::Answer::History(page) = town.done(command) else { panic!("a history") };
        assert_eq!(page.entries.len(), 6, "five votes and what was paid for them");
        // Also when they are known from a checkpoint only.
        town.crash(false);
        town.shard(0).core.checkpoint_soon();
        town.shard(0).now += 100_000;
        town.settle_down();
    }
    let removed = town.shard(0).core.metrics().segments_removed;
    assert!(removed > 0 || town.shard(0).core.metrics().segments < 12, "segments with jobs only went");
}

#[test]
fn seals_are_answered_when_they_are_durable() {
    let mut town = Town::new(1);
    town.open(&["ada"], 10);
    town.book(post(1, "ada", "@shop", 1)).expect("power is on").expect("booked");
    town.shard(0).now += 120_000;
    town.settle_down();
    let seals = seals_after(&mut town, 0);
    assert_eq!(seals.iter().map(|(shard, seal)| (*shard, seal.number)).collect::<Vec<_>>(), [(0, 1)]);
    town.crash(false);
    assert_eq!(seals_after(&mut town, 0), seals);
    assert_eq!(seals_after(&mut town, 1), []);
}

fn seals_after(town: &mut Town, after: u64) -> Vec<(u16, Seal)> {
    match town.done(Command::Seals { shard: None, after, seals_max: 10 }) {
        Answer::Seals(seals) => seals,
        other => panic!("{other:?}"),
    }
}
