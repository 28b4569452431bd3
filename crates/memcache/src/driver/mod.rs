//! One server: a socket that the callers drive themselves, and the operations on it.
//!
//! [`submit`] takes operations, [`outbox`] decides the order in which they leave, [`turn`] writes and
//! reads, and [`slots`] keeps operations until their callers take the results.

mod background;
mod command;
mod connection;
mod lossy;
mod outbox;
mod raw;
#[cfg(feature = "tls")]
mod session;
mod settings;
mod shared;
mod slots;
mod socket;
mod state;
mod submit;
mod turn;

pub(crate) use command::{Command, Span};
pub(crate) use connection::Connection;
pub(crate) use lossy::{Batch, Bounds, exchange};
pub(crate) use settings::Settings;
