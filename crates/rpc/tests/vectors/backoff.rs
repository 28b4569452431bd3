//! `backoff.json`: the waits before a connection is tried again.

use serde_json::{Value, json};
use stadium_rpc::balance::{Backoff, Random};
use stadium_testing::vectors::{Case, Step, VectorFile};

pub fn file() -> VectorFile {
    VectorFile {
        name: "backoff.json",
        about: ABOUT,
        defaults: json!({"base_ms": 50, "max_ms": 5_000, "seed": 1}),
        cases: vec![
            waits(Case::new("waits grow and stay within their bounds")),
            waits(Case::new("another seed waits otherwise").config(json!({"seed": 2}))),
            waits(Case::new("equal bounds leave no choice").config(json!({"base_ms": 70, "max_ms": 70}))),
            waits(Case::new("bounds of 0 are 1").config(json!({"base_ms": 0, "max_ms": 0}))),
            waits(
                Case::new("a longest wait below the shortest").config(json!({"base_ms": 90, "max_ms": 10})),
            ),
        ],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] =
    &["wait: the next `times` waits of a connection that fails, in milliseconds. reset: the \
     connection was made. The random numbers of a case come from its seed, one for each wait."];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut random = Random::seeded(config.number("seed"));
    let mut backoff = Backoff::between(config.number("base_ms"), config.number("max_ms"));
    let mut answer = |step: &Step<'_>| match step.event() {
        "wait" => {
            let waits_ms: Vec<u64> =
                (0..step.number("times")).map(|_| backoff.wait_ms(&mut random)).collect();
            json!({"waits_ms": waits_ms})
        }
        "reset" => {
            backoff.reset();
            Value::Null
        }
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn waits(case: Case) -> Case {
    let wait = |case: Case, times: u64| case.entry("wait", json!({"times": times}));
    let case = wait(wait(case, 12), 1).entry("reset", json!({}));
    wait(wait(case, 3).entry("reset", json!({})), 3)
}
