//! What a seed decides before anything runs: nodes, credit, how often each thing happens.
//!
//! As with the shards, each seed leaves some faults out and has much of others.

use fastrand::Rng;
use stadium_links::Bounds;

/// What a run does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Steps: in each one thing happens.
    pub steps: u32,
    /// How often each thing happens.
    pub weights: Vec<(Kind, u32)>,
    /// The credit of each link, by the node that gives it.
    pub credit: Vec<Bounds>,
    /// The credit of each node over all its links.
    pub node_credit: Bounds,
    /// The longest body, in bytes.
    pub body_bytes: usize,
    /// Bytes that a socket takes before its writer has to wait.
    pub socket_bytes: usize,
    /// The longest deadline of a request, in milliseconds.
    pub deadline_ms: u64,
}

/// Something that happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A node asks another.
    Request,
    /// A node writes a letter.
    Letter,
    /// A loop takes what waits for a link.
    Flush,
    /// Bytes arrive at one end of a connection.
    Deliver,
    /// A receiver answers, refuses or gives up a request.
    Reply,
    /// Time passes.
    Time,
    /// A node dials another.
    Dial,
    /// An end of a connection learns that the other has closed it.
    Notice,
    /// One end of a connection closes it.
    Close,
    /// From now on nothing arrives in a direction of a connection, and nobody is notified.
    Cut,
    /// A node starts again. Its earlier incarnation may go on for a while.
    Restart,
    /// An earlier incarnation ends.
    Bury,
    /// The store tells a node the latest incarnation of another.
    Tell,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x4C49_4E4B);
        let body_bytes = rng.usize(10..2_000);
        let nodes = rng.usize(2..=3);
        let mut bounds = |messages| {
            let bytes = body_bytes as u64 + rng.u64(64..8_000);
            Bounds { messages: rng.u32(1..messages), bytes }
        };
        let credit = (0..nodes).map(|_| bounds(12)).collect();
        let node_credit = bounds(24);
        let mut sometimes = |most: u32| if rng.bool() { 0 } else { rng.u32(1..=most) };
        let weights = vec![
            (Kind::Request, 30),
            (Kind::Letter, sometimes(15)),
            (Kind::Flush, 30),
            (Kind::Deliver, 60),
            (Kind::Reply, 5 + sometimes(30)),
            (Kind::Time, 8),
            (Kind::Dial, 12),
            (Kind::Notice, 6),
            (Kind::Close, sometimes(3)),
            (Kind::Cut, sometimes(3)),
            (Kind::Restart, sometimes(3)),
            (Kind::Bury, 2),
            (Kind::Tell, 3),
        ];
        let socket_bytes = if rng.bool() { rng.usize(100..2_000) } else { 100_000 };
        let (steps, deadline_ms) = (rng.u32(300..1_500), rng.u64(200..6_000));
        Self { seed, nodes, steps, weights, credit, node_credit, body_bytes, socket_bytes, deadline_ms }
    }
}
