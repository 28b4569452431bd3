//! Ejection of a server, as a state machine without a clock.
//!
//! Failures in a row eject it. Then one operation in each `eject_ms` is a trial, and one success ends
//! the ejection. Times are milliseconds of the caller's clock, from 1.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::error::Error;

/// The meaning of a result for its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Answered,
    Failed,
    /// The server was not asked.
    None,
}

impl Verdict {
    pub(crate) fn of<T>(result: &Result<T, Error>) -> Self {
        match result {
            Err(error) if error.is_of_server() => Self::Failed,
            Err(
                Error::Busy
                | Error::BadKey(_)
                | Error::BadFlags { .. }
                | Error::TooLarge { .. }
                | Error::NeedsMeta(_),
            ) => Self::None,
            _ => Self::Answered,
        }
    }
}

/// The health of a server.
#[derive(Debug)]
pub(crate) struct Health {
    /// Failures in a row that lead to ejection; 0 for never.
    eject_after: u32,
    eject_ms: u64,
    failures: AtomicU32,
    /// The time of the next trial; 0 when it is not ejected.
    trial_at_ms: AtomicU64,
    ejections: AtomicU64,
}

impl Health {
    pub(crate) fn new(eject_after: u32, eject_ms: u64) -> Self {
        Self {
            eject_after,
            eject_ms: eject_ms.max(1),
            failures: AtomicU32::new(0),
            trial_at_ms: AtomicU64::new(0),
            ejections: AtomicU64::new(0),
        }
    }

    /// True where an operation may go there. Of an ejected server that is so for one operation, the
    /// trial, in each `eject_ms`. The clock is read only then.
    pub(crate) fn admits(&self, now_ms: impl FnOnce() -> u64) -> bool {
        let trial_at = self.trial_at_ms.load(Ordering::Relaxed);
        if trial_at == 0 {
            return true;
        }
        let now = now_ms();
        let next = now + self.eject_ms;
        now >= trial_at
            && self.trial_at_ms.compare_exchange(trial_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// True where [`admits`](Self::admits) would be.
    #[cfg(feature = "tokio")]
    pub(crate) fn would_admit(&self, now_ms: impl FnOnce() -> u64) -> bool {
        let trial_at = self.trial_at_ms.load(Ordering::Relaxed);
        trial_at == 0 || now_ms() >= trial_at
    }

    pub(crate) fn is_ejected(&self) -> bool {
        self.trial_at_ms.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn ejections(&self) -> u64 {
        self.ejections.load(Ordering::Relaxed)
    }

    /// Notes how an operation ended. `jitter` is from 0 to 1.
    pub(crate) fn note(&self, verdict: Verdict, now_ms: impl FnOnce() -> u64, jitter: impl FnOnce() -> f64) {
        if self.eject_after == 0 || verdict == Verdict::None {
            return;
        }
        if verdict == Verdict::Answered {
            if self.failures.load(Ordering::Relaxed) > 0 {
                self.failures.store(0, Ordering::Relaxed);
                self.trial_at_ms.store(0, Ordering::Relaxed);
            }
            return;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if failures >= self.eject_after {
            // At least half of it: the clients of one server do not try it together.
            let delay = (self.eject_ms as f64 * (0.5 + jitter() / 2.0)) as u64;
            let before = self.trial_at_ms.swap(now_ms() + delay.max(1), Ordering::Relaxed);
            self.ejections.fetch_add(u64::from(before == 0), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EJECT_AFTER: u32 = 3;
    const EJECT_MS: u64 = 100;

    /// Runs a server that is up and down at random, with operations that end some time after they
    /// begin, on a clock of its own.
    fn simulate(seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let health = Health::new(EJECT_AFTER, EJECT_MS);
        let (mut now, mut is_up) = (1, true);
        // Operations under way, by their ends, with their results.
        let mut under_way: Vec<(u64, bool)> = Vec::new();
        let (mut in_a_row, mut last_trial, mut ejections) = (0, None, 0);
        for _ in 0..5_000 {
            now += random.u64(0..20);
            if random.u8(..) < 4 {
                is_up = !is_up;
            }
            let (over, left): (Vec<_>, Vec<_>) = under_way.into_iter().partition(|one| one.0 <= now);
            under_way = left;
            for (_, answered) in over {
                let was_ejected = health.is_ejected();
                let verdict = if answered { Verdict::Answered } else { Verdict::Failed };
                health.note(verdict, || now, || random.f64());
                in_a_row = if answered { 0 } else { in_a_row + 1 };
                assert_eq!(health.is_ejected(), in_a_row >= EJECT_AFTER, "seed {seed}");
                ejections += u64::from(!was_ejected && health.is_ejected());
                if !health.is_ejected() {
                    last_trial = None;
                } else if !was_ejected {
                    last_trial = Some(now);
                }
            }
            health.note(Verdict::None, || now, || 0.0);
            assert_eq!(health.ejections(), ejections, "seed {seed}");
            let was_ejected = health.is_ejected();
            if health.admits(|| now) {
                if was_ejected && let Some(before) = last_trial.replace(now) {
                    assert!(now - before >= EJECT_MS / 2, "seed {seed}: {before} and {now}");
                }
                // The trial is one operation.
                assert!(!was_ejected || !health.admits(|| now), "seed {seed}");
                under_way.push((now + random.u64(1..30), is_up));
            } else {
                // The time of a trial, a step of the clock, and failures of operations from before.
                let waited = now - last_trial.unwrap_or_default();
                assert!(was_ejected && waited <= EJECT_MS + 60, "seed {seed}: none for {waited} ms");
            }
        }
        assert!(ejections > 0, "seed {seed}");
    }

    #[test]
    fn a_server_is_ejected_by_failures_in_a_row_and_tried_once_in_each_time() {
        (0..200).for_each(simulate);
    }

    #[test]
    fn a_single_server_is_never_ejected() {
        let health = Health::new(0, EJECT_MS);
        (0..100).for_each(|now| health.note(Verdict::Failed, || now, || 0.5));
        assert!(health.admits(|| 1) && !health.is_ejected());
    }
}
