//! What a journal counts, for operators and for the recovery estimate.
//!
//! Counters are touched by several threads and read by any; a snapshot isn't one point in time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since a journal was opened; sizes as they are now.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Records appended.
    pub records: u64,
    /// Bytes appended, frames included.
    pub bytes: u64,
    /// Times that a batch became durable.
    pub commits: u64,
    /// How long each `fdatasync` took, microseconds.
    pub sync_us: Histogram,
    /// Records that each commit made durable.
    pub batch_records: Histogram,
    /// Bytes appended and not yet durable.
    pub waiting_bytes: u64,
    /// Segments there are, the prepared one included.
    pub segments: u64,
    /// Bytes of disk that segments, spares and the reserve take.
    pub disk_bytes: u64,
    /// Bytes of memory set aside for the newest records.
    pub tail_bytes: u64,
    /// Reads that the newest records in memory answered.
    pub reads_from_memory: u64,
    /// Reads that went to the disk or its cache.
    pub reads_from_disk: u64,
    /// How long opening took, microseconds.
    pub opening_us: u64,
    /// Bytes that a torn tail claimed to have and that opening cut.
    pub cut_bytes: u64,
}

/// Values counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// `(bound, count)`: values at most `bound` and above the bound before. The last bound is `u64::MAX`.
    pub buckets: Vec<(u64, u64)>,
    /// Sum of all values.
    pub sum: u64,
    /// The greatest value.
    pub max: u64,
}

impl Histogram {
    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The bound of the bucket in which the value stands that `share` (0 to 1) of all are at most. 0 if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bound, count) in &self.buckets {
            seen += count;
            if seen >= wanted && seen > 0 {
                return (*bound).min(self.max);
            }
        }
        0
    }
}

/// Bounds of buckets: 1, 2, 3, 4, 6, 8, 12, ... each at most half above the one before.
const BUCKETS: usize = 48;

const fn bound(index: usize) -> u64 {
    match index {
        0 => 1,
        _ if index == BUCKETS - 1 => u64::MAX,
        _ if index % 2 == 1 => 2 << (index / 2),
        _ => 3 << (index / 2 - 1),
    }
}

/// A histogram that is being filled.
pub(crate) struct Buckets {
    counts: [AtomicU64; BUCKETS],
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

impl Buckets {
    pub(crate) fn add(&self, value: u64) {
        let index = (0..BUCKETS).find(|index| value <= bound(*index)).unwrap_or(BUCKETS - 1);
        self.counts[index].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.max.fetch_max(value, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Histogram {
        let counts = self.counts.iter().enumerate();
        Histogram {
            buckets: counts.map(|(index, count)| (bound(index), count.load(Ordering::Relaxed))).collect(),
            sum: self.sum.load(Ordering::Relaxed),
            max: self.max.load(Ordering::Relaxed),
        }
    }
}

/// Counts of a journal on files.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) records: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) sync_us: Buckets,
    pub(crate) batch_records: Buckets,
    pub(crate) reads_from_memory: AtomicU64,
    pub(crate) reads_from_disk: AtomicU64,
    pub(crate) spare_bytes: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_by_half_at_most() {
        let bounds: Vec<u64> = (0..8).map(bound).collect();
        assert_eq!(bounds, [1, 2, 3, 4, 6, 8, 12, 16]);
        for index in 1..BUCKETS - 1 {
            assert!(bound(index) > bound(index - 1), "{index}");
            assert!(bound(index) <= bound(index - 1) * 2, "{index}");
        }
    }

    #[test]
    fn quantiles_are_bounds_of_their_buckets() {
        let buckets = Buckets::default();
        for value in [1, 5, 5, 100] {
            buckets.add(value);
        }
        let histogram = buckets.snapshot();
        assert_eq!((histogram.count(), histogram.sum, histogram.max), (4, 111, 100));
        assert_eq!(histogram.quantile(0.5), 6);
        assert_eq!(histogram.quantile(1.0), 100);
    }
}
