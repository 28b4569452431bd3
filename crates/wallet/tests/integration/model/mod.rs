//! The ledger against a deliberately naive one, at random.
//!
//! The naive ledger is a list of transfers that is counted from end to end for every question. It knows the rules, not how they are kept. In
//! between the ledger is replaced by what a replay of its records makes, and by what a checkpoint and the records behind it make.

use crate::harness;
mod naive;
mod world;

use proptest::collection::vec;
use proptest::prelude::*;

use world::{Step, What, World};

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => 1..60_u64,
        2 => Just(0_u64),
        1 => Just(i64::MAX as u64),
        1 => Just(i64::MAX as u64 - 20),
        1 => Just(u64::MAX),
    ]
}

fn what() -> impl Strategy<Value = What> {
    let asset = || prop_oneof![12 => Just(0_usize), 4 => Just(1_usize), 1 => Just(2_usize)];
    let index = any::<prop::sample::Index>;
    let span =
        prop_oneof![6 => 1_000..9_000_u64, 1 => Just(999_u64), 1 => Just(366 * 24 * 3_600_000 + 1_u64)];
    prop_oneof![
        12 => (0..6_usize, 0..6_usize, asset(), amount())
            .prop_map(|(debit, credit, asset, amount)| What::Post { debit, credit, asset, amount }),
        6 => (0..6_usize, 0..6_usize, asset(), amount(), span)
            .prop_map(|(debit, credit, asset, amount, span)| What::Hold { debit, credit, asset, amount, span }),
        5 => (index(), proptest::option::of(amount())).prop_map(|(of, amount)| What::Capture { of, amount }),
        3 => index().prop_map(|of| What::Void { of }),
        3 => index().prop_map(|of| What::Reverse { of }),
        2 => index().prop_map(What::Again),
        1 => index().prop_map(What::OtherContent),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let ceiling = || prop_oneof![3 => Just(None), 2 => (0..120_u64).prop_map(Some)];
    prop_oneof![
        12 => what().prop_map(Step::One),
        4 => (vec(what(), 1..6), any::<bool>()).prop_map(|(list, linked)| Step::List(list, linked)),
        1 => (0..4_usize, 0..2_usize, any::<bool>(), ceiling())
            .prop_map(|(wallet, asset, overdraft, ceiling)| Step::Open { wallet, asset, overdraft, ceiling }),
        1 => (0..4_usize, 0..2_usize, proptest::option::of(any::<bool>()), proptest::option::of(ceiling()), proptest::option::of(any::<bool>()))
            .prop_map(|(wallet, asset, overdraft, ceiling, closed)| Step::Change { wallet, asset, overdraft, ceiling, closed }),
        3 => prop_oneof![4 => 0..3_000_u64, 1 => Just(100_000_u64)].prop_map(Step::Pass),
        1 => (1..10_000_u64).prop_map(Step::Back),
        1 => Just(Step::Crash),
        1 => (1..3_000_usize).prop_map(Step::Restart),
        1 => (1..400_usize).prop_map(Step::Checkpoint),
        1 => any::<prop::sample::Index>().prop_map(Step::Look),
    ]
}

/// `WALLET_CASES=n` runs more.
fn cases() -> u32 {
    std::env::var("WALLET_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_does_what_the_naive_one_does(steps in vec(step(), 1..120)) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.finish();
    }
}

/// One account with so many entries that every sort of pointer back is used.
#[test]
fn a_long_history_is_read_from_either_end() {
    let mut world = World::new();
    let post = What::Post { debit: 4, credit: 0, asset: 0, amount: 1 };
    for _ in 0..4_500 {
        world.list(vec![post.clone()], false);
    }
    world.take(Step::Crash);
    world.finish();
}
