//! The plan that a seed makes before anything runs: nodes, shards, how often each thing happens.
//!
//! As with links, each seed leaves some faults out and has much of others.

use fastrand::Rng;
use stadium_forward::Bounds;

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Shards of the cluster.
    pub shards: u16,
    /// Steps: in each one thing happens.
    pub steps: u32,
    /// How often each thing happens.
    pub weights: Vec<(Kind, u32)>,
    /// Bounds of a node's commands.
    pub bounds: Bounds,
}

/// Something that happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A client puts a job.
    Put,
    /// A client looks at a queue.
    Peek,
    /// A client reserves a job, and may wait.
    Reserve,
    /// A client that waits for a job goes.
    Vanish,
    /// A shard takes a turn.
    Turn,
    /// A request or an answer arrives.
    Deliver,
    /// A link has no room for a while, or its receiver is busy.
    Busy,
    /// Time passes.
    Time,
    /// A node learns who owns the shards.
    View,
    /// An owner is asked to hand a shard over.
    Move,
    /// A shard gets another owner, and the former one is not told.
    Lose,
    /// An owner claims its shard's log, and serves.
    Serve,
    /// The link between two nodes ends.
    Break,
    /// Two nodes cannot reach each other from now on.
    Cut,
    /// All nodes can reach each other.
    Heal,
    /// A node is killed.
    Kill,
    /// A node starts again.
    Start,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x464F_5257);
        let (nodes, shards) = (rng.usize(2..=4), rng.u16(1..=4));
        let bounds = match rng.u32(0..3) {
            0 => Bounds { commands_max: rng.usize(1..20), bytes_max: rng.usize(1..10_000) },
            _ => Bounds::default(),
        };
        let mut sometimes = |most: u32| if rng.bool() { 0 } else { rng.u32(1..=most) };
        let weights = vec![
            (Kind::Put, 30),
            (Kind::Peek, sometimes(5)),
            (Kind::Reserve, sometimes(10)),
            (Kind::Vanish, sometimes(3)),
            (Kind::Turn, 40),
            (Kind::Deliver, 40),
            (Kind::Busy, sometimes(5)),
            (Kind::Time, 12),
            (Kind::View, 8),
            (Kind::Move, sometimes(3)),
            (Kind::Lose, sometimes(3)),
            (Kind::Serve, 8),
            (Kind::Break, sometimes(3)),
            (Kind::Cut, sometimes(2)),
            (Kind::Heal, 3),
            (Kind::Kill, sometimes(2)),
            (Kind::Start, 2),
        ];
        Self { seed, nodes, shards, steps: rng.u32(200..1_200), weights, bounds }
    }
}
