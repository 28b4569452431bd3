//! One server: a socket that the callers drive themselves, and the operations on it.
//!
//! [`connection`] says who reads and who writes. [`outbox`] decides the order in which commands
//! leave, [`slots`] keeps operations until their callers take the results.

mod command;
mod connection;
mod helper;
mod outbox;
mod shared;
mod slots;
mod socket;
mod state;
mod submit;
mod turn;

pub(crate) use command::Command;
pub(crate) use connection::Connection;
pub(crate) use shared::Settings;
pub use socket::Address;
