//! A cluster of nodes that are processes, each in a network namespace of its own. Three brokers and
//! three members of etcd are in the namespace between them, which can lose any node's packets.
//!
//! The thread that starts a stage moves into that namespace, and the stage's processes end with it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_journal_kafka::{Replication, Settings, make_or_check};
use stadium_membership::{Change, Cluster, ClusterId, Formats, NodeName, Shard, View};
use stadium_membership_etcd::{Access, create};
use stadium_state_machine::home;
use stadium_testing::certificates::Authority;
use stadium_testing::fleet::{Fleet, Loss};
use stadium_testing::kafka::{Kafka, Listener};
use stadium_testing::{deadline, etcd};

use crate::process::NodeProcess;

/// Shards of the cluster.
pub const SHARDS: u16 = 6;

/// The nodes' names.
pub const NODES: [&str; 3] = ["a", "b", "c"];

/// How long to wait for what should come soon; generous, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How long a node may take to say what it serves.
const SAYS_WITHIN: Duration = Duration::from_millis(500);

/// The cluster's name.
const CLUSTER: &str = "drills";

/// The folder of the object store, in that of the stage.
const STORE: &str = "store";

/// The nodes that run.
#[derive(Default)]
pub struct Nodes(Mutex<BTreeMap<&'static str, Arc<NodeProcess>>>);

impl Nodes {
    /// A node by its name.
    pub fn node(&self, name: &str) -> Arc<NodeProcess> {
        Arc::clone(&self.0.lock().expect("nobody panics with it")[name])
    }

    /// All, in the order of their names.
    pub fn all(&self) -> Vec<Arc<NodeProcess>> {
        self.0.lock().expect("nobody panics with it").values().cloned().collect()
    }

    /// Takes a node out of those that are asked.
    pub fn remove(&self, name: &str) -> Arc<NodeProcess> {
        self.0.lock().expect("nobody panics with it").remove(name).expect("a node that runs")
    }
}

/// What a node cannot reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Away {
    Etcd,
    Kafka,
    /// Those and the other nodes.
    Everything,
}

/// A cluster.
pub struct Stage {
    /// The first to be dropped: nodes end before what they work on.
    pub nodes: Arc<Nodes>,
    pub etcd: etcd::Cluster,
    pub kafka: Kafka,
    folder: tempfile::TempDir,
    authority: Authority,
    network: Fleet,
}

/// What a node says of a shard that it serves, and of its store.
#[derive(Clone, Copy, Debug)]
pub struct Archived {
    /// The position up to which this owner trimmed the log; 0 where it did not.
    pub trimmed: u64,
    /// Whether a checkpoint waits because the store failed.
    pub fails: bool,
}

impl Stage {
    /// A cluster of the nodes `a`, `b` and `c`, in which each shard has an owner and a standby.
    pub fn start() -> Self {
        Kafka::fetch().expect("Kafka's jars");
        let network = Fleet::new(NODES.len()).expect("namespaces; they need root, iproute2 and nftables");
        network.carrier.enter().expect("the namespace between the nodes");
        let kafka = Kafka::start_at(Fleet::CARRIER, 3).expect("three brokers start");
        let etcd = etcd::Cluster::start_at(Fleet::CARRIER, 3);
        let settings = Settings::new(kafka.bootstrap(Listener::Plain), CLUSTER);
        make_or_check(&settings, SHARDS.into(), Replication::Three).expect("a topic");
        let access = Access { endpoints: etcd.endpoints(), user: None, tls: None };
        let formats = Formats { log: 1, checkpoint: 1 };
        let cluster = Cluster { id: ClusterId(7), shards: SHARDS.into(), formats, feature_level: 1 };
        create(access, CLUSTER, &cluster).expect("a cluster");
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join(STORE)).expect("an empty folder");
        let authority = Authority::new().expect("an authority");
        let stage = Self { nodes: Arc::default(), etcd, kafka, folder, authority, network };
        NODES.into_iter().for_each(|node| stage.add(node));
        stage.until_settled();
        stage
    }

    /// Starts a node, with the data that it has.
    pub fn add(&self, name: &'static str) {
        let identity = self.authority.node(name).expect("a certificate");
        let file = |path: PathBuf| path.display().to_string();
        let arguments = [
            name.to_owned(),
            self.etcd.endpoints().join(","),
            self.kafka.bootstrap(Listener::Plain).join(","),
            file(self.folder_of(name)),
            CLUSTER.to_owned(),
            SHARDS.to_string(),
            self.network.address(place(name)).to_string(),
            file(identity.certificate),
            file(identity.key),
            file(self.authority.file()),
            format!("file://{}", file(self.folder.path().join(STORE))),
        ];
        let node = Arc::new(NodeProcess::start(&self.network.instances[place(name)], &arguments));
        self.nodes.0.lock().expect("nobody panics with it").insert(name, node);
    }

    /// The folder of a node.
    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file where the store's folder is: nothing can be stored there, not even by root.
    pub fn lose_store(&self) {
        let store = self.folder.path().join(STORE);
        std::fs::rename(&store, store.with_extension("away")).expect("a folder of ours");
        std::fs::write(&store, "away").expect("nothing is there");
    }

    /// The store is back, with what it had.
    pub fn bring_store_back(&self) {
        let store = self.folder.path().join(STORE);
        std::fs::remove_file(&store).expect("a file of ours");
        std::fs::rename(store.with_extension("away"), &store).expect("a folder of ours");
    }

    /// What the owners say of the store, by shard.
    pub fn archived(&self) -> BTreeMap<Shard, Archived> {
        let answers = self.nodes.all().into_iter().filter_map(|node| node.ask("archive", SAYS_WITHIN));
        let read = |word: &str| {
            let [shard, trimmed, fails] = word.split(':').collect::<Vec<_>>()[..] else { panic!("{word}") };
            let trimmed = trimmed.parse().expect("a position");
            (Shard(shard.parse().expect("a shard")), Archived { trimmed, fails: fails == "true" })
        };
        answers
            .flat_map(|answer| {
                answer.split(' ').skip(1).filter(|word| !word.is_empty()).map(read).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Shards of which the node has a replica.
    pub fn replicas_of(&self, name: &str) -> Vec<Shard> {
        let name: NodeName = name.parse().expect("a good name");
        let view = self.view();
        let map = view.map.iter().filter(|(_, entry)| entry.value.replicas.contains(&name));
        map.map(|(shard, _)| *shard).collect()
    }

    /// From now on all packets between the node and that are lost, and neither is told.
    pub fn keep_away(&self, name: &str, away: Away) {
        let port = |address: &String| address.parse::<SocketAddr>().expect("an address").port();
        let ports: Vec<u16> = match away {
            Away::Etcd => (0..self.etcd.count()).map(|member| self.etcd.address(member).port()).collect(),
            Away::Kafka => self.kafka.bootstrap(Listener::Plain).iter().map(port).collect(),
            Away::Everything => Vec::new(),
        };
        self.nodes.node(name).set_well(false);
        let instance = place(name);
        let loss = match away {
            Away::Everything => Loss::Everything { instance },
            Away::Etcd | Away::Kafka => Loss::Ports { instance, ports: &ports },
        };
        self.network.lose(loss).expect("nftables takes it");
    }

    /// All packets arrive again.
    pub fn heal(&self) {
        self.network.lose(Loss::None).expect("nftables takes it");
    }

    /// A queue of each shard, in their order, whose names begin with `name`.
    pub fn queues(&self, name: &str) -> Vec<String> {
        let queue_of = |shard| {
            let mut names = (0..).map(|number| format!("{name}-{number}"));
            names.find(|name| home(name.as_bytes(), SHARDS) == shard).expect("one of many")
        };
        (0..SHARDS).map(queue_of).collect()
    }

    /// What etcd says of map and nodes, by a reader that shares no code with the nodes' own.
    pub fn view(&self) -> View {
        let mut view = View::default();
        let shards = (0..SHARDS).map(|shard| format!("map/{shard}"));
        for key in shards.chain(NODES.map(|node| format!("nodes/{node}"))) {
            if let Some(found) = self.etcd.key(&format!("/stadium/{CLUSTER}/{key}")) {
                let change = Change::read(&key, Some(found.value.as_bytes())).expect("it can be read");
                view.apply(1, change.expect("a key that is known"));
            }
        }
        view
    }

    /// Shards that the node says it serves, and whether it is certain that no other node does; none
    /// where it says nothing.
    pub fn served_by(&self, name: &str) -> Option<(String, bool)> {
        let answer = self.nodes.node(name).ask("serves", SAYS_WITHIN)?;
        let mut words = answer.split(' ').skip(1);
        Some((words.next()?.to_owned(), words.next()? == "true"))
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

    /// Waits until each shard has another owner than this node.
    pub fn until_others_own(&self, name: &str) {
        self.until("the others own all shards", |view| {
            view.map
                .values()
                .all(|entry| entry.value.replicas[0].as_str() != name && entry.value.recorded.is_some())
        });
    }

    /// Waits until the view is like that.
    pub fn until(&self, what: &str, mut holds: impl FnMut(&View) -> bool) {
        let waited = deadline::until_true(PATIENCE, what, || Ok(holds(&self.view())));
        waited.unwrap_or_else(|why| panic!("{why:#}: {:#?}", self.view()));
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

/// The place of a node's namespace.
fn place(name: &str) -> usize {
    NODES.iter().position(|node| *node == name).expect("one of the three")
}
