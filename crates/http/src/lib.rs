//! Stadium's HTTP port: the JSON API with its OpenAPI description, API keys, metrics, health and the live page.
//!
//! This crate knows nothing of MQTT or of the event loops. It reaches the devices through one small trait,
//! [`Fleet`], which the node implements, and gives sockets that ask for `/mqtt` away unread through
//! [`SocketTaker`]. It runs on Tokio: nothing here touches a loop's thread.
//!
//! Errors are RFC 9457 problems with a stable code; docs/reference/errors/ explains each.

mod access;
mod app;
mod audit;
mod config;
mod connections;
mod error_pages;
pub mod fleet;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod idempotency;
pub mod keys;
mod live;
mod metrics;
mod openapi;
mod page;
mod peek;
mod platform;
mod problem;
mod queues;
mod rfc3339;
mod routes;
mod server;
mod shards;
mod socket_taker;
mod spelling;
mod tls;
mod wallets;
mod webpush;

pub use config::{Config, TlsFiles};
pub use fleet::Fleet;
pub use openapi::description;
pub use problem::{CODES, Code};
pub use routes::push::{PUSHES_QUEUE, PushBounds, read_push};
pub use server::{Queues, Reloader, Server, StartError};
pub use socket_taker::{SocketTaker, TakenPath, TakenSocket};
