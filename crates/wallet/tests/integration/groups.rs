//! Transfers between the ledgers of three shards, whatever becomes of the letters between them.
//!
//! When all is settled every client asks again: what was booked was booked once, on all shards or on none, nobody is overdrawn, and every
//! balance is what the booked transfers give. `WALLET_SEEDS=n` runs more seeds.

use crate::desk;
use crate::house;

use desk::{Desk, Nowhere, Place};
use house::House;
use stadium_wallet::{Bounds, Kind, Refusal};

fn house(seed: u64) -> House<Nowhere> {
    let desk =
        |shard| Desk::with(Bounds::default(), Place { shard, shards: 3, hash_seed: seed ^ u64::from(shard) });
    House::new((0..3).map(desk).collect(), seed, true)
}

#[test]
fn shards_agree_whatever_becomes_of_letters() {
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
                match &asked.told {
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
    let asset = desk::asset("VOTE");
    let post = house.transfer(Kind::Post { debit: debit.clone(), credit: credit.clone(), asset, amount: 70 });
    house.ask(vec![post], false);
    house.sync(home);
    house.mail.clear();
    assert_eq!(house.desks[home].balance(debit.as_str(), "VOTE").available(), 30, "it is promised");
    assert!(house.asked.last().is_some_and(|asked| asked.told.is_none()));
    house.desks.iter_mut().for_each(|desk| desk.now = desk.now.after(60_000));
    house.settle();
    let told = house.asked.last().and_then(|asked| asked.told.clone()).expect("it was given up");
    let refusal = match told {
        Ok(outcomes) => outcomes[0].clone().expect_err("nothing was booked"),
        Err(refusal) => refusal,
    };
    assert!(matches!(refusal, Refusal::Busy { .. }), "{refusal}: it may be asked again");
    assert_eq!(house.desks[home].balance(debit.as_str(), "VOTE").available(), 100);
    house.check();
}

#[test]
fn what_is_promised_to_another_shard_is_not_spent_twice() {
    let mut house = house(2);
    let (home, debit, credit) = apart(&house);
    let asset = desk::asset("VOTE");
    for _ in 0..3 {
        let kind =
            Kind::Post { debit: debit.clone(), credit: credit.clone(), asset: asset.clone(), amount: 60 };
        let post = house.transfer(kind);
        house.ask(vec![post], false);
    }
    house.settle();
    let last = &house.asked[house.asked.len() - 3..];
    let outcomes: Vec<bool> =
        last.iter().map(|asked| matches!(&asked.told, Some(Ok(outcomes)) if outcomes[0].is_ok())).collect();
    assert_eq!(outcomes, [true, false, false]);
    assert_eq!(house.desks[home].balance(debit.as_str(), "VOTE").posted, 40);
    house.check();
}
