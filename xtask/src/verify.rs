//! `cargo xtask verify`: everything that must hold before a change is merged. Changes nothing.
//!
//! A failing step does not stop the later ones: one run shows everything that is wrong. The tests
//! themselves are `cargo xtask test`, which runs this first.

use std::path::Path;
use std::process::ExitCode;

use crate::step::{Step, cargo, command};
use crate::{generated, licences, tidy};

/// The names of the steps that failed, in order.
#[derive(Default)]
pub(crate) struct Verdict {
    /// One entry for each failed step; empty means that everything holds.
    pub(crate) failed: Vec<&'static str>,
}

impl Verdict {
    /// The process's exit code for this verdict.
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.failed.is_empty() {
            eprintln!("verify: everything holds");
            return ExitCode::SUCCESS;
        }
        eprintln!("verify: FAILED: {}", self.failed.join(", "));
        ExitCode::FAILURE
    }

    fn step(&mut self, name: &'static str, check: impl FnOnce() -> anyhow::Result<()>) {
        if !Step::start(name).end(check()) {
            self.failed.push(name);
        }
    }
}

/// Runs every step, cheapest first.
pub(crate) fn run(root: &Path) -> Verdict {
    let mut verdict = Verdict::default();
    verdict.step("tidy", || tidy::check(root));
    verdict.step("format", || command(&mut cargo(&["fmt", "--all", "--check"])));
    verdict.step("licences", licences::check);
    verdict.step("clippy", || {
        command(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    });
    verdict.step("docs", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
        command(doc.env("RUSTDOCFLAGS", "-D warnings"))
    });
    verdict.step("generated files", || generated::check(root));
    verdict
}
