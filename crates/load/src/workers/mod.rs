//! Runs on many machines: a coordinator, and workers whose loops are as its own.
//!
//! A [`Worker`] is a server that makes load for one run at a time; a [`Crew`] is the coordinator's connections to some of
//! them, found by [`find()`], or started on this machine ([`Children`]) or over SSH ([`launch`]). All begin at one moment:
//! clocks are compared first. A worker that dies or hangs is noticed within [`SILENCE_MAX`], and the run goes on.

mod args;
mod changes;
mod children;
mod crew;
mod files;
mod find;
pub mod launch;
mod lineup;
mod offset;
mod orders;
pub mod proto;
mod queue;
mod remote;
mod seat;
mod together;
mod version;
mod worker;

pub use args::{KEY_VARIABLE, WORKER_ARGUMENTS, WorkerArgs, serve};
pub use children::Children;
pub(crate) use crew::Prepared;
pub use crew::{Crew, Met};
pub use files::{Compile, compile_scenario};
pub use find::find;
pub(crate) use lineup::Lineup;
pub(crate) use remote::Remote;
pub use remote::SILENCE_MAX;
pub use version::VERSION;
pub use worker::{Worker, WorkerConfig};
