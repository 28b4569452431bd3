//! `cargo xtask test packages`: the finished files of a release, tried in clean roots by
//! testing/packages.
//!
//! A suite of its own: it needs root, boots Debian in namespaces, and takes minutes. Files that are
//! missing are made first, as `cargo xtask dist` makes them.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

use super::watchdog::Victim;
use super::{Shown, failures, suite, tally};
use crate::{components, dist};

/// The folder of the tests.
const FOLDER: &str = "testing/packages";

/// Runs it, and ends with its sums.
pub(super) fn run(root: &Path) -> Result<ExitCode> {
    components::for_packages()?;
    if !dist::folder(root).join("SHA256SUMS").exists() {
        dist::make_all(root)?;
    }
    let requirements = root.join(FOLDER).join("requirements.txt");
    let interpreter = components::python_in(&root.join("target/packages/python"), &requirements)?;
    let mut pytest = Command::new(interpreter);
    pytest.current_dir(root.join(FOLDER)).env("STADIUM_XTASK", std::env::current_exe()?);
    pytest.args(["-m", "pytest", "-rfEsx", "--durations=10", "-p", "no:cacheprovider", "."]);
    let ran = suite("Packages", &mut pytest, Victim::Command, Shown::AsItComes, tally::pytest_line, |_| {});
    eprint!("{}", failures::shown());
    let failed = ran.failed + ran.skipped;
    println!("{} passed, {failed} failed", ran.passed);
    Ok(if failed == 0 && ran.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
