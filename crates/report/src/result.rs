//! The result of a run, as plain values: what `result.json` holds.
//!
//! Times of a run count from its start, in seconds; latencies are histograms ([`Counts`]) so that a
//! reader can merge and compare them without losing precision. *Response time* counts from the time
//! at which a request was due, *service time* from the time at which it was sent: a closed loop
//! hides the difference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::latency::Counts;

/// The version of this format. A reader refuses a newer one.
pub const FORMAT: u32 = 1;

/// What a run measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// [`FORMAT`].
    pub format: u32,
    /// Distinguishes runs: time of the start and a random part, such as `20261122T231500-4f2a`.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// The scenario's text.
    pub scenario: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it started, RFC 3339 with the zone.
    pub started: String,
    /// How long it ran, in seconds.
    pub duration_s: f64,
    /// How much of it was measured, in seconds: without warm-ups. Zero where that is not known.
    pub measured_s: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// What it ran on, and with.
    pub machine: Machine,
    /// The scenario's phases as they were run.
    pub phases: Vec<Phase>,
    /// All requests together, and what was wrong with them.
    pub total: Requests,
    /// Each step that sends something.
    pub steps: Vec<Step>,
    /// Each kind of session.
    pub sessions: Vec<Session>,
    /// Messages that carry a stamp (MQTT, WebSocket, RSocket, event streams), over all.
    pub messages: Messages,
    /// Swarms of devices.
    pub fleets: Vec<Fleet>,
    /// What happened in each interval, in order of time.
    pub series: Vec<Interval>,
    /// Figures that targets published meanwhile (Prometheus).
    pub scraped: Vec<Scraped>,
    /// The generator's account of itself.
    pub generator: Generator,
    /// The processes that made the load, where there were several.
    pub workers: Vec<Worker>,
    /// The scenario's thresholds and whether they held.
    pub thresholds: Vec<Threshold>,
    /// The search for the highest rate, where there was one.
    pub search: Option<Search>,
}

impl RunResult {
    /// Whether the generator cannot stand behind its figures: a view that shows them has to state
    /// it.
    pub fn refused(&self) -> bool {
        self.generator.doubts.iter().any(|doubt| doubt.refuse)
    }

    /// Seconds that its counts are over, for rates: those that were measured, or all where that is not known.
    pub fn counted_s(&self) -> f64 {
        if self.measured_s > 0.0 { self.measured_s } else { self.duration_s }
    }

    /// Whether the run is good: it came to its end, every threshold held, and its figures are not refused.
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Completed
            && self.thresholds.iter().all(|threshold| threshold.passed)
            && !self.refused()
    }
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All phases were run to their end.
    #[default]
    Completed,
    /// Somebody stopped it: the figures are those until then.
    Interrupted,
    /// It could not go on.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The machine of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// The processor's model.
    pub cpu: String,
    /// Processors that the run could use.
    pub processors: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The system: name and release of the kernel.
    pub system: String,
    /// Stadium's version.
    pub version: String,
    /// Open files that a process may have.
    pub open_files: u64,
}

/// A phase of the scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Its start, in seconds.
    pub from_s: f64,
    /// Its end, in seconds.
    pub to_s: f64,
    /// What arrives in it, in words: `20 to 200 users/s`, `50 users`.
    pub arrivals: String,
}

impl Phase {
    /// Whether an interval's middle lies in it.
    pub fn holds(&self, interval: &Interval) -> bool {
        (self.from_s..self.to_s).contains(&interval.middle_s())
    }
}

/// Requests and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// How many were begun.
    pub started: u64,
    /// How many were answered, whatever the answer.
    pub answered: u64,
    /// How many failed, by kind: `connect: refused`, `timeout`, `reset`, `malformed`, `check: status is 200`.
    pub errors: BTreeMap<String, u64>,
    /// Answers by status, where the protocol has one: `200`, `404`, `0x87`.
    pub statuses: BTreeMap<String, u64>,
    /// From when it was due to the answer's end, in nanoseconds.
    pub response: Counts,
    /// From when it was sent to the answer's end, in nanoseconds.
    pub service: Counts,
    /// Bytes sent, without TLS.
    pub bytes_out: u64,
    /// Bytes received, without TLS.
    pub bytes_in: u64,
}

impl Requests {
    /// How many failed, of all kinds.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Which share of those begun failed; nothing where none was begun.
    pub fn failed_share(&self) -> Option<f64> {
        (self.started > 0).then(|| self.failed() as f64 / self.started as f64)
    }
}

/// A step of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// The session that it is in.
    pub session: String,
    /// Its name.
    pub name: String,
    /// The protocol: `http/1.1`, `http/2`, `websocket`, `sse`, `mqtt`, `rsocket`, `tcp`.
    pub protocol: String,
    /// Its figures.
    pub requests: Requests,
    /// Its checks.
    pub checks: Vec<Check>,
}

/// A check of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// In words: `status is 200`.
    pub text: String,
    /// How often it held.
    pub passed: u64,
    /// How often it did not.
    pub failed: u64,
}

/// A kind of session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// How many users began it.
    pub started: u64,
    /// How many came to its end.
    pub completed: u64,
    /// How many gave up.
    pub failed: u64,
    /// From when it was due to its end, of those that came to it, in nanoseconds.
    pub duration: Counts,
}

/// Messages with stamps: each states when it was sent and which of its stream it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Messages {
    /// How many were sent.
    pub sent: u64,
    /// How many were received.
    pub received: u64,
    /// How many should have come and did not.
    pub lost: u64,
    /// How many came again.
    pub duplicates: u64,
    /// How many came after a later one of their stream.
    pub reordered: u64,
    /// From intended sending to arrival, in nanoseconds.
    pub latency: Counts,
}

/// A swarm of devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fleet {
    /// Its name.
    pub name: String,
    /// Its devices.
    pub devices: u64,
    /// The most that were connected at once.
    pub connected_max: u64,
    /// Connections that were made.
    pub connects: u64,
    /// Connections that were lost, by cause.
    pub lost_connections: BTreeMap<String, u64>,
    /// Attempts that were refused, by cause.
    pub refused: BTreeMap<String, u64>,
    /// From when it was due to being connected, in nanoseconds.
    pub connect: Counts,
    /// What devices received.
    pub messages: Messages,
    /// Anything else worth a line: name and text.
    pub facts: Vec<(String, String)>,
}

/// What happened in an interval, mostly one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// Its end, in seconds.
    pub at_s: f64,
    /// Its length, in seconds.
    pub length_s: f64,
    /// Users in a session at its end.
    pub users: u64,
    /// Devices of fleets connected at its end.
    pub devices: u64,
    /// Users that arrived.
    pub arrived: u64,
    /// Requests begun.
    pub started: u64,
    /// Requests answered.
    pub answered: u64,
    /// Failures by kind.
    pub errors: BTreeMap<String, u64>,
    /// Response times, in nanoseconds.
    pub response: Counts,
    /// Service times, in nanoseconds.
    pub service: Counts,
    /// Messages received.
    pub messages: u64,
    /// Latencies of messages, in nanoseconds.
    pub message_latency: Counts,
    /// Bytes sent and received.
    pub bytes: [u64; 2],
    /// How late the generator did what was due, in nanoseconds.
    pub lateness: Counts,
    /// Share of a processor that each loop of the generator used, the busiest one.
    pub busy: f64,
    /// Share of the machine's processors that were busy.
    pub machine_busy: f64,
    /// Share of the time that the hypervisor took away.
    pub steal: f64,
}

impl Interval {
    /// Its middle, in seconds.
    pub fn middle_s(&self) -> f64 {
        self.at_s - self.length_s / 2.0
    }

    /// So many events in it as a rate a second.
    pub fn rate(&self, events: u64) -> f64 {
        if self.length_s > 0.0 { events as f64 / self.length_s } else { 0.0 }
    }

    /// How many failed, of all kinds.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// A figure that a target published.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scraped {
    /// The target.
    pub target: String,
    /// The metric with its labels: `stadium_connections{loop="0"}`.
    pub metric: String,
    /// Whether it is a counter: then its rate is what to draw.
    pub counter: bool,
    /// Seconds since the start, and value.
    pub points: Vec<(f64, f64)>,
}

/// The generator's account of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Generator {
    /// Loops, over all processes.
    pub loops: u32,
    /// How late it did what was due, in nanoseconds.
    pub lateness: Counts,
    /// Share of a processor that the busiest loop used, over the whole run.
    pub busy: f64,
    /// Share of the intervals in which a loop was saturated.
    pub saturated: f64,
    /// Share of the time in which no processor of the machine was idle.
    pub machine_busy: f64,
    /// Share of the time that the hypervisor took away.
    pub steal: f64,
    /// Connections that the system refused: no descriptor, no port, no memory.
    pub exhausted: u64,
    /// Requests sent again: the target had closed the connection before it answered, or reported
    /// that it did nothing.
    pub sent_again: u64,
    /// Users that were due and not begun, because too many were under way.
    pub not_begun: u64,
    /// Why figures are in doubt, if they are.
    pub doubts: Vec<Doubt>,
}

/// Why figures cannot be relied on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Doubt {
    /// Whether the figures are refused (they mean something else than they seem to) or only marked.
    pub refuse: bool,
    /// In words, with what to do about it.
    pub text: String,
}

/// A process that made load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// Where it was reached.
    pub address: String,
    /// Its clock less the coordinator's, in microseconds.
    pub clock_offset_us: f64,
    /// How far that may be off, in microseconds.
    pub clock_error_us: f64,
    /// Users that it began.
    pub started: u64,
    /// When and how it was lost, where it was: `after 12.3 s: connection reset`.
    pub lost: Option<String>,
}

/// A threshold and whether it held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Threshold {
    /// As written: `response.p99 < 50ms`.
    pub text: String,
    /// What was measured, with its unit: `61.2 ms`; `no data` where nothing was.
    pub observed: String,
    /// Whether it held. Without data it did not.
    pub passed: bool,
}

/// A search for the highest rate at which all thresholds hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Search {
    /// What was searched, in words.
    pub goal: String,
    /// The highest rate that held in each repeat, a second.
    pub found: Vec<f64>,
    /// Their median.
    pub rate: f64,
    /// The interval: at least, at most.
    pub interval: [f64; 2],
    /// Every trial: rate, whether it held, and why not.
    pub trials: Vec<Trial>,
}

/// One trial of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    /// Rate that was offered, a second.
    pub rate: f64,
    /// Rate that was reached, a second.
    pub reached: f64,
    /// Whether all thresholds held.
    pub held: bool,
    /// The first that did not, or why the trial means nothing.
    pub reason: String,
}
