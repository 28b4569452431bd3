//! Cargo tools that only some tasks need, installed under target/tools in the version that is named here.
//!
//! Not part of `cargo xtask test`: nobody waits for their build who does not ask for their task.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::step::{Step, cargo, command};

/// A tool: its crate, which is also its program, and its version.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Changes the code in small ways and sees whether a test fails.
pub(crate) const MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0" };

/// Runs libFuzzer targets.
pub(crate) const FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

impl Tool {
    /// The program, installed first where it is missing.
    ///
    /// # Errors
    ///
    /// The crate cannot be fetched or built.
    pub(crate) fn program(&self, root: &Path) -> Result<PathBuf> {
        let tools = root.join("target/tools");
        let program = tools.join("bin").join(self.name);
        if self.is_there(&program) {
            return Ok(program);
        }
        let step = Step::start(format!("install {} {}", self.name, self.version));
        let crate_and_version = format!("{}@{}", self.name, self.version);
        let mut install = cargo(&["install", "--quiet", "--locked", &crate_and_version, "--root"]);
        let outcome = command(install.arg(&tools));
        let failed = outcome.as_ref().err().map(|error| anyhow::anyhow!("{error:#}"));
        step.end(outcome);
        failed.map_or(Ok(program), Err)
    }

    fn is_there(&self, program: &Path) -> bool {
        // A cargo subcommand expects its own name as first argument.
        let subcommand = self.name.trim_start_matches("cargo-");
        let mut probe = Command::new(program);
        let answer = probe.args([subcommand, "--version"]).stderr(Stdio::null()).output();
        answer.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains(self.version))
    }
}
