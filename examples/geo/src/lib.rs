//! The last location of every device: the service, and what its two programs share.
//!
//! [`proto`] is generated from proto/geo.proto by build.rs. [`service`] maps its methods to functions over
//! [`places`]; [`position`] is the one door by which coordinates come in.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

pub mod discovery_flags;
pub mod places;
pub mod position;
pub mod service;
pub mod watch;

/// Where the service listens, and its client calls, by default. `stadium serve` has the port before
/// it, so that both run on one machine.
pub const ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7801));

/// Messages and methods of `geo.v1`.
#[allow(missing_docs, reason = "generated code")]
pub mod proto {
    include!(concat!(env!("OUT_DIR"), "/geo.v1.rs"));
}

/// The Rust of docs/rpc.md: it compiles, or this crate's tests fail.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rpc.md")]
pub struct Documentation;
