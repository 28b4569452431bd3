//! Transfers between the ledgers of three shards, whatever becomes of the messages between them.
//!
//! When all is settled every client asks again: a booked transfer was booked once, on all shards or
//! on none, nobody is overdrawn, and every balance is the sum of the booked transfers.
//! `WALLET_SEEDS=n` runs more seeds.

use crate::harness;
use crate::house;

use harness::{Harness, Nowhere, Place};
use house::House;
use stadium_wallet::{Bounds, Direction, Kind, Range, Refusal, Time};

fn house(seed: u64) -> House<Nowhere> {
    let harness = |shard| {
        Harness::with(Bounds::default(), Place { shard, shards: 3, hash_seed: seed ^ u64::from(shard) })
    };
    House::new((0..3).map(harness).collect(), seed, true)
}

#[test]
fn shards_agree_whatever_becomes_of_messages() {
    let seeds = std::env::var("WALLET_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(150);
    let (mut booked, mut refused) = (0, 0);
    for seed in 0..seeds {
        let run = std::panic::AssertUnwindSafe(|| {
            let mut house = house(seed);
            for _ in 0..600 {
                house.step();
            }
            house.check();
            for asked in &house.asked {
                match &asked.answered {
                    Some(Ok(outcomes)) if outcomes.iter().all(Result::is_ok) => booked += 1,
                    _ => refused += 1,
                }
            }
        });
        std::panic::catch_unwind(run).unwrap_or_else(|_| panic!("seed {seed}"));
    }
    assert!(
        booked > seeds * 50 && refused > seeds * 10,
        "{booked} booked, {refused} refused: this tests little"
    );
}

/// Two wallets that live on different shards.
fn apart(house: &House<Nowhere>) -> (usize, stadium_wallet::WalletName, stadium_wallet::WalletName) {
    let debit = house.wallets[0].clone();
    let home = debit.home(3);
    let credit = house.wallets.iter().find(|other| other.home(3) != home).expect("there are nine").clone();
    (usize::from(home.expect("it is no system wallet")), debit, credit)
}

#[test]
fn nobody_waits_for_ever_for_a_shard_that_is_away() {
    let mut house = house(1);
    let (home, debit, credit) = apart(&house);
    let asset = harness::asset("VOTE");
    let post = house.transfer(Kind::Post { debit: debit.clone(), credit: credit.clone(), asset, amount: 70 });
    house.ask(vec![post], false);
    house.sync(home);
    house.mail.clear();
    assert_eq!(house.harnesses[home].balance(debit.as_str(), "VOTE").available(), 30, "it is promised");
    assert!(house.asked.last().is_some_and(|asked| asked.answered.is_none()));
    house.harnesses.iter_mut().for_each(|harness| harness.now = harness.now.after(60_000));
    house.settle();
    let answered = house.asked.last().and_then(|asked| asked.answered.clone()).expect("it was given up");
    let refusal = match answered {
        Ok(outcomes) => outcomes[0].clone().expect_err("nothing was booked"),
        Err(refusal) => refusal,
    };
    assert!(matches!(refusal, Refusal::Busy { .. }), "{refusal}: it may be asked again");
    assert_eq!(house.harnesses[home].balance(debit.as_str(), "VOTE").available(), 100);
    house.check();
}

#[test]
fn an_amount_promised_to_another_shard_is_not_spent_twice() {
    let mut house = house(2);
    let (home, debit, credit) = apart(&house);
    let asset = harness::asset("VOTE");
    for _ in 0..3 {
        let kind =
            Kind::Post { debit: debit.clone(), credit: credit.clone(), asset: asset.clone(), amount: 60 };
        let post = house.transfer(kind);
        house.ask(vec![post], false);
    }
    house.settle();
    let last = &house.asked[house.asked.len() - 3..];
    let outcomes: Vec<bool> = last
        .iter()
        .map(|asked| matches!(&asked.answered, Some(Ok(outcomes)) if outcomes[0].is_ok()))
        .collect();
    assert_eq!(outcomes, [true, false, false]);
    assert_eq!(house.harnesses[home].balance(debit.as_str(), "VOTE").posted, 40);
    house.check();
}

/// The sum of all accounts of VOTE on a shard at a time.
fn sum_at(house: &mut House<Nowhere>, shard: usize, at: Time) -> i64 {
    let mut names: Vec<String> = house.wallets.iter().map(|name| name.as_str().to_owned()).collect();
    names.extend(["@mint".to_owned(), "@transit".to_owned()]);
    let harness = &mut house.harnesses[shard];
    // A wallet that lives elsewhere has no account here.
    names
        .iter()
        .filter_map(|name| harness.balance_at(name, "VOTE", at).ok())
        .map(|balance| balance.posted)
        .sum()
}

/// The other shard books a transfer when it hears of the decision, at a time of its own clock. Its entry, its history and its
/// balances at times go by that; so a balance at a time that is over never changes, and all accounts sum to zero at all times.
#[test]
fn an_account_on_another_shard_has_its_entry_at_the_time_of_that_shard() {
    // The clock of the other shard, against the first one's: behind, the same, ahead.
    for (first_ms, other_ms) in [(9_000, 2_000), (5_000, 5_000), (5_000, 5_007)] {
        let mut house = house(3);
        let (home, debit, credit) = apart(&house);
        let other = usize::from(credit.home(3).expect("it is no system wallet"));
        let start = house.harnesses[home].now;
        house.harnesses[home].now = start.after(first_ms);
        house.harnesses[other].now = start.after(other_ms);
        let (asset, amount) = (harness::asset("VOTE"), 70);
        let kind = Kind::Post { debit: debit.clone(), credit: credit.clone(), asset, amount };
        let post = house.transfer(kind);
        let id = post.id;
        house.ask(vec![post], false);
        house.settle();
        let answered = house.asked.last().and_then(|asked| asked.answered.clone()).expect("it was answered");
        let booked_at = answered.expect("it is booked")[0].as_ref().expect("it is booked").at;
        assert_eq!(booked_at, start.after(first_ms), "the answer has the time of the decision");

        let mut newest = |shard: usize, name: &str| {
            let page = house.harnesses[shard].history(name, "VOTE", Range::default()).expect("it has one");
            page.entries[0].clone()
        };
        let (gives, gets) = (newest(home, debit.as_str()), newest(other, credit.as_str()));
        assert_eq!((gives.transfer.transfer, gives.direction), (id, Direction::Debit));
        assert_eq!((gets.transfer.transfer, gets.direction), (id, Direction::Credit));
        assert_eq!((gives.transfer.at, gets.transfer.at), (booked_at, start.after(other_ms)));

        let before = |at: Time| Time(at.0 - 1);
        let mut posted = |shard: usize, name: &str, at: Time| {
            house.harnesses[shard].balance_at(name, "VOTE", at).expect("it is answered").posted
        };
        assert_eq!(posted(home, debit.as_str(), booked_at), 30);
        assert_eq!(posted(home, debit.as_str(), before(booked_at)), 100);
        assert_eq!(posted(other, credit.as_str(), gets.transfer.at), 170, "at the time of its own entry");
        assert_eq!(posted(other, credit.as_str(), before(gets.transfer.at)), 100);
        for shard in [home, other] {
            for at in [before(booked_at), booked_at, before(gets.transfer.at), gets.transfer.at] {
                assert_eq!(sum_at(&mut house, shard, at), 0, "shard {shard} at {at:?}, with {booked_at:?}");
            }
        }
    }
}

#[test]
fn a_balance_at_a_time_that_is_over_never_changes() {
    let mut house = house(4);
    let (home, debit, credit) = apart(&house);
    let other = usize::from(credit.home(3).expect("it is no system wallet"));
    let (asset, amount) = (harness::asset("VOTE"), 70);
    let post = house.transfer(Kind::Post { debit, credit: credit.clone(), asset, amount });
    house.ask(vec![post], false);
    // Until the decision is answered, and the other shard has not heard of it.
    loop {
        (0..house.harnesses.len()).for_each(|shard| house.sync(shard));
        if house.asked.last().is_some_and(|asked| asked.answered.is_some()) {
            break;
        }
        assert!(!house.mail.is_empty(), "something is under way");
        while let Some(newest) = house.mail.len().checked_sub(1) {
            house.deliver(newest);
        }
    }
    let answered = house.asked.last().and_then(|asked| asked.answered.clone()).expect("it was answered");
    let booked_at = answered.expect("it is booked")[0].as_ref().expect("it is booked").at;
    house.harnesses.iter_mut().for_each(|harness| harness.now = harness.now.after(1));
    let posted = |house: &mut House<Nowhere>, at: Time| {
        house.harnesses[other].balance_at(credit.as_str(), "VOTE", at).expect("it is answered").posted
    };
    assert_eq!(posted(&mut house, booked_at), 100, "it is on its way");
    house.settle();
    let now = house.harnesses[home].now;
    assert_eq!(posted(&mut house, booked_at), 100, "as it was answered before");
    assert_eq!(posted(&mut house, now), 170);
}
