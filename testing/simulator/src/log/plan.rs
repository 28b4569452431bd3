//! What a seed decides before anything runs: nodes, how often each thing happens, which faults.
//!
//! As with the shards, each seed leaves some faults out and has much of others.

use fastrand::Rng;

/// What a run does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Nodes that may own the log.
    pub nodes: usize,
    /// Steps: in each one thing happens.
    pub steps: u32,
    /// How often each thing happens.
    pub weights: Vec<(Kind, u32)>,
    /// Steps for which a node stops, at most.
    pub pause_steps: u32,
    /// Of a hundred things on the network, so many are not the next in order.
    pub reordered: u32,
    /// Of a hundred messages to the partition, so many never arrive.
    pub requests_lost: u32,
    /// Of a hundred messages to the partition, so many arrive twice.
    pub requests_doubled: u32,
    /// Of a hundred answers, so many never arrive.
    pub answers_lost: u32,
    /// Serving owners read the log although nothing asks them to.
    pub owners_read: bool,
    /// Bytes of a body, at most.
    pub body_bytes: usize,
}

/// Something that happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A client writes to a node that serves.
    Write,
    /// A message arrives at the partition.
    Arrive,
    /// A follower copies messages from the leader.
    Replicate,
    /// A node gets an answer.
    Answer,
    /// A node asks for messages to read.
    Fetch,
    /// A node waits no longer for an answer.
    Timeout,
    /// The client of a node sends a message again that may have arrived.
    Retry,
    /// A node claims the log, whoever owns it.
    Claim,
    /// A node stops, and goes on later.
    Pause,
    /// A node ends, and starts from a checkpoint.
    Restart,
    /// A broker loses power.
    Power,
    /// A broker starts again.
    Start,
    /// A broker's disk syncs.
    Sync,
    /// A follower lags and is no longer in sync.
    Lag,
    /// Another broker becomes the leader.
    Elect,
    /// A node writes a checkpoint.
    Checkpoint,
    /// The log is trimmed up to the older kept checkpoint.
    Trim,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64) -> Plan {
        let mut random = Rng::with_seed(seed);
        let mut one_of = |choices: &[u32]| choices[random.usize(..choices.len())];
        let weights = vec![
            (Kind::Write, one_of(&[20, 40, 80])),
            (Kind::Arrive, 80),
            (Kind::Replicate, 160),
            (Kind::Answer, one_of(&[40, 80, 120])),
            (Kind::Fetch, one_of(&[30, 60])),
            (Kind::Timeout, one_of(&[2, 5, 15])),
            (Kind::Retry, one_of(&[0, 3, 10])),
            (Kind::Claim, one_of(&[1, 3, 8])),
            (Kind::Pause, one_of(&[0, 2, 5])),
            (Kind::Restart, one_of(&[0, 1, 3])),
            (Kind::Power, one_of(&[0, 2, 5])),
            (Kind::Start, 10),
            (Kind::Sync, 10),
            (Kind::Lag, one_of(&[0, 3])),
            (Kind::Elect, one_of(&[0, 2])),
            (Kind::Checkpoint, one_of(&[0, 3])),
            (Kind::Trim, one_of(&[0, 3])),
        ];
        Plan {
            seed,
            nodes: one_of(&[2, 2, 3, 4]) as usize,
            steps: one_of(&[300, 600, 1_200, 2_400]),
            weights,
            pause_steps: one_of(&[50, 200]),
            reordered: one_of(&[0, 10, 40]),
            requests_lost: one_of(&[0, 2, 10]),
            requests_doubled: one_of(&[0, 5, 15]),
            answers_lost: one_of(&[0, 5, 15]),
            owners_read: one_of(&[0, 0, 0, 1]) == 1,
            body_bytes: one_of(&[1, 40]) as usize,
        }
    }
}
