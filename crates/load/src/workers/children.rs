//! Workers as processes of this machine: more connections than one process may have open files for.
//!
//! They listen on this machine alone and end with their parent, however that ends: their standard input is a pipe that it
//! holds. Ctrl-C reaches the parent only, which then ends them.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::args::{KEY_VARIABLE, WORKER_ARGUMENTS, read_announcement};
use crate::error::Error;

/// How long a process may take until it listens.
const START_WITHIN: Duration = Duration::from_secs(20);
/// Processes of one machine; more is a mistake.
const CHILDREN_MAX: u32 = 1_000;

/// Processes of this machine; they are ended when it goes out of scope.
#[derive(Debug)]
pub struct Children {
    children: Vec<Child>,
    addresses: Vec<String>,
    /// Drawn for them, so that nobody else on this machine can use them.
    key: String,
}

impl Children {
    /// Starts so many workers of `program`, which has to know [`WORKER_ARGUMENTS`]. Each runs `loops` loops; zero deals
    /// the machine's processors among them, at least one each.
    ///
    /// # Errors
    /// [`Error::System`] where a process cannot be started; [`Error::Worker`] where one does not
    /// print where it listens.
    pub fn start(count: u32, loops: u32, program: &Path) -> Result<Self, Error> {
        if count == 0 || count > CHILDREN_MAX {
            return Err(Error::Config(format!("processes are 1 to {CHILDREN_MAX}, not {count}")));
        }
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let loops = if loops == 0 { (processors / count).max(1) } else { loops };
        let key = std::iter::repeat_with(fastrand::alphanumeric).take(32).collect();
        let mut children = Children { children: Vec::new(), addresses: Vec::new(), key };
        for number in 1..=count {
            let child = Command::new(program)
                .args(WORKER_ARGUMENTS)
                .args(["--listen", "127.0.0.1:0", "--until-input-ends"])
                .args(["--name", &format!("process-{number}"), "--loops", &loops.to_string()])
                .env(KEY_VARIABLE, &children.key)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .map_err(Error::system(format!("starting {}", program.display())))?;
            children.children.push(child);
        }
        for number in 0..children.children.len() {
            let address = announced(&mut children.children[number])?;
            children.addresses.push(address);
        }
        Ok(children)
    }

    /// Where they listen.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// What they ask for.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Their process ids.
    pub fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Their input ends: they leave. A process that does not leave in time is ended.
            drop(child.stdin.take());
        }
        for child in &mut self.children {
            end_within(child, Duration::from_secs(3));
        }
    }
}

/// The first line of a process: where it listens.
pub(super) fn announced(child: &mut Child) -> Result<String, Error> {
    let id = child.id();
    let silent = |what: &str| Error::Worker(format!("process {id}: {what}"));
    let out = child.stdout.take().ok_or_else(|| silent("its output is taken already"))?;
    let (sender, first) = mpsc::channel();
    // A reader of its own: a process that prints nothing keeps nobody waiting for ever, and its
    // pipe stays open.
    std::thread::Builder::new()
        .name("load-child".to_owned())
        .spawn(move || {
            let mut lines = BufReader::new(out).lines();
            let _ = sender.send(lines.next().and_then(Result::ok));
            lines.for_each(drop);
        })
        .map_err(Error::system("starting a thread"))?;
    match first.recv_timeout(START_WITHIN) {
        Ok(Some(line)) => read_announcement(&line)
            .map(str::to_owned)
            .ok_or_else(|| silent(&format!("it printed {line:?} and not where it listens"))),
        Ok(None) => Err(silent("it ended before it listened")),
        Err(_) => Err(silent(&format!("it did not listen within {} s", START_WITHIN.as_secs()))),
    }
}

/// Waits for a process's end, and makes it where it does not come.
pub(super) fn end_within(child: &mut Child, within: Duration) {
    let until = std::time::Instant::now() + within;
    while std::time::Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5)); // A process that ends wakes nobody who waits with a deadline.
    }
    let _ = child.kill();
    let _ = child.wait();
}
