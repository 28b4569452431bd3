//! Keys that tokens are verified with, read from files.
//!
//! Each key is pinned to one algorithm when it is read: a token chooses among keys by its `kid`, but never what
//! is done with a key's bytes. So a public key cannot be mistaken for an HMAC secret.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::RSAPublicKey;

use super::{Error, TokenAlgorithm, TokenConfig, TokenKeyConfig};

/// Keys in all. A token without a `kid` may have to be tried with each key that has none.
const KEYS_MAX: usize = 64;

/// Bytes of an HS256 secret: no fewer than the hash's (RFC 7518, 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// Bits of an RSA key's modulus (RFC 7518, 3.3; the upper bound keeps a check short).
const RSA_BITS: RangeInclusive<usize> = 2_048..=8_192;

/// One key and the only algorithm that it is used with.
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

impl Key {
    /// Whether everybody may know it.
    pub(super) fn is_public(&self) -> bool {
        self.algorithm != Algorithm::HS256
    }
}

/// Reads all keys of the configuration's files.
pub(super) fn read(config: &TokenConfig) -> Result<Vec<Key>, Error> {
    let mut keys = config.keys.iter().map(read_key).collect::<Result<Vec<_>, _>>()?;
    for path in &config.key_sets {
        keys.append(&mut read_key_set(path)?);
    }
    if keys.len() > KEYS_MAX || keys.is_empty() && config.fetch.urls.is_empty() {
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
            TokenAlgorithm::Rs256 | TokenAlgorithm::Ps256 => (
                match config.algorithm {
                    TokenAlgorithm::Rs256 => Algorithm::RS256,
                    _ => Algorithm::PS256,
                },
                rsa(&bytes).ok_or_else(|| {
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

/// An RSA public key in PEM that is long enough.
fn rsa(bytes: &[u8]) -> Option<DecodingKey> {
    let key = DecodingKey::from_rsa_pem(bytes).ok()?;
    let (_, parsed) = RSAPublicKey::from_der(self::bytes(&key)).ok()?;
    RSA_BITS.contains(&parsed.key_size()).then_some(key)
}

/// The keys of a set that tokens may be verified with. Others are ignored: sets are often published
/// for several purposes. An RSA key that names no algorithm is used for RS256 and PS256. A set
/// without a single usable key is an error.
fn read_key_set(path: &Path) -> Result<Vec<Key>, Error> {
    of_set(&read_file(path)?).map_err(|problem| Error::TokenKey { path: path.to_owned(), problem })
}

/// The keys of a set's JSON.
pub(super) fn of_set(json: &[u8]) -> Result<Vec<Key>, String> {
    let set: JwkSet =
        serde_json::from_slice(json).map_err(|error| format!("not a JSON Web Key Set: {error}"))?;
    let keys: Vec<Key> = set.keys.iter().flat_map(usable).collect();
    if keys.is_empty() {
        return Err("the set holds no key for ES256, EdDSA, RS256, PS256 or HS256 signatures".to_owned());
    }
    Ok(keys)
}

/// The keys that a key of a set is: none, one, or one for each algorithm that it may be used with.
fn usable(jwk: &Jwk) -> Vec<Key> {
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return Vec::new();
    }
    let Ok(key) = DecodingKey::from_jwk(jwk) else { return Vec::new() };
    let rsa = [(Algorithm::RS256, KeyAlgorithm::RS256), (Algorithm::PS256, KeyAlgorithm::PS256)];
    let algorithms: &[(Algorithm, KeyAlgorithm)] = match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 && is_p256(&key) => {
            &[(Algorithm::ES256, KeyAlgorithm::ES256)]
        }
        AlgorithmParameters::OctetKeyPair(pair)
            if pair.curve == EllipticCurve::Ed25519 && is_ed25519(&key) =>
        {
            &[(Algorithm::EdDSA, KeyAlgorithm::EdDSA)]
        }
        AlgorithmParameters::OctetKey(_) if bytes(&key).len() >= SECRET_BYTES_MIN => {
            &[(Algorithm::HS256, KeyAlgorithm::HS256)]
        }
        AlgorithmParameters::RSA(_) if is_long_rsa(&key) => &rsa,
        _ => &[],
    };
    let wanted = |named: KeyAlgorithm| jwk.common.key_algorithm.is_none_or(|wanted| wanted == named);
    let fitting = algorithms.iter().filter(|&&(_, named)| wanted(named));
    let id = || jwk.common.key_id.clone();
    fitting.map(|&(algorithm, _)| Key { id: id(), algorithm, key: key.clone() }).collect()
}

/// Whether the modulus of an RSA key has as many bits as it must.
fn is_long_rsa(key: &DecodingKey) -> bool {
    let DecodingKeyKind::RsaModulusExponent { n, .. } = key.kind() else { return false };
    let zeros = n.iter().take_while(|byte| **byte == 0).count();
    let first_bits = n.get(zeros).map_or(0, |first| 8 - first.leading_zeros() as usize);
    RSA_BITS.contains(&((n.len() - zeros).saturating_sub(1) * 8 + first_bits))
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
