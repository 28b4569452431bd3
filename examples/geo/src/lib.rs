//! The last location of every device: the service, and what its two programs share.
//!
//! [`proto`] is generated from proto/geo.proto by build.rs. [`service`] maps its methods to functions over
//! [`places`]; [`position`] is the one door by which coordinates come in.

pub mod discovery_flags;
pub mod places;
pub mod position;
pub mod service;

/// Messages and methods of `geo.v1`.
#[allow(missing_docs, reason = "generated code")]
pub mod proto {
    include!(concat!(env!("OUT_DIR"), "/geo.v1.rs"));
}

/// The Rust of docs/rpc.md: it compiles, or this crate's tests fail.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rpc.md")]
pub struct Documentation;
