//! Stadium's HTTP port: the JSON API with its OpenAPI description, API keys, metrics, health and the live page.
//!
//! This crate knows nothing of MQTT or of the event loops. It reaches the devices through one small trait,
//! [`Fleet`], which the node implements, and gives sockets that ask for `/mqtt` away unread through
//! [`SocketTaker`]. It runs on Tokio: nothing here touches a loop's thread.
//!
//! Errors are RFC 9457 problems with a stable code; docs/reference/errors/http.md explains each.

pub mod fleet;
mod socket_taker;

pub use fleet::Fleet;
pub use socket_taker::{SocketTaker, TakenPath, TakenSocket};
