//! The meaning of thresholds, and the reports about those that mean nothing.
//!
//! Tables: a threshold, what it should find in one small run, and whether it holds there.

use std::collections::BTreeMap;

use super::{Mistake, parse};
use crate::latency::Counts;
use crate::{Check, Fleet, Generator, Interval, Messages, Phase, Requests, RunResult, Session, Step};

fn milliseconds(times: &[(u64, u64)]) -> Counts {
    Counts::from_buckets(times.iter().map(|&(ms, count)| (ms * 1_000_000, count)).collect())
}

/// 1,000 requests in 10 s: 990 took 10 ms, 10 took 100 ms, 5 failed; ten more were never answered.
fn run() -> RunResult {
    let requests = Requests {
        started: 1_010,
        answered: 1_000,
        errors: BTreeMap::from([("timeout".to_owned(), 4), ("connect: refused".to_owned(), 1)]),
        statuses: BTreeMap::from([("200".to_owned(), 998), ("500".to_owned(), 2)]),
        response: milliseconds(&[(10, 990), (100, 10)]),
        service: milliseconds(&[(10, 1_000)]),
        ..Requests::default()
    };
    let vote = Step {
        session: "voting".to_owned(),
        name: "vote \"now\"".to_owned(),
        requests: requests.clone(),
        checks: vec![Check { text: "status is 200".to_owned(), passed: 998, failed: 2 }],
        ..Step::default()
    };
    let second = |at: u64, ms: u64| Interval {
        at_s: at as f64,
        length_s: 1.0,
        users: at * 10,
        started: 100,
        answered: 100,
        response: milliseconds(&[(ms, 100)]),
        ..Interval::default()
    };
    RunResult {
        duration_s: 10.0,
        phases: vec![
            Phase { name: "ramp".to_owned(), from_s: 0.0, to_s: 5.0, ..Phase::default() },
            Phase { name: "peak".to_owned(), from_s: 5.0, to_s: 10.0, ..Phase::default() },
        ],
        total: requests,
        steps: vec![vote],
        sessions: vec![Session {
            name: "voting".to_owned(),
            started: 200,
            completed: 199,
            failed: 1,
            duration: milliseconds(&[(900, 199)]),
        }],
        messages: Messages {
            sent: 1_000,
            received: 999,
            lost: 2,
            duplicates: 1,
            latency: milliseconds(&[(5, 999)]),
            ..Messages::default()
        },
        fleets: vec![Fleet {
            name: "phones".to_owned(),
            devices: 100_000,
            connected_max: 100_000,
            ..Fleet::default()
        }],
        series: (1..=10).map(|at| second(at, if at > 5 { 20 } else { 2 })).collect(),
        generator: Generator { lateness: milliseconds(&[(1, 100)]), busy: 0.5, ..Generator::default() },
        ..RunResult::default()
    }
}

#[test]
fn thresholds_report_what_was_measured_and_whether_it_held() {
    let run = run();
    for (text, observed, passed) in [
        ("response.p99 < 50ms", "10 ms", true),
        ("response.p99.9 < 50 ms", "100 ms", false),
        ("response.p999 < 50ms", "100 ms", false),
        ("response.max <= 0.1s", "100 ms", true),
        ("service.max < 50ms", "10 ms", true),
        ("response.mean < 10.9ms", "10.9 ms", false),
        ("errors < 0.1%", "0.495% (5 of 1,010)", false),
        ("errors == 5", "5", true),
        ("errors(\"connect\") <= 1", "1", true),
        ("errors('timeout') < 0.1%", "0.396% (4 of 1,010)", false),
        ("status(\"500\") == 0", "2", false),
        ("status(\"503\") == 0", "0", true),
        ("rate > 99/s", "100/s", true),
        ("rate >= 6_001/min", "100/s", false),
        ("lost == 0", "2", false),
        ("messages.lost < 0.3%", "0.2% (2 of 1,000)", true),
        ("duplicates == 0", "1", false),
        ("messages.p99 < 100ms", "5 ms", true),
        ("messages.latency.p99 < 100ms", "5 ms", true),
        ("checks > 99.9%", "99.8% (998 of 1,000)", false),
        ("checks(\"status is 200\") > 99%", "99.8% (998 of 1,000)", true),
        ("checks.failed != 2", "2", false),
        (r#"step("vote \"now\"").response.p99 < 20ms"#, "10 ms", true),
        (r#"step 'vote "now"' response.p99 < 20ms"#, "10 ms", true),
        (r#"session("voting").step('vote "now"').errors == 0"#, "5", false),
        ("session(\"voting\").failed < 1%", "0.5% (1 of 200)", true),
        ("session(\"voting\").duration.p50 < 1s", "900 ms", true),
        ("session(\"voting\").response.p50 < 1s", "10 ms", true),
        ("fleet(\"phones\").connected >= 100000", "100,000", true),
        ("fleet(\"phones\").connected == 100%", "100% (100,000 of 100,000)", true),
        ("lateness.p99 < 1ms", "1 ms", false),
        ("generator.busy < 80%", "50%", true),
        ("phase(\"ramp\").response.p99 < 5ms", "2 ms", true),
        ("phase(\"peak\").response.p99 < 5ms", "20 ms", false),
        ("phase(\"peak\").rate >= 100/s", "100/s", true),
        ("phase \"ramp\" users <= 50", "50", true),
        ("users == 100", "100", true),
    ] {
        let found = parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake}")).evaluate(&run);
        assert_eq!((found.observed.as_str(), found.passed), (observed, passed), "{text}");
        assert_eq!(found.text, text);
    }
}

#[test]
fn what_was_not_measured_does_not_hold() {
    let nothing = RunResult::default();
    for (text, why) in [
        ("errors == 0", "no data: no request was begun"),
        ("response.p99 < 50ms", "no data: no request was begun"),
        ("lost == 0", "no data: no message with a stamp was sent or received"),
        ("checks > 0%", "no data: the run has no step"),
        ("step(\"vote\").response.p99 < 50ms", "no data: the run has no step \"vote\""),
        ("fleet(\"phones\").refused == 0", "no data: the run has no fleet \"phones\""),
        ("session(\"voting\").failed == 0", "no data: the run has no session \"voting\""),
        ("phase(\"peak\").errors == 0", "no data: the run has no phase \"peak\""),
        ("users < 5", "no data: the run has no intervals"),
        ("lateness.max < 5ms", "no data: nothing was due"),
    ] {
        let found = parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake}")).evaluate(&nothing);
        assert_eq!((found.observed.as_str(), found.passed), (why, false), "{text}");
    }
}

/// The text that a mistake points at, its message, and its suggestion.
fn mistake(text: &str) -> (String, String, Option<String>) {
    let Mistake { at, text: says, suggestion } = parse(text).expect_err(text);
    (text[at].to_owned(), says, suggestion)
}

#[test]
fn a_mistake_points_at_its_bytes_and_suggests_what_was_meant() {
    for (text, at, says, suggestion) in [
        ("respnse.p99 < 50ms", "respnse.p99", "no figure `respnse.p99`", Some("response.p99")),
        ("response < 50ms", "response", "is a time: say which", Some("response.p99")),
        ("response.avg < 50ms", "response.avg", "no figure of a time", Some("response.mean")),
        ("response.p99 < 50", "50", "this has no unit", Some("50ms")),
        ("response.p99 < 50%", "50%", "this is a share", Some("50ms")),
        ("response.p99 < 50msec", "msec", "unknown unit", Some("ms")),
        ("rate > 20 rps", "rps", "unknown unit", Some("/s")),
        ("errors = 0", "=", "compares nothing", Some("==")),
        ("errors", "", "a comparison is missing", None),
        ("errors <", "", "a value is missing", None),
        ("errors < many", "many", "a value is missing", None),
        ("lost == 0 please", "please", "unknown unit", None),
        ("lost == 0 % x", "x", "nothing may follow", None),
        ("", "", "a figure is missing", None),
        ("< 5", "<", "a figure is missing", None),
        ("step(vote).errors == 0", "vote", "in quotes", Some("\"vote\"")),
        ("step(\"vote.errors == 0", "\"vote.errors == 0", "does not end", None),
        ("step.errors == 0", "step", "which step?", Some("step(\"NAME\")")),
        ("stp \"vote\" errors == 0", "stp", "not something that a figure can be of", Some("step")),
        ("fleet(\"a\").response.p99 < 5ms", "response.p99", "a fleet has no figure `response`", None),
        ("phase(\"a\").step(\"b\").errors == 0", "step(\"b\")", "measured apart", None),
        ("status == 0", "status", "which status?", Some("status(\"500\")")),
        ("lost(\"x\") == 0", "(\"x\")", "takes nothing in parentheses", None),
        ("duplicats == 0", "duplicats", "no figure", Some("duplicates")),
        ("response.p101 < 5ms", "response.p101", "no figure of a time", Some("response.p99")),
        ("läteness.p99 < 1ms", "läteness.p99", "no figure", Some("lateness.p99")),
    ] {
        let found = mistake(text);
        assert_eq!((found.0.as_str(), found.2.as_deref()), (at, suggestion), "{text}: {}", found.1);
        assert!(found.1.contains(says), "{text}: {}", found.1);
    }
}

#[test]
fn no_prefix_of_a_threshold_and_no_byte_in_it_panics() {
    let text = r#"session('wählen').step("vöte \"x\"").errors("a") <= 1_000.5 %"#;
    for (end, _) in text.char_indices() {
        let _ = parse(&text[..end]);
        for extra in ["\"", "(", ".", "µ", "\\", "9", " "] {
            let _ = parse(&format!("{}{extra}{}", &text[..end], &text[end..]));
        }
    }
}

#[test]
fn every_figure_of_the_reference_is_read_where_it_is_documented() {
    let mut read = 0;
    for row in super::figure::ROWS {
        for place in row.places {
            let scope = match place.phrase() {
                "a run" => "",
                "a session" => "session(\"a\").",
                "a step" => "step(\"a\").",
                "a fleet" => "fleet(\"a\").",
                _ => "phase(\"a\").",
            };
            for unit in row.units {
                let limit = unit.phrase().split(['(', ')']).nth(1).unwrap_or("5");
                let text = format!("{scope}{} < {limit}", row.example());
                let threshold = parse(&text).unwrap_or_else(|mistake| panic!("{text}: {mistake}"));
                assert_eq!(threshold.text(), text);
                let found = threshold.evaluate(&run());
                assert!(!found.observed.is_empty());
                read += 1;
            }
        }
    }
    assert!(read > 80, "{read}");
    assert_eq!(super::reference().lines().count(), super::figure::ROWS.len() + 2);
}
