//! The world of the replicated log: nodes claim a simulated partition of three brokers, and write.
//!
//! The rules are the product's (`stadium-journal-log`). Brokers, network and nodes are simulated,
//! and the checker follows docs/formats/log-message.md by itself. docs/simulator.md describes what
//! is simulated and checked.

mod node;
mod partition;
mod plan;
mod rules;
mod truth;
mod world;

use stadium_journal_log::{Judge, Rule};

pub use self::world::Summary;
use crate::trace::Trace;
use crate::{Failure, World};

/// A rule that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sabotage {
    /// None.
    #[default]
    None,
    /// An owner takes each acknowledged message for the one right behind its last.
    Offsets,
    /// A fence counts if its epoch is not smaller than the current one.
    Epochs,
    /// A message of the current claim counts, whatever its sequence is.
    Sequence,
}

/// Runs one seed.
///
/// # Errors
///
/// The promise that was broken, with the last lines of the run; or that it panicked, a bug too.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Summary, Box<Failure>> {
    let failure = |what, trace| Box::new(Failure { seed, world: World::Log, what, trace });
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
    match sabotage {
        Sabotage::None => ran_by::<Rule>(seed, false, trace),
        Sabotage::Offsets => ran_by::<Rule>(seed, true, trace),
        Sabotage::Epochs => ran_by::<rules::EqualEpochs>(seed, false, trace),
        Sabotage::Sequence => ran_by::<rules::AnySequence>(seed, false, trace),
    }
}

fn ran_by<J: Judge>(seed: u64, trusts_offsets: bool, trace: Trace) -> (Result<Summary, String>, Trace) {
    let mut world = world::World::<J>::new(plan::Plan::new(seed), trusts_offsets, trace);
    let outcome = world.run();
    (outcome, world.into_trace())
}
