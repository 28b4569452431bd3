//! The fleet over the last hours, kept in the process: a point every 10 seconds of the last hour, and
//! one every minute of the last day.
//!
//! Memory is bounded: 360 points of the hour and 1,440 of the day, each [`HistoryPoint`] of 96
//! bytes, take 170 KB, whatever the size of the fleet. A restart begins anew; Prometheus keeps
//! figures for longer. Rates and quantiles of a point are made of the two snapshots at its ends, so
//! that no second between them is missed.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use utoipa::ToSchema;

use crate::fleet::FleetStats;
use crate::live::samples::{Latency, Snapshot, latency, since_1970_ms, sum};

/// Points of the last hour.
const HOUR: Steps = Steps { step: Duration::from_secs(10), points_max: 360 };

/// Points of the last day.
const DAY: Steps = Steps { step: Duration::from_mins(1), points_max: 1_440 };

/// How far apart the points of a series are, and how many it keeps; the oldest leaves.
#[derive(Clone, Copy)]
struct Steps {
    step: Duration,
    points_max: usize,
}

/// Which part of the history is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistorySpan {
    Hour,
    Day,
}

/// The fleet at a time, and what it did since the point before.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct HistoryPoint {
    /// When it was taken, milliseconds since 1970.
    at_ms: u64,
    /// Devices with an open connection.
    connected: u64,
    /// Bytes of memory that connections, sessions, queues and retained messages hold.
    bytes_held: u64,
    /// Messages written to devices' sockets in a second.
    deliveries: f32,
    /// Messages that devices published in a second.
    publishes: f32,
    /// Devices that connected in a second.
    connects: f32,
    /// Connections that closed in a second.
    closes: f32,
    /// Messages given up in a second.
    drops: f32,
    /// The busiest loop when it was taken, 0 to 1.
    busy_ratio: f32,
    /// Latency of the deliveries since the point before.
    latency: Latency,
}

impl HistoryPoint {
    fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.0.saturating_duration_since(before.0).as_secs_f64().max(0.001);
        let (before, now) = (&before.1, &now.1);
        // Three digits behind the point are more than a chart shows, and keep the answer short.
        let short = |number: f64| ((number * 1_000.0).round() / 1_000.0) as f32;
        let rate =
            |value: fn(&FleetStats) -> u64| short(value(now).saturating_sub(value(before)) as f64 / seconds);
        let held = &now.bytes_held;
        Self {
            at_ms: since_1970_ms(),
            connected: now.connected,
            bytes_held: held.connections
                + held.sessions
                + held.write_queues
                + held.carry_buffers
                + held.retained,
            deliveries: rate(|stats| stats.deliveries_total),
            publishes: rate(|stats| stats.publishes_in_total),
            connects: rate(|stats| stats.connects_total),
            closes: rate(|stats| sum(&stats.closes)),
            drops: rate(|stats| sum(&stats.drops)),
            busy_ratio: short(now.loops.iter().map(|each| each.busy_ratio).fold(0.0, f64::max)),
            latency: latency(&now.delivery_latency.since(&before.delivery_latency)),
        }
    }
}

/// A part of the history.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryView {
    /// Seconds between two points.
    #[schema(example = 10)]
    step_s: u64,
    /// Points that are kept at most.
    #[schema(example = 360)]
    points_max: usize,
    /// The oldest first.
    points: Vec<HistoryPoint>,
}

/// The points that are kept.
pub(crate) struct History {
    hour: Mutex<Series>,
    day: Mutex<Series>,
}

impl Default for History {
    fn default() -> Self {
        Self { hour: Mutex::new(Series::of(HOUR)), day: Mutex::new(Series::of(DAY)) }
    }
}

impl History {
    /// Takes the snapshot of a second: a series whose step is over gets a point.
    pub(crate) fn sampled(&self, now: &Snapshot) {
        self.hour.lock().sampled(now);
        self.day.lock().sampled(now);
    }

    /// A part of it.
    pub(crate) fn view(&self, span: HistorySpan) -> HistoryView {
        let series = match span {
            HistorySpan::Hour => self.hour.lock(),
            HistorySpan::Day => self.day.lock(),
        };
        HistoryView {
            step_s: series.steps.step.as_secs(),
            points_max: series.steps.points_max,
            points: series.points.iter().cloned().collect(),
        }
    }
}

struct Series {
    steps: Steps,
    /// The snapshot at the newest point; the first one begins the first step.
    before: Option<Snapshot>,
    points: VecDeque<HistoryPoint>,
}

impl Series {
    fn of(steps: Steps) -> Self {
        Self { steps, before: None, points: VecDeque::new() }
    }

    fn sampled(&mut self, now: &Snapshot) {
        let Some(before) = &self.before else {
            self.before = Some(now.clone());
            return;
        };
        // Samples come a little late rather than early: without the half second a step would now and
        // then be a whole second too long.
        let passed = now.0.saturating_duration_since(before.0) + Duration::from_millis(500);
        if passed < self.steps.step {
            return;
        }
        let point = HistoryPoint::between(before, now);
        if self.points.len() >= self.steps.points_max {
            self.points.pop_front();
        }
        self.points.push_back(point);
        self.before = Some(now.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A fleet that delivers ten messages a second, after so many seconds.
    fn after(began: Instant, seconds: u64) -> Snapshot {
        let stats =
            FleetStats { deliveries_total: 10 * seconds, connected: seconds, ..FleetStats::default() };
        (began + Duration::from_secs(seconds), stats)
    }

    #[test]
    fn both_series_are_bounded_and_keep_the_newest() {
        let (history, began) = (History::default(), Instant::now());
        let seconds = 26 * 3_600;
        for second in 0..=seconds {
            history.sampled(&after(began, second));
        }
        for (span, steps) in [(HistorySpan::Hour, HOUR), (HistorySpan::Day, DAY)] {
            let view = history.view(span);
            assert_eq!(view.points.len(), steps.points_max);
            assert_eq!(view.step_s, steps.step.as_secs());
            assert_eq!(view.points.last().map(|point| point.connected), Some(seconds));
            let first = seconds - (steps.points_max as u64 - 1) * view.step_s;
            assert_eq!(view.points.first().map(|point| point.connected), Some(first));
            assert!(view.points.iter().all(|point| point.deliveries == 10.0));
        }
        assert!(size_of::<HistoryPoint>() <= 96, "the arithmetic of the first lines");
    }

    #[test]
    fn a_late_sample_moves_no_point_by_a_second() {
        let (history, began) = (History::default(), Instant::now());
        for second in 0..=100 {
            let (at, stats) = after(began, second);
            history.sampled(&(
                at - Duration::from_millis(if second % 10 == 0 && second > 0 { 3 } else { 0 }),
                stats,
            ));
        }
        assert_eq!(history.view(HistorySpan::Hour).points.len(), 10);
        assert_eq!(history.view(HistorySpan::Day).points.len(), 1);
    }
}
