//! What every harness of ours leans on: lanes and their sockets on one thread, a precise timer, a clock, the bare disk.
//!
//! A bench says what is asked and answered ([`Dialogue`]); an implementation turns requests into bytes of its protocol and bytes
//! into outcomes ([`Lane`]); this owns the sockets. One thread drives all workers, each with one request under way, so that
//! the client's cost is small and the same for all.

mod caller;
mod clock;
mod crews;
pub(crate) mod disk;
mod lane;
mod secured;
mod socket;
mod timer;

pub(crate) use caller::Caller;
pub(crate) use clock::Clock;
pub(crate) use crews::{Crews, SLEEP_MAX};
pub(crate) use lane::{Dialogue, Event, Lane};
pub(crate) use secured::Secured;
pub(crate) use socket::{READ_BYTES, Socket};
