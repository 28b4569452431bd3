//! The C++ SDK with CMake, and `cargo xtask sdk sanitize`: its tests under a sanitizer.
//!
//! The programs and the headers of the SDK are instrumented, the library is not: sdk/cpp/README.md has what
//! each sanitizer sees. Every sanitizer has a program that is wrong on purpose, which it must find.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::ValueEnum;

use crate::components;
use crate::step::{build_programs, command, output};

/// Where cargo puts what the tests use, below `target`.
pub(crate) const DEBUG: &str = "debug";

/// A sanitizer: it looks for mistakes while the tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sanitizer {
    /// Memory that is freed, out of bounds or leaked, and undefined behaviour
    Address,
    /// Races
    Thread,
}

impl Sanitizer {
    /// All of them. No program takes two.
    pub(crate) const ALL: [Self; 2] = [Self::Address, Self::Thread];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }

    /// The argument of CMake that builds the tests with it.
    pub(crate) fn argument(self) -> String {
        let names = match self {
            Self::Address => "address,undefined",
            Self::Thread => "thread",
        };
        format!("-DSTADIUM_SANITIZE={names}")
    }

    /// Where CMake builds.
    pub(crate) fn folder(self, root: &Path) -> PathBuf {
        root.join("target").join(format!("sdk-cpp-{}", self.name()))
    }
}

/// Builds the SDK with a sanitizer and runs its tests. The exit code is 0 only when all of them held.
pub(crate) fn sanitize(root: &Path, sanitizer: Option<Sanitizer>) -> Result<ExitCode> {
    components::for_suites()?;
    build_programs()?;
    let sanitizers = sanitizer.map_or(Sanitizer::ALL.to_vec(), |sanitizer| vec![sanitizer]);
    for sanitizer in sanitizers {
        let folder = sanitizer.folder(root);
        build(&root.join("sdk/cpp"), &folder, &[library(root, DEBUG), sanitizer.argument()])?;
        command(&mut tests(&folder, false))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The argument of CMake for the library that cargo built, by the folder of its profile.
pub(crate) fn library(root: &Path, profile: &str) -> String {
    format!("-DSTADIUM_LIBRARY_DIR={}", root.join("target").join(profile).display())
}

/// Configures and builds with CMake.
pub(crate) fn build(source: &Path, folder: &Path, arguments: &[String]) -> Result<()> {
    output(Command::new("cmake").arg("-S").arg(source).arg("-B").arg(folder).args(arguments))?;
    output(Command::new("cmake").arg("--build").arg(folder).args(["--parallel", "2"]))?;
    Ok(())
}

/// The tests of what was built; those that take long only with `all`.
pub(crate) fn tests(folder: &Path, all: bool) -> Command {
    let mut ctest = Command::new("ctest");
    ctest.arg("--test-dir").arg(folder).arg("--output-on-failure");
    if !all {
        ctest.args(["--label-exclude", "long"]);
    }
    ctest
}
