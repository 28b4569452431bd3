//! The services of a node, for programs that have RPC: `stadium` ([`push`]), `queue` ([`queue`]),
//! `wallet` ([`wallet`]) and `push` ([`platform`]).
//!
//! Each is a `stadium_rpc` service over the same shards and the same fleet as the HTTP API, with
//! the same API keys, bounds and codes. Starting a server and finding services is the node's
//! business. The contracts are in proto/stadium/v1; [`proto`] also has the messages of services
//! that a node calls.

mod access;
mod guarded;
pub mod platform;
pub mod proto;
pub mod push;
pub mod pushes;
pub mod queue;
mod request;
mod shards;
pub mod wallet;

pub use access::{Rights, operators};
pub use shards::ShardsHandle;
