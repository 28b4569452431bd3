//! `stadium load check`: what is wrong with scenarios.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stadium_report::thresholds;

use super::read::read;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Which scenarios.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Scenarios, TOML files
    #[arg(value_name = "SCENARIO", required = true)]
    files: Vec<PathBuf>,
}

/// Checks each, and fails where one is wrong.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for file in &arguments.files {
        match check(file) {
            Ok(summary) => {
                if terminal.is_json() {
                    terminal.json(&json!({"file": file, "ok": true, "says": summary}))?;
                } else {
                    terminal.data(&format!("{}: {summary}", file.display()))?;
                }
            }
            Err(Failure::Problems(problems)) => wrong.push(problems),
            Err(failure) => wrong.push(format!("error: {failure}")),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Problems(wrong.join("\n\n"))) }
}

fn check(file: &Path) -> Result<String, Failure> {
    let program = read(file)?;
    for (text, line) in &program.thresholds {
        thresholds::parse(text).map_err(|mistake| {
            Failure::Input(format!("{}:{line}: threshold {text:?}: {mistake}", file.display()))
        })?;
    }
    let seconds: u64 = program.phases.iter().map(|phase| phase.duration_ns).sum::<u64>() / 1_000_000_000;
    let devices: u32 = program.fleets.iter().map(|fleet| fleet.devices).sum();
    let mut parts =
        vec![format!("{} sessions", program.sessions.len()), format!("{} steps", program.steps.len())];
    if devices > 0 {
        parts.push(format!("{devices} devices"));
    }
    parts.push(format!("{} phases of {seconds} s in all", program.phases.len()));
    parts.push(format!("{} thresholds", program.thresholds.len()));
    Ok(format!("ok: {}", parts.join(", ")))
}
