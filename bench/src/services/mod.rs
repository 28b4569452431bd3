//! Server processes: each with a folder of its own on this disk and a port of the loopback, ended with its owner.
//!
//! Each is started anew, so that no run pays for an earlier one. Those that more than one bench
//! starts are here; a service that only one bench starts is with that bench.

#![allow(unsafe_code, reason = "signals")]

pub(crate) mod postgresql;
pub(crate) mod redis;
pub(crate) mod stadium;
pub(crate) mod version;

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::process::{Cores, Owned};
use crate::server::{Places, free_address};

/// Time for a server to accept.
const START_MAX: Duration = Duration::from_secs(60);
/// Time to end by itself where a server is asked to.
const STOP_MAX: Duration = Duration::from_secs(20);

/// Where and on which cores servers start.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) places: &'a Places,
    pub(crate) cores: Cores,
    /// The bench: servers' folders are in target/bench/BENCH.
    pub(crate) bench: &'static str,
}

impl Start<'_> {
    /// A program on these cores.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        self.cores.command(program.as_ref())
    }

    /// A new folder of `name`, removed with its [`Folder`].
    pub(crate) fn folder(&self, name: &str, port: u16) -> Result<Folder> {
        let path = self.places.target.join(format!("bench/{}/{name}-{port}", self.bench));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Folder(path))
    }

    /// Starts the process of `command`, given a new folder and a free port.
    pub(crate) fn service(
        &self,
        name: &'static str,
        command: impl FnOnce(&Path, u16) -> Result<Command>,
    ) -> Result<Service> {
        let address = free_address()?;
        let folder = self.folder(name, address.port())?;
        let command = command(&folder.0, address.port())?;
        Service::run(name, command, address, folder)
    }
}

/// A folder that ends with its owner.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running server.
pub(crate) struct Service {
    name: &'static str,
    // Ends before its folder goes.
    process: Owned,
    asks_first: bool,
    address: SocketAddr,
    folder: Folder,
}

impl Service {
    /// Starts it; its output goes to `log` in the folder.
    pub(crate) fn run(
        name: &'static str,
        mut command: Command,
        address: SocketAddr,
        folder: Folder,
    ) -> Result<Self> {
        let log = fs::File::create(folder.0.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = Owned::start(&mut command)?;
        Ok(Self { name, process, asks_first: false, address, folder })
    }

    /// Ends it by SIGQUIT instead of SIGKILL: for a server that has more than one process.
    pub(crate) fn ask_before_killing(mut self) -> Self {
        self.asks_first = true;
        self
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Ends it by SIGKILL; its folder stays.
    pub(crate) fn kill(&mut self) {
        self.process.stop();
    }

    /// Kills it and starts `command` in the same folder.
    pub(crate) fn restart(&mut self, command: &mut Command) -> Result<()> {
        self.process.stop();
        let log = fs::File::options().append(true).open(self.folder.0.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.process = Owned::start(command)?;
        Ok(())
    }

    /// Waits until it accepts connections.
    pub(crate) fn await_port(&self) -> Result<()> {
        let address = self.address;
        self.wait(|| TcpStream::connect(address).is_ok())
    }

    /// Waits until `is_ready`.
    pub(crate) fn wait(&self, mut is_ready: impl FnMut() -> bool) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_MAX {
            if is_ready() {
                return Ok(());
            }
            if !Path::new(&format!("/proc/{}/exe", self.pid())).exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not start: {}", self.name, self.log())
    }

    /// Adds the end of its log to a failure.
    pub(crate) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| anyhow!("{error:#} ({} logged last: {})", self.name, self.log()))
    }

    /// The end of its log.
    pub(crate) fn log(&self) -> String {
        let text = fs::read_to_string(self.folder.0.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("; ")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.asks_first {
            let asked = Instant::now();
            let pid = libc::pid_t::try_from(self.pid()).expect("a pid fits");
            // SAFETY: plain integer arguments; the process is our child and not yet waited for.
            unsafe { libc::kill(pid, libc::SIGQUIT) };
            while self.process.is_running() && asked.elapsed() < STOP_MAX {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.process.stop();
    }
}
