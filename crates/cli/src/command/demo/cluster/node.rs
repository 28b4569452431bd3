//! A node of the demo: a child process `stadium serve`, with settings of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use stadium_cluster_admin::ShardReport;
use stadium_local_services::Tied;

use crate::api::Api;
use crate::failure::{Context, Failure};

/// A node's process, from its start on.
#[derive(Debug)]
pub(super) struct Process {
    name: String,
    data: PathBuf,
    process: Tied,
}

/// A node that is ready.
#[derive(Debug)]
pub(super) struct Node {
    /// Its name in the cluster.
    pub(super) name: String,
    /// Where devices connect.
    pub(super) mqtt: SocketAddr,
    /// Its HTTP API.
    pub(super) api: Arc<Api>,
    process: Option<Process>,
}

/// How to ask a node.
#[derive(Debug)]
pub(super) struct Gate {
    /// Its name.
    pub(super) name: String,
    /// Its HTTP API.
    pub(super) api: Arc<Api>,
}

impl Process {
    /// Starts `stadium serve` with these settings, whose `server.data` is `folder/data`. `doomed` goes if the demo
    /// is killed.
    pub(super) fn start(name: &str, settings: &str, folder: &Path, doomed: &Path) -> Result<Self, Failure> {
        let file = folder.join("stadium.toml");
        std::fs::write(&file, settings).context(file.display())?;
        let program = std::env::current_exe().context("the program of a node cannot be found")?;
        let mut command = Command::new(program);
        command.args(["serve", "--config"]).arg(&file);
        // A setting of the caller's environment would win over the file.
        for (variable, _) in std::env::vars_os() {
            if variable.as_encoded_bytes().starts_with(b"STADIUM_") {
                command.env_remove(variable);
            }
        }
        let process = Tied::start(&command, &folder.join("log"), doomed).context(name)?;
        Ok(Self { name: name.to_owned(), data: folder.join("data"), process })
    }

    /// The administrator's key of the cluster, if this is the node that made it.
    pub(super) fn admin_key(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.data.join("admin.key")).ok()?;
        Some(text.trim().to_owned())
    }

    /// The node, once it is ready; a process that ended fails, with the end of its log. `key` is the
    /// administrator's.
    pub(super) fn look(&self, key: &str) -> Result<Option<(SocketAddr, Api)>, Failure> {
        if self.process.has_ended() {
            return Err(Failure::new(format!("{} ended:\n{}", self.name, self.process.log())));
        }
        let Some(running) = stadium_node::running::read(&self.data) else { return Ok(None) };
        let mqtt = running.listeners.iter().find(|listener| listener.name == "mqtt");
        let (Some(mqtt), Some(url)) = (mqtt, running.http_url) else { return Ok(None) };
        let api = Api::local(url, key.to_owned());
        let is_ready = api.probe("/readyz").is_ok_and(|(status, _)| status == 200);
        // Another node may have made the key just now: each hears of it through etcd.
        let is_ready = is_ready && api.get("/api/cluster").is_ok();
        Ok(is_ready.then_some((mqtt.address, api)))
    }

    /// Its name, and the end of its log.
    pub(super) fn log(&self) -> String {
        format!("{}:\n{}", self.name, self.process.log())
    }

    /// The node that [`Process::look`] found.
    pub(super) fn ready(self, (mqtt, api): (SocketAddr, Api)) -> Node {
        Node { name: self.name.clone(), mqtt, api: Arc::new(api), process: Some(self) }
    }
}

impl Node {
    /// Its name and API, for another thread.
    pub(super) fn gate(&self) -> Gate {
        Gate { name: self.name.clone(), api: Arc::clone(&self.api) }
    }

    /// Kills it with SIGKILL.
    pub(super) fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.process.kill();
        }
    }

    /// Whether it owns a shard.
    pub(super) fn owns(&self, shard: &ShardReport) -> bool {
        shard.owner.as_ref().is_some_and(|owner| owner.to_string() == self.name)
    }

    /// Whether it was not killed.
    pub(super) fn lives(&self) -> bool {
        self.process.is_some()
    }

    /// Fails if it ended without being killed, with the end of its log.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.process {
            Some(process) if process.process.has_ended() => {
                Err(Failure::new(format!("a node ended by itself; {}", process.log())))
            }
            _ => Ok(()),
        }
    }
}
