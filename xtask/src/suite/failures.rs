//! The words of suites that failed, shown once more at the end of a run.
//!
//! A run prints tens of thousands of lines, and who reads it often has only the last ones.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// So many lines of a suite are shown again.
const LINES: usize = 60;

/// The suites that failed, in the order of their ends: a name, and an excerpt of the output.
static FAILURES: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// A suite with this output failed.
pub(super) fn note(name: &str, output: &str) {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), excerpt(output)));
}

/// All that was noted, each excerpt under its suite's name. Empty when nothing failed.
pub(super) fn shown() -> String {
    let mut shown = String::new();
    for (name, excerpt) in FAILURES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = write!(shown, "==> FAILED: {name}\n{excerpt}");
    }
    shown
}

/// From where libtest lists the failures; else from the first test that node reports as failed;
/// else the last lines, where pytest lists its own.
fn excerpt(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let first = lines
        .iter()
        .position(|line| *line == "failures:")
        .or_else(|| lines.iter().position(|line| line.trim_start().starts_with("not ok ")))
        .unwrap_or(lines.len().saturating_sub(LINES));
    lines.iter().skip(first).take(LINES).fold(String::new(), |shown, line| shown + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::{LINES, excerpt};

    #[test]
    fn an_excerpt_has_the_failure_and_not_the_tests_before_it() {
        let passed = "test a ... ok\n".repeat(200);
        let failed = "failures:\n\n---- b stdout ----\nit is 3 and not 4\n";
        assert_eq!(excerpt(&format!("{passed}\n{failed}")), failed);

        let failed = "not ok 7 - connects\n  error: 'refused'\n";
        assert_eq!(excerpt(&format!("{}{failed}", "ok 1 - sends\n".repeat(200))), failed);

        let failed = "FAILED test_api.py::test_key - assert 401 == 200\n=== 1 failed in 3.05s ===\n";
        let shown = excerpt(&format!("{passed}{failed}"));
        assert!(shown.ends_with(failed));
        assert_eq!(shown.lines().count(), LINES);
    }
}
