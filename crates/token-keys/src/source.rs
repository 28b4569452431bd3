//! Where keys come from, as plain structs. The names of settings belong to the node.

use std::path::PathBuf;
use std::time::Duration;

/// The places of all keys. At most [`crate::KEYS_MAX`] of them are in files.
#[derive(Debug, Clone, Default)]
pub struct KeySources {
    /// Keys in files.
    pub keys: Vec<TokenKeyConfig>,
    /// Files of JSON Web Key Sets (RFC 7517) beside the keys.
    pub key_sets: Vec<PathBuf>,
    /// Key sets that are fetched.
    pub fetch: KeyFetchConfig,
}

impl KeySources {
    /// The files that are read, at the start and by [`crate::Keys::reload`].
    pub fn files(&self) -> Vec<PathBuf> {
        self.keys.iter().map(|key| key.file.clone()).chain(self.key_sets.iter().cloned()).collect()
    }
}

/// One key, pinned to one algorithm.
#[derive(Debug, Clone)]
pub struct TokenKeyConfig {
    /// The `kid` of tokens that this key signs; a key without an id is for tokens without a `kid`.
    pub id: Option<String>,
    /// The only algorithm that this key verifies.
    pub algorithm: TokenAlgorithm,
    /// HS256: the secret's bytes, at least 32 (RFC 7518, 3.2), a line end after them is cut off.
    /// All others: the public key as PEM (`BEGIN PUBLIC KEY`).
    pub file: PathBuf,
}

/// The algorithms that may sign a token (RFC 7518, RFC 8037). `none` is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenAlgorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA with PKCS #1 v1.5 padding and SHA-256, keys of 2,048 to 8,192 bits.
    Rs256,
    /// RSA with PSS padding and SHA-256, keys as for RS256.
    Ps256,
}

/// Sets of keys at URLs.
#[derive(Debug, Clone)]
pub struct KeyFetchConfig {
    /// JWK sets: `https://`, or `http://` on this machine. Their public keys are used.
    pub urls: Vec<String>,
    /// Authorities of their certificates, PEM; the system's where none are named.
    pub authorities: Option<PathBuf>,
    /// How often a set is fetched.
    pub refresh: Duration,
    /// A token whose key is not known has a set fetched earlier, but not more often than this.
    pub again_min: Duration,
}

impl Default for KeyFetchConfig {
    fn default() -> Self {
        Self {
            urls: Vec::new(),
            authorities: None,
            refresh: Duration::from_secs(3_600),
            again_min: Duration::from_secs(10),
        }
    }
}
