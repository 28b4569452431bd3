//! `cargo xtask test upgrade`: from the last release to this program under load, and back, by
//! testing/upgrade.
//!
//! A suite of its own, and a part of `--long`: it builds the older program. That one is the newest tag
//! before HEAD, or the commit that is named here while there is no tag; `--from PROGRAM` names another.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};

use super::tally::Tally;
use super::watchdog::Victim;
use super::{BINARY_VARIABLE, PYTHON_FOLDER, Shown, failures, suite, tally};
use crate::components;
use crate::step::{Step, build_programs, cargo, command, output, program};

/// The folder of the tests.
const FOLDER: &str = "testing/upgrade";

/// Stands for the last release until there is one: the commit before backups, whose program the
/// steps of docs/upgrading.md were tried with.
const LAST_RELEASE: &str = "85b9369beba75432df94c1077dd185cb0acdd216";

/// Environment variable through which the tests learn the older program's path.
const OLD_VARIABLE: &str = "STADIUM_OLD";

/// Runs it alone, and ends with its sums.
pub(super) fn run(root: &Path, from: Option<&Path>) -> Result<ExitCode> {
    components::for_suites()?;
    let requirements = root.join(PYTHON_FOLDER).join("requirements.txt");
    let interpreter = components::python(root, &requirements)?;
    let ran = tests(root, &interpreter, from);
    eprint!("{}", failures::shown());
    let failed = ran.failed + ran.skipped;
    println!("{} passed, {failed} failed", ran.passed);
    Ok(if failed == 0 && ran.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the older program where none is named, and runs the tests on both.
pub(super) fn tests(root: &Path, interpreter: &Path, from: Option<&Path>) -> Tally {
    let failed = Tally { failed: 1, ..Tally::default() };
    let step = Step::start("build the last release");
    let old = match from {
        Some(named) => named.canonicalize().with_context(|| named.display().to_string()),
        None => build(root),
    };
    let old = match old {
        Ok(old) => {
            step.end(Ok(()));
            old
        }
        Err(error) => {
            step.end(Err(error));
            return failed;
        }
    };
    if !Step::start("build the programs").end(build_programs()) {
        return failed;
    }
    let mut pytest = Command::new(interpreter);
    pytest.current_dir(root.join(FOLDER)).env(BINARY_VARIABLE, program(root)).env(OLD_VARIABLE, old);
    pytest.args(["-m", "pytest", "-rfEsx", "-s", "-p", "no:cacheprovider", "."]);
    suite("Upgrade", &mut pytest, Victim::Command, Shown::AsItComes, tally::pytest_line, |_| {})
}

/// The program of the last release, built once under target/upgrade.
fn build(root: &Path) -> Result<PathBuf> {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root).args(arguments));
    // The tag of HEAD itself is this program.
    let tag = Command::new("git")
        .current_dir(root)
        .args(["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"])
        .stderr(Stdio::null())
        .output()?;
    let tag = String::from_utf8(tag.stdout)?.trim().to_owned();
    let release = if tag.is_empty() { LAST_RELEASE } else { &tag };
    let commit = git(&["rev-parse", "--verify", &format!("{release}^{{commit}}")]).with_context(|| {
        format!("{release} is not in this clone: fetch the whole history, or name a program with --from")
    })?;
    let folder = root.join("target/upgrade").join(&commit.trim()[..12]);
    let built = folder.join("stadium");
    if built.exists() {
        return Ok(built);
    }
    let source = folder.join("source");
    std::fs::create_dir_all(&source)?;
    let archive = folder.join("source.tar");
    git(&["archive", "--output", &archive.to_string_lossy(), commit.trim()])?;
    command(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&source))?;
    std::fs::remove_file(&archive)?;
    // A target folder of its own: cargo gives a crate one name in all checkouts, so in the shared folder
    // the crates of both would be taken for each other.
    let target = root.join("target/upgrade/target");
    let mut build = cargo(&["build", "--locked", "--package", "stadium-cli"]);
    command(build.current_dir(&source).env("CARGO_TARGET_DIR", &target))?;
    std::fs::copy(target.join("debug/stadium"), &built)?;
    std::fs::remove_dir_all(&source)?;
    Ok(built)
}
