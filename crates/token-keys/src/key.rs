//! One key, and the keys of a published set (RFC 7517).
//!
//! A key that cannot verify what this server accepts is ignored in a set, because sets are often
//! published for several purposes.

use std::ops::RangeInclusive;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::RSAPublicKey;

/// Keys in all. A token without a `kid` may have to be tried with each key that has none.
pub const KEYS_MAX: usize = 64;

/// Bytes of an HS256 secret: no fewer than the hash's (RFC 7518, 3.2).
pub const SECRET_BYTES_MIN: usize = 32;

/// Bits of an RSA key's modulus (RFC 7518, 3.3; the upper bound keeps a check short).
const RSA_BITS: RangeInclusive<usize> = 2_048..=8_192;

/// One key and the only algorithm that it is used with.
pub struct Key {
    /// The `kid` that tokens name it by.
    pub id: Option<String>,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The key.
    pub key: DecodingKey,
}

impl Key {
    /// Whether everybody may know it.
    pub fn is_public(&self) -> bool {
        self.algorithm != Algorithm::HS256
    }
}

/// An RSA public key in PEM that is long enough.
pub fn rsa_from_pem(pem: &[u8]) -> Option<DecodingKey> {
    let key = DecodingKey::from_rsa_pem(pem).ok()?;
    let (_, parsed) = RSAPublicKey::from_der(bytes(&key)).ok()?;
    RSA_BITS.contains(&parsed.key_size()).then_some(key)
}

/// The keys of a set's JSON that tokens may be verified with. An RSA key that names no algorithm is
/// used for RS256 and PS256. A set without a single usable key is an error.
pub fn of_set(json: &[u8]) -> Result<Vec<Key>, String> {
    let set: JwkSet =
        serde_json::from_slice(json).map_err(|error| format!("not a JSON Web Key Set: {error}"))?;
    let keys: Vec<Key> = set.keys.iter().flat_map(usable).collect();
    if keys.is_empty() {
        return Err("the set holds no key for ES256, EdDSA, RS256, PS256 or HS256 signatures".to_owned());
    }
    Ok(keys)
}

/// The keys of a set that a provider publishes: 1 to [`KEYS_MAX`], none of them a secret.
pub fn public_of_set(json: &[u8]) -> Result<Vec<Key>, String> {
    let mut keys = of_set(json)?;
    // A secret that is published is none.
    keys.retain(Key::is_public);
    if keys.is_empty() || keys.len() > KEYS_MAX {
        return Err(format!("it holds {} public keys that can be used, not 1 to {KEYS_MAX}", keys.len()));
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

/// Whether the key is an uncompressed point of P-256 (SEC 1, 2.3.3).
pub fn is_p256(key: &DecodingKey) -> bool {
    let point = bytes(key);
    point.len() == 65 && point[0] == 4
}

/// Whether the key has the length of an Ed25519 key.
pub fn is_ed25519(key: &DecodingKey) -> bool {
    bytes(key).len() == 32
}
