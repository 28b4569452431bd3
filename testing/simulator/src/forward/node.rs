//! The parts of the world: starts of nodes, their shards, and requests between them.
//!
//! Each start of a node has a table of commands of its own, and the cores that it serves.

use std::collections::BTreeMap;
use std::sync::Arc;

use stadium_forward::{Asks, Commands, Owners};
use stadium_journal::{Checkpoints, Error, Holder, JournalId, MemoryLog, MemoryStore, Opening};
use stadium_links::NodeName;
use stadium_membership::{Entry, Incarnation, Node as About, Shard, Stored, Versions, View};
use stadium_queue::{Place, Queues};
use stadium_shard::core::{Caller, CheckpointWriting, Core, CoreSettings, Store};

use super::plan::Plan;

/// The caller of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A client of the same node, by the number of its command.
    Client(u64),
    /// Another node, by the place of the request.
    Request(usize),
    /// The table of commands of the same node, by the command's id there.
    Own(u64),
}

impl Caller for Who {
    fn id(&self) -> u64 {
        match *self {
            Who::Client(number) => number * 3,
            Who::Request(place) => place as u64 * 3 + 1,
            Who::Own(id) => id * 3 + 2,
        }
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn comes_back(&self) -> bool {
        matches!(self, Who::Client(_))
    }
}

/// The caller of the table of commands: the number of a client's command.
#[derive(Debug)]
pub struct Client(pub u64);

impl Asks for Client {
    fn id(&self) -> u64 {
        self.0
    }

    fn is_gone(&self) -> bool {
        false
    }
}

/// The place of a shard's log, as an owner opens it: the one before is fenced.
pub struct Claiming(MemoryStore);

impl Store for Claiming {
    type Journal = MemoryLog;

    fn open(&mut self, opening: Opening) -> Result<MemoryLog, Error> {
        self.0.open(Opening { holder: Holder::Fence, ..opening })
    }

    fn checkpoints(&mut self, _: Option<JournalId>) -> Result<Box<dyn Checkpoints>, Error> {
        Ok(self.0.checkpoints())
    }
}

/// A shard that a node serves, or served and does not know better.
pub struct Served {
    pub core: Core<Claiming, Who, Queues>,
    /// When it had its last turn, in milliseconds.
    pub turned_ms: u64,
    /// It takes no more commands: it hands over.
    pub hands_over: bool,
}

impl Served {
    /// Claims a shard's log, and serves it.
    pub fn claim(log: &MemoryStore, shard: u16, shards: u16) -> Result<Self, String> {
        let place = Place { shard, shards, hash_seed: 7 };
        let settings =
            CoreSettings { checkpoint_writer: CheckpointWriting::InTurn, ..CoreSettings::for_shard(place) };
        let core = Core::open(Claiming(log.clone()), settings, stadium_queue::Time(0), &mut |_| ());
        let core = core.map_err(|error| format!("shard {shard} cannot be claimed: {error}"))?;
        Ok(Self { core, turned_ms: 0, hands_over: false })
    }
}

/// A start of a node.
pub struct Start {
    /// The node's number.
    pub node: usize,
    pub is_alive: bool,
    pub commands: Commands<Client>,
    pub owners: Owners,
    pub shards: BTreeMap<u16, Served>,
    /// Commands that its shards have.
    pub held: Vec<Who>,
}

impl Start {
    pub fn new(plan: &Plan, node: usize, random: u64) -> Self {
        Self {
            node,
            is_alive: true,
            commands: Commands::new(plan.bounds, random),
            owners: Owners::new(name(node), plan.shards),
            shards: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    /// Whether commands for a shard are taken here.
    pub fn serves(&self, shard: u16) -> bool {
        self.shards.get(&shard).is_some_and(|served| !served.hands_over)
    }
}

/// A request between two starts of nodes, and its answer.
pub struct Flight {
    pub from: usize,
    pub to: usize,
    /// The command's id at the start that asked.
    pub id: u64,
    pub body: Vec<u8>,
    pub deadline_ms: u64,
    /// It has arrived.
    pub is_taken: bool,
    /// The answer, on its way.
    pub answer: Option<Vec<u8>>,
    /// Its asker has heard of it: of an answer, or of none.
    pub is_over: bool,
    /// It never arrives any more.
    pub is_lost: bool,
}

/// The owner of a shard.
#[derive(Debug, Clone, Copy)]
pub struct Owned {
    pub by: usize,
    pub generation: u64,
}

/// The name of a node.
pub fn name(node: usize) -> NodeName {
    NodeName::new(&format!("node-{node}")).expect("letters, a hyphen and a digit")
}

/// The number of a node.
pub fn number(name: &NodeName) -> Option<usize> {
    name.as_str().strip_prefix("node-")?.parse().ok()
}

/// The view of a cluster with these nodes alive and these owners.
pub fn view(alive: &[usize], owned: &[Owned]) -> View {
    let mut view = View::default();
    let key = |node: usize| name(node).as_str().parse().expect("a good name");
    for &node in alive {
        let versions = Versions { program: "simulated".to_owned(), level_min: 1, level_max: 1 };
        let about = About { incarnation: Incarnation(1), ..About::new(BTreeMap::new(), None, versions) };
        view.nodes.insert(key(node), Stored { revision: 1, value: Arc::new(about) });
    }
    for (shard, owned) in (0..).zip(owned) {
        let entry = Entry { generation: owned.generation, ..Entry::new(vec![key(owned.by)]) };
        view.map.insert(Shard(shard), Stored { revision: 1, value: Arc::new(entry) });
    }
    view
}
