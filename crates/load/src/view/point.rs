//! The figures of an interval, as views draw them.
//!
//! Percentiles of a point are those of its interval's histogram. Points that are joined keep the worst of both, so
//! that a long run drawn with few points hides no peak.

use serde::Serialize;
use stadium_report::Interval;
use stadium_report::latency::Counts;

/// What an interval looked like. Rates are a second, times milliseconds, shares 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Point {
    /// Its end, in seconds of the run.
    pub at_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Requests begun.
    pub offered: f64,
    /// Requests answered.
    pub answered: f64,
    /// Requests that failed.
    pub failed: f64,
    /// Messages received.
    pub messages: f64,
    /// Users in a session at its end.
    pub users: u64,
    /// Devices connected at its end.
    pub devices: u64,
    /// Response times of requests; nothing where none was answered.
    pub response: Option<Times>,
    /// Latencies of messages; nothing where none came.
    pub message: Option<Times>,
    /// How late the generator was, 99th percentile; nothing where nothing was due.
    pub lateness_p99: Option<f64>,
    /// Share of a processor that the busiest loop used.
    pub busy: f64,
    /// Share of the machine's processors that were busy.
    pub machine_busy: f64,
    /// Share of the time that the hypervisor took away.
    pub steal: f64,
    /// Bytes sent and received.
    pub bytes: [f64; 2],
}

/// Percentiles in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Times {
    /// Those of a histogram, unless it is empty.
    pub(crate) fn of(counts: &Counts) -> Option<Self> {
        let summary = counts.summary();
        (summary.count > 0).then_some(Times { p50: summary.p50_ms, p99: summary.p99_ms, max: summary.max_ms })
    }

    fn worse(self, other: Self) -> Self {
        Times { p50: self.p50.max(other.p50), p99: self.p99.max(other.p99), max: self.max.max(other.max) }
    }
}

impl Point {
    /// The figures of an interval.
    pub fn of(interval: &Interval) -> Self {
        Point {
            at_s: interval.at_s,
            length_s: interval.length_s,
            offered: interval.rate(interval.started),
            answered: interval.rate(interval.answered),
            failed: interval.rate(interval.failed()),
            messages: interval.rate(interval.messages),
            users: interval.users,
            devices: interval.devices,
            response: Times::of(&interval.response),
            message: Times::of(&interval.message_latency),
            lateness_p99: Times::of(&interval.lateness).map(|times| times.p99),
            busy: interval.busy,
            machine_busy: interval.machine_busy,
            steal: interval.steal,
            bytes: interval.bytes.map(|bytes| interval.rate(bytes)),
        }
    }

    /// One point for two that follow each other: rates over both, the worse of their times and shares.
    pub(crate) fn join(self, next: Self) -> Self {
        let length_s = self.length_s + next.length_s;
        let mean = |one: f64, two: f64| {
            if length_s > 0.0 { (one * self.length_s + two * next.length_s) / length_s } else { 0.0 }
        };
        Point {
            at_s: next.at_s,
            length_s,
            offered: mean(self.offered, next.offered),
            answered: mean(self.answered, next.answered),
            failed: mean(self.failed, next.failed),
            messages: mean(self.messages, next.messages),
            users: self.users.max(next.users),
            devices: next.devices,
            response: either(self.response, next.response, Times::worse),
            message: either(self.message, next.message, Times::worse),
            lateness_p99: either(self.lateness_p99, next.lateness_p99, f64::max),
            busy: self.busy.max(next.busy),
            machine_busy: self.machine_busy.max(next.machine_busy),
            steal: self.steal.max(next.steal),
            bytes: [mean(self.bytes[0], next.bytes[0]), mean(self.bytes[1], next.bytes[1])],
        }
    }
}

fn either<T: Copy>(one: Option<T>, two: Option<T>, both: fn(T, T) -> T) -> Option<T> {
    match (one, two) {
        (Some(one), Some(two)) => Some(both(one, two)),
        _ => one.or(two),
    }
}
