//! Programs of the RPC and stream rows: servers that print where they listen, clients that take one
//! cell after the other.
//!
//! Every peer's programs take the same arguments (bench/README.md), so that starting one is the same for all. Java programs are
//! kept through a round, because a new virtual machine is slow until its code is compiled.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process::{Cores, Owned, lines};
use crate::server::{Places, free_address};

/// Time for a server to listen: a virtual machine on one core may need some of it.
const LISTEN_MAX: Duration = Duration::from_secs(30);

/// A server of a peer, or of the product; ends when dropped.
pub(crate) struct Listening {
    process: Owned,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Listening {
    /// Starts `command` with `--listen ADDRESS` and waits until it prints `listening`; its stderr goes to `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let address = free_address()?;
        command.args(["--listen", &address.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(log)?);
        let mut process = Owned::start(command)?;
        let lines = lines(&mut process)?;
        let until = Instant::now() + LISTEN_MAX;
        while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if line.starts_with("listening") {
                return Ok(Self { process, address });
            }
        }
        bail!("no server at {address}: {}", fs::read_to_string(log).unwrap_or_default().trim())
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }
}

/// A client that takes cells from its stdin, one a line, and answers each with one line of JSON.
pub(crate) struct Series {
    process: Owned,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Series {
    /// Starts `command` with `--series`; its stderr goes to `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        command.arg("--series").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(fs::File::create(log)?);
        let mut process = Owned::start(command)?;
        let lines = lines(&mut process)?;
        let stdin = process.take_stdin().context("stdin is piped")?;
        Ok(Self { process, stdin, lines })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Runs one cell.
    pub(crate) fn ask(&mut self, arguments: &[String], deadline: Duration) -> Result<Value> {
        writeln!(self.stdin, "{}", arguments.join(" ")).context("the client has ended")?;
        let line = self.lines.recv_timeout(deadline).context("the client gave no result")?;
        serde_json::from_str(&line).with_context(|| format!("not a result: {line}"))
    }
}

/// A program of the Java peers with so much heap.
pub(crate) fn java(cores: Cores, places: &Places, heap: &str, program: &str) -> Command {
    let mut command = java_on(cores, heap, &places.java_class_path());
    command.args(["stadium.peers.Main", program]);
    command
}

/// A virtual machine with this class path, still without a class to run. One collector thread, because it has one core; no leak
/// detector and no bounds checks in Netty.
pub(crate) fn java_on(cores: Cores, heap: &str, class_path: &str) -> Command {
    let mut command = cores.command(Path::new("java"));
    command.arg("-Xms1g").arg(format!("-Xmx{heap}")).args(["-XX:+UseParallelGC", "-XX:-UsePerfData"]);
    for netty in ["io.netty", "io.grpc.netty.shaded.io.netty"] {
        command.arg(format!("-D{netty}.leakDetection.level=disabled"));
        command.arg(format!("-D{netty}.buffer.checkAccessible=false"));
        command.arg(format!("-D{netty}.buffer.checkBounds=false"));
    }
    command.args(["-cp", class_path]);
    command
}
