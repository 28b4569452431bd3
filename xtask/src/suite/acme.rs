//! `cargo xtask test acme`: certificates from Pebble, an ACME server for tests, by testing/acme.
//!
//! A suite of its own: Go builds Pebble first, which takes a minute, and keeps it in target/pebble.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

use super::watchdog::Victim;
use super::{BINARY_VARIABLE, PYTHON_FOLDER, Shown, failures, suite, tally};
use crate::components;
use crate::step::{build_programs, program};

/// The folder of the tests.
const FOLDER: &str = "testing/acme";

/// Runs it, and ends with its sums.
pub(super) fn run(root: &Path) -> Result<ExitCode> {
    components::for_suites()?;
    ensure!(build_programs().is_ok(), "the programs cannot be built");
    let interpreter = components::python(root, &root.join(PYTHON_FOLDER).join("requirements.txt"))?;
    let mut pytest = Command::new(interpreter);
    pytest.current_dir(root.join(FOLDER)).env(BINARY_VARIABLE, program(root));
    pytest.args(["-m", "pytest", "-rfEsx", "--durations=10", "-p", "no:cacheprovider", "."]);
    let ran = suite("ACME", &mut pytest, Victim::Command, Shown::AsItComes, tally::pytest_line, |_| {});
    eprint!("{}", failures::shown());
    let failed = ran.failed + ran.skipped;
    println!("{} passed, {failed} failed", ran.passed);
    Ok(if failed == 0 && ran.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
