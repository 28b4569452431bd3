//! The parts of the world: instances of nodes, their dialers, and the connections between them.

use std::collections::VecDeque;
use std::sync::Arc;

use stadium_links::link::{
    Acceptor, Bounds, ClusterId, Credit, Dialer, Hello, Lane, Members, Outbox, Range, Timing, VERSIONS,
    Window, protocol,
};
use stadium_links::{Incarnation, NodeName, Reply};

use super::plan::Plan;

/// One start of a node.
pub struct Instance {
    /// The node's number.
    pub node: usize,
    /// Which of its starts.
    pub incarnation: u64,
    /// The process runs.
    pub is_alive: bool,
    /// The product's view of the others.
    pub members: Members,
    /// The checker's: the latest incarnation of each node that this instance was told or has met.
    pub known: Vec<u64>,
    /// One for each node; `None` for itself.
    pub dials: Vec<Option<Dial>>,
    /// The credit of all its links.
    pub window: Arc<Window>,
    /// Requests of others that it has not dealt with.
    pub held: Vec<Held>,
}

/// A dialer and its socket.
pub struct Dial {
    pub dialer: Dialer,
    pub outbox: Arc<Outbox>,
    /// The place of its connection.
    pub connection: Option<usize>,
}

/// A request that a receiver has.
pub struct Held {
    pub number: u64,
    pub connection: usize,
    pub reply: Reply,
}

/// A connection between two instances. The halves learn of each other's end one by one.
pub struct Connection {
    /// The instance that dialled, and the node that it wanted.
    pub from: usize,
    pub wanted: usize,
    /// The instance that was reached.
    pub to: usize,
    pub acceptor: Option<Acceptor>,
    pub is_dialled: bool,
    /// From the dialer to the acceptor.
    pub there: Pipe,
    /// Back.
    pub back: Pipe,
    /// The number of the last message that arrived.
    pub last: Option<u64>,
}

/// One direction of a connection.
#[derive(Default)]
pub struct Pipe {
    /// Written, and not arrived.
    pub on_its_way: VecDeque<u8>,
    /// Arrived, and not used by the reader.
    pub unused: Vec<u8>,
    /// Since when nothing arrives, in milliseconds.
    pub cut_ms: Option<u64>,
}

impl Pipe {
    /// Writes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.on_its_way.extend(bytes);
    }
}

/// The cluster of all runs.
const CLUSTER: ClusterId = ClusterId(0x11_4B);

/// The name of a node.
pub fn name(node: usize) -> NodeName {
    NodeName::new(&format!("node-{node}")).expect("letters, a hyphen and a digit")
}

/// The number of a node.
pub fn number(name: &NodeName) -> Option<usize> {
    name.as_str().strip_prefix("node-")?.parse().ok()
}

/// The times of all links.
pub fn timing(plan: &Plan) -> Timing {
    Timing { body_bytes_max: plan.body_bytes, ..Timing::default() }
}

impl Instance {
    /// A start of a node, which knows the incarnations `known` of all nodes.
    pub fn new(plan: &Plan, node: usize, incarnation: u64, known: &[u64], now_ms: u64) -> Self {
        let window = Arc::new(Window::new(plan.node_credit));
        let timing = timing(plan);
        let mut members = Members::default();
        let dials = (0..plan.nodes).map(|other| {
            if other == node {
                return None;
            }
            members.insert(name(other), Incarnation(known[other]));
            let link = Arc::new(Window::new(plan.credit[node]));
            let outbox = Arc::new(Outbox::new(&timing, Credit { link, node: Arc::clone(&window) }));
            let dialer = Dialer::new(name(other), timing, protocol(&timing), Arc::clone(&outbox), now_ms);
            Some(Dial { dialer, outbox, connection: None })
        });
        let dials = dials.collect();
        Self {
            node,
            incarnation,
            is_alive: true,
            members,
            known: known.to_vec(),
            dials,
            window,
            held: Vec::new(),
        }
    }

    /// Its introduction.
    pub fn hello(&self, credit: Bounds) -> Hello {
        Hello {
            cluster: CLUSTER,
            node: name(self.node),
            incarnation: Incarnation(self.incarnation),
            versions: VERSIONS,
            levels: Range { first: 1, last: 1 },
            lane: Lane::Data,
            loop_index: 0,
            credit,
        }
    }
}
