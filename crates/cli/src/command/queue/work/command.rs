//! One run of the command: started in a process group of its own, fed the payload, and waited for.
//!
//! A group of its own keeps Ctrl-C from reaching it, and lets all that it started be stopped with it. Its standard error
//! goes to ours as it comes; the last line of it is kept as the error of a job that is released.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::leases::{ERROR_BYTES_MAX, Job};

/// How long the rest of standard error is waited for after the command ended; a process that it left behind may hold it
/// open for ever.
const REST_OF_ERROR: Duration = Duration::from_millis(500);

/// Where the command's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// To ours.
    Inherited,
    /// To our standard error, because standard output is for results as JSON.
    ToStandardError,
}

/// A command's process group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group(Pid);

impl Group {
    /// Asks all of it to end.
    pub(super) fn terminate(self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it.
    pub(super) fn kill(self) {
        self.signal(Signal::KILL);
    }

    fn signal(self, signal: Signal) {
        // It may just have ended by itself.
        let _ = kill_process_group(self.0, signal);
    }
}

/// A command that runs.
pub(super) struct Task {
    child: Child,
    group: Group,
    last_line: Receiver<String>,
}

/// How a command ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Ended {
    /// Its exit code.
    pub(super) code: Option<i32>,
    /// Or the signal that ended it.
    pub(super) signal: Option<i32>,
    /// The last line that it wrote to standard error.
    pub(super) last_line: String,
}

impl Ended {
    /// `exit code 3: no such seat`.
    pub(super) fn in_words(&self) -> String {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "it could not be waited for".to_owned(),
        };
        if self.last_line.is_empty() { how } else { format!("{how}: {}", self.last_line) }
    }
}

impl Task {
    /// Starts the command on a job.
    pub(super) fn start(command: &[OsString], queue: &str, job: &Job, output: Output) -> io::Result<Self> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
        let stdout = match output {
            Output::Inherited => Stdio::inherit(),
            Output::ToStandardError => io::stderr().as_fd().try_clone_to_owned()?.into(),
        };
        let mut child = Command::new(program)
            .args(arguments)
            .env("STADIUM_JOB_ID", &job.id)
            .env("STADIUM_JOB_QUEUE", queue)
            .env("STADIUM_JOB_LEASE", &job.lease)
            .env("STADIUM_JOB_ATTEMPT", job.attempt.to_string())
            .env("STADIUM_JOB_KEY", &job.key)
            .env("STADIUM_JOB_PRIORITY", job.priority.to_string())
            .env("STADIUM_JOB_PUT_AT", &job.put_at)
            .env("STADIUM_JOB_DUE_AT", &job.due_at)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = Group(pid.expect("the kernel's process ids are positive and have 31 bits"));
        if let Some(mut stdin) = child.stdin.take() {
            let payload = job.payload.clone();
            // A command that does not read it all is free to do so.
            thread::spawn(move || stdin.write_all(&payload));
        }
        let (sender, last_line) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || forward(stderr, &sender));
        }
        Ok(Self { child, group, last_line })
    }

    /// The group, by which it is stopped.
    pub(super) fn group(&self) -> Group {
        self.group
    }

    /// Waits for its end.
    pub(super) fn wait(mut self) -> Ended {
        let status = self.child.wait();
        let mut last_line = String::new();
        // Each is the last one so far; the channel closes when nobody can write any more.
        while let Ok(line) = self.last_line.recv_timeout(REST_OF_ERROR) {
            last_line = line;
        }
        match status {
            Ok(status) => Ended { code: status.code(), signal: status.signal(), last_line },
            Err(_) => Ended { last_line, ..Ended::default() },
        }
    }
}

/// Copies to our standard error, and sends each last line with something in it.
fn forward(mut from: impl Read, lines: &mpsc::Sender<String>) {
    let mut buffer = [0; 4_096];
    let mut line = Vec::new();
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let _ = io::stderr().lock().write_all(&buffer[..read]);
        for &byte in &buffer[..read] {
            if byte == b'\n' {
                send_line(&line, lines);
                line.clear();
            } else if line.len() < ERROR_BYTES_MAX {
                line.push(byte);
            }
        }
    }
    send_line(&line, lines);
}

fn send_line(line: &[u8], lines: &mpsc::Sender<String>) {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    if !line.is_empty() {
        // Nobody listens any more once the command was given up on.
        let _ = lines.send(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            id: "17".into(),
            lease: "17-2".into(),
            attempt: 2,
            payload: b"seat 7".to_vec(),
            ..Job::default()
        }
    }

    fn run(script: &str) -> Ended {
        let command = ["sh", "-c", script].map(OsString::from);
        Task::start(&command, "mails", &job(), Output::ToStandardError).expect("sh can be run").wait()
    }

    #[test]
    fn command_gets_the_payload_and_the_job() {
        let ended =
            run(r#"read line; echo "$line of $STADIUM_JOB_QUEUE $STADIUM_JOB_ID.$STADIUM_JOB_ATTEMPT" >&2"#);
        assert_eq!((ended.code, ended.last_line.as_str()), (Some(0), "seat 7 of mails 17.2"));
    }

    #[test]
    fn last_line_of_standard_error_is_the_reason_of_a_failure() {
        let ended = run("echo first >&2; printf 'no such seat\n\n' >&2; exit 3");
        assert_eq!(ended.in_words(), "exit code 3: no such seat");
        assert_eq!(run("kill -9 $$").in_words(), "ended by signal 9");
    }

    #[test]
    fn command_that_reads_nothing_and_leaves_somebody_behind_still_ends() {
        let mut big = job();
        big.payload = vec![b'x'; 1 << 20];
        let command = ["sh", "-c", "sleep 30 & echo left >&2; exit 4"].map(OsString::from);
        let task = Task::start(&command, "q", &big, Output::ToStandardError).expect("sh can be run");
        let group = task.group();
        assert_eq!(task.wait().in_words(), "exit code 4: left");
        group.kill();
    }

    #[test]
    fn whole_group_is_stopped() {
        let command = ["sh", "-c", "sleep 30; true"].map(OsString::from);
        let task = Task::start(&command, "q", &job(), Output::ToStandardError).expect("sh can be run");
        task.group().terminate();
        assert_eq!(task.wait().signal, Some(15));
    }

    #[test]
    fn command_that_is_not_there_is_an_error() {
        let command = [OsString::from("/nowhere/at-all")];
        assert!(Task::start(&command, "q", &job(), Output::Inherited).is_err());
    }
}
