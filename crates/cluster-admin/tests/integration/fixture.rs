//! Clusters: an etcd of their own, brokers that all tests share, and nodes in this process.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use stadium_cluster::{ArchiveSettings, ClusterNode, NodeSettings};
use stadium_cluster_admin::{Admin, ClusterFacts, InitReport, Settings};
use stadium_journal::Options;
use stadium_journal_kafka::{Client, Replication, Settings as KafkaSettings, open};
use stadium_journal_log::Topic;
use stadium_journal_replicated::memory::MemoryTopic;
use stadium_membership::{Cluster, Node as About, NodeName, Settings as PlannerSettings, Versions};
use stadium_membership_etcd::{Access, Config};
use stadium_shard::Shards;
use stadium_testing::etcd;
use stadium_testing::kafka::{Kafka, Listener};

static BROKERS: LazyLock<Kafka> = LazyLock::new(|| Kafka::start(3).expect("three brokers start"));

/// The way to a cluster at this etcd and the shared brokers.
pub fn settings(name: &str, etcd: &etcd::Cluster) -> Settings {
    Settings {
        cluster: name.to_owned(),
        etcd: Access { endpoints: etcd.endpoints(), user: None, tls: None },
        kafka: KafkaSettings::new(BROKERS.bootstrap(Listener::Plain), name),
        replication: Replication::Three,
        standbys: 1,
    }
}

pub fn admin(settings: &Settings) -> Admin {
    Admin::new(settings.clone()).expect("good settings")
}

pub fn node(name: &str) -> NodeName {
    name.parse().expect("a good name")
}

/// Nodes of a cluster that was made. Their names are also their zones.
pub struct Nodes {
    settings: Settings,
    cluster: Cluster,
    topic: Arc<dyn Topic>,
    store: Option<PathBuf>,
    running: BTreeMap<&'static str, Running>,
}

/// It ends in this order: the node, its shards, their folder.
struct Running {
    node: Option<ClusterNode>,
    shards: Shards,
    _folder: tempfile::TempDir,
    _links: TcpListener,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.node.take());
        // They write to the folder until they have ended.
        self.shards.stop(Duration::from_secs(20));
    }
}

impl Nodes {
    pub fn of(settings: &Settings, made: &InitReport) -> Self {
        let topic = Arc::new(MemoryTopic::new(made.cluster.shards as usize));
        Self::with(settings, &made.cluster, topic, None)
    }

    /// Nodes whose logs are in Kafka, and that store what they own.
    pub fn storing(settings: &Settings, facts: &ClusterFacts, store: &Path) -> Self {
        let topic = open(Client::ALL[0], &settings.kafka, facts.shards).expect("good settings");
        Self::with(settings, facts, topic, Some(store.to_owned()))
    }

    fn with(
        settings: &Settings,
        facts: &ClusterFacts,
        topic: Arc<dyn Topic>,
        store: Option<PathBuf>,
    ) -> Self {
        let (id, formats, feature_level) = (facts.id, facts.formats, facts.feature_level);
        let cluster = Cluster { id, shards: facts.shards, formats, feature_level };
        Self { settings: settings.clone(), cluster, topic, store, running: BTreeMap::new() }
    }

    /// Starts a node without data.
    pub fn start(&mut self, name: &'static str) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mirror = Options {
            segment_bytes: 1 << 20,
            reserve_bytes: 256 << 10,
            record_bytes_max: 256 << 10,
            waiting_bytes_max: 512 << 10,
            tail_bytes: 1 << 20,
            ..Options::default()
        };
        let count = u16::try_from(self.cluster.shards).expect("few shards");
        let mut shards = stadium_shard::Settings::in_directory(folder.path().join("data"), count);
        shards.journal = mirror.clone();
        let shards = Shards::open_none(shards).expect("threads");
        let links = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = links.local_addr().expect("it is bound").to_string();
        let about = About::new(
            BTreeMap::from([("links".to_owned(), address)]),
            Some(format!("zone-{name}")),
            Versions { program: "test".to_owned(), level_min: 1, level_max: 1 },
        );
        let membership = Config {
            etcd: self.settings.etcd.clone(),
            cluster: self.settings.cluster.clone(),
            expected: Some(self.cluster.clone()),
            node: node(name),
            about,
            planner: PlannerSettings { settle: Duration::from_secs(1), ..PlannerSettings::default() },
        };
        let archive =
            self.store.as_ref().map(|store| ArchiveSettings::new(format!("file://{}", store.display())));
        let folder_of_node = folder.path().to_owned();
        let settings = NodeSettings { membership, folder: folder_of_node, mirror, archive, links: None };
        let started = ClusterNode::start(settings, &shards, Arc::clone(&self.topic)).expect("a node");
        let running = Running { node: Some(started), shards, _folder: folder, _links: links };
        self.running.insert(name, running);
    }

    /// The shards of a node.
    pub fn shards(&self, name: &str) -> &Shards {
        &self.running[name].shards
    }

    /// Ends a node. It gives its lease back.
    pub fn stop(&mut self, name: &str) {
        self.running.remove(name).expect("a node that runs");
    }
}
