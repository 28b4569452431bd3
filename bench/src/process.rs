//! Child processes of the bench: pinned to cores, killed when their owner is dropped, so that an error on
//! the way leaves no server behind.

#![allow(unsafe_code, reason = "affinity, processor time")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Where a process may run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Core 0 alone: the server's.
    First,
    /// Core 1 alone: the client's.
    Second,
    /// Both, as the scheduler likes.
    Both,
}

impl Cores {
    /// A command that runs `program` on these cores; the process id stays the program's own.
    pub(crate) fn command(self, program: &Path) -> Command {
        let list = match self {
            Self::First => "0",
            Self::Second => "1",
            Self::Both => "0,1",
        };
        let mut command = Command::new("taskset");
        command.args(["-c", list]).arg(program);
        command
    }
}

/// While it lives, this thread runs on these cores alone.
pub(crate) struct Pinned(libc::cpu_set_t);

impl Pinned {
    /// Pins this thread.
    pub(crate) fn to(cores: Cores) -> Result<Self> {
        // SAFETY: a set is a plain array of bits, for which zeros are a value; the calls are given its size.
        unsafe {
            let mut before: libc::cpu_set_t = std::mem::zeroed();
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut before) != 0 {
                return Err(std::io::Error::last_os_error()).context("sched_getaffinity");
            }
            for core in 0..2 {
                if cores == Cores::Both || (core == 0) == (cores == Cores::First) {
                    libc::CPU_SET(core, &mut set);
                }
            }
            if libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0 {
                return Err(std::io::Error::last_os_error()).context("sched_setaffinity");
            }
            Ok(Self(before))
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: as above. A failure leaves the thread where it is.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) };
    }
}

/// A command as a message shows it: without its environment, where keys are.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// A process that ends with its owner.
pub(crate) struct Owned(Child);

impl Owned {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let shown = shown(command);
        Ok(Self(command.spawn().with_context(|| format!("cannot start {shown}"))?))
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it is still there.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Waits until it ends by itself; `None` where it has not within this time.
    pub(crate) fn wait_for(&mut self, within: Duration) -> Result<Option<ExitStatus>> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(None)
    }

    /// Ends it now, and waits until it is gone.
    pub(crate) fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Its piped stdin.
    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.0.stdin.take()
    }

    /// Its piped stdout.
    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Processor time of all children that have ended and been waited for, and of theirs.
pub(crate) fn children_cpu() -> Duration {
    // SAFETY: a plain record of integers, for which zeros are a value; the call fails only for a wrong argument.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time = |part: libc::timeval| Duration::new(part.tv_sec as u64, part.tv_usec as u32 * 1_000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Runs a client to its end and returns the JSON of its last line.
pub(crate) fn client(command: &mut Command, deadline: Duration) -> Result<Value> {
    let mut client = Owned::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let lines = lines(&mut client)?;
    let mut last = None;
    loop {
        match lines.recv_timeout(deadline) {
            Ok(line) => last = Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("the client did not finish within {deadline:?}"),
        }
    }
    let line = last.context("the client printed no result")?;
    serde_json::from_str(&line).with_context(|| format!("not a result: {line}"))
}

/// The numbers of a client's result, by name.
pub(crate) fn numbers(result: &Value) -> Vec<(String, f64)> {
    let Some(object) = result.as_object() else { return Vec::new() };
    object.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// One of them.
pub(crate) fn number(numbers: &[(String, f64)], name: &str) -> Option<f64> {
    numbers.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
}

/// The lines that a process prints, as they come; the channel closes when its stdout does.
pub(crate) fn lines(process: &mut Owned) -> Result<mpsc::Receiver<String>> {
    let stdout = process.take_stdout().context("stdout is not piped")?;
    // Unbounded, because a client prints a handful of lines in its life.
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}
