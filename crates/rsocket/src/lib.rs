//! RSocket 1.0 without I/O.
//!
//! [`frame`] holds the frames as types with their decoding and encoding, [`metadata`] the composite
//! metadata and its well-known MIME types, and [`connection`] one connection's protocol as a state
//! machine: it takes bytes and the current time, and returns events and what to send. Nothing here
//! opens a socket, reads a clock, starts a thread or draws a random number.

pub mod connection;
pub mod frame;
pub mod metadata;

pub use connection::{Config, Connection, Event, Received, SetupOptions, Tag};
pub use frame::{ErrorCode, StreamId};
