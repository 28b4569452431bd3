//! The kernel's figures about a process: memory, open files, and signals to it.
//!
//! Everything is read from /proc, so a suite measures the binary that users run, not an instrumented one.

use std::fs;

use anyhow::{Context as _, Result};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

/// A process that the suite started.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    /// Resident memory in bytes (`VmRSS`).
    pub fn resident_bytes(self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.0);
        let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: u64 =
            line.trim().trim_end_matches("kB").trim().parse().context("VmRSS is no number")?;
        Ok(kilobytes * 1024)
    }

    /// Open file descriptors.
    pub fn open_files(self) -> Result<usize> {
        let path = format!("/proc/{}/fd", self.0);
        Ok(fs::read_dir(&path).with_context(|| format!("cannot read {path}"))?.count())
    }

    /// Sends a signal.
    pub fn signal(self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.0).ok().and_then(Pid::from_raw).context("not a process id")?;
        kill_process(pid, signal).with_context(|| format!("cannot signal process {}", self.0))
    }
}

/// Raises this process's own limit of open files to what the system allows, and returns it.
pub fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let limit = if setrlimit(Resource::Nofile, wanted).is_ok() { wanted } else { limit };
    limit.current.unwrap_or(u64::MAX)
}
