//! Runs, from their start to what came of them: of a scenario's users ([`Run`]), and of a swarm of
//! devices ([`Swarm`]).
//!
//! Nothing here touches a target: loops do, in this process or in workers. A run gives them orders,
//! puts together the tallies that they send, and makes the result.

mod describe;
mod fleets;
mod members;
mod options;
mod scenario;
mod swarm;

pub use crate::engine::event::Control;
pub use options::RunOptions;
pub(crate) use scenario::{LATENESS_MS_MAX, SATURATED, STEAL_MAX};
pub use scenario::{Progress, Run};
pub use stadium_report::RunResult;
pub use swarm::Swarm;
