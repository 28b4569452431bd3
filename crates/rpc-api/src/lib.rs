//! The services of a node, for programs that have RPC: `stadium` ([`push`]), `queue` ([`queue`]),
//! `wallet` ([`wallet`]) and `push` ([`platform`]).
//!
//! Each is a `stadium_rpc` service over the same shards and the same fleet as the HTTP API, with
//! the same grants, bounds and codes. Starting a server and finding services is the node's
//! business. The contracts are in proto/stadium/v1; [`proto`] also has the messages of services
//! that a node calls.

mod access;
mod guarded;
mod identities;
pub mod platform;
mod principals;
pub mod proto;
pub mod push;
pub mod pushes;
pub mod queue;
mod refused;
mod request;
mod shards;
mod tokens;
mod traced;
pub mod wallet;

pub use access::{Rights, operators};
pub use identities::Identities;
pub use principals::{DEVICE_MIME, Principals};
pub use shards::ShardsHandle;
pub use tokens::{Tokens, TokensConfig};
