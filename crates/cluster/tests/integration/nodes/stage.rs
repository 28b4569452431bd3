//! A cluster of nodes that are processes: real brokers, which all tests share, and an etcd of its own.
//! All of its nodes use one object store, a folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use stadium_journal_kafka::{Replication, Settings, make_or_check};
use stadium_membership::{Change, Cluster, ClusterId, Formats, NodeName, Shard, View};
use stadium_membership_etcd::{Access, create};
use stadium_state_machine::home;
use stadium_testing::kafka::{Kafka, Listener};
use stadium_testing::{deadline, etcd};

use super::process::NodeProcess;

/// Shards of each cluster.
pub const SHARDS: u16 = 6;

/// How long to wait for what should come soon; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a node may take to say what it serves.
const SAYS_WITHIN: Duration = Duration::from_millis(500);

static BROKERS: LazyLock<Kafka> = LazyLock::new(|| Kafka::start(3).expect("three brokers start"));

/// A cluster.
pub struct Stage {
    etcd: etcd::Cluster,
    name: String,
    folder: tempfile::TempDir,
    nodes: Mutex<BTreeMap<&'static str, Arc<NodeProcess>>>,
    /// A queue for each shard.
    pub queues: Vec<String>,
}

impl Stage {
    /// A cluster without nodes, whose etcd has so many members.
    pub fn start(name: &str, members: usize) -> Self {
        let etcd = etcd::Cluster::start(members);
        let kafka = Settings::new(BROKERS.bootstrap(Listener::Plain), name);
        let checked = make_or_check(&kafka, SHARDS.into(), Replication::Three).expect("a topic");
        assert!(checked.is_made, "a topic of this name was there");
        let access = Access { endpoints: etcd.endpoints(), user: None, tls: None };
        let formats = Formats { log: 1, checkpoint: 1 };
        let cluster = Cluster { id: ClusterId(7), shards: SHARDS.into(), formats, feature_level: 1 };
        create(access, name, &cluster).expect("a cluster");
        let queue_of = |shard| {
            let names = (0..).map(|number| format!("queue-{number}"));
            names.into_iter().find(|name| home(name.as_bytes(), SHARDS) == shard).expect("one of many")
        };
        Self {
            etcd,
            name: name.to_owned(),
            folder: tempfile::tempdir().expect("a temporary folder"),
            nodes: Mutex::default(),
            queues: (0..SHARDS).map(queue_of).collect(),
        }
    }

    /// A cluster of the nodes `a`, `b` and `c`, in which each shard has an owner and a standby.
    pub fn of_three(name: &str, members: usize) -> Self {
        let stage = Self::start(name, members);
        ["a", "b", "c"].into_iter().for_each(|node| stage.add(node));
        stage.until_settled();
        stage
    }

    /// Starts a node, with the data that it has.
    pub fn add(&self, name: &'static str) {
        let arguments = [
            name.to_owned(),
            self.etcd.endpoints().join(","),
            BROKERS.bootstrap(Listener::Plain).join(","),
            self.folder_of(name).display().to_string(),
            self.name.clone(),
            SHARDS.to_string(),
            format!("file://{}", self.folder.path().join("store").display()),
        ];
        let node = Arc::new(NodeProcess::start(&arguments));
        self.nodes.lock().expect("nobody panics with it").insert(name, node);
    }

    /// The folder of a node.
    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Takes a node out of those that are asked.
    pub fn remove(&self, name: &str) -> Arc<NodeProcess> {
        self.nodes.lock().expect("nobody panics with it").remove(name).expect("a node that runs")
    }

    pub fn node(&self, name: &str) -> Arc<NodeProcess> {
        Arc::clone(&self.nodes.lock().expect("nobody panics with it")[name])
    }

    /// The nodes that run, in the order of their names.
    pub fn nodes(&self) -> Vec<Arc<NodeProcess>> {
        self.nodes.lock().expect("nobody panics with it").values().cloned().collect()
    }

    /// What etcd says of map and nodes, by a reader that shares no code with the nodes' own.
    pub fn view(&self) -> View {
        let mut view = View::default();
        let shards = (0..SHARDS).map(|shard| format!("map/{shard}"));
        for key in shards.chain(["a", "b", "c"].map(|node| format!("nodes/{node}"))) {
            if let Some(found) = self.etcd.key(&format!("/stadium/{}/{key}", self.name)) {
                let change = Change::read(&key, Some(found.value.as_bytes())).expect("it can be read");
                view.apply(1, change.expect("a key that is known"));
            }
        }
        view
    }

    /// Shards that the node says it serves; none where it says nothing.
    pub fn served_by(&self, name: &str) -> Option<String> {
        let answer = self.node(name).ask("serves", SAYS_WITHIN)?;
        Some(answer.split(' ').nth(1)?.to_owned())
    }

    /// Waits until each shard has its owner recorded, and a standby in step on another node.
    pub fn until_settled(&self) {
        let is_settled = |view: &View, shard| {
            view.entry(shard).is_some_and(|entry| {
                let owner = &entry.replicas[0];
                entry.replicas.len() == 2
                    && entry.successor.is_none()
                    && view.node(owner).is_some_and(|node| entry.is_recorded(owner, node.incarnation))
                    && entry.replicas.iter().all(|one| view.is_in_step(one, shard))
            })
        };
        self.until("each shard has an owner and a standby", |view| {
            (0..u32::from(SHARDS)).all(|shard| is_settled(view, Shard(shard)))
        });
    }

    /// Waits until the view is like that.
    pub fn until(&self, what: &str, mut holds: impl FnMut(&View) -> bool) {
        let waited = deadline::until_true(PATIENCE, what, || Ok(holds(&self.view())));
        waited.unwrap_or_else(|why| panic!("{why:#}: {:#?}", self.view()));
    }

    /// Shards of which the node has a standby.
    pub fn followed_by(&self, name: &str) -> Vec<Shard> {
        let name: NodeName = name.parse().expect("a good name");
        let view = self.view();
        let follows = |replicas: &[NodeName]| replicas[1..].contains(&name);
        view.map.iter().filter(|(_, entry)| follows(&entry.value.replicas)).map(|(shard, _)| *shard).collect()
    }

    /// Shards whose recorded owner is the node.
    pub fn owned_by(&self, name: &str) -> Vec<Shard> {
        let name: NodeName = name.parse().expect("a good name");
        let view = self.view();
        view.map
            .iter()
            .filter(|(_, entry)| entry.value.replicas[0] == name && entry.value.recorded.is_some())
            .map(|(shard, _)| *shard)
            .collect()
    }
}
