//! A run to look at, for tests: so many seconds of a thousand requests each, three of which fail.

use stadium_report::latency::Counts;
use stadium_report::{Generator, Interval, Phase, Requests, RunResult, Step};

use crate::run::Progress;

fn times(answered: u64) -> Counts {
    let slow = answered / 50;
    Counts::from_buckets(vec![
        (2_000_000, answered.saturating_sub(slow + 1)),
        (12_000_000, slow),
        (61_000_000, answered.min(1)),
    ])
}

pub(crate) fn interval(second: u32, started: u64, failed: u64) -> Interval {
    Interval {
        at_s: f64::from(second),
        length_s: 1.0,
        users: 120,
        arrived: 100,
        started,
        answered: started - failed,
        errors: [("timeout".to_owned(), failed)].into_iter().filter(|error| error.1 > 0).collect(),
        response: times(started - failed),
        service: times(started - failed),
        bytes: [started * 120, started * 400],
        lateness: Counts::from_buckets(vec![(400_000, started)]),
        busy: 0.34,
        machine_busy: 0.5,
        ..Interval::default()
    }
}

pub(crate) fn result(seconds: u32) -> RunResult {
    let series: Vec<Interval> = (1..=seconds).map(|second| interval(second, 1_000, 3)).collect();
    let requests = |share: u64| Requests {
        started: 1_000 * u64::from(seconds) / share,
        answered: 997 * u64::from(seconds) / share,
        errors: [("timeout".to_owned(), 3 * u64::from(seconds) / share)].into_iter().collect(),
        response: times(997 * u64::from(seconds) / share),
        ..Requests::default()
    };
    let step = |name: &str| Step {
        session: "voter".into(),
        name: name.into(),
        protocol: "http/1.1".into(),
        requests: requests(2),
        ..Step::default()
    };
    RunResult {
        id: "20261122T231500-4f2a".into(),
        name: "voting night".into(),
        phases: vec![
            Phase { name: "rise".into(), from_s: 0.0, to_s: 20.0, arrivals: "1 to 100 users/s".into() },
            Phase { name: "hold".into(), from_s: 20.0, to_s: 60.0, arrivals: "100 users/s".into() },
        ],
        total: requests(1),
        steps: vec![step("log in"), step("vote")],
        duration_s: f64::from(seconds),
        series,
        generator: Generator::default(),
        ..RunResult::default()
    }
}

pub(crate) fn progress<'a>(result: &'a RunResult, interval: Option<&'a Interval>) -> Progress<'a> {
    let elapsed_s = interval.map_or(result.duration_s, |interval| interval.at_s);
    let phase = result.phases.iter().find(|phase| elapsed_s < phase.to_s).map_or("", |phase| &phase.name);
    Progress { elapsed_s, planned_s: 60.0, phase, interval, result }
}
