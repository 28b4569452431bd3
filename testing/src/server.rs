//! The server under test: the built binary in a process of its own, with a data directory that goes with it.
//!
//! `STADIUM_BIN` names the binary; without it the development build is used, and built first when cargo runs the
//! suite. A server is ready when [`Server::start`] returns, and is killed when dropped. Its log is shown when the suite fails.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::api::Api;
use crate::deadline::{PATIENCE, until};
use crate::network::Namespace;
use crate::ports;
use crate::process::{Process, Signal};

/// Segments as small as they may be: a shard of a suite's server takes 9 MiB of disk at its start, not 80.
const SMALL_JOURNAL: [(&str, &str); 2] =
    [("STADIUM_JOURNAL__SEGMENT_BYTES", "9437184"), ("STADIUM_JOURNAL__RESERVE_BYTES", "262144")];

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Lines of `stadium.toml`.
    pub settings: String,
    /// Event loops; 0 takes two.
    pub loops: u16,
    /// Whom it serves.
    pub access: Access,
    /// Where it runs; without it, on loopback.
    pub namespace: Option<(Namespace, SocketAddr)>,
    /// Another address for MQTT over TLS.
    pub tls: Option<SocketAddr>,
}

/// Whether the server is in trial mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Trial mode: anonymous devices, every topic.
    #[default]
    Trial,
    /// The server's settings.
    Settings,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    data: TempDir,
    plan: Plan,
    /// MQTT over TCP.
    pub mqtt: SocketAddr,
    /// The HTTP port, with MQTT over WebSocket at `/mqtt`.
    pub http: SocketAddr,
}

impl Server {
    /// A trial server with two loops, so that messages between loops occur.
    pub fn trial() -> Result<Self> {
        Self::start(Plan::default())
    }

    /// A trial server with these settings.
    pub fn with(settings: &str) -> Result<Self> {
        Self::start(Plan { settings: settings.to_owned(), ..Plan::default() })
    }

    /// Starts a server and waits until it is ready.
    pub fn start(plan: Plan) -> Result<Self> {
        let binary = binary()?;
        let data = tempfile::tempdir().context("cannot make a data directory")?;
        let mqtt = match &plan.namespace {
            Some((_, address)) => *address,
            None => ports::free()?,
        };
        let http = ports::free()?;
        let configuration = data.path().join("stadium.toml");
        std::fs::write(&configuration, &plan.settings)?;
        let log = File::create(data.path().join("log"))?;

        let mut command = match &plan.namespace {
            Some((namespace, _)) => namespace.command(binary),
            None => Command::new(binary),
        };
        command.arg("serve").arg("--config").arg(&configuration);
        command.arg("--data").arg(data.path().join("data"));
        command.arg("--mqtt").arg(mqtt.to_string()).arg("--http").arg(http.to_string());
        command.arg("--rpc").arg("127.0.0.1:0");
        command.arg("--loops").arg(if plan.loops == 0 { 2 } else { plan.loops }.to_string());
        if let Some(tls) = plan.tls {
            command.arg("--mqtts").arg(tls.to_string());
        }
        if plan.access == Access::Trial {
            command.arg("--trial");
        }
        if !plan.settings.contains("[journal]") {
            command.envs(SMALL_JOURNAL);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;

        let mut server = Self { child, data, plan, mqtt, http };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let api = self.api();
        let child = &mut self.child;
        let mut ended = None;
        let ready = until(PATIENCE, "the server to be ready", || {
            if let Some(status) = child.try_wait()? {
                ended = Some(status);
                return Ok(Some(()));
            }
            Ok((api.plain("/readyz")?.0 == 200).then_some(()))
        });
        match (ended, ready) {
            (Some(status), _) => bail!("the server ended with {status}:\n{}", self.log()),
            (None, ready) => ready.with_context(|| self.log()),
        }
    }

    /// The process.
    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// Resident memory in bytes.
    pub fn resident_bytes(&self) -> Result<u64> {
        self.process().resident_bytes()
    }

    /// The HTTP API, with the admin key.
    pub fn api(&self) -> Api {
        let namespace = self.plan.namespace.as_ref().map(|(namespace, _)| namespace.clone());
        Api::new(self.http, self.data.path().join("data/admin.key"), namespace)
    }

    /// What it wrote to standard output and error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.path().join("log")).unwrap_or_default()
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.data.path().join("data")
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process().signal(signal)
    }

    /// Waits until the process has ended.
    pub fn ended(&mut self, within: Duration) -> Result<ExitStatus> {
        let child = &mut self.child;
        until(within, "the server to exit", || Ok(child.try_wait()?))
    }

    /// Requires that the process is alive and takes a new device: what every hostile suite ends with.
    pub fn must_still_serve(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the server ended with {status}:\n{}", self.log());
        }
        let mut device = crate::device::Device::clean(self.mqtt, crate::wire::Version::V5, "still-serves")
            .context("the server no longer takes devices")?;
        device.ping()?;
        let log = self.log();
        ensure!(!log.contains("panicked"), "a thread panicked:\n{log}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}", self.log());
        }
        // It may have ended already; there is nothing to do then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary under test.
pub fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = BINARY.get_or_init(|| find().map_err(|error| format!("{error:#}")));
    found.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
}

fn find() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("STADIUM_BIN") {
        let named = PathBuf::from(named);
        ensure!(named.is_file(), "STADIUM_BIN = {} is not there", named.display());
        return Ok(named);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("testing/ is in the workspace")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--package", "stadium-cli", "--features", "cluster"])
        .status()
        .context("cannot run cargo; name the binary in STADIUM_BIN")?;
    ensure!(built.success(), "`cargo build --package stadium-cli --features cluster` failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = target.join("debug/stadium");
    ensure!(binary.is_file(), "{} was not built", binary.display());
    Ok(binary)
}
