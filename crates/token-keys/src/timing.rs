//! When a key set, or another document of a provider, is fetched. Pure: the owner passes the time.
//!
//! A document is fetched at once, then at regular intervals. A failure is retried after a delay
//! that doubles. A missing key asks for an earlier fetch, but strangers can cause that as well, so
//! fetches for a missing key keep a minimum distance.

use std::time::{Duration, Instant};

/// The delay after the first failure; each further one doubles it.
const RETRY_MIN: Duration = Duration::from_secs(1);

/// The intervals of [`Timing`].
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// Between two fetches that succeed.
    pub refresh: Duration,
    /// The minimum between two fetches because of a missing key.
    pub again_min: Duration,
    /// The longest delay after failures.
    pub retry_max: Duration,
}

/// The state of one document.
pub struct Timing {
    intervals: Intervals,
    next: Instant,
    /// When the last attempt began.
    last: Option<Instant>,
    failures: u32,
}

impl Timing {
    /// A document whose first fetch is due now.
    pub fn new(intervals: Intervals, now: Instant) -> Self {
        Self { intervals, next: now, last: None, failures: 0 }
    }

    /// When the next fetch is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// A fetch begins.
    pub fn begun(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// The fetch succeeded.
    pub fn succeeded(&mut self, now: Instant) {
        self.failures = 0;
        self.next = now + self.intervals.refresh;
    }

    /// The fetch failed.
    pub fn failed(&mut self, now: Instant) {
        let Intervals { refresh, again_min, retry_max } = self.intervals;
        let delay = RETRY_MIN.saturating_mul(1 << self.failures.min(16)).min(retry_max).min(refresh);
        self.failures = self.failures.saturating_add(1);
        self.next = now + delay.max(again_min);
    }

    /// Whether the document may be fetched now because a key is missing.
    pub fn may_hurry(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.saturating_duration_since(last) >= self.intervals.again_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVALS: Intervals =
        Intervals { refresh: seconds(3_600), again_min: seconds(10), retry_max: seconds(300) };

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_set_is_fetched_again_in_its_time_and_later_each_time_it_fails() {
        let start = Instant::now();
        let mut timing = Timing::new(Intervals { again_min: seconds(0), ..INTERVALS }, start);
        assert_eq!(timing.next, start, "at once");
        timing.succeeded(start);
        assert_eq!(timing.next - start, seconds(3_600));
        let mut delays = Vec::new();
        for _ in 0..11 {
            timing.failed(start);
            delays.push((timing.next - start).as_secs());
        }
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        timing.succeeded(start);
        timing.failed(start);
        assert_eq!(timing.next - start, seconds(1), "a success ends the delay");
    }

    #[test]
    fn missing_keys_hurry_it_once_in_a_while() {
        let start = Instant::now();
        let mut timing = Timing::new(INTERVALS, start);
        assert!(timing.may_hurry(start));
        timing.begun(start);
        assert!(!timing.may_hurry(start + seconds(9)));
        assert!(timing.may_hurry(start + seconds(10)));
    }
}
