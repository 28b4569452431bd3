//! `cargo xtask fix`: the one task that edits the tree: clippy's suggestions, generated files, format.
//!
//! It works on a dirty tree on purpose: it is run before a commit, not after one.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::step::{Step, WITH_CLUSTERS, cargo, command};
use crate::tidy::drawing;
use crate::{generated, quotes};

/// Runs the edits; formatting comes last because the others leave unformatted code.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let clippy =
        ["clippy", "--workspace", "--all-targets", "--fix", "--allow-dirty", "--allow-staged", "--quiet"];
    // First, since they take no build.
    let mut good = Step::start("drawing of the crates").end(drawing::write(root));
    good &= Step::start("quoted figures").end(quotes::write(root));
    good &= Step::start("clippy --fix").end(command(cargo(&clippy).args(WITH_CLUSTERS)));
    good &= Step::start("generated files").end(generated::write(root));
    good &= Step::start("format").end(command(&mut cargo(&["fmt", "--all"])));
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
