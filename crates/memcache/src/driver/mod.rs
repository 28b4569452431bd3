//! One server: a socket that the callers drive themselves, and the operations on it.
//!
//! [`connection`] says who reads and who writes. [`outbox`] decides the order in which commands
//! leave, [`slots`] keeps operations until their callers take the results.

mod connection;
mod outbox;
mod slots;
mod socket;
mod state;

pub(crate) use connection::{Command, Connection, Settings};
pub use socket::Address;
