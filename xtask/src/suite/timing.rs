//! Where the time of a test run went: each phase, and the slowest tests.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// So many tests are named at the end of a run.
const SLOWEST: usize = 20;

/// The times of one run. Lanes that run tests side by side share it.
#[derive(Default)]
pub(crate) struct Times {
    tests: Mutex<Vec<(String, f64)>>,
}

impl Times {
    /// A test, or a program that counts as one, took so many seconds.
    pub(super) fn test(&self, name: String, seconds: f64) {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner).push((name, seconds));
    }

    /// The slowest tests, slowest first, a line each.
    pub(super) fn slowest(&self) -> String {
        let mut tests = self.tests.lock().unwrap_or_else(PoisonError::into_inner);
        tests.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut shown = String::new();
        for (name, seconds) in tests.iter().take(SLOWEST) {
            let _ = writeln!(shown, "{seconds:8.1} s  {name}");
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn the_slowest_come_first_and_only_twenty() {
        let times = Times::default();
        for seconds in 0..30 {
            times.test(format!("test {seconds}"), f64::from(seconds));
        }
        let shown = times.slowest();
        assert_eq!(shown.lines().count(), 20);
        assert_eq!(shown.lines().next(), Some("    29.0 s  test 29"));
    }
}
