//! What a loop counts for each method: written by the loop alone, read by anybody.
//!
//! Latencies are kept in buckets a quarter wide, so that loops can be added up.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::service::Outcome;

/// A number with one writer.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        // One writer: a plain load and store cost less than a locked add.
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Buckets of a latency histogram: four to each power of two of microseconds, up to about an hour.
const BUCKETS: usize = 128;

/// Latencies in microseconds, to within a quarter.
#[derive(Debug)]
pub(crate) struct Latencies([Counter; BUCKETS]);

impl Default for Latencies {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}

impl Latencies {
    pub(crate) fn record(&self, us: u64, times: u64) {
        self.0[bucket(us)].add(times);
    }

    pub(crate) fn add_to(&self, sum: &mut [u64; BUCKETS]) {
        for (one, counter) in sum.iter_mut().zip(&self.0) {
            *one += counter.value();
        }
    }
}

fn bucket(us: u64) -> usize {
    if us < 4 {
        return us as usize;
    }
    let power = 63 - us.leading_zeros() as usize;
    let quarter = (us >> (power - 2)) as usize & 3;
    ((power - 1) * 4 + quarter).min(BUCKETS - 1)
}

/// The upper end of a bucket, in microseconds.
fn end_of(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (power, quarter) = (bucket / 4 + 1, bucket as u64 % 4);
    ((5 + quarter) << (power - 2)) - 1
}

/// The latency below which a share of the recorded ones lies, in microseconds.
pub(crate) fn quantile(sum: &[u64; BUCKETS], share: f64) -> u64 {
    let total: u64 = sum.iter().sum();
    let wanted = (total as f64 * share).ceil().max(1.0) as u64;
    let mut seen = 0;
    for (place, count) in sum.iter().enumerate() {
        seen += count;
        if seen >= wanted {
            return end_of(place);
        }
    }
    0
}

/// An empty sum for [`Latencies::add_to`].
pub(crate) fn no_latencies() -> [u64; BUCKETS] {
    [0; BUCKETS]
}

/// One method on one loop.
#[derive(Debug, Default)]
pub(crate) struct MethodCounts {
    pub(crate) ok: Counter,
    pub(crate) busy: Counter,
    pub(crate) rejected: Counter,
    pub(crate) failed: Counter,
    pub(crate) expired: Counter,
    pub(crate) cancelled: Counter,
    pub(crate) latencies: Latencies,
}

impl MethodCounts {
    pub(crate) fn count(&self, outcome: Outcome) {
        match outcome {
            Outcome::Ok => self.ok.add(1),
            Outcome::Busy => self.busy.add(1),
            Outcome::Rejected => self.rejected.add(1),
            Outcome::Failed => self.failed.add(1),
            Outcome::Expired => self.expired.add(1),
            Outcome::Cancelled => self.cancelled.add(1),
        }
    }
}

/// One loop.
#[derive(Debug)]
pub(crate) struct LoopCounts {
    pub(crate) methods: Box<[MethodCounts]>,
    pub(crate) connections: Counter,
    pub(crate) inflight: Counter,
    pub(crate) queued: Counter,
    pub(crate) streams: Counter,
    pub(crate) limit: Counter,
    /// Stream messages sent.
    pub(crate) messages: Counter,
    /// The load factor, in thousandths.
    pub(crate) load: Counter,
    /// Connections ended because they broke the protocol.
    pub(crate) violations: Counter,
    /// Connections that were refused because there were as many as may be.
    pub(crate) refused: Counter,
    /// Connections cut because of what they held that was unfinished.
    pub(crate) cut_partial: Counter,
    /// Connections cut because they read too slowly.
    pub(crate) cut_slow: Counter,
    /// Datagrams that were no request.
    pub(crate) datagrams_ignored: Counter,
    /// Sessions whose client is away.
    pub(crate) sessions: Counter,
    /// Sessions that their clients took up again.
    pub(crate) resumed: Counter,
}

impl LoopCounts {
    pub(crate) fn new(methods: usize) -> Self {
        Self {
            methods: (0..methods).map(|_| MethodCounts::default()).collect(),
            connections: Counter::default(),
            inflight: Counter::default(),
            queued: Counter::default(),
            streams: Counter::default(),
            limit: Counter::default(),
            messages: Counter::default(),
            load: Counter::default(),
            violations: Counter::default(),
            refused: Counter::default(),
            cut_partial: Counter::default(),
            cut_slow: Counter::default(),
            datagrams_ignored: Counter::default(),
            sessions: Counter::default(),
            resumed: Counter::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_every_latency_within_a_quarter() {
        for us in (0..100_000).chain([1 << 20, (1 << 31) + 12_345]) {
            let place = bucket(us);
            assert!(us <= end_of(place), "{us} lies in bucket {place} that ends at {}", end_of(place));
            assert!(end_of(place) as f64 <= us as f64 * 1.25 + 1.0, "{us} is reported as {}", end_of(place));
        }
    }

    #[test]
    fn quantiles_are_found() {
        let latencies = Latencies::default();
        latencies.record(100, 98);
        latencies.record(10_000, 2);
        let mut sum = no_latencies();
        latencies.add_to(&mut sum);
        assert!((100..=125).contains(&quantile(&sum, 0.5)));
        assert!((10_000..=12_500).contains(&quantile(&sum, 0.99)));
    }
}
