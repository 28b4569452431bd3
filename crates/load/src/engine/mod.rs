//! The engine: loops on threads that run users' sessions and devices, and measure what they see.
//!
//! [`users`] are a scenario's, each a session of its own over any of the [`protocol`]s; [`devices`]
//! are sessions of one kind, MQTT, in a dense table. An *open* phase begins users at times that
//! were fixed before, whatever became of those before, so that a target that stalls cannot slow the
//! load and hide it: response times count from when a request was due.

mod arrivals;
mod cookies;
pub(crate) mod devices;
mod dial;
pub(crate) mod event;
pub(crate) mod loops;
pub(crate) mod order;
pub(crate) mod plan;
mod planned;
mod protocol;
mod reply;
pub(crate) mod tally;
#[cfg(test)]
pub(crate) mod testing;
mod users;
