//! `budget.json`: the tokens of extra calls, earned by calls and by time.

use serde_json::{Value, json};
use stadium_rpc::balance::{BudgetSettings, RetryBudget};
use stadium_testing::vectors::{Case, Step, VectorFile};

pub fn file() -> VectorFile {
    VectorFile {
        name: "budget.json",
        about: ABOUT,
        defaults: json!({"share": 0.2, "per_second_min": 10, "saved_max": 100}),
        cases: vec![first_second(), earned(), allowance_first(), bounds(), odd_shares(), clock()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "called: `times` calls are made for the first time. take: `times` attempts to take a token \
     at at_us; the expectation is how many succeeded. left: whole tokens that could be taken.",
    "A new budget has one second's allowance and nothing earned. share is the part of a token \
     that a call earns, in whole thousandths.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut budget = RetryBudget::new(BudgetSettings {
        share: config.float("share"),
        per_second_min: config.small("per_second_min"),
        saved_max: config.small("saved_max"),
    });
    let mut answer = |step: &Step<'_>| {
        let times = 0..step.number_or("times", 1);
        match step.event() {
            "called" => {
                times.for_each(|_| budget.called());
                Value::Null
            }
            "take" => json!(times.filter(|_| budget.take(step.at_us())).count()),
            "left" => json!(budget.left(step.at_us())),
            event => panic!("no such event: {event}"),
        }
    };
    steps.iter().map(&mut answer).collect()
}

fn called(case: Case, times: u32) -> Case {
    case.at("called", json!({"times": times})).at("left", json!({}))
}

fn take(case: Case, times: u32) -> Case {
    case.at("take", json!({"times": times})).at("left", json!({}))
}

fn first_second() -> Case {
    let case = Case::new("ten at once, then one each 100 ms; what time gives is not saved");
    let case = take(take(case.at("left", json!({})), 11).wait_us(99_999), 1);
    let case = take(take(case.wait_us(1), 2).wait_us(50_000), 1);
    take(take(case.wait_us(50_000), 2).wait_us(3_600_000_000), 11)
}

fn earned() -> Case {
    let case = take(Case::new("five calls earn one; time's allowance goes first"), 10);
    let case = take(called(case, 4), 1);
    let case = take(called(case, 1), 2);
    let case = called(case, 10).wait_us(100_000);
    take(take(case, 1), 3)
}

fn allowance_first() -> Case {
    let case = take(called(Case::new("an earned token is not spent while there is an allowance"), 25), 5);
    case.wait_us(1_000_000).at("left", json!({}))
}

fn bounds() -> Case {
    let case = take(called(Case::new("calls save up to the bound"), 499), 0);
    let case = called(called(case, 1), 1_000);
    take(take(case, 111), 1)
}

fn odd_shares() -> Case {
    let case = Case::new("a share counts in whole thousandths")
        .config(json!({"share": 0.0019, "per_second_min": 0}));
    let case = take(called(take(called(case, 999), 1), 1), 2);
    take(called(case, 3_000), 4)
}

fn clock() -> Case {
    let case =
        Case::new("a clock that stands still gives nothing").config(json!({"share": 2.0, "saved_max": 1}));
    let case = take(take(case, 10), 1);
    take(called(take(called(case, 1), 2), 5), 2)
}
