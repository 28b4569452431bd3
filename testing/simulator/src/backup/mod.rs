//! The world of backups: a server that writes, programs that back it up, remove old backups and
//! restore, and a store that is slow, fails, is full or away.
//!
//! Backups, removals and restores are the product's (`stadium-archive`), and so are journals and
//! checkpoints, in real files. The store, time and the server's state machine are simulated.
//! docs/simulator.md describes what is simulated and checked.

mod books;
mod plan;
mod programs;
mod restores;
mod server;
mod shard;
mod state;
mod store;
mod time;
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
    /// Programs do not see the markers of others.
    Markers,
    /// A backup does not wait until the records up to its moment are durable.
    Moment,
    /// The server removes segments that no backup has.
    Hold,
    /// A backup replaces another one of the same number.
    Create,
}

/// Runs one seed.
///
/// # Errors
///
/// The promise that was broken, with the last lines of the run; or that it panicked, a bug too.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Summary, Box<Failure>> {
    let failure = |what, trace| Box::new(Failure { seed, world: World::Backup, what, trace });
    match std::panic::catch_unwind(|| world::run(seed, sabotage, Trace::Off).0) {
        Ok(Ok(summary)) => Ok(summary),
        Ok(Err(_)) => match world::run(seed, sabotage, Trace::Kept(Vec::new())) {
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
    world::run(seed, sabotage, Trace::Printed).0
}
