//! Latencies: histograms that are merged across threads and processes without losing precision.
//!
//! A [`Latency`] lives where things happen; its counts travel as [`Counts`], only the buckets that
//! hold something. [`Summary`] is what people and reports read. All times are nanoseconds inside
//! and milliseconds in summaries.

use std::cmp::Ordering;

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize};

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

/// The buckets of a histogram that hold something: the longest time of each in nanoseconds, and how often.
///
/// Always in order of time, each time once, no bucket empty: what is read from JSON is put in order first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(#[serde(deserialize_with = "in_order")] Vec<(u64, u64)>);

fn in_order<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u64, u64)>, D::Error> {
    Vec::deserialize(from).map(|buckets| Counts::from_buckets(buckets).0)
}

impl Counts {
    /// From times in nanoseconds and how often each was seen, in any order.
    pub fn from_buckets(mut buckets: Vec<(u64, u64)>) -> Self {
        buckets.retain(|&(_, count)| count > 0);
        buckets.sort_unstable();
        buckets.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Counts(buckets)
    }

    /// The buckets in order of time: the longest time of each in nanoseconds, and how often.
    pub fn buckets(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many times were counted.
    pub fn len(&self) -> u64 {
        self.0.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// The longest time in nanoseconds.
    pub fn max(&self) -> Option<u64> {
        self.0.last().map(|&(ns, _)| ns)
    }

    /// The shortest time in nanoseconds.
    pub fn min(&self) -> Option<u64> {
        self.0.first().map(|&(ns, _)| ns)
    }

    /// The mean in nanoseconds.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.0.iter().map(|&(ns, count)| ns as f64 * count as f64).sum();
        (!self.is_empty()).then(|| sum / self.len() as f64)
    }

    /// The time in nanoseconds that the share `quantile` (0 to 1) of all times did not exceed.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let mut ranks = Ranks { left: self.0.iter(), seen: 0, last: None };
        ranks.reach(rank(quantile, self.len()))
    }

    /// The figures of it: as [`Latency::summary`] gives them, within the histogram's 0.1%.
    pub fn summary(&self) -> Summary {
        let count = self.len();
        let (Some(min), Some(max), Some(mean)) = (self.min(), self.max(), self.mean()) else {
            return Summary::default();
        };
        let mut ranks = Ranks { left: self.0.iter(), seen: 0, last: None };
        let mut at = |quantile| milliseconds(ranks.reach(rank(quantile, count)).unwrap_or(max));
        Summary {
            count,
            min_ms: milliseconds(min),
            mean_ms: mean / 1e6,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: milliseconds(max),
        }
    }

    /// Adds what another histogram counted.
    pub fn merge(&mut self, other: &Counts) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        let mut merged = Vec::with_capacity(self.0.len().max(other.0.len()));
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(l), Some(r)) => l.0.cmp(&r.0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let ours = if order.is_le() { left.next() } else { None };
            let theirs = if order.is_ge() { right.next() } else { None };
            let both = [ours, theirs].into_iter().flatten();
            let bucket = both.copied().reduce(|l, r| (l.0, l.1.saturating_add(r.1)));
            merged.extend(bucket);
        }
        self.0 = merged;
    }
}

/// The rank, from one, that a quantile of `count` times stands at.
fn rank(quantile: f64, count: u64) -> u64 {
    // 0.999 times 1000 is a hair above 999 in binary: that hair must not ask for the next time.
    let exact = quantile.clamp(0.0, 1.0) * count as f64;
    ((exact - exact * 1e-12).ceil() as u64).clamp(1, count.max(1))
}

/// Walks a histogram to ranks that only grow.
struct Ranks<'a> {
    left: std::slice::Iter<'a, (u64, u64)>,
    seen: u64,
    last: Option<u64>,
}

impl Ranks<'_> {
    fn reach(&mut self, rank: u64) -> Option<u64> {
        while self.seen < rank {
            let &(ns, count) = self.left.next()?;
            self.seen = self.seen.saturating_add(count);
            self.last = Some(ns);
        }
        self.last
    }
}

/// The figures of a histogram, in milliseconds. All zero where nothing was counted.
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
    fn merged_counts_equal_one_histogram() {
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

    #[test]
    fn counts_match_the_histogram_and_merge_alike() {
        let (mut left, mut right, mut whole) = (Latency::new(), Latency::new(), Latency::new());
        for step in 1..=10_000_u64 {
            let ns = step * step * 37;
            whole.record(ns);
            if step % 3 == 0 { left.record(ns) } else { right.record(ns) }
        }
        let expected = whole.summary();
        let mut merged = left.take();
        merged.merge(&right.take());
        assert_eq!(merged, whole.take());
        let found = merged.summary();
        assert_eq!(found.count, expected.count);
        for (found, expected) in [
            (found.mean_ms, expected.mean_ms),
            (found.p50_ms, expected.p50_ms),
            (found.p90_ms, expected.p90_ms),
            (found.p99_ms, expected.p99_ms),
            (found.p999_ms, expected.p999_ms),
            (found.max_ms, expected.max_ms),
        ] {
            assert!((found / expected - 1.0).abs() <= 0.001, "{found} is not {expected}");
        }
        assert_eq!(merged.quantile(0.0), merged.min());
        assert_eq!(merged.quantile(1.0), merged.max());
        assert_eq!(Counts::default().quantile(0.5), None);
    }

    #[test]
    fn the_rank_of_a_quantile_is_not_moved_by_rounding() {
        let counts = Counts::from_buckets((1..=1000).map(|ms| (ms * 1_000_000, 1)).collect());
        for (quantile, ms) in [(0.5, 500), (0.99, 990), (0.999, 999), (0.9991, 1000)] {
            assert_eq!(counts.quantile(quantile), Some(ms * 1_000_000), "{quantile}");
        }
    }

    #[test]
    fn buckets_are_put_in_order_when_read() {
        let counts: Counts = serde_json::from_str("[[30,1],[10,2],[20,0],[30,4]]").expect("it is JSON");
        assert_eq!(counts.buckets(), [(10, 2), (30, 5)]);
    }
}
