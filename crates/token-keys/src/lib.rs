//! JSON Web Tokens: the keys that they are verified with, in files or fetched from identity
//! providers, and the claims that every token has.
//!
//! A key is pinned to one algorithm when it is read: a token chooses among keys by its `kid`, but
//! never what is done with a key's bytes. So a public key cannot be mistaken for an HMAC secret.
//! The identity that claims name is the business of the crates that use the keys: `edge` for
//! devices, `rpc-api` for callers of RPC, `oidc` for people.

mod claims;
mod client;
mod error;
mod fetcher;
mod files;
mod key;
mod keys;
mod ring_provider;
mod source;
mod timing;

pub use claims::{Claims, Expected, Fault, looks_like_token};
pub use client::{Connections, NoCertificate, SYSTEM_AUTHORITIES, agent, agent_of, is_loopback_http};
pub use error::Error;
pub use key::{KEYS_MAX, Key, SECRET_BYTES_MIN, public_of_set};
pub use keys::Keys;
pub use ring_provider::install;
pub use source::{KeyFetchConfig, KeySources, TokenAlgorithm, TokenKeyConfig};
pub use timing::{Intervals, Timing};

/// Bytes of a published key set that are read. Providers publish a few keys of about 500 bytes.
pub const SET_BYTES_MAX: u64 = 256 * 1_024;
