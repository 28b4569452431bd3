//! One visible step of a task: says its name when it starts, its outcome and time when it ends.
//!
//! Steps go to stderr, so that a task's stdout stays its result.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// The steps that have ended, in that order.
static ENDED: Mutex<Vec<Ended>> = Mutex::new(Vec::new());

/// A step that has ended.
#[derive(Clone)]
pub(crate) struct Ended {
    pub(crate) name: String,
    /// Time that it took.
    pub(crate) seconds: f64,
    /// The share of the machine's cores that was busy meanwhile, with whatever; 0 to 1.
    pub(crate) busy: f64,
}

/// The steps that have ended, in the order of their ends.
pub(crate) fn ended() -> Vec<Ended> {
    ENDED.lock().expect("nobody panics with it held").clone()
}

/// A step under way. It must be ended, or its outcome is never shown.
#[must_use]
pub(crate) struct Step {
    name: String,
    started: Instant,
    cores: CoreTime,
}

impl Step {
    /// Announces a step.
    pub(crate) fn start(name: impl Into<String>) -> Self {
        let name = name.into();
        eprintln!("==> {name}");
        Self { name, started: Instant::now(), cores: CoreTime::now() }
    }

    /// Shows how the step ended, with its time, and returns whether it went well.
    pub(crate) fn end(self, outcome: Result<()>) -> bool {
        let seconds = self.started.elapsed().as_secs_f64();
        let ended = Ended { name: self.name.clone(), seconds, busy: self.cores.busy_since() };
        ENDED.lock().expect("nobody panics with it held").push(ended);
        match outcome {
            Ok(()) => {
                eprintln!("    {}: ok ({seconds:.1} s)", self.name);
                true
            }
            Err(error) => {
                eprintln!("    {}: FAILED ({seconds:.1} s): {error:#}", self.name);
                false
            }
        }
    }
}

/// Time of all cores since the machine's start, in clock ticks.
struct CoreTime {
    all: u64,
    idle: u64,
}

impl CoreTime {
    /// As the kernel tells it: proc_stat(5). Zeros where it cannot be read.
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        // Idle, and waiting for a disk.
        let idle = ticks.iter().skip(3).take(2).sum();
        Self { all: ticks.iter().take(8).sum(), idle }
    }

    fn busy_since(&self) -> f64 {
        let now = Self::now();
        let all = now.all.saturating_sub(self.all).max(1);
        1.0 - now.idle.saturating_sub(self.idle) as f64 / all as f64
    }
}

/// Runs a command with our own stdout and stderr; any exit code but 0 is an error that names it.
pub(crate) fn command(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and returns its stdout; stderr stays ours.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    command.stderr(std::process::Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed something that is not UTF-8"))
}

/// A `cargo` command: the cargo that runs us, so that a pinned toolchain stays pinned.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| OF_CARGO_RUN.iter().any(|start| name.starts_with(start))) {
            command.env_remove(name);
        }
    }
    command
}

/// Variables that `cargo run` sets for this program. Build scripts, ring's among them, watch some of them:
/// passed on, they would have everything above ring compiled again after each `cargo test` of a developer.
const OF_CARGO_RUN: [&str; 4] = ["CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_", "CARGO_PKG_"];

/// The feature that no default build has and all tests need: servers that are nodes of a cluster.
/// Each build of the workspace has it, or the next one would compile half of the workspace again.
pub(crate) const WITH_CLUSTERS: [&str; 2] = ["--features", "stadium-cli/cluster"];

/// Builds every library, program and example of the workspace, as the tests build them: a package by itself, or programs without the
/// examples' dependencies, would build most dependencies once more with fewer features.
pub(crate) fn build_programs() -> Result<()> {
    command(cargo(&["build", "--workspace", "--lib", "--bins", "--examples"]).args(WITH_CLUSTERS))
}

/// Where [`build_programs`] puts `stadium`.
pub(crate) fn program(root: &Path) -> PathBuf {
    root.join("target/debug/stadium")
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut shown = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for argument in command.get_args() {
        shown.push(' ');
        shown.push_str(&argument.to_string_lossy());
    }
    shown
}
