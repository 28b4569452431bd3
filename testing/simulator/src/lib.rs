//! Runs shards with a seed, on a simulated disk and a clock that jumps, and checks every promise.
//!
//! Acknowledged messages must be there after any crash. Settled messages must not come back.
//! Commands that were under way happened wholly or not at all. docs/simulator.md describes what is
//! simulated and checked.

mod answered;
mod asker;
mod audit;
pub mod backup;
mod clock;
mod counter;
mod effect;
pub mod forward;
mod ledger;
pub mod links;
pub mod log;
mod lying;
mod machine;
mod message;
mod mqtt;
mod place;
mod plan;
mod push;
mod replay;
mod trace;
mod wallet;
mod workload;
mod world;

use std::fmt;

pub use machine::Sabotage;
pub use plan::Plan;
pub use trace::Trace;
pub use world::Summary;

/// A seed whose run broke a promise.
#[derive(Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The world that ran.
    pub world: World,
    /// What was promised and what happened.
    pub what: String,
    /// The last lines of the run.
    pub trace: Vec<String>,
}

/// What a seed runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// Shards on simulated disks.
    Shards,
    /// Nodes that write to a replicated log: [`log`].
    Log,
    /// Nodes that ask each other over links: [`links`].
    Links,
    /// Nodes that ask each other's shards: [`forward`].
    Forward,
    /// A server that is backed up and restored: [`backup`].
    Backup,
}

/// Lines of the trace that a report ends with.
const LINES: usize = 30;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.trace.iter().skip(self.trace.len().saturating_sub(LINES)) {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        let world = match self.world {
            World::Shards => "",
            World::Log => "log ",
            World::Links => "links ",
            World::Forward => "forward ",
            World::Backup => "backup ",
        };
        write!(f, "replay: cargo run -p stadium-simulator -- {world}--seed {} --verbose", self.seed)
    }
}

/// Runs one seed.
///
/// # Errors
///
/// The promise that was broken, with the last lines of the run; that it panicked, which is a bug too.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Summary, Box<Failure>> {
    hush_planned_panics();
    let ran = std::panic::catch_unwind(|| world::World::new(Plan::new(seed), sabotage, Trace::Off).run());
    match ran {
        Ok(ran) => ran.map_err(|_| replay(seed, sabotage)),
        Err(_) => {
            let what = "a shard panicked, with the message above".into();
            Err(Box::new(Failure { seed, world: World::Shards, what, trace: Vec::new() }))
        }
    }
}

/// Panics that the simulation makes print nothing.
fn hush_planned_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(machine::PLANNED) {
                usual(info);
            }
        }));
    });
}

/// Runs a failing seed again, and keeps what happens.
fn replay(seed: u64, sabotage: Sabotage) -> Box<Failure> {
    let mut world = world::World::new(Plan::new(seed), sabotage, Trace::Kept(Vec::new()));
    let (what, message) = match world.run() {
        Err(violation) => (violation.what, violation.message),
        Ok(_) => ("failed, and not when it was run again: the seed does not decide everything".into(), None),
    };
    let mut trace = match world.into_trace() {
        Trace::Kept(lines) => lines,
        Trace::Off | Trace::Printed => Vec::new(),
    };
    if let Some(tag) = message {
        let (named, faulty) = (format!("{tag} "), ["-> shard", "<-"]);
        trace.retain(|line| line.contains(&named) || !faulty.iter().any(|part| line.contains(part)));
    }
    Box::new(Failure { seed, world: World::Shards, what, trace })
}

/// Runs one seed and prints what happens.
///
/// # Errors
///
/// The promise that was broken.
pub fn run_printed(seed: u64) -> Result<Summary, String> {
    hush_planned_panics();
    let mut world = world::World::new(Plan::new(seed), Sabotage::None, Trace::Printed);
    world.run().map_err(|violation| violation.to_string())
}
