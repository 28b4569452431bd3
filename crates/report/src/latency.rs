//! Latencies: histograms that are merged across threads and processes without losing precision.
//!
//! A [`Latency`] lives where things happen; what it gathered travels as [`Counts`], only the buckets that hold
//! something. [`Summary`] is what people and reports read. All times are nanoseconds inside and milliseconds in
//! summaries.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// One microsecond: what is shorter counts as that.
const LOWEST_NS: u64 = 1_000;
/// One hour: what is longer counts as that.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: a figure is off by at most 0.1%.
const DIGITS: u8 = 3;

/// A histogram of times.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        Latency::new()
    }
}

impl Latency {
    /// Without any time in it; about 190 KB.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
            .expect("the bounds and digits above are valid");
        Latency { histogram }
    }

    /// Counts one time, in nanoseconds; it is moved into the bounds where it lies outside.
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.clamp(LOWEST_NS, HIGHEST_NS));
    }

    /// Whether no time was counted.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Takes everything counted, leaving it empty.
    pub fn take(&mut self) -> Counts {
        if self.is_empty() {
            return Counts::default();
        }
        let counts = self
            .histogram
            .iter_recorded()
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
            .collect();
        self.histogram.reset();
        Counts(counts)
    }

    /// Adds what another histogram counted.
    pub fn add(&mut self, counts: &Counts) {
        for &(ns, count) in &counts.0 {
            self.histogram.saturating_record_n(ns.clamp(LOWEST_NS, HIGHEST_NS), count);
        }
    }

    /// The figures of it.
    pub fn summary(&self) -> Summary {
        if self.is_empty() {
            return Summary::default();
        }
        let at = |quantile: f64| milliseconds(self.histogram.value_at_quantile(quantile));
        Summary {
            count: self.histogram.len(),
            min_ms: milliseconds(self.histogram.min()),
            mean_ms: self.histogram.mean() / 1e6,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: milliseconds(self.histogram.max()),
        }
    }
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The buckets of a histogram that hold something: nanoseconds and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(Vec<(u64, u64)>);

impl Counts {
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a histogram says, in milliseconds. All zero where nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many times were counted.
    pub count: u64,
    /// The shortest.
    pub min_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// Half took at most this.
    pub p50_ms: f64,
    /// Nine of ten took at most this.
    pub p90_ms: f64,
    /// 99 of 100 took at most this.
    pub p99_ms: f64,
    /// 999 of 1,000 took at most this.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_counts_say_the_same_as_one_histogram() {
        let (mut left, mut right, mut whole) = (Latency::new(), Latency::new(), Latency::new());
        for step in 1..=10_000_u64 {
            let ns = step * step * 37;
            whole.record(ns);
            if step % 3 == 0 { left.record(ns) } else { right.record(ns) }
        }
        let mut merged = Latency::new();
        for half in [left.take(), right.take()] {
            let text = serde_json::to_string(&half).expect("counts are JSON");
            merged.add(&serde_json::from_str(&text).expect("and come back"));
        }
        assert!(left.is_empty() && right.is_empty());
        assert_eq!(merged.summary(), whole.summary());
    }

    #[test]
    fn times_outside_the_bounds_count_as_the_bounds() {
        let mut latency = Latency::new();
        latency.record(0);
        latency.record(u64::MAX);
        let summary = latency.summary();
        assert_eq!(summary.count, 2);
        assert!(summary.min_ms <= 0.001, "{summary:?}");
        assert!(summary.max_ms >= 3_600_000.0 * 0.99, "{summary:?}");
    }
}
