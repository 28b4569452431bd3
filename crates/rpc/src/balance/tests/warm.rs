//! Nothing is allocated for a call once warm: choosing, learning, retrying and hedging live in what there is.

use super::fixture::*;
use crate::balance::*;

#[test]
fn a_call_allocates_nothing_once_warm() {
    let names: Vec<String> = (0..40).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fleet = Fleet::of(&names);
    let mut budget = RetryBudget::new(BudgetSettings::default());
    let mut hedge = Hedge::new(HedgeSettings::default());
    let mut random = Random::seeded(3);
    let rule = RetryRule::default();

    let mut turn = |fleet: &mut Fleet, n: u64| {
        let key = n.is_multiple_of(3).then(|| KeyHash::of(&n.to_be_bytes()));
        let Some(chosen) = fleet.balancer.choose(fleet.now_us, Choice { key, exclude: &[] }) else { return };
        budget.called();
        hedge.called();
        fleet.balancer.began(chosen.id, fleet.now_us);
        fleet.wait(100);
        let outcome = match n % 50 {
            0 => Outcome::Busy { retry_after_ms: 3 },
            1..8 => Outcome::Broken,
            8 => Outcome::Cancelled,
            _ => Outcome::Ok,
        };
        fleet.balancer.ended(chosen.id, outcome, 100, fleet.now_us);
        hedge.answered(100, fleet.now_us);
        let attempt = Attempt {
            outcome,
            made: 1,
            idempotence: Idempotence::Idempotent,
            elsewhere: Elsewhere::Possible,
            deadline_us: u64::MAX,
        };
        if rule.decide(attempt, fleet.now_us, &mut budget, &mut random) == Decision::Now {
            fleet.balancer.choose(fleet.now_us, Choice { key: None, exclude: &[chosen.id] });
        }
    };
    (0..20_000).for_each(|n| turn(&mut fleet, n));
    let counted = allocation_counter::measure(|| (0..200_000).for_each(|n| turn(&mut fleet, n)));
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert!(fleet.balancer.ejections() > 0, "the test has ejections in it");
}
