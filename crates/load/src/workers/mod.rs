//! Runs on many machines: a coordinator, and workers whose loops are as its own.
//!
//! A [`Worker`] is a server that makes load for one run at a time; a [`Workers`] is the
//! coordinator's connections to some of them, found by [`find()`], or started on this machine
//! ([`Children`]) or over SSH ([`launch`]). All begin at one time: clocks are compared first. A
//! worker that dies or hangs is noticed within [`SILENCE_MAX`], and the run goes on.

mod args;
mod changes;
mod children;
mod current_run;
mod files;
mod find;
mod group;
pub mod launch;
mod offset;
mod orders;
pub mod proto;
mod queue;
mod remote;
mod states;
mod together;
mod version;
mod worker;

pub use args::{KEY_VARIABLE, WORKER_ARGUMENTS, WorkerArgs, serve};
pub use children::Children;
pub use files::{Compile, compile_scenario};
pub use find::find;
pub(crate) use group::Prepared;
pub use group::{WorkerFacts, Workers};
pub(crate) use remote::Remote;
pub use remote::SILENCE_MAX;
pub(crate) use states::WorkerStates;
pub use version::VERSION;
pub use worker::{Worker, WorkerConfig};
