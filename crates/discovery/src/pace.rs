//! When a registration's value is worth writing.
//!
//! Each write travels to every client of the service, so a load factor is written only when it moved, and not too
//! often; a changed state is always worth it. Time is an argument.

use std::time::{Duration, Instant};

use crate::instance::Value;

/// How far a load factor moves before others need to know: a twentieth of full load.
const LOAD_STEP: f32 = 0.05;

/// What was written last, and when.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: Duration,
    written: Option<(Value, Instant)>,
}

/// Whether to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    At(Instant),
    Now,
}

impl Pace {
    /// Nothing is written yet; load factors will be at most once in `interval`.
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, written: None }
    }

    /// Whether `wanted` is worth a write now, or later.
    pub(crate) fn due(&self, wanted: &Value, now: Instant) -> Due {
        let Some((written, at)) = &self.written else { return Due::Now };
        let same_but_load = Value { load: written.load, ..wanted.clone() } == *written;
        if !same_but_load {
            return Due::Now;
        }
        if (wanted.load - written.load).abs() <= LOAD_STEP {
            return Due::Nothing;
        }
        let free_at = *at + self.interval;
        if free_at <= now { Due::Now } else { Due::At(free_at) }
    }

    /// `value` was written.
    pub(crate) fn wrote(&mut self, value: Value, now: Instant) {
        self.written = Some((value, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::State;

    fn load(load: f32) -> Value {
        Value { load, ..Value::default() }
    }

    #[test]
    fn a_load_is_written_when_it_moved_and_not_too_often() {
        let start = Instant::now();
        let interval = Duration::from_secs(1);
        let mut pace = Pace::new(interval);
        assert_eq!(pace.due(&load(0.5), start), Due::Now);
        pace.wrote(load(0.5), start);
        assert_eq!(pace.due(&load(0.54), start + interval * 9), Due::Nothing);
        assert_eq!(pace.due(&load(0.6), start), Due::At(start + interval));
        assert_eq!(pace.due(&load(0.4), start + interval), Due::Now);
    }

    #[test]
    fn a_changed_state_does_not_wait() {
        let start = Instant::now();
        let mut pace = Pace::new(Duration::from_secs(60));
        pace.wrote(load(0.5), start);
        let leaving = Value { state: State::Quiescing, ..load(0.5) };
        assert_eq!(pace.due(&leaving, start), Due::Now);
    }
}
