//! Leaves a service alone that does not answer.
//!
//! After some failures in a row it rests: callers are refused at once instead of each waiting for a
//! time-out. When the rest is over one caller is let through to try; its success ends the matter,
//! otherwise the next rest has already begun. Time comes from the caller.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The state of one service.
pub(super) struct Circuit {
    failures_max: u32,
    rest: Duration,
    state: Mutex<State>,
}

struct State {
    /// Failures in a row.
    failures: u32,
    /// Until when it rests, when `failures` has reached its bound.
    rests_until: Option<Instant>,
}

impl Circuit {
    pub(super) fn new(failures_max: u32, rest: Duration) -> Self {
        Self { failures_max, rest, state: Mutex::new(State { failures: 0, rests_until: None }) }
    }

    /// For how long the service still rests, or `None` when it may be tried.
    pub(super) fn resting(&self, now: Instant) -> Option<Duration> {
        let until = self.state.lock().rests_until?;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Permits a call, or returns how long the service rests. Of several callers at the end of a
    /// rest, one is permitted.
    pub(super) fn permit(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.state.lock();
        let Some(until) = state.rests_until else { return Ok(()) };
        match until.checked_duration_since(now) {
            Some(left) if !left.is_zero() => Err(left),
            _ => {
                state.rests_until = Some(now + self.rest);
                Ok(())
            }
        }
    }

    /// The service answered.
    pub(super) fn succeeded(&self) {
        *self.state.lock() = State { failures: 0, rests_until: None };
    }

    /// It did not; whether it rests from now on and did not before.
    pub(super) fn failed(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures < self.failures_max {
            return false;
        }
        state.rests_until.replace(now + self.rest).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(5);

    #[test]
    fn rests_after_failures_in_a_row_and_lets_one_try_afterwards() {
        let circuit = Circuit::new(3, REST);
        let start = Instant::now();
        assert!(!circuit.failed(start));
        circuit.succeeded();
        assert!(!circuit.failed(start));
        assert!(!circuit.failed(start));
        assert_eq!(circuit.permit(start), Ok(()));
        assert!(circuit.failed(start));
        assert_eq!(circuit.permit(start), Err(REST));
        assert_eq!(circuit.resting(start), Some(REST));

        let later = start + REST;
        assert_eq!(circuit.resting(later), None);
        assert_eq!(circuit.permit(later), Ok(()));
        assert_eq!(circuit.permit(later), Err(REST), "only one tries");
        assert!(!circuit.failed(later), "it rested before");
        assert_eq!(circuit.permit(later + REST), Ok(()));
        circuit.succeeded();
        assert_eq!(circuit.permit(later + REST), Ok(()));
        assert_eq!(circuit.permit(later + REST), Ok(()));
    }
}
