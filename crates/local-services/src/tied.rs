//! A process that ends with the one that started it.
//!
//! It runs under a shell that kills it when the shell's own input ends. The other end of that pipe is ours, so
//! the kernel closes it even if this process is killed. Both are in a process group of their own: Ctrl-C in a
//! terminal reaches this process alone, which then ends its services in order.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Context as _, Error, Result};

/// Starts the program, prints its id, and waits for a word or the end of input. Without a word nobody is left
/// who removes the folder.
const SCRIPT: &str = r#"exec 3<&0; "$@" </dev/null >>"$TIED_LOG" 2>&1 & echo $!; exec >&-
    read -r word <&3; kill -KILL $! 2>/dev/null; wait $! 2>/dev/null; [ "$word" = keep ] || rm -rf "$TIED_FOLDER""#;

/// A running process. Dropping it kills the process and leaves its files.
#[derive(Debug)]
pub struct Tied {
    shell: Child,
    process: Pid,
    log: PathBuf,
}

impl Tied {
    /// Starts a command, whose output is appended to `log`. `folder` is removed with all that it holds if this
    /// process ends before it dropped the value; several processes may name the same folder.
    ///
    /// # Errors
    /// There is no shell. A program that is missing shows in [`Tied::has_ended`] and in the log.
    pub fn start(command: &Command, log: &Path, folder: &Path) -> Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "tied"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("TIED_LOG", log).env("TIED_FOLDER", folder);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut shell = shell.spawn().context("a shell cannot be started")?;
        let mut line = String::new();
        if let Some(stdout) = shell.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("the shell that starts a service")?;
        }
        let process = line.trim().parse().ok().and_then(Pid::from_raw);
        let process = process.ok_or_else(|| Error::new(format!("the shell named no process: {line:?}")))?;
        Ok(Self { shell, process, log: log.to_owned() })
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.process.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it ended by itself.
    pub fn has_ended(&self) -> bool {
        match fs::read_to_string(format!("/proc/{}/stat", self.id())) {
            Ok(stat) => stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")),
            Err(_) => true,
        }
    }

    /// The last lines of its output.
    pub fn log(&self) -> String {
        end_of(&self.log)
    }

    /// Kills it with SIGKILL, and waits until it is gone. Its files stay.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Tied {
    fn drop(&mut self) {
        // It may have ended already; there is nothing to do then.
        let _ = kill_process(self.process, Signal::KILL);
        if let Some(mut stdin) = self.shell.stdin.take() {
            let _ = stdin.write_all(b"keep\n");
        }
        // The shell waits for the process.
        let _ = self.shell.wait();
    }
}

/// The last lines of a log; empty where there is none.
fn end_of(log: &Path) -> String {
    const LINES: usize = 40;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn until(what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(30), "waited for {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn sleeper(folder: &Path) -> Tied {
        let mut command = Command::new("sleep");
        command.arg("3600");
        Tied::start(&command, &folder.join("log"), folder).expect("a shell")
    }

    #[test]
    fn a_process_ends_with_its_value_and_its_folder_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let tied = sleeper(folder.path());
        let place = PathBuf::from(format!("/proc/{}", tied.id()));
        // The program may not have begun when its id is known.
        let log = folder.path().join("log");
        until("its log", || log.exists());
        assert!(!tied.has_ended() && place.exists());
        tied.kill();
        assert!(!place.exists() && log.exists());
    }

    #[test]
    fn without_its_owner_a_process_ends_and_its_folder_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tied = sleeper(folder.path());
        // The kernel does the same when this process is killed.
        drop(tied.shell.stdin.take());
        until("the process to end", || tied.has_ended());
        until("the folder to go", || !folder.path().exists());
    }

    #[test]
    fn a_program_that_is_missing_has_ended_and_its_log_tells_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let command = Command::new("/there/is/no/such/program");
        let tied = Tied::start(&command, &folder.path().join("log"), folder.path()).expect("a shell");
        until("it to end", || tied.has_ended());
        until("its log", || tied.log().contains("/there/is/no/such/program"));
    }
}
