//! A client of etcd 3.4 or newer, over its gRPC API.
//!
//! [`Members`] finds a member that answers, with TLS and a user where etcd asks for them, and
//! [`connect_to`] speaks with a certain one. [`Client`] has a method for each call, all with a
//! deadline. The messages are those of etcd, by hand, in [`messages`]. Nothing here knows the meaning
//! of a key, and nothing is tried again.

mod access;
mod client;
mod members;
#[allow(missing_docs, reason = "fields and messages are described in etcd's own reference")]
pub mod messages;

pub use access::{Access, Tls, User};
pub use client::{Client, Failure, Listed, Mark};
pub use members::{Members, connect_to};
pub use tonic::{Code, Streaming};
