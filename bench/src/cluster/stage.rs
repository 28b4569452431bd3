//! A cluster of real servers, with its brokers and its etcd, on this machine.
//!
//! Where a shard is, and its moves, are read and asked for in etcd, as `stadium cluster` does.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use stadium_testing::api::Api;
use stadium_testing::certificates::Authority;
use stadium_testing::etcd;
use stadium_testing::kafka::{Kafka, Listener};

use crate::harness::{Caller, Lane};
use crate::machine;
use crate::queue::designs::{self, QUEUE, Spread};
use crate::queue::harness::{Endpoint, Manage, Queues, Request, Role};
use crate::server::free_address;
use crate::services::{Service, Start};

/// The name of the cluster.
const NAME: &str = "bench";

/// Brokers, each message on all of them.
const BROKERS: usize = 3;

/// Time for all shards to have an owner and a standby.
const READY_MAX: Duration = Duration::from_secs(120);

/// Time for the queue to be declared.
const DECLARE_MAX: Duration = Duration::from_secs(30);

/// Workers that share a connection.
const WORKERS_EACH: usize = 4;

/// A cluster. The nodes end first.
pub(super) struct Stage {
    nodes: Vec<Node>,
    /// The administrator's: one node makes it, for all.
    key: String,
    shards: usize,
    etcd: etcd::Cluster,
    _kafka: Kafka,
    _authority: Authority,
}

/// A server.
pub(super) struct Node {
    name: String,
    service: Service,
    http: SocketAddr,
}

impl Stage {
    /// Starts it anew, empty, and waits until each shard has an owner and a standby in step.
    pub(super) fn start(start: &Start<'_>, nodes: usize, shards: usize) -> Result<Self> {
        let (kafka, authority) = (Kafka::start(BROKERS)?, Authority::new()?);
        let etcd = etcd::Cluster::start(1);
        let cluster = json!({
            "id": "00c0ffee00c0ffee",
            "shards": shards,
            "formats": {"log": 1, "checkpoint": 1},
            "feature_level": 1,
        });
        etcd.put(&format!("/stadium/{NAME}/cluster"), &cluster.to_string());
        let brokers = kafka.bootstrap(Listener::Plain);
        let begin = |number: usize| -> Result<Node> {
            let name = format!("node-{number}");
            let http = free_address()?;
            let service = start.service("stadium", |folder, port| {
                let rpc = SocketAddr::from(([127, 0, 0, 1], port));
                let config = write_config(folder, &name, &etcd, &brokers, &authority)?;
                let mut command = start.cores.command(&start.places.stadium());
                command.current_dir(folder).args(["serve", "--mqtt", "off", "--log", "warn"]);
                command.args(["--rpc", &rpc.to_string(), "--http", &http.to_string(), "--config"]);
                command.arg(config).arg("--data").arg(folder.join("data"));
                Ok(command)
            })?;
            Ok(Node { name, service, http })
        };
        let nodes = (0..nodes).map(begin).collect::<Result<Vec<_>>>()?;
        let mut stage =
            Self { nodes, key: String::new(), shards, etcd, _kafka: kafka, _authority: authority };
        stage.until_ready()?;
        stage.key = stage.nodes.iter().find_map(Node::key).context("no node has a key")?;
        Ok(stage)
    }

    fn until_ready(&self) -> Result<()> {
        let begun = Instant::now();
        while !self.is_ready() {
            if begun.elapsed() > READY_MAX {
                let logs: Vec<_> = self.nodes.iter().map(|node| node.service.log()).collect();
                bail!("the cluster is not ready within {READY_MAX:?}: {}", logs.join("; "));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        let have_owners = self.nodes.iter().all(Node::is_ready);
        let owners: Vec<_> = (0..self.shards).filter_map(|shard| self.owner(shard)).collect();
        let fair = self.shards / self.nodes.len();
        let is_spread = |number| owners.iter().filter(|owner| **owner == number).count() >= fair;
        have_owners && owners.len() == self.shards && (0..self.nodes.len()).all(is_spread)
    }

    /// The shards of the cluster.
    pub(super) fn shards(&self) -> usize {
        self.shards
    }

    /// The node that is first in the map's entry of a shard, if it has a standby.
    pub(super) fn owner(&self, shard: usize) -> Option<usize> {
        self.replicas(shard)?.first().copied()
    }

    /// The nodes with a replica of a shard, its owner first.
    pub(super) fn replicas(&self, shard: usize) -> Option<Vec<usize>> {
        let entry = self.etcd.key(&format!("/stadium/{NAME}/map/{shard}"))?;
        let entry: serde_json::Value = serde_json::from_str(&entry.value).ok()?;
        let number = |name: &str| self.nodes.iter().position(|node| node.name == name);
        let names = entry["replicas"].as_array()?.iter().filter_map(|name| number(name.as_str()?));
        let replicas: Vec<usize> = names.collect();
        let is_whole = entry["successor"].is_null() && replicas.len() == self.nodes.len().min(2);
        is_whole.then_some(replicas)
    }

    /// Asks for a shard to be moved to another node.
    pub(super) fn ask_for_move(&self, shard: usize, to: usize) {
        let target = json!({ "to": self.nodes[to].name });
        self.etcd.put(&format!("/stadium/{NAME}/requests/move/{shard}"), &target.to_string());
    }

    /// Whether a move that was asked for is done.
    pub(super) fn is_moved(&self, shard: usize) -> bool {
        self.etcd.key(&format!("/stadium/{NAME}/requests/move/{shard}")).is_none()
    }

    /// Leaves shards where they are.
    pub(super) fn keep_in_place(&self) {
        self.etcd.put(&format!("/stadium/{NAME}/requests/balance-off"), "{}");
    }

    /// CPU time of all nodes so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        self.nodes.iter().map(|node| machine::cpu_time(node.service.pid())).sum()
    }

    /// The queue of the load as it is reached through one node; declared, if it is not yet.
    pub(super) fn through(&self, node: usize) -> Result<Through<'_>> {
        let through = Through { stage: self, nodes: vec![node], queues: vec![QUEUE.to_owned()] };
        through.declare()
    }

    /// So many queues, each through all nodes.
    pub(super) fn through_all(&self, queues: usize) -> Result<Through<'_>> {
        let queues = (0..queues).map(|number| format!("{QUEUE}-{number}")).collect();
        Through { stage: self, nodes: (0..self.nodes.len()).collect(), queues }.declare()
    }
}

impl Node {
    fn is_ready(&self) -> bool {
        let api = Api::new(self.http, self.key_file(), None);
        api.plain("/readyz").is_ok_and(|(status, _)| status == 200)
    }

    fn key_file(&self) -> PathBuf {
        self.service.folder().join("data/admin.key")
    }

    fn key(&self) -> Option<String> {
        Some(fs::read_to_string(self.key_file()).ok()?.trim().to_owned())
    }
}

fn write_config(
    folder: &Path,
    node: &str,
    etcd: &etcd::Cluster,
    brokers: &[String],
    authority: &Authority,
) -> Result<PathBuf> {
    let identity = authority.node(node)?;
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    let text = format!(
        "[cluster]\nname = {NAME:?}\nnode = {node:?}\n\
         [cluster.etcd]\nendpoints = {:?}\n\
         [cluster.kafka]\nbrokers = {brokers:?}\nreplication = {BROKERS}\n\
         [cluster.links]\nlisten = \"{}\"\ncertificate = {}\nkey = {}\nca = {}\n",
        etcd.endpoints(),
        free_address()?,
        quoted(&identity.certificate),
        quoted(&identity.key),
        quoted(&authority.file()),
    );
    let file = folder.join("stadium.toml");
    fs::write(&file, text)?;
    Ok(file)
}

/// Queues through some of the nodes. Each pair of queue and node has as many lanes as the others.
pub(super) struct Through<'a> {
    stage: &'a Stage,
    nodes: Vec<usize>,
    queues: Vec<String>,
}

impl Through<'_> {
    fn declare(self) -> Result<Self> {
        for queue in &self.queues {
            let lane = designs::lane_of_stadium(&self.stage.key, queue, Spread::One);
            let mut caller = Caller::connect(&self.addresses(0), lane)?;
            caller.ask(Request::Manage(Manage::Declare), DECLARE_MAX)?;
        }
        Ok(self)
    }

    fn queue(&self, lane: usize) -> &str {
        &self.queues[lane % self.queues.len()]
    }

    fn node(&self, lane: usize) -> usize {
        self.nodes[(lane + lane / self.queues.len()) % self.nodes.len()]
    }
}

impl Endpoint for Through<'_> {
    fn service(&self) -> &Service {
        &self.stage.nodes[self.nodes[0]].service
    }

    fn addresses(&self, lane: usize) -> Vec<SocketAddr> {
        vec![self.stage.nodes[self.node(lane)].service.address()]
    }

    fn workers_each(&self) -> usize {
        WORKERS_EACH
    }

    fn lane(&self, _role: Role, index: usize) -> Box<dyn Lane<Queues>> {
        designs::lane_of_stadium(&self.stage.key, self.queue(index), Spread::One)
    }
}
