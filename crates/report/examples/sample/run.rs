//! A run that never was: a server that answers in some milliseconds and stands still once, always the same figures.
//!
//! The tests read reports of it and `cargo run -p stadium-report --example sample` shows one.

use std::collections::BTreeMap;

use stadium_report::latency::{Counts, Latency};
use stadium_report::{
    Check, Doubt, Fleet, Generator, Interval, Machine, Merge, Messages, Outcome, Phase, Requests, RunResult,
    Scraped, Search, Session, Step, Trial, Worker, thresholds,
};

/// How a sample differs from another.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// Begins the figures' noise.
    pub seed: u64,
    /// How long a request takes in the middle, in milliseconds.
    pub usual_ms: f64,
    /// How long it stands still at second 70, in seconds.
    pub stall_s: f64,
    /// How many of a million requests time out.
    pub timeouts_ppm: u64,
}

/// The sample's server.
pub const SERVER: Server = Server { seed: 7, usual_ms: 3.0, stall_s: 1.5, timeouts_ppm: 400 };

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal: mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

const STALL_AT_S: f64 = 70.2;

fn offered(second: u32) -> f64 {
    match second {
        0..10 => 100.0,
        10..30 => 100.0 + f64::from(second - 10) * 20.0,
        _ => 500.0,
    }
}

/// Runs the sample: 120 seconds of three phases.
pub fn run(server: Server) -> RunResult {
    let mut noise = Noise(server.seed);
    let names = [("log in", 2.0), ("list", 0.8), ("vote", 1.2)];
    let mut steps = names.map(|(name, _)| Step {
        session: "voting".to_owned(),
        name: name.to_owned(),
        protocol: if name == "vote" { "http/2" } else { "http/1.1" }.to_owned(),
        requests: Requests::default(),
        checks: vec![Check { text: "status is 200".to_owned(), passed: 0, failed: 0 }],
    });
    let mut series = Vec::new();
    let mut histograms: [Latency; 4] = std::array::from_fn(|_| Latency::new());
    let mut of_step: [[Latency; 2]; 3] = std::array::from_fn(|_| [Latency::new(), Latency::new()]);
    let mut lateness_all = Counts::default();
    for second in 0..120_u32 {
        let rate = offered(second);
        let mut interval = Interval {
            at_s: f64::from(second) + 1.0,
            length_s: 1.0,
            devices: (u64::from(second) * 900).min(50_000),
            arrived: (rate / 3.0) as u64,
            ..Interval::default()
        };
        let [response, service, messages, lateness] = &mut histograms;
        for number in 0..rate as u64 {
            let due_s = f64::from(second) + number as f64 / rate;
            let which = (number % 3) as usize;
            let waits_s = if (STALL_AT_S..STALL_AT_S + server.stall_s).contains(&due_s) {
                STALL_AT_S + server.stall_s - due_s
            } else {
                0.0
            };
            let took_ms = server.usual_ms * names[which].1 * (0.35 * noise.normal()).exp();
            let step = &mut steps[which];
            interval.started += 1;
            step.requests.started += 1;
            let timeouts = if waits_s > 1.0 { server.timeouts_ppm * 100 } else { server.timeouts_ppm };
            if noise.next() * 1e6 < timeouts as f64 {
                for errors in [&mut interval.errors, &mut step.requests.errors] {
                    *errors.entry("timeout".to_owned()).or_default() += 1;
                }
                continue;
            }
            interval.answered += 1;
            step.requests.answered += 1;
            let bad = noise.next() < 0.0008;
            *step.requests.statuses.entry(if bad { "503" } else { "200" }.to_owned()).or_default() += 1;
            if bad {
                step.checks[0].failed += 1;
                for errors in [&mut interval.errors, &mut step.requests.errors] {
                    *errors.entry("check: status is 200".to_owned()).or_default() += 1;
                }
            } else {
                step.checks[0].passed += 1;
            }
            let service_ns = (took_ms * 1e6) as u64;
            // A closed loop has one request under way on each of a few connections: it sees the stall only there.
            let service_ns = if waits_s > 0.0 && waits_s > server.stall_s - 0.02 {
                (waits_s * 1e9) as u64
            } else {
                service_ns
            };
            let response_ns = ((took_ms / 1e3 + waits_s) * 1e9) as u64;
            response.record(response_ns);
            service.record(service_ns);
            of_step[which][0].record(response_ns);
            of_step[which][1].record(service_ns);
            messages.record((took_ms * 0.6e6) as u64);
            lateness.record((20_000.0 * (0.5 * noise.normal()).exp()) as u64);
        }
        interval.users = (rate / 3.0 * 1.2) as u64 + if second == 71 { 180 } else { 0 };
        interval.response = response.take();
        interval.service = service.take();
        interval.message_latency = messages.take();
        interval.lateness = lateness.take();
        interval.messages = interval.answered;
        interval.bytes = [interval.started * 210, interval.answered * 1_450];
        interval.busy = 0.0008 * rate + 0.02 * noise.next();
        interval.machine_busy = interval.busy * 0.8;
        interval.steal = if second == 40 { 0.06 } else { 0.002 * noise.next() };
        lateness_all.merge(&interval.lateness);
        series.push(interval);
    }
    for (step, [response, service]) in steps.iter_mut().zip(&mut of_step) {
        step.requests.response = response.take();
        step.requests.service = service.take();
        step.requests.bytes_out = step.requests.started * 210;
        step.requests.bytes_in = step.requests.answered * 1_450;
    }
    finish(server, steps.to_vec(), series, lateness_all)
}

fn finish(server: Server, steps: Vec<Step>, series: Vec<Interval>, lateness: Counts) -> RunResult {
    let mut total = Requests::default();
    steps.iter().for_each(|step| total.merge(&step.requests));
    let mut latency = Counts::default();
    series.iter().for_each(|interval| latency.merge(&interval.message_latency));
    let messages = Messages {
        sent: total.answered + 3,
        received: total.answered,
        lost: 3,
        latency: latency.clone(),
        ..Messages::default()
    };
    let users = series.iter().map(|interval| interval.arrived).sum::<u64>();
    let mut run = RunResult {
        format: stadium_report::FORMAT,
        id: format!("20261122T231500-{:04x}", server.seed),
        name: "Voting night".to_owned(),
        scenario: include_str!("scenario.toml").to_owned(),
        command: ["stadium", "load", "run", "voting.toml", "--report", "voting.html"].map(str::to_owned).to_vec(),
        started: "2026-11-22T23:15:00+01:00".to_owned(),
        duration_s: 120.0,
        outcome: Outcome::Completed,
        machine: Machine {
            host: "lab-1".to_owned(),
            cpu: "AMD EPYC 7763".to_owned(),
            processors: 2,
            memory_bytes: 8_000_000_000,
            system: "Linux 6.12".to_owned(),
            version: "0.9.0".to_owned(),
            open_files: 1_048_576,
        },
        phases: [
            ("warm-up", 0.0, 10.0, "33 users/s"),
            ("ramp", 10.0, 30.0, "33 to 167 users/s"),
            ("peak", 30.0, 120.0, "167 users/s"),
        ]
        .map(|(name, from_s, to_s, arrivals)| Phase {
            name: name.to_owned(),
            from_s,
            to_s,
            arrivals: arrivals.to_owned(),
        })
        .to_vec(),
        total,
        sessions: vec![Session {
            name: "voting".to_owned(),
            started: users,
            completed: users - 31,
            failed: 31,
            duration: steps[0].requests.response.clone(),
        }],
        steps,
        messages: messages.clone(),
        fleets: vec![Fleet {
            name: "phones".to_owned(),
            devices: 50_000,
            connected_max: 50_000,
            connects: 50_214,
            lost_connections: BTreeMap::from([("reset by the server".to_owned(), 214)]),
            connect: latency,
            messages,
            ..Fleet::default()
        }],
        generator: Generator {
            loops: 2,
            busy: 0.37,
            machine_busy: 0.3,
            steal: 0.002,
            lateness,
            doubts: vec![Doubt {
                refuse: false,
                text: "the hypervisor took 6% of the processors' time in one interval; pin the machine or repeat the run".to_owned(),
            }],
            ..Generator::default()
        },
        workers: vec![
            Worker { name: "a".to_owned(), address: "10.0.0.1:7400".to_owned(), clock_offset_us: 12.4, clock_error_us: 3.1, started: users / 2, lost: None },
            Worker { name: "b".to_owned(), address: "10.0.0.2:7400".to_owned(), clock_offset_us: -310.0, clock_error_us: 8.0, started: users - users / 2, lost: None },
        ],
        scraped: scraped(&series),
        series,
        search: Some(Search {
            goal: "the highest rate with response.p99 < 50ms and no loss".to_owned(),
            found: vec![498.0, 512.0, 505.0],
            rate: 505.0,
            interval: [498.0, 512.0],
            trials: vec![
                Trial { rate: 400.0, reached: 400.0, held: true, reason: String::new() },
                Trial { rate: 800.0, reached: 611.0, held: false, reason: "response.p99 < 50ms: 840 ms".to_owned() },
                Trial { rate: 505.0, reached: 505.0, held: true, reason: String::new() },
            ],
        }),
        ..RunResult::default()
    };
    let texts = [
        "response.p99 < 50ms",
        "step(\"vote\").response.p50 < 20ms",
        "errors < 1%",
        "lost == 0",
        "fleet(\"phones\").connected >= 50000",
        "lateness.p99 < 1ms",
    ];
    let parsed = texts.map(|text| thresholds::parse(text).expect("the sample's thresholds are right"));
    run.thresholds = thresholds::evaluate_all(&parsed, &run);
    run
}

fn scraped(series: &[Interval]) -> Vec<Scraped> {
    let metric = |metric: &str, counter: bool, value: &dyn Fn(usize) -> f64| Scraped {
        target: "127.0.0.1:9090".to_owned(),
        metric: metric.to_owned(),
        counter,
        points: (0..24).map(|step| (step as f64 * 5.0, value(step * 5))).collect(),
    };
    let answered =
        |until: usize| series[..until].iter().map(|interval| interval.answered).sum::<u64>() as f64;
    vec![
        metric("stadium_connections{loop=\"0\"}", false, &|at| series[at].devices as f64 / 2.0),
        metric("stadium_connections{loop=\"1\"}", false, &|at| series[at].devices as f64 / 2.1),
        metric("stadium_requests_total", true, &answered),
        metric("process_resident_memory_bytes", false, &|at| 60e6 + series[at].devices as f64 * 700.0),
    ]
}
