//! A server with a data directory that outlives it: killed, started again, on the same ports.
//!
//! [`crate::server::Server`] is for suites whose data goes with the server. Here the directory is the suite's own.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::api::Api;
use crate::deadline::{PATIENCE, until};
use crate::ports;
use crate::process::{Process, Signal};
use crate::server::binary;

/// Times that a suite kills its server, unless `STADIUM_KILLS` sets another number. `cargo xtask
/// test --long` sets 100.
pub const KILLS: u32 = 20;

/// `STADIUM_KILLS`, or [`KILLS`].
pub fn kills() -> Result<u32> {
    let Ok(text) = std::env::var("STADIUM_KILLS") else { return Ok(KILLS) };
    text.parse().with_context(|| format!("STADIUM_KILLS is a number, not {text}"))
}

/// Where a server's data is, and where it listens.
#[derive(Debug)]
pub struct Killable {
    data: PathBuf,
    settings: PathBuf,
    log: PathBuf,
    http: SocketAddr,
    /// Where devices connect.
    pub mqtt: SocketAddr,
    /// Event loops from the next start on; 1 at first.
    pub loops: u16,
    child: Option<Child>,
}

impl Killable {
    /// A server that is not started. `place` holds its settings and log, `data` its data.
    pub fn new(place: &Path, data: &Path, settings: &str) -> Result<Self> {
        let file = place.join("stadium.toml");
        std::fs::write(&file, settings)?;
        let (http, mqtt) = (ports::free()?, ports::free()?);
        Ok(Self {
            data: data.into(),
            settings: file,
            log: place.join("log"),
            http,
            mqtt,
            loops: 1,
            child: None,
        })
    }

    /// Starts it and waits until it is ready.
    pub fn start(&mut self) -> Result<()> {
        self.spawn()?;
        self.wait_until_ready()
    }

    /// Starts it, and does not wait.
    pub fn spawn(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(binary()?);
        command.arg("serve").arg("--trial").arg("--config").arg(&self.settings);
        command.arg("--data").arg(&self.data).arg("--http").arg(self.http.to_string());
        command.arg("--mqtt").arg(self.mqtt.to_string());
        command.args(["--rpc", "127.0.0.1:0", "--loops"]).arg(self.loops.to_string());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn().context("cannot start the server")?);
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let api = self.api();
        let child = self.child.as_mut().context("it was just started")?;
        let ready = until(PATIENCE, "the server to be ready", || {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(Err(status)));
            }
            Ok((api.plain("/readyz")?.0 == 200).then_some(Ok(())))
        });
        match ready.with_context(|| self.log())? {
            Ok(()) => Ok(()),
            Err(status) => bail!("the server ended with {status}:\n{}", self.log()),
        }
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Asks it to stop with SIGTERM, and waits until it has.
    pub fn terminate(&mut self, within: Duration) -> Result<ExitStatus> {
        let mut child = self.child.take().context("it does not run")?;
        Process(child.id()).signal(Signal::TERM)?;
        until(within, "the server to exit", || Ok(child.try_wait()?))
    }

    /// The HTTP API, with the admin key.
    pub fn api(&self) -> Api {
        Api::new(self.http, self.admin_key(), None)
    }

    /// The file with the admin key; in a cluster, one node alone has it.
    pub fn admin_key(&self) -> PathBuf {
        self.data.join("admin.key")
    }

    /// The end of what it wrote to standard output and error.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}", self.log());
        }
        // It may have ended already; there is nothing to do then.
        let _ = self.kill();
    }
}
