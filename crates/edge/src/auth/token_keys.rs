//! Keys that tokens are verified with, read from files.
//!
//! Each key is pinned to one algorithm when it is read: a token chooses among keys by its `kid`, but never what
//! is done with a key's bytes. So a public key cannot be mistaken for an HMAC secret.

use std::fs;
use std::path::{Path, PathBuf};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};

use super::{Error, TokenAlgorithm, TokenConfig, TokenKeyConfig};

/// Keys in all. A token without a `kid` may have to be tried with each key that has none.
const KEYS_MAX: usize = 64;

/// Bytes of an HS256 secret: no fewer than the hash's (RFC 7518, 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// One key and the only algorithm that it is used with.
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

/// Reads all keys of the configuration.
pub(super) fn read(config: &TokenConfig) -> Result<Vec<Key>, Error> {
    let mut keys = config.keys.iter().map(read_key).collect::<Result<Vec<_>, _>>()?;
    for path in &config.key_sets {
        keys.append(&mut read_key_set(path)?);
    }
    if keys.is_empty() || keys.len() > KEYS_MAX {
        return Err(Error::Setting { name: "keys of tokens", bounds: "1 to 64 in all" });
    }
    Ok(keys)
}

/// The files of all keys.
pub(super) fn files(config: &TokenConfig) -> Vec<PathBuf> {
    config.keys.iter().map(|key| key.file.clone()).chain(config.key_sets.iter().cloned()).collect()
}

fn read_key(config: &TokenKeyConfig) -> Result<Key, Error> {
    let bytes = read_file(&config.file)?;
    let wrong = |problem: &str| Error::TokenKey { path: config.file.clone(), problem: problem.to_owned() };
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
            TokenAlgorithm::EdDsa => (
                Algorithm::EdDSA,
                DecodingKey::from_ed_pem(&bytes).ok().filter(is_ed25519).ok_or_else(|| {
                    wrong("an EdDSA key is an Ed25519 public key in PEM (BEGIN PUBLIC KEY)")
                })?,
            ),
        };
    Ok(Key { id: config.id.clone(), algorithm, key })
}

/// The keys of a set that tokens may be verified with. Others, such as RSA, are ignored: sets are
/// often published for several purposes. A set without a single usable key is an error.
fn read_key_set(path: &Path) -> Result<Vec<Key>, Error> {
    let wrong = |problem: String| Error::TokenKey { path: path.to_owned(), problem };
    let set: JwkSet = serde_json::from_slice(&read_file(path)?)
        .map_err(|error| wrong(format!("not a JSON Web Key Set: {error}")))?;
    let keys: Vec<Key> = set.keys.iter().filter_map(usable).collect();
    if keys.is_empty() {
        return Err(wrong("the set holds no key for ES256, EdDSA or HS256 signatures".to_owned()));
    }
    Ok(keys)
}

fn usable(jwk: &Jwk) -> Option<Key> {
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let key = DecodingKey::from_jwk(jwk).ok()?;
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 && is_p256(&key) => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(pair)
            if pair.curve == EllipticCurve::Ed25519 && is_ed25519(&key) =>
        {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        AlgorithmParameters::OctetKey(_) if bytes(&key).len() >= SECRET_BYTES_MIN => {
            (Algorithm::HS256, KeyAlgorithm::HS256)
        }
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|wanted| wanted != named) {
        return None;
    }
    Some(Key { id: jwk.common.key_id.clone(), algorithm, key })
}

fn bytes(key: &DecodingKey) -> &[u8] {
    key.try_get_as_bytes().unwrap_or_default()
}

/// An uncompressed point of P-256 (SEC 1, 2.3.3).
fn is_p256(key: &DecodingKey) -> bool {
    let point = bytes(key);
    point.len() == 65 && point[0] == 4
}

fn is_ed25519(key: &DecodingKey) -> bool {
    bytes(key).len() == 32
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn trim_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}
