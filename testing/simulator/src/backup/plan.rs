//! The plan that a seed makes before anything runs: shards, programs, rules of removal, faults.
//!
//! As in the other worlds, each seed leaves some faults out and has much of others.

use fastrand::Rng;
use stadium_archive::Keep;

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Shards of the server.
    pub shards: u16,
    /// Steps of the server.
    pub steps: u32,
    /// Milliseconds between two steps, at most.
    pub step_ms: u64,
    /// Milliseconds between two backups.
    pub every_ms: u64,
    /// Bytes of a payload, at most.
    pub payload_bytes: usize,
    /// The rule by which the server removes old backups after each backup, if it does.
    pub own_keep: Option<Keep>,
    /// The rule of another program that removes old backups, if there is one.
    pub other_keep: Option<Keep>,
    /// A second program writes backups of the same directory.
    pub has_second_writer: bool,
    /// The time of grace of both that remove, milliseconds.
    pub grace_ms: u64,
    /// Faults of the store.
    pub faults: Faults,
    /// Faults of the server and of the programs.
    pub weights: Weights,
}

/// Rates of the store's faults: one in so many requests, 0 for never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// A request fails, and nothing happened.
    pub fails: u32,
    /// A request happened, and its answer is lost.
    pub lost: u32,
    /// A request takes long.
    pub slow: u32,
    /// Milliseconds of a long request, at most. Less than two minutes: a writer relies on its
    /// marker for so long after it has checked it.
    pub slow_ms: u64,
    /// Milliseconds of another request, at most.
    pub usual_ms: u64,
}

/// Rates of events: once in so many steps on the average, 0 for never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weights {
    /// The server is killed, and starts again.
    pub kill: u32,
    /// A program that removes or restores is killed.
    pub kill_program: u32,
    /// A program is stopped for minutes, and goes on.
    pub stop: u32,
    /// The store is away for a while.
    pub away: u32,
    /// The store is full for a while.
    pub full: u32,
    /// The disk of the server is full: segments go that no backup has.
    pub forced: u32,
    /// All backups in the store are restored and compared.
    pub check: u32,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x4241_434B);
        let step_ms = [200, 2_000, 20_000, 60_000][rng.usize(0..4)];
        let keep = |rng: &mut Rng| match rng.u32(0..3) {
            0 => Keep { count: None, age_ms: Some(step_ms * rng.u64(2..40)) },
            _ => Keep { count: Some(rng.u32(1..6)), age_ms: None },
        };
        let own_keep = rng.bool().then(|| keep(&mut rng));
        let other_keep = (rng.u32(0..4) > 0).then(|| keep(&mut rng));
        let mut sometimes = |most: u32| if rng.bool() { 0 } else { rng.u32(2..=most) };
        let faults = Faults {
            fails: sometimes(60),
            lost: sometimes(60),
            slow: sometimes(40),
            slow_ms: 90_000,
            usual_ms: step_ms / 10,
        };
        let weights = Weights {
            kill: sometimes(40),
            kill_program: sometimes(20),
            stop: sometimes(60),
            away: sometimes(60),
            full: sometimes(60),
            forced: sometimes(60),
            check: 30,
        };
        Self {
            seed,
            shards: rng.u16(1..=3),
            steps: rng.u32(40..160),
            step_ms,
            every_ms: step_ms * rng.u64(1..6),
            payload_bytes: [200, 4_000, 12_000][rng.usize(0..3)],
            own_keep,
            other_keep,
            has_second_writer: rng.u32(0..4) == 0,
            grace_ms: [0, step_ms, step_ms * 10][rng.usize(0..3)],
            faults,
            weights,
        }
    }
}
