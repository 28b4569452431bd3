//! This product: the built binary, started on a data directory of its own, with an administrator's key to show in each call.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Service, Start};
use crate::machine;
use crate::process::Cores;
use crate::server::free_address;

/// Where a server writes the key of its administrator.
const KEY_FILE: &str = "admin.key";

/// A running server.
pub(crate) struct Stadium {
    service: Service,
    program: PathBuf,
    cores: Cores,
    /// Settings, `NAME=VALUE`.
    settings: Vec<String>,
    http: SocketAddr,
    /// Where devices connect, if they may.
    mqtt: Option<SocketAddr>,
    key: String,
}

impl Stadium {
    /// Starts it anew, empty, with these settings.
    pub(crate) fn start(start: &Start<'_>, cores: Cores, settings: Vec<String>) -> Result<Self> {
        Self::start_at(start, cores, settings, None)
    }

    /// The same, with a door for devices: without credentials they may be whom they claim to be.
    pub(crate) fn start_for_devices(
        start: &Start<'_>,
        cores: Cores,
        mut settings: Vec<String>,
    ) -> Result<Self> {
        settings.push("auth.anonymous=without-credentials".to_owned());
        Self::start_at(start, cores, settings, Some(free_address()?))
    }

    fn start_at(
        start: &Start<'_>,
        cores: Cores,
        settings: Vec<String>,
        mqtt: Option<SocketAddr>,
    ) -> Result<Self> {
        let program = start.places.stadium();
        if !program.exists() {
            bail!("{} is missing: use `cargo xtask bench`", program.display());
        }
        let http = free_address()?;
        let service = start.service("stadium", |folder, port| {
            let rpc = SocketAddr::from(([127, 0, 0, 1], port));
            Ok(serve(&program, folder, cores, &settings, &Doors { rpc, http, mqtt }))
        })?;
        service.await_port()?;
        let file = service.folder().join("data").join(KEY_FILE);
        let key = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Self { service, program, cores, settings, http, mqtt, key: key.trim().to_owned() })
    }

    /// Its process; its address is that of RPC.
    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    /// Where it serves HTTP.
    pub(crate) fn http(&self) -> SocketAddr {
        self.http
    }

    /// Where devices connect.
    pub(crate) fn mqtt(&self) -> Result<SocketAddr> {
        self.mqtt.context("this server was started without a door for devices")
    }

    /// The administrator's key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.service.pid()
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.service.folder().join("data")
    }

    /// Bytes of disk that it takes.
    pub(crate) fn disk_bytes(&self) -> u64 {
        machine::folder_bytes(self.service.folder())
    }

    /// Ends it by SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.service.kill();
    }

    /// Ends it by SIGKILL, if it still runs, and starts it again on what it left; does not wait for anything.
    pub(crate) fn kill_and_start(&mut self) -> Result<()> {
        let (folder, address) = (self.service.folder().to_path_buf(), self.service.address());
        let doors = Doors { rpc: address, http: self.http, mqtt: self.mqtt };
        let mut command = serve(&self.program, &folder, self.cores, &self.settings, &doors);
        self.service.restart(&mut command)
    }
}

/// Where it listens.
struct Doors {
    rpc: SocketAddr,
    http: SocketAddr,
    mqtt: Option<SocketAddr>,
}

fn serve(program: &Path, folder: &Path, cores: Cores, settings: &[String], doors: &Doors) -> Command {
    let mut command = cores.command(program);
    let mqtt = doors.mqtt.map_or_else(|| "off".to_owned(), |address| address.to_string());
    command.current_dir(folder).args(["serve", "--mqtt", &mqtt, "--log", "warn"]);
    command.args(["--rpc", &doors.rpc.to_string(), "--http", &doors.http.to_string(), "--data"]);
    command.arg(folder.join("data"));
    for setting in settings {
        command.arg("--set").arg(setting);
    }
    command
}
