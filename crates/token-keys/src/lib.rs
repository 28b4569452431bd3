//! Keys that JSON Web Tokens are verified with, and how they are fetched from identity providers.
//!
//! A key is pinned to one algorithm when it is read: a token chooses among keys by its `kid`, but
//! never what is done with a key's bytes. So a public key cannot be mistaken for an HMAC secret.
//! The claims of a token are the business of the crates that use the keys: `edge` for devices,
//! `oidc` for people.

mod client;
mod key;
mod ring_provider;
mod timing;

pub use client::{Connections, NoCertificate, SYSTEM_AUTHORITIES, agent, is_loopback_http};
pub use key::{KEYS_MAX, Key, SECRET_BYTES_MIN, is_ed25519, is_p256, of_set, public_of_set, rsa_from_pem};
pub use ring_provider::install;
pub use timing::{Intervals, Timing};

/// Bytes of a published key set that are read. Providers publish a few keys of about 500 bytes.
pub const SET_BYTES_MAX: u64 = 256 * 1_024;
