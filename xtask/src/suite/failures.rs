//! The words of suites that failed, shown once more at the end of a run.
//!
//! A run prints tens of thousands of lines, and who reads it often has only the last ones.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many lines of a suite are shown again.
const LINES: usize = 60;

/// A suite that failed.
struct Failure {
    /// The task that ran it.
    task: String,
    suite: String,
    excerpt: String,
    /// Its task passed when it ran once more.
    passed_again: bool,
}

/// The suites that failed, in the order of their ends.
static FAILURES: Mutex<Vec<Failure>> = Mutex::new(Vec::new());

thread_local! {
    /// The task that this thread runs.
    static TASK: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a task: the suites that fail meanwhile on this thread are its own.
pub(super) fn within<T>(task: &str, run: impl FnOnce() -> T) -> T {
    TASK.replace(task.to_owned());
    run()
}

/// A suite with this output failed.
pub(super) fn note(name: &str, output: &str) {
    noted().push(Failure {
        task: TASK.with_borrow(String::clone),
        suite: name.to_owned(),
        excerpt: excerpt(output),
        passed_again: false,
    });
}

/// A task some of whose suites had failed ran once more, and passed.
pub(super) fn passed_again(task: &str) {
    noted().iter_mut().filter(|failure| failure.task == task).for_each(|failure| failure.passed_again = true);
}

/// All that was noted, each excerpt under its suite's name. Empty when nothing failed.
pub(super) fn shown() -> String {
    let mut shown = String::new();
    for Failure { suite, excerpt, passed_again, .. } in noted().iter() {
        let heading = if *passed_again { "failed, and passed when run once more" } else { "FAILED" };
        let _ = write!(shown, "==> {heading}: {suite}\n{excerpt}");
    }
    shown
}

fn noted() -> MutexGuard<'static, Vec<Failure>> {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner)
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
