//! How much a server takes on, and how it reports that it is full.
//!
//! Everything here decides and does no I/O: the driver passes the time (microseconds of one monotonic
//! clock) and what it measured. [`Limiter`] bounds the calls under way, [`Queue`] those that wait, [`LoadSignal`]
//! makes one figure of it all for clients and discovery, and [`Leases`] turns that into grants. Which instance
//! a client chooses then is in [`crate::balance`].

mod lease;
mod limiter;
mod load;
mod queue;

#[cfg(test)]
mod tests;

pub use lease::{Asker, Capacity, Grant, LeaseSettings, Leases};
pub use limiter::{Entry, Limiter, LimiterSettings, Work};
pub use load::{LoadSignal, Reading};
pub use queue::{Popped, Pushed, Queue, QueueSettings, Waiting};
