//! `hedge.json`: when a copy of a slow call is due, and whether it may be sent.

use serde_json::{Value, json};
use stadium_rpc::balance::{Hedge, HedgeSettings};
use stadium_testing::vectors::{Case, Step, VectorFile};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

pub fn file() -> VectorFile {
    VectorFile {
        name: "hedge.json",
        about: ABOUT,
        defaults: json!({
            "percentile": 0.95,
            "factor": 1.0,
            "share": 0.05,
            "samples_min": 100,
            "wait_min_us": MS,
            "window_us": 10 * SECOND,
        }),
        cases: vec![first_samples(), percentile(), buckets(), windows(), pause(), copies(), factor()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "answered: a call was answered after latency_us. With `times` as many answers, every_us \
     apart (0 where absent), the first at at_us.",
    "called: `times` calls are made (1 where absent). The expectation is when the copy of the \
     last one is due, wait_us from now; null while too little is known.",
    "take: `times` copies are due at at_us (1 where absent); the expectation is how many may be \
     sent.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut hedge = Hedge::new(HedgeSettings {
        percentile: config.float("percentile"),
        factor: config.float("factor"),
        share: config.float("share"),
        samples_min: config.small("samples_min"),
        wait_min_us: config.number("wait_min_us"),
        window_us: config.number("window_us"),
    });
    let mut answer = |step: &Step<'_>| {
        let times = step.number_or("times", 1);
        match step.event() {
            "answered" => {
                let every_us = step.number_or("every_us", 0);
                let latency_us = step.number("latency_us");
                (0..times).for_each(|nth| hedge.answered(latency_us, step.at_us() + nth * every_us));
                Value::Null
            }
            "called" => json!({"wait_us": (0..times).map(|_| hedge.called()).last().flatten()}),
            "take" => json!((0..times).filter(|_| hedge.take(step.at_us())).count()),
            event => panic!("no such event: {event}"),
        }
    };
    steps.iter().map(&mut answer).collect()
}

fn called(case: Case) -> Case {
    case.at("called", json!({}))
}

fn answered(case: Case, times: u64, latency_us: u64) -> Case {
    case.at("answered", json!({"latency_us": latency_us, "times": times}))
}

fn first_samples() -> Case {
    let case = called(answered(called(Case::new("nothing before a hundred answers")), 99, 20 * MS));
    called(answered(case, 1, 20 * MS))
}

fn percentile() -> Case {
    let case = Case::new("the 95th percentile, computed anew after 256 answers");
    let case = called(answered(answered(case, 95, 2 * MS), 5, 80 * MS));
    let case = called(answered(answered(case, 242, 2 * MS), 13, 80 * MS));
    let case = called(answered(case, 1, 80 * MS));
    let case = called(answered(case, 256, 90 * MS));
    called(answered(answered(case, 255, 5 * MS), 1, 5 * MS))
}

fn buckets() -> Case {
    let latencies = [
        1_000,
        1_023,
        1_024,
        1_151,
        1_152,
        1_279,
        1_280,
        2_047,
        2_048,
        5_000,
        33_333,
        1_234_567,
        16_777_215,
        16_777_216,
        134_217_727,
        134_217_728,
        4_000_000_000,
        1 << 40,
    ];
    let case = Case::new("a wait is the longest latency of its bucket");
    case.each(latencies, |case, latency_us| {
        let case = case.wait_us(30 * SECOND);
        called(answered(case, 100, latency_us))
    })
}

fn windows() -> Case {
    let case = Case::new("a latency counts in its window and in the next one");
    let case = called(answered(case, 500, 50 * MS)).wait_us(10 * SECOND - 1);
    let case = called(answered(case, 500, 10 * MS)).wait_us(1);
    let case = called(answered(case, 1, 3 * MS)).wait_us(5 * SECOND);
    let case = called(answered(case, 1_000, 3 * MS)).wait_us(5 * SECOND);
    let case = called(answered(case, 1, 3 * MS));
    let case = case.wait_us(9 * SECOND);
    let case = called(answered(case, 98, 3 * MS));
    called(answered(case.wait_us(SECOND), 1, 3 * MS))
}

fn pause() -> Case {
    let case = Case::new("after a pause of a whole window, too little is known");
    let case = called(answered(case, 300, 50 * MS)).wait_us(20 * SECOND - 1);
    let case = called(answered(called(case), 300, 50 * MS)).wait_us(20 * SECOND);
    let case = called(answered(case, 1, 50 * MS));
    called(answered(answered(case, 98, 4 * MS), 1, 4 * MS))
}

fn copies() -> Case {
    let take = |case: Case, times: u64| case.at("take", json!({"times": times}));
    let calls = |case: Case, times: u64| case.at("called", json!({"times": times}));
    let case = take(Case::new("one copy for twenty calls, ten saved at most, and none by time"), 1);
    let case = take(take(calls(take(calls(case, 19), 1), 1), 1), 1);
    let case = take(calls(case.wait_us(60 * SECOND), 5), 1);
    take(take(calls(case, 10_000), 11).wait_us(SECOND), 1)
}

fn factor() -> Case {
    let case = Case::new("a factor of the wait, and the shortest wait")
        .config(json!({"factor": 1.5, "percentile": 0.5}));
    let case = called(answered(answered(case, 50, 2 * MS), 50, 100 * MS)).wait_us(30 * SECOND);
    let case = called(answered(answered(case, 49, 2 * MS), 51, 100 * MS)).wait_us(30 * SECOND);
    let case = called(answered(case, 100, 0)).wait_us(30 * SECOND);
    let case = called(answered(case, 100, 660)).wait_us(30 * SECOND);
    called(answered(case, 100, 700))
}
