//! Ends a test that hangs, so that the suites after it still run and the run still ends.
//!
//! A suite that prints no line for so long that it is [`SILENCE`] hangs: libtest, pytest and node print at least one line
//! for each test. What hangs is killed with everything that it started, and counts as one failure.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// No test of ours takes this long, and a build on two cores is done before the suite starts.
pub(super) const SILENCE: Duration = Duration::from_mins(8);

/// What of a suite is killed when it hangs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    /// The processes that the command started: cargo goes on with its next test binary.
    Children,
    /// The command itself.
    Command,
}

/// Watches one command.
pub(super) struct Watchdog {
    pid: u32,
    victim: Victim,
    /// So long without a line, and it hangs.
    silence: Duration,
    heard: Mutex<Instant>,
    over: AtomicBool,
    killed: AtomicUsize,
}

impl Watchdog {
    pub(super) fn new(pid: u32, victim: Victim, silence: Duration) -> Self {
        let heard = Mutex::new(Instant::now());
        Self { pid, victim, silence, heard, over: AtomicBool::new(false), killed: AtomicUsize::new(0) }
    }

    /// The suite printed a line.
    pub(super) fn heard(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The suite has ended: `watch` returns within a second.
    pub(super) fn over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// How many times something was killed.
    pub(super) fn killed(&self) -> usize {
        self.killed.load(Ordering::Relaxed)
    }

    /// Watches until the suite is over. Runs in a thread of its own.
    pub(super) fn watch(&self) {
        while !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(self.silence.min(Duration::from_secs(1)));
            let silent = self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            if silent >= self.silence && !self.over.load(Ordering::Relaxed) {
                self.kill();
                self.heard();
            }
        }
    }

    fn kill(&self) {
        let silence = self.silence;
        let heads = match self.victim {
            Victim::Children => children(self.pid),
            Victim::Command => vec![self.pid],
        };
        self.killed.fetch_add(1, Ordering::Relaxed);
        for head in heads {
            eprintln!("    hangs: nothing printed for {silence:?}, killed: {}", command_line(head));
            let mut doomed = vec![head];
            let mut next = 0;
            while let Some(&pid) = doomed.get(next) {
                doomed.extend(children(pid));
                next += 1;
            }
            let pids = doomed.iter().map(u32::to_string);
            // A process that ended meanwhile is no trouble.
            let _ = Command::new("kill").arg("-KILL").args(pids).status();
        }
    }
}

/// The processes that any thread of this one started and that still run.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The command line of a process, as `ps` would show it.
fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{Victim, Watchdog};

    /// Runs a shell command under a watchdog that is soon out of patience. Says how it ended, and what was killed.
    fn watched(script: &str, victim: Victim) -> (Option<i32>, usize) {
        let mut child = Command::new("sh").args(["-c", script]).spawn().expect("there is a shell");
        let watchdog = Watchdog::new(child.id(), victim, Duration::from_millis(300));
        let status = std::thread::scope(|scope| {
            scope.spawn(|| watchdog.watch());
            let status = child.wait().expect("it ends");
            watchdog.over();
            status
        });
        (status.code(), watchdog.killed())
    }

    #[test]
    fn what_hangs_is_killed_and_what_started_it_goes_on() {
        assert_eq!(watched("sleep 60; exit 7", Victim::Children), (Some(7), 1));
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_started() {
        assert_eq!(watched("sleep 60; exit 7", Victim::Command), (None, 1));
    }
}
