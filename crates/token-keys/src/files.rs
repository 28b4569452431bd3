//! Keys that tokens are verified with, read from files.
//!
//! Each key is pinned to one algorithm when it is read: a token chooses among keys by its `kid`, but never what
//! is done with a key's bytes. So a public key cannot be mistaken for an HMAC secret.

use std::fs;
use std::path::Path;

use jsonwebtoken::{Algorithm, DecodingKey};

use crate::key::{KEYS_MAX, SECRET_BYTES_MIN, is_ed25519, is_p256, of_set, rsa_from_pem};
use crate::{Error, Key, KeySources, TokenAlgorithm, TokenKeyConfig};

/// Reads all keys that are in files.
pub(crate) fn read(sources: &KeySources) -> Result<Vec<Key>, Error> {
    let mut keys = sources.keys.iter().map(read_key).collect::<Result<Vec<_>, _>>()?;
    for path in &sources.key_sets {
        keys.append(&mut read_key_set(path)?);
    }
    if keys.len() > KEYS_MAX || keys.is_empty() && sources.fetch.urls.is_empty() {
        return Err(Error::Count);
    }
    Ok(keys)
}

fn read_key(config: &TokenKeyConfig) -> Result<Key, Error> {
    let bytes = read_file(&config.file)?;
    let wrong = |problem: &str| Error::Key { path: config.file.clone(), problem: problem.to_owned() };
    let (algorithm, key) =
        match config.algorithm {
            TokenAlgorithm::Hs256 => {
                let secret = trim_line_end(&bytes);
                if secret.starts_with(b"-----BEGIN") {
                    return Err(wrong("an HS256 key is a secret, this file holds PEM"));
                }
                if secret.len() < SECRET_BYTES_MIN {
                    return Err(wrong("an HS256 secret has at least 32 bytes (RFC 7518, 3.2)"));
                }
                (Algorithm::HS256, DecodingKey::from_secret(secret))
            }
            TokenAlgorithm::Es256 => (
                Algorithm::ES256,
                DecodingKey::from_ec_pem(&bytes).ok().filter(is_p256).ok_or_else(|| {
                    wrong("an ES256 key is a public key on P-256 in PEM (BEGIN PUBLIC KEY)")
                })?,
            ),
            TokenAlgorithm::Rs256 | TokenAlgorithm::Ps256 => (
                match config.algorithm {
                    TokenAlgorithm::Rs256 => Algorithm::RS256,
                    _ => Algorithm::PS256,
                },
                rsa_from_pem(&bytes).ok_or_else(|| {
                    wrong("an RSA key is a public key of 2048 to 8192 bits in PEM (BEGIN PUBLIC KEY)")
                })?,
            ),
            TokenAlgorithm::EdDsa => (
                Algorithm::EdDSA,
                DecodingKey::from_ed_pem(&bytes).ok().filter(is_ed25519).ok_or_else(|| {
                    wrong("an EdDSA key is an Ed25519 public key in PEM (BEGIN PUBLIC KEY)")
                })?,
            ),
        };
    Ok(Key { id: config.id.clone(), algorithm, key })
}

/// The keys of a set that tokens may be verified with.
fn read_key_set(path: &Path) -> Result<Vec<Key>, Error> {
    let of_set = of_set(&read_file(path)?);
    of_set.map_err(|problem| Error::Key { path: path.to_owned(), problem })
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn trim_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}
