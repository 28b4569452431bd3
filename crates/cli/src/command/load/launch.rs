//! `stadium load launch`: workers over SSH, for as long as a command or its user needs them.
//!
//! A command runs as a process of its own, with `--workers` added; its exit code is this one's.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::workers::{launch, own};
use crate::failure::{Context, Failure};
use crate::terminal::Terminal;

/// Commands of `stadium load` that take workers.
const COMMANDS: [&str; 2] = ["run", "search"];

/// Which hosts, and what for.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The hosts, a TOML file
    #[arg(value_name = "HOSTS")]
    hosts: PathBuf,
    /// What to run on them, such as `run scenario.toml`; without it workers are kept until Ctrl-C
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Starts the workers, runs the command, and ends them.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    if let Some(first) = arguments.command.first()
        && !COMMANDS.contains(&first.as_str())
    {
        return Err(Failure::Usage(format!("{first:?} takes no workers: use {}", COMMANDS.join(" or "))));
    }
    // Before anything is started: a launch that is stopped early still ends what it has begun.
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("Ctrl-C cannot be listened for")?;
    let launched = launch(&arguments.hosts)?;
    let workers = launched.addresses().join(",");
    if arguments.command.is_empty() {
        terminal.data(&format!("--workers {workers}"))?;
        terminal.note("the workers end with this process: Ctrl-C");
        signals.forever().next();
        return Ok(());
    }
    let mut command = Command::new(own()?);
    command.arg("load").args(&arguments.command).args(["--workers", &workers]);
    if terminal.is_json() {
        command.arg("--json");
    }
    let mut child = command.spawn().context("starting the command")?;
    let pid = Pid::from_child(&child);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // The terminal signals Ctrl-C to both.
            if signal == SIGTERM {
                // Fails only where the command has ended.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    });
    let status = child.wait().context("waiting for the command")?;
    drop(launched);
    match status.code() {
        Some(0) => Ok(()),
        // The command has printed the reason.
        Some(code) => std::process::exit(code),
        None => Err(Failure::new(format!("the command ended: {status}"))),
    }
}
