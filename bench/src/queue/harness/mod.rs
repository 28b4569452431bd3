//! The test harness of queues: producers put, consumers reserve and settle, everything is counted.
//!
//! What is measured is a [`Lane`]: a few connections over which workers speak one implementation's protocol. The harness
//! owns sockets, time and the count of what became of every job ([`tally`]); an implementation only turns requests into
//! bytes and bytes into outcomes. One thread drives all workers, each with one request under way, so that the client's
//! cost is small and the same for all.

mod caller;
mod clock;
mod driver;
mod lane;
pub(crate) mod payload;
mod plan;
mod socket;
mod tally;
mod timer;

pub(crate) use caller::Caller;
pub(crate) use clock::Clock;
pub(crate) use driver::drive;
pub(crate) use lane::{Endpoint, Event, Lane, NewJob, Outcome, Request, Reserved, Role, Token};
pub(crate) use plan::{Amount, Due, Measured, Pace, Plan};
pub(crate) use socket::{READ_BYTES, Socket};
pub(crate) use tally::Tally;
