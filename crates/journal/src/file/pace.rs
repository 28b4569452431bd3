//! When a commit begins: at once, or briefly later with more in it.
//!
//! Under load a commit's callers ask again one after the other, soon after their answers. A commit
//! that begins with the first of them makes all others wait for two commits. So the next commit
//! waits until about as many records have arrived as a commit usually carries, for at most
//! [`BATCH_WAIT_MAX`]. A caller alone never waits.

use std::time::{Duration, Instant};

/// The longest that a commit waits for others, from the end of the one before.
const BATCH_WAIT_MAX: Duration = Duration::from_micros(150);

/// How long the writer's thread spins for the next batch before it parks: to wake a halted
/// processor takes long.
const SPIN_MAX: Duration = Duration::from_micros(300);

/// With fewer records in a commit the next one does not wait.
const BATCH_MIN: u64 = 8;

/// What the last commits carried.
pub(crate) struct Pace {
    /// Records that a commit usually carries.
    usual: u64,
    /// When the last one ended.
    ended: Instant,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { usual: 0, ended: Instant::now() }
    }

    fn is_batching(&self) -> bool {
        self.usual >= BATCH_MIN
    }

    /// How long to look for the next batch before sleeping.
    pub(crate) fn spin_time(&self) -> Duration {
        if self.is_batching() { SPIN_MAX } else { Duration::ZERO }
    }

    /// For how many records the next commit waits, and until when; none where it begins at once.
    pub(crate) fn batch_target(&self) -> Option<(u64, Instant)> {
        self.is_batching().then(|| (self.usual, self.ended + BATCH_WAIT_MAX))
    }

    /// A commit of so many records ended.
    pub(crate) fn ended(&mut self, records: u64) {
        self.usual = (self.usual + records) / 2;
        self.ended = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH_MIN, BATCH_WAIT_MAX, Pace};

    #[test]
    fn a_caller_alone_does_not_wait_and_a_batch_waits_briefly() {
        let mut pace = Pace::new();
        pace.ended(1);
        assert!(pace.batch_target().is_none() && pace.spin_time().is_zero());
        for _ in 0..8 {
            pace.ended(100);
        }
        let (records, until) = pace.batch_target().expect("a batch");
        assert!((90..=100).contains(&records), "{records}");
        assert!(until <= std::time::Instant::now() + BATCH_WAIT_MAX);
        for _ in 0..8 {
            pace.ended(BATCH_MIN / 2);
        }
        assert!(pace.batch_target().is_none());
    }
}
