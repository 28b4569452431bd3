//! What every harness of ours leans on: lanes and their sockets on one thread, a precise timer, a clock, the bare disk.
//!
//! A bench defines requests and outcomes ([`Dialogue`]); an implementation turns requests into
//! bytes of its protocol and bytes into outcomes ([`Lane`]); this module owns the sockets. One
//! thread drives all workers, each with one request under way, so that the client's cost is small
//! and the same for all.

mod caller;
mod clock;
pub(crate) mod disk;
mod lane;
mod secured;
mod socket;
mod timer;
mod workers;

pub(crate) use caller::Caller;
pub(crate) use clock::Clock;
pub(crate) use lane::{Dialogue, Event, Lane};
pub(crate) use secured::Secured;
pub(crate) use socket::{READ_BYTES, Socket};
pub(crate) use workers::{SLEEP_MAX, Workers};
