//! Counts tests by the summary lines that cargo, pytest and node print themselves.
//!
//! Each parser takes one line and answers only for a summary line; the caller adds them up. cargo
//! prints one for each test binary, pytest one in all, node one line for each class.

use std::ops::AddAssign;

/// What a suite, or all of them, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that held, expected failures that still fail included.
    pub(crate) passed: usize,
    /// Tests, or whole steps, that failed.
    pub(crate) failed: usize,
    /// Tests that were not run: ignored, skipped, cancelled.
    pub(crate) skipped: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`
pub(crate) fn cargo_line(line: &str) -> Option<Tally> {
    let (_, counts) = line.trim_start().strip_prefix("test result: ")?.split_once(". ")?;
    let mut tally = Tally::default();
    for part in counts.split("; ") {
        let (number, what) = part.split_once(' ')?;
        match what {
            "passed" => tally.passed = number.parse().ok()?,
            "failed" => tally.failed = number.parse().ok()?,
            "ignored" => tally.skipped = number.parse().ok()?,
            _ => break,
        }
    }
    Some(tally)
}

/// The name and the seconds of `test a::b ... ok <0.123s>`, as libtest prints it with `--report-time`.
pub(crate) fn time_of(line: &str) -> Option<(&str, f64)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = outcome.rsplit_once('<')?;
    Some((name, time.strip_suffix("s>")?.parse().ok()?))
}

/// `5.01s call     test_pages.py::test_readme`, a line of pytest's `--durations`.
pub(crate) fn pytest_time_of(line: &str) -> Option<(&str, f64)> {
    let (time, rest) = line.trim_start().split_once("s ")?;
    let name = rest.strip_prefix("call ")?.trim();
    Some((name, time.parse().ok()?))
}

/// `=== 1 failed, 22 passed, 1 skipped, 2 xfailed, 1 error in 3.05s ===`
pub(crate) fn pytest_line(line: &str) -> Option<Tally> {
    let line = line.trim_matches(|character: char| character == '=' || character.is_whitespace());
    let (counts, _) = line.rsplit_once(" in ")?;
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number: usize = number.parse().ok()?;
        match what {
            "passed" | "xfailed" => tally.passed += number,
            "failed" | "error" | "errors" | "xpassed" => tally.failed += number,
            "skipped" => tally.skipped += number,
            "warning" | "warnings" | "deselected" => {}
            _ => return None,
        }
    }
    Some(tally)
}

/// `[INFO] Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`, the sum of a module. A line of a class ends
/// with its time.
pub(crate) fn maven_line(line: &str) -> Option<Tally> {
    let (_, counts) = line.split_once("Tests run: ")?;
    let mut numbers =
        counts.split(", ").map(|part| part.rsplit(' ').next().and_then(|number| number.parse().ok()));
    let mut next = || numbers.next().flatten();
    let (run, failures, errors, skipped): (usize, usize, usize, usize) = (next()?, next()?, next()?, next()?);
    if numbers.next().is_some() {
        return None;
    }
    let failed = failures + errors;
    Some(Tally { passed: run.saturating_sub(failed + skipped), failed, skipped })
}

/// `92% tests passed, 1 tests failed out of 13`
pub(crate) fn ctest_line(line: &str) -> Option<Tally> {
    let (_, counts) = line.split_once("% tests passed, ")?;
    let (failed, all) = counts.split_once(" tests failed out of ")?;
    let (failed, all): (usize, usize) = (failed.parse().ok()?, all.parse().ok()?);
    Some(Tally { passed: all.saturating_sub(failed), failed, skipped: 0 })
}

/// `12 passed, 1 failed`, at the end of the conformance runner.
pub(crate) fn runner_line(line: &str) -> Option<Tally> {
    let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
    Some(Tally { passed: passed.parse().ok()?, failed: failed.parse().ok()?, skipped: 0 })
}

/// `# pass 3`, `# fail 1`, `# skipped 0`, `# cancelled 0`, `# todo 0`, each on its own line.
pub(crate) fn node_line(line: &str) -> Option<Tally> {
    let (what, number) = line.strip_prefix("# ")?.split_once(' ')?;
    let number: usize = number.parse().ok()?;
    let none = Tally::default();
    match what {
        "pass" => Some(Tally { passed: number, ..none }),
        "fail" | "cancelled" => Some(Tally { failed: number, ..none }),
        "skipped" | "todo" => Some(Tally { skipped: number, ..none }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Tally, cargo_line, ctest_line, maven_line, node_line, pytest_line, pytest_time_of, runner_line,
        time_of,
    };

    fn tally(passed: usize, failed: usize, skipped: usize) -> Option<Tally> {
        Some(Tally { passed, failed, skipped })
    }

    #[test]
    fn cargo_summaries_are_counted() {
        let good =
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        assert_eq!(cargo_line(good), tally(12, 0, 1));
        let bad =
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(cargo_line(bad), tally(3, 2, 0));
        assert_eq!(cargo_line("test codec::x ... ok"), None);
    }

    #[test]
    fn times_of_single_tests_are_read() {
        assert_eq!(time_of("test codec::x ... ok <0.123s>"), Some(("codec::x", 0.123)));
        assert_eq!(time_of("test codec::x ... FAILED <12.000s>"), Some(("codec::x", 12.0)));
        assert_eq!(time_of("test codec::x ... ok"), None);
        let line = "5.01s call     test_pages.py::test_readme";
        assert_eq!(pytest_time_of(line), Some(("test_pages.py::test_readme", 5.01)));
        assert_eq!(pytest_time_of("0.52s setup    test_pages.py::test_readme"), None);
    }

    #[test]
    fn pytest_summaries_are_counted() {
        assert_eq!(pytest_line("==== 22 passed in 3.05s ===="), tally(22, 0, 0));
        let mixed =
            "=== 1 failed, 22 passed, 1 skipped, 2 xfailed, 1 warning, 2 errors in 63.05s (0:01:03) ===";
        assert_eq!(pytest_line(mixed), tally(24, 3, 1));
        assert_eq!(pytest_line("=== no tests ran in 0.01s ==="), None);
        assert_eq!(pytest_line("=== short test summary info ==="), None);
        assert_eq!(pytest_line("the last one in line"), None);
    }

    #[test]
    fn the_runner_counts_at_its_end() {
        assert_eq!(runner_line("504 passed, 2 failed"), tally(504, 2, 0));
        assert_eq!(runner_line("ok     unary  rust -> cpp  1 ms"), None);
    }

    #[test]
    fn maven_counts_each_module_once() {
        assert_eq!(maven_line("[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0"), tally(12, 0, 0));
        assert_eq!(maven_line("[ERROR] Tests run: 12, Failures: 1, Errors: 2, Skipped: 3"), tally(6, 3, 3));
        let class =
            "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in io.stadium.A";
        assert_eq!(maven_line(class), None);
        assert_eq!(maven_line("[INFO] BUILD SUCCESS"), None);
    }

    #[test]
    fn ctest_counts_what_did_not_fail_as_passed() {
        assert_eq!(ctest_line("100% tests passed, 0 tests failed out of 13"), tally(13, 0, 0));
        assert_eq!(ctest_line("92% tests passed, 1 tests failed out of 13"), tally(12, 1, 0));
        assert_eq!(ctest_line("Total Test time (real) =  61.13 sec"), None);
    }

    #[test]
    fn node_summaries_are_counted() {
        assert_eq!(node_line("# pass 3"), tally(3, 0, 0));
        assert_eq!(node_line("# fail 1"), tally(0, 1, 0));
        assert_eq!(node_line("# cancelled 1"), tally(0, 1, 0));
        assert_eq!(node_line("# skipped 2"), tally(0, 0, 2));
        assert_eq!(node_line("# tests 5"), None);
        assert_eq!(node_line("ok 1 - connects"), None);
    }
}
