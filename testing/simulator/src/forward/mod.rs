//! The world of forwarded commands: nodes that ask each other's shards, while shards move, owners are
//! fenced, links end and nodes are killed.
//!
//! The table of commands and its rules (`stadium-forward`), the wire format and the shards' cores are
//! the product's. Links, ownership and time are simulated, and the checker keeps books of its own.
//! docs/simulator.md describes what is simulated and checked.

mod books;
mod node;
mod plan;
mod world;

pub use self::world::Summary;
use crate::trace::Trace;
use crate::{Failure, World};

/// A rule that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// None.
    #[default]
    None,
    /// Puts get no id, and are asked again all the same.
    Ids,
    /// An attempt with an unknown outcome counts as one that did not happen.
    Unknown,
    /// Commands that are due are forgotten.
    Due,
    /// A command that a shard gave back is asked again by nobody.
    GivenBack,
}

/// Runs one seed.
///
/// # Errors
///
/// The promise that was broken, with the last lines of the run; or that it panicked, a bug too.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Summary, Box<Failure>> {
    let failure = |what, trace| Box::new(Failure { seed, world: World::Forward, what, trace });
    match std::panic::catch_unwind(|| ran(seed, sabotage, Trace::Off).0) {
        Ok(Ok(summary)) => Ok(summary),
        Ok(Err(_)) => match ran(seed, sabotage, Trace::Kept(Vec::new())) {
            (Err(what), Trace::Kept(lines)) => Err(failure(what, lines)),
            _ => Err(failure(
                "failed, and not when it was run again: the seed does not decide everything".into(),
                Vec::new(),
            )),
        },
        Err(_) => Err(failure("it panicked, with the message above".into(), Vec::new())),
    }
}

/// Runs one seed and prints what happens.
///
/// # Errors
///
/// The promise that was broken.
pub fn run_printed(seed: u64, sabotage: Sabotage) -> Result<Summary, String> {
    ran(seed, sabotage, Trace::Printed).0
}

fn ran(seed: u64, sabotage: Sabotage, trace: Trace) -> (Result<Summary, String>, Trace) {
    let mut world = world::World::new(plan::Plan::new(seed), sabotage, trace);
    let outcome = world.run();
    (outcome, world.into_trace())
}
