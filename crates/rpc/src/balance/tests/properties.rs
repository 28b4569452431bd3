//! Properties of the balancer: rules checked on random fleets and random happenings.
//!
//! A failure prints the happenings that led to it, made as few as possible.

use proptest::prelude::*;

use super::fixture::*;
use crate::balance::*;

/// Something that happens to one of eight instances.
#[derive(Clone, Debug)]
enum Happening {
    Begins(usize),
    Ends(usize, Outcome, u64),
    Connects(usize),
    Breaks(usize, u64),
    Closes(usize),
    Reports(usize, f32, bool),
    /// Discovery names those whose bit is set.
    Discovered(u8),
    Passes(u64),
}

const INSTANCES: usize = 8;

fn happening() -> impl Strategy<Value = Happening> {
    let which = 0..INSTANCES;
    let outcome = prop_oneof![
        2 => Just(Outcome::Ok),
        4 => Just(Outcome::Broken),
        1 => Just(Outcome::Deadline),
        1 => Just(Outcome::Rejected),
        1 => Just(Outcome::Cancelled),
        1 => (0..10_000u32).prop_map(|retry_after_ms| Outcome::Busy { retry_after_ms }),
    ];
    prop_oneof![
        4 => which.clone().prop_map(Happening::Begins),
        8 => (which.clone(), outcome, 0..2 * SECOND).prop_map(|(n, how, us)| Happening::Ends(n, how, us)),
        3 => which.clone().prop_map(Happening::Connects),
        1 => (which.clone(), 0..SECOND).prop_map(|(n, us)| Happening::Breaks(n, us)),
        1 => which.clone().prop_map(Happening::Closes),
        1 => (which, any::<f32>(), any::<bool>()).prop_map(|(n, load, leaves)| Happening::Reports(n, load, leaves)),
        1 => any::<u8>().prop_map(Happening::Discovered),
        2 => (0..3 * SECOND).prop_map(Happening::Passes),
    ]
}

fn discover(balancer: &mut Balancer, bits: u8, now_us: u64) {
    let names: Vec<String> = (0..INSTANCES).map(name).collect();
    let all: Vec<Known<'_>> =
        names.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, name)| known(name)).collect();
    balancer.update(&all, now_us);
}

fn apply(balancer: &mut Balancer, happening: &Happening, now_us: &mut u64) {
    let id = |balancer: &Balancer, n: usize| balancer.find(&name(n)).unwrap_or(InstanceId(u32::MAX));
    match *happening {
        Happening::Begins(n) => balancer.began(id(balancer, n), *now_us),
        Happening::Ends(n, outcome, us) => balancer.ended(id(balancer, n), outcome, us, *now_us),
        Happening::Connects(n) => balancer.connected(id(balancer, n)),
        Happening::Breaks(n, us) => balancer.disconnected(id(balancer, n), *now_us + us),
        Happening::Closes(n) => balancer.closed(id(balancer, n)),
        Happening::Reports(n, load, leaves) => balancer.load(id(balancer, n), load, leaves),
        Happening::Discovered(bits) => discover(balancer, bits, *now_us),
        Happening::Passes(us) => *now_us += us,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_must_not_be_chosen_never_is(
        happenings in prop::collection::vec(happening(), 1..120),
        excluded in any::<u8>(),
        subset_size in 1..10usize,
        seed in any::<u64>(),
    ) {
        let settings = BalanceSettings { subset_size, seed, ..Default::default() };
        let mut balancer = Balancer::new(settings);
        let mut now_us = SECOND;
        discover(&mut balancer, 0xff, now_us);
        for happening in &happenings {
            apply(&mut balancer, happening, &mut now_us);
            let exclude: Vec<InstanceId> = (0..INSTANCES)
                .filter(|n| excluded >> n & 1 == 1)
                .filter_map(|n| balancer.find(&name(n)))
                .collect();
            for exclude in [&[][..], &exclude] {
                for key in [None, Some(KeyHash(seed))] {
                    let choice = Choice { key, exclude };
                    let explanation = balancer.explain(now_us, choice);
                    let chosen = balancer.choose(now_us, choice);
                    let address = chosen.and_then(|chosen| balancer.address(chosen.id));
                    prop_assert_eq!(explanation.chosen.as_deref(), address, "an explanation is the truth");

                    let open = explanation.instances.iter().filter(|one| {
                        let lost = matches!(one.state, State::Lost { for_us } if for_us > 0);
                        let excluded = exclude.iter().any(|&id| balancer.address(id) == Some(&one.address));
                        !lost && one.state != State::Quiescing && !excluded
                    });
                    match address {
                        None => {
                            // Keys stay with those that are trusted, so that there may be others.
                            let left = open.count();
                            prop_assert!(left == 0 || (key.is_some() && !exclude.is_empty()), "{}", explanation);
                        }
                        Some(address) => prop_assert!(
                            open.into_iter().any(|one| one.address == address), "{}", explanation
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn at_most_half_are_newly_ejected(
        happenings in prop::collection::vec(happening(), 1..300),
    ) {
        let mut balancer = Balancer::new(BalanceSettings::default());
        let mut now_us = SECOND;
        discover(&mut balancer, 0xff, now_us);
        for happening in &happenings {
            let before = balancer.ejections();
            let out_before = out_of_use(&balancer, now_us).0;
            apply(&mut balancer, happening, &mut now_us);
            let (out, all) = out_of_use(&balancer, now_us);
            if balancer.ejections() > before && out > out_before {
                prop_assert!(out * 2 <= all + 1, "{out} of {all} after {happening:?}");
            }
        }
    }

    #[test]
    fn an_instance_that_goes_moves_only_its_own_keys(
        weights in prop::collection::vec(1..400u32, 2..30),
        gone in any::<prop::sample::Index>(),
        keys in prop::collection::vec(any::<u64>(), 1..100),
    ) {
        let names: Vec<String> = (0..weights.len()).map(name).collect();
        let all: Vec<Known<'_>> = names
            .iter()
            .zip(&weights)
            .map(|(address, &weight)| Known { weight, ..known(address) })
            .collect();
        let mut balancer = Balancer::new(BalanceSettings::default());
        let owners = |balancer: &mut Balancer, known: &[Known<'_>]| {
            balancer.update(known, 0);
            keys.iter()
                .map(|&key| {
                    let chosen = balancer.choose(0, Choice { key: Some(KeyHash(key)), exclude: &[] });
                    chosen.and_then(|one| balancer.address(one.id)).map(str::to_owned)
                })
                .collect::<Vec<_>>()
        };
        let before = owners(&mut balancer, &all);
        let mut others = all.clone();
        let gone = others.remove(gone.index(all.len()));
        let without = owners(&mut balancer, &others);
        for (before, without) in before.iter().zip(&without) {
            if before.as_deref() != Some(gone.address) {
                prop_assert_eq!(before, without);
            } else {
                prop_assert_ne!(without.as_deref(), Some(gone.address));
            }
        }
        prop_assert_eq!(owners(&mut balancer, &all), before, "it gets its keys back");
    }

    #[test]
    fn a_budget_is_never_exceeded(
        share in 0.0..1.0f64,
        per_second_min in 0..50u32,
        saved_max in 0..200u32,
        steps in prop::collection::vec((0..50u32, 0..50u32, 0..500_000u64), 1..100),
    ) {
        let mut budget = RetryBudget::new(BudgetSettings { share, per_second_min, saved_max });
        let (mut calls, mut taken, mut now_us) = (0u64, 0u64, 0u64);
        for (made, wanted, passes_us) in steps {
            (0..made).for_each(|_| budget.called());
            calls += u64::from(made);
            taken += (0..wanted).filter(|_| budget.take(now_us)).count() as u64;
            let by_time = f64::from(per_second_min) * (now_us as f64 / 1e6 + 1.0);
            prop_assert!(taken as f64 <= share * calls as f64 + by_time + 1e-6);
            now_us += passes_us;
        }
        prop_assert!(budget.left(now_us) <= u64::from(saved_max) + u64::from(per_second_min));
    }
}

/// Instances that are out of use, and all that are not leaving.
fn out_of_use(balancer: &Balancer, now_us: u64) -> (usize, usize) {
    let standing = |id: &InstanceId| {
        let instance = balancer.instance(*id)?;
        let serving = instance.health.standing(now_us) == crate::balance::ejection::Standing::Serving;
        (!instance.quiescing()).then_some(!serving)
    };
    let all: Vec<bool> = balancer.ids().filter_map(|id| standing(&id)).collect();
    (all.iter().filter(|out| **out).count(), all.len())
}
