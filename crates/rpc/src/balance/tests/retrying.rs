//! Behaviours of calls that are made again, and of those that are not.

use super::fixture::*;
use crate::balance::*;

/// A first attempt at an idempotent method that was refused, with others to ask and a second to go.
fn refused() -> Attempt {
    Attempt {
        outcome: Outcome::Busy { retry_after_ms: 100 },
        made: 1,
        idempotence: Idempotence::Idempotent,
        elsewhere: Elsewhere::Possible,
        deadline_us: SECOND,
    }
}

fn decide(attempt: Attempt) -> Decision {
    let mut budget = RetryBudget::new(BudgetSettings::default());
    RetryRule::default().decide(attempt, 0, &mut budget, &mut Random::seeded(1))
}

#[test]
fn the_rule_as_a_table() {
    use Decision::{Now, Stop as No};
    let broken = Attempt { outcome: Outcome::Broken, ..refused() };
    let table = [
        ("busy, others to ask", refused(), Now),
        ("busy, not idempotent", Attempt { idempotence: Idempotence::Once, ..refused() }, Now),
        ("broken, idempotent", broken, Now),
        (
            "broken, not idempotent",
            Attempt { idempotence: Idempotence::Once, ..broken },
            No(Stop::NotIdempotent),
        ),
        ("late, idempotent", Attempt { outcome: Outcome::Deadline, ..refused() }, Now),
        ("rejected", Attempt { outcome: Outcome::Rejected, ..refused() }, No(Stop::Final)),
        ("cancelled", Attempt { outcome: Outcome::Cancelled, ..refused() }, No(Stop::Final)),
        ("second time", Attempt { made: 2, ..refused() }, Now),
        ("third time", Attempt { made: 3, ..refused() }, No(Stop::Attempts)),
        ("no time left", Attempt { deadline_us: 0, ..refused() }, No(Stop::Deadline)),
    ];
    for (test, attempt, decision) in table {
        assert_eq!(decide(attempt), decision, "{test}");
    }
}

#[test]
fn the_same_instance_is_asked_no_sooner_than_it_said() {
    let alone = Attempt { elsewhere: Elsewhere::Impossible, ..refused() };
    let mut random = Random::seeded(5);
    let mut waits = Vec::new();
    for _ in 0..200 {
        let mut budget = RetryBudget::new(BudgetSettings::default());
        match RetryRule::default().decide(alone, 0, &mut budget, &mut random) {
            Decision::At { at_us } => waits.push(at_us),
            other => panic!("{other:?}"),
        }
    }
    assert!(waits.iter().all(|wait| (100 * MS..=150 * MS).contains(wait)));
    waits.sort_unstable();
    assert!(waits[199] - waits[0] > 40 * MS, "refused calls don't come back as a herd");
}

#[test]
fn a_wait_past_the_deadline_is_not_begun() {
    let alone = Attempt { elsewhere: Elsewhere::Impossible, deadline_us: 90 * MS, ..refused() };
    assert_eq!(decide(alone), Decision::Stop(Stop::Deadline));
}

#[test]
fn a_spent_budget_ends_retries_and_a_stopped_call_costs_nothing() {
    let mut budget = RetryBudget::new(BudgetSettings { per_second_min: 2, ..Default::default() });
    let rule = RetryRule::default();
    let mut random = Random::seeded(1);
    for _ in 0..10 {
        let late = Attempt { made: 3, ..refused() };
        assert_eq!(rule.decide(late, 0, &mut budget, &mut random), Decision::Stop(Stop::Attempts));
    }
    assert_eq!(rule.decide(refused(), 0, &mut budget, &mut random), Decision::Now);
    assert_eq!(rule.decide(refused(), 0, &mut budget, &mut random), Decision::Now);
    assert_eq!(rule.decide(refused(), 0, &mut budget, &mut random), Decision::Stop(Stop::Budget));
    for _ in 0..5 {
        budget.called();
    }
    assert_eq!(rule.decide(refused(), 0, &mut budget, &mut random), Decision::Now, "a fifth of five calls");
    let later = Attempt { deadline_us: 2 * SECOND, ..refused() };
    assert_eq!(rule.decide(later, SECOND, &mut budget, &mut random), Decision::Now, "a second later");
}
