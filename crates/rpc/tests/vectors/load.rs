//! `load.json`: the load factor, when it is reported, and how long a refused caller stays away.
//!
//! A reading of the limit and of the calls under way makes the load factor.

use serde_json::{Value, json};
use stadium_rpc::admission::{LoadSignal, Reading};
use stadium_testing::vectors::{Case, Step, VectorFile};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

pub fn file() -> VectorFile {
    VectorFile {
        name: "load.json",
        about: ABOUT,
        defaults: json!({}),
        cases: vec![readings(), smoothing(), reports(), waits()],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "read: a reading at at_us. Absent fields: inflight 0, limit 100, queue_fill 0, wait_ms 0, \
     busy_ns 0, idle_ns 1,000,000. With `times` as many readings, every_us apart, the first at \
     at_us. The expectation is the factor in thousandths, rounded; no script has a factor near \
     the middle of two.",
    "report: whether peers hear of the factor now. again: a peer has come that knows nothing yet.",
    "retry_after_ms: when a caller that is refused now should ask again.",
];

fn play(_config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut signal = LoadSignal::new();
    let mut reported = None;
    let mut answer = |step: &Step<'_>| match step.event() {
        "read" => {
            let every_us = step.number_or("every_us", 0);
            for nth in 0..step.number_or("times", 1) {
                signal.read(reading(*step), step.at_us() + nth * every_us);
            }
            json!({"thousandths": thousandths(signal.factor())})
        }
        "report" => {
            let now_us = step.at_us();
            reported.inspect(|&(before, at_us)| assert_clear(before, signal.factor(), now_us - at_us));
            let report = signal.report(now_us);
            reported = report.map(|factor| (factor, now_us)).or(reported);
            json!(report.is_some())
        }
        "again" => {
            signal.report_again();
            reported = None;
            Value::Null
        }
        "retry_after_ms" => json!(signal.retry_after_ms()),
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn reading(step: Step<'_>) -> Reading {
    Reading {
        inflight: step.number_or("inflight", 0) as u32,
        limit: step.number_or("limit", 100) as u32,
        queue_fill: step.0["queue_fill"].as_f64().unwrap_or(0.0) as f32,
        wait_ms: step.number_or("wait_ms", 0) as u32,
        busy_ns: step.number_or("busy_ns", 0),
        idle_ns: step.number_or("idle_ns", 1_000_000),
    }
}

/// The factor in thousandths. Exponentials of 32 bits differ a little between languages.
fn thousandths(factor: f32) -> u64 {
    let exact = f64::from(factor) * 1_000.0;
    assert!(((exact - exact.floor()) - 0.5).abs() > 0.01, "{factor} is near the middle: change the script");
    exact.round() as u64
}

/// The change since a report is not at the bound of a report, and no other language may see none.
fn assert_clear(reported: f32, factor: f32, since_us: u64) {
    let change = (reported - factor).abs();
    assert!((change - 0.05).abs() > 1e-4, "{factor} is at the bound of a report: change the script");
    let is_clear = change == 0.0 || change > 1e-5 || since_us < 10 * SECOND;
    assert!(is_clear, "{factor} has barely changed: change the script");
}

fn read(case: Case, fields: Value) -> Case {
    case.at("read", fields)
}

fn settled(case: Case, mut fields: Value) -> Case {
    fields["times"] = json!(100);
    fields["every_us"] = json!(200 * MS);
    read(case, fields).wait_us(20 * SECOND)
}

fn readings() -> Case {
    let readings = [
        json!({}),
        json!({"inflight": 50}),
        json!({"busy_ns": 800_000, "idle_ns": 200_000}),
        json!({"inflight": 90, "busy_ns": 1, "idle_ns": 1}),
        json!({"inflight": 100, "queue_fill": 0.5}),
        json!({"inflight": 300}),
        json!({"inflight": 7, "limit": 0}),
        json!({"queue_fill": 3.0, "busy_ns": 0, "idle_ns": 0}),
        json!({"queue_fill": -1.0}),
    ];
    readings.into_iter().fold(Case::new("the factor of steady readings"), settled)
}

fn smoothing() -> Case {
    let case = read(
        Case::new("the first reading counts as it is, a change takes half a second for two thirds"),
        json!({"inflight": 21}),
    );
    let full = json!({"inflight": 100});
    let case = read(case.wait_us(20 * MS), full.clone());
    let case = read(case, full.clone());
    let case = read(case.wait_us(100 * MS), full.clone());
    let case = read(case.wait_us(500 * MS), full.clone());
    let case = read(case.wait_us(SECOND), full);
    read(read(case.wait_us(SECOND), json!({})).wait_us(30 * SECOND), json!({}))
}

fn reports() -> Case {
    let report = |case: Case| case.at("report", json!({}));
    let case = report(report(settled(
        report(Case::new("a change of 0.05 at once, a smaller one after ten seconds")),
        json!({}),
    )));
    let case = report(settled(case, json!({"inflight": 3})).wait_us(0));
    let case = report(read(case.wait_us(SECOND), json!({"inflight": 3})));
    let case = report(settled(case, json!({"inflight": 6})));
    let small = |case: Case, inflight: u32| read(case.wait_us(SECOND), json!({"inflight": inflight}));
    let case = report(small(case, 8)).wait_us(7 * SECOND);
    let case = report(case);
    let case = report(case.wait_us(2 * SECOND)).wait_us(SECOND);
    let case = report(read(case, json!({"inflight": 40})));
    report(report(case.at("again", json!({}))))
}

fn waits() -> Case {
    let readings = [
        json!({}),
        json!({"inflight": 100}),
        json!({"inflight": 100, "queue_fill": 0.575}),
        json!({"inflight": 100, "queue_fill": 1.0, "wait_ms": 700}),
        json!({"wait_ms": 11}),
        json!({"wait_ms": 9}),
        json!({"wait_ms": 4_999}),
        json!({"wait_ms": u32::MAX}),
        json!({"inflight": 100_000}),
        json!({"inflight": 2_267, "limit": 200}),
    ];
    readings.into_iter().fold(Case::new("the more waits, the longer: 10 ms to 5 s"), |case, reading| {
        settled(case, reading).at("retry_after_ms", json!({}))
    })
}
