//! System calls of a process: `perf stat` counts the kernel's tracepoint for all its threads, from outside.
//!
//! The process runs at nearly its own speed, which strace would not allow: a client that batches makes
//! fewer calls for an operation the faster it is.

#![allow(unsafe_code, reason = "a signal that ends perf")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process::Owned;

/// The start of each system call, and of those that hand the processor from thread to thread.
const TRACEPOINTS: [&str; 3] =
    ["raw_syscalls:sys_enter", "syscalls:sys_enter_futex", "syscalls:sys_enter_sched_yield"];
/// Time for perf to do anything.
const PERF_MAX: Duration = Duration::from_secs(10);

/// Calls of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) all: u64,
    /// Those that sleep for another thread, or wake it.
    pub(super) futex: u64,
    /// Those that let other threads go first.
    pub(super) sched_yield: u64,
}

/// A perf that counts a process.
pub(super) struct Counter {
    perf: Owned,
    commands: File,
    answers: File,
    output: PathBuf,
    folder: PathBuf,
}

impl Counter {
    /// Begins to count the calls of all threads of a process; its files are in `folder`.
    pub(super) fn start(pid: u32, folder: &Path) -> Result<Self> {
        let (commands, answers) = (folder.join("perf-commands"), folder.join("perf-answers"));
        let output = folder.join("perf-output");
        for pipe in [&commands, &answers] {
            let _ = fs::remove_file(pipe);
            if !Command::new("mkfifo").arg(pipe).status()?.success() {
                bail!("cannot make {}", pipe.display());
            }
        }
        // Both ends are opened, so that neither open waits for perf.
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
        };
        let mut perf = Command::new("perf");
        perf.args(["stat", "--field-separator", ",", "--event"]);
        perf.args([&TRACEPOINTS.join(","), "--delay", "-1"]);
        perf.args(["--pid", &pid.to_string(), "--output"]).arg(&output);
        perf.arg(format!("--control=fifo:{},{}", commands.display(), answers.display()));
        perf.stdin(Stdio::null()).stderr(File::create(folder.join("perf.log"))?);
        let (commands, answers) = (open(&commands)?, open(&answers)?);
        let folder = folder.to_owned();
        let mut counter = Self { perf: Owned::start(&mut perf)?, commands, answers, output, folder };
        counter.ask("enable")?;
        Ok(counter)
    }

    /// Calls since the start.
    pub(super) fn stop(mut self) -> Result<Calls> {
        self.ask("disable")?;
        let pid = libc::pid_t::try_from(self.perf.pid()).context("a pid fits")?;
        // SAFETY: plain integer arguments; the process is our child and not yet waited for.
        unsafe { libc::kill(pid, libc::SIGINT) };
        self.perf.wait_for(PERF_MAX)?.context("perf does not end")?;
        Calls::parse(&fs::read_to_string(&self.output)?)
    }

    /// Sends a command, and waits until perf has done it.
    fn ask(&mut self, command: &str) -> Result<()> {
        writeln!(self.commands, "{command}")?;
        let mut answer = [0; 64];
        let begun = Instant::now();
        while !matches!(self.answers.read(&mut answer), Ok(1..)) {
            if begun.elapsed() > PERF_MAX || !self.perf.is_running() {
                let log = fs::read_to_string(self.folder.join("perf.log")).unwrap_or_default();
                bail!("perf cannot count system calls: {}", log.trim());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Calls {
    /// Reads the output of `perf stat`.
    fn parse(output: &str) -> Result<Self> {
        let count = |tracepoint: &str| -> Result<u64> {
            let line = output.lines().find(|line| line.contains(tracepoint)).context("perf has no count")?;
            let count = line.split(',').next().unwrap_or_default();
            // A process without one such call has no count of them.
            if count == "<not counted>" {
                return Ok(0);
            }
            count.parse().with_context(|| format!("perf has not counted: {line}"))
        };
        let [all, futex, sched_yield] = TRACEPOINTS;
        let calls = Self { all: count(all)?, futex: count(futex)?, sched_yield: count(sched_yield)? };
        if calls.all == 0 {
            bail!("perf has counted no system call");
        }
        Ok(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::Calls;

    #[test]
    fn a_count_is_the_first_field_of_its_line() {
        let output = "# started on Fri\n\n5123,,raw_syscalls:sys_enter,10000,100.00,,\n\
                      <not counted>,,syscalls:sys_enter_sched_yield,0,100.00,,\n\
                      17,,syscalls:sys_enter_futex,10000,100.00,,\n";
        let calls = Calls { all: 5_123, futex: 17, sched_yield: 0 };
        assert_eq!(Calls::parse(output).ok(), Some(calls));
    }

    #[test]
    fn no_count_is_an_error() {
        assert!(Calls::parse("").is_err());
        let none = "<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n\
                    <not counted>,,syscalls:sys_enter_futex,0,100.00,,\n\
                    <not counted>,,syscalls:sys_enter_sched_yield,0,100.00,,\n";
        assert!(Calls::parse(none).is_err());
    }
}
