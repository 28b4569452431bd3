//! `retry.json`: whether a call that was not answered OK is made again, where and when.
//!
//! Each step is one attempt that failed; its budget is that of `budget.json`.

use serde_json::{Value, json};
use stadium_rpc::balance::{
    Attempt, BudgetSettings, Decision, Elsewhere, Idempotence, Outcome, Random, RetryBudget, RetryRule, Stop,
};
use stadium_testing::vectors::{Case, Step, VectorFile};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

pub fn file() -> VectorFile {
    VectorFile {
        name: "retry.json",
        about: ABOUT,
        defaults: json!({
            "attempts_max": 3,
            "wait_min_us": 5 * MS,
            "per_second_min": 10,
            "share": 0.2,
            "seed": 1,
        }),
        cases: vec![rule(), outcomes(), waits(), deadlines(), budget(), usual_budget()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "decide: an attempt ended at at_us with this outcome. `made` counts the attempts, this one \
     included; idempotent is the method's; elsewhere is true where an instance that has not seen \
     the call may be chosen and is connected, and the call has no key. deadline_us is when the \
     call is over.",
    "The decision is now (on another instance), at (from at_us on, on any instance), or stop \
     with its reason. docs/rpc-guards.md has the order in which the rules are asked.",
    "called: `times` calls are made for the first time, and earn their share of the budget. \
     per_second_min and share are settings of the budget, whose saved_max is 100. The random \
     numbers of a case come from its seed.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let rule =
        RetryRule { attempts_max: config.small("attempts_max"), wait_min_us: config.number("wait_min_us") };
    let mut budget = RetryBudget::new(BudgetSettings {
        share: config.float("share"),
        per_second_min: config.small("per_second_min"),
        ..BudgetSettings::default()
    });
    let mut random = Random::seeded(config.number("seed"));
    let mut answer = |step: &Step<'_>| match step.event() {
        "called" => {
            (0..step.number("times")).for_each(|_| budget.called());
            Value::Null
        }
        "decide" => decision(rule.decide(attempt(*step), step.at_us(), &mut budget, &mut random)),
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn attempt(step: Step<'_>) -> Attempt {
    let outcome = match step.text("outcome") {
        "ok" => Outcome::Ok,
        "busy" => Outcome::Busy { retry_after_ms: step.small("retry_after_ms") },
        "rejected" => Outcome::Rejected,
        "deadline" => Outcome::Deadline,
        "broken" => Outcome::Broken,
        "cancelled" => Outcome::Cancelled,
        other => panic!("no such outcome: {other}"),
    };
    Attempt {
        outcome,
        made: step.small("made"),
        idempotence: if step.is("idempotent") { Idempotence::Idempotent } else { Idempotence::Once },
        elsewhere: if step.is("elsewhere") { Elsewhere::Possible } else { Elsewhere::Impossible },
        deadline_us: step.number("deadline_us"),
    }
}

fn decision(decision: Decision) -> Value {
    match decision {
        Decision::Now => json!({"decision": "now"}),
        Decision::At { at_us } => json!({"decision": "at", "at_us": at_us}),
        Decision::Stop(reason) => json!({"decision": "stop", "reason": reason_of(reason)}),
    }
}

fn reason_of(reason: Stop) -> &'static str {
    match reason {
        Stop::Final => "final",
        Stop::NotIdempotent => "not-idempotent",
        Stop::Attempts => "attempts",
        Stop::Deadline => "deadline",
        Stop::Budget => "budget",
    }
}

/// A first attempt at an idempotent method that got BUSY, with others to ask and ten seconds to go.
fn decide(case: Case, change: Value) -> Case {
    let mut fields = json!({
        "outcome": "busy", "retry_after_ms": 100, "made": 1, "idempotent": true, "elsewhere": true,
        "deadline_us": 11 * SECOND,
    });
    for (key, value) in change.as_object().expect("an object") {
        fields[key] = value.clone();
    }
    if fields["outcome"] != "busy" {
        fields.as_object_mut().expect("an object").remove("retry_after_ms");
    }
    case.at("decide", fields)
}

fn rule() -> Case {
    let changes = [
        json!({}),
        json!({"idempotent": false}),
        json!({"outcome": "broken"}),
        json!({"outcome": "broken", "idempotent": false}),
        json!({"outcome": "deadline"}),
        json!({"outcome": "deadline", "idempotent": false}),
        json!({"made": 2}),
        json!({"made": 3}),
        json!({"made": 4}),
        json!({"made": 3, "outcome": "broken", "idempotent": false}),
        json!({"made": 3, "deadline_us": 0}),
    ];
    changes.into_iter().fold(Case::new("the rule as a table; the budget lasts"), |case, change| {
        decide(case, change).wait_us(SECOND)
    })
}

fn outcomes() -> Case {
    let changes =
        ["ok", "rejected", "cancelled"].map(|outcome| json!({"outcome": outcome, "elsewhere": false}));
    changes.into_iter().fold(Case::new("final outcomes cost nothing"), decide)
}

fn waits() -> Case {
    let alone = |retry_after_ms: u32| json!({"elsewhere": false, "retry_after_ms": retry_after_ms});
    let case =
        Case::new("the same instance is asked after the time that it named, and up to half of it more");
    let case = [100, 100, 100, 0, 4, 5, 6, 1_000, 3_000]
        .into_iter()
        .fold(case, |case, ms| decide(case, alone(ms)).wait_us(100 * MS));
    let case = decide(case, json!({"elsewhere": false, "outcome": "broken"})).wait_us(SECOND);
    decide(case, json!({"elsewhere": false, "outcome": "deadline"}))
}

fn deadlines() -> Case {
    let case = Case::new("no attempt begins at the deadline or later; one that is not begun costs nothing");
    let case = decide(case, json!({"deadline_us": SECOND}));
    let case = decide(case, json!({"deadline_us": SECOND + 1}));
    let case = decide(case, json!({"elsewhere": false, "deadline_us": SECOND + 100 * MS}));
    let case = decide(case, json!({"elsewhere": false, "deadline_us": SECOND + 151 * MS}));
    decide(case, json!({"elsewhere": false, "retry_after_ms": u32::MAX}))
}

fn budget() -> Case {
    let case = Case::new("each retry costs a token; what is stopped costs none")
        .config(json!({"per_second_min": 2}));
    let case = (0..5).fold(case, |case, _| decide(case, json!({"made": 3})));
    let case = (0..3).fold(case, |case, _| decide(case, json!({})));
    let case = decide(case, json!({"elsewhere": false}));
    let case = decide(case.at("called", json!({"times": 4})), json!({}));
    let case = decide(decide(case.at("called", json!({"times": 1})), json!({})), json!({}));
    decide(decide(decide(case.wait_us(SECOND), json!({})), json!({})), json!({}))
}

fn usual_budget() -> Case {
    let case = Case::new("ten retries in a second, and one for each five calls");
    let case = (0..11).fold(case, |case, _| decide(case, json!({})));
    let case = decide(case.at("called", json!({"times": 4})), json!({}));
    decide(decide(case.at("called", json!({"times": 1})), json!({})), json!({}))
}
