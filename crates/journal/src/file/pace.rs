//! When a commit begins: at once, or a moment later with more in it.
//!
//! Whoever got an answer from one commit asks again a moment after it, one caller after the other. A commit that begins with
//! the first of them makes all others wait for two. So where commits carry a crowd the next one waits until as many have come as
//! usually do, or a moment is over; a caller alone never waits.

use std::time::{Duration, Instant};

/// The longest that a commit waits for others, from the end of the one before.
const GATHER_MAX: Duration = Duration::from_micros(150);

/// How long a crowd's next batch is looked for before the thread sleeps: to wake a processor that was halted takes long.
const LOOK_ON: Duration = Duration::from_micros(300);

/// Fewer records in a commit are no crowd.
const CROWD_MIN: u64 = 8;

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

    fn is_crowd(&self) -> bool {
        self.usual >= CROWD_MIN
    }

    /// How long to look for the next batch before sleeping.
    pub(crate) fn look_on(&self) -> Duration {
        if self.is_crowd() { LOOK_ON } else { Duration::ZERO }
    }

    /// For how many records the next commit waits, and until when; none where it begins at once.
    pub(crate) fn gathering(&self) -> Option<(u64, Instant)> {
        self.is_crowd().then(|| (self.usual, self.ended + GATHER_MAX))
    }

    /// A commit of so many records ended.
    pub(crate) fn ended(&mut self, records: u64) {
        self.usual = (self.usual + records) / 2;
        self.ended = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::{CROWD_MIN, GATHER_MAX, Pace};

    #[test]
    fn a_caller_alone_does_not_wait_and_a_crowd_waits_a_moment() {
        let mut pace = Pace::new();
        pace.ended(1);
        assert!(pace.gathering().is_none() && pace.look_on().is_zero());
        for _ in 0..8 {
            pace.ended(100);
        }
        let (records, until) = pace.gathering().expect("a crowd");
        assert!((90..=100).contains(&records), "{records}");
        assert!(until <= std::time::Instant::now() + GATHER_MAX);
        for _ in 0..8 {
            pace.ended(CROWD_MIN / 2);
        }
        assert!(pace.gathering().is_none());
    }
}
