//! Known vulnerabilities of dependencies, by `cargo deny check advisories` (deny.toml).
//!
//! The advisory database is a git repository of RustSec. Where it cannot be reached, and where
//! cargo-deny is not installed, nothing is checked and the step says so: a build without a network
//! must not fail, and must not seem checked.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::step::{cargo, command};

/// Time to fetch the database. Behind some firewalls nothing is refused and nothing answers.
const FETCH_S: &str = "60";

/// Fails where a dependency has a known vulnerability, was yanked or is not maintained any more.
pub(crate) fn check(root: &Path) -> Result<()> {
    let quiet = |command: &mut Command| {
        let ran = command.current_dir(root).stdout(Stdio::null()).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    };
    if !quiet(&mut cargo(&["deny", "--version"])) {
        not_checked("cargo-deny is not installed: cargo install cargo-deny --locked");
        return Ok(());
    }
    // Fetched apart from the check, so that an unreachable database is told from a vulnerability.
    if !quiet(Command::new("timeout").args([FETCH_S, "cargo", "deny", "fetch", "db"])) {
        not_checked("the advisory database cannot be reached");
        return Ok(());
    }
    command(cargo(&["deny", "--offline", "check", "advisories"]).current_dir(root))
}

fn not_checked(reason: &str) {
    eprintln!("    NOT CHECKED: {reason}");
}
