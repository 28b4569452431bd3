//! The world of links: nodes of a cluster that ask each other over connections that break.
//!
//! Both halves of a link are the product's (`stadium-links`). Sockets, time and nodes are
//! simulated, and the checker keeps books of its own. docs/simulator.md describes what is simulated
//! and checked.

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
    /// A driver sends requests again that were under way when their link broke.
    Resend,
    /// A driver reports requests as not sent that were under way when their link broke.
    Unsent,
    /// A driver gives credit back when a deadline passes.
    Credit,
    /// A node lets earlier incarnations in.
    Incarnation,
}

/// Runs one seed.
///
/// # Errors
///
/// The promise that was broken, with the last lines of the run; or that it panicked, a bug too.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Summary, Box<Failure>> {
    let failure = |what, trace| Box::new(Failure { seed, world: World::Links, what, trace });
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
