//! The cryptography of jsonwebtoken on ring, which the TLS layer uses already.
//!
//! jsonwebtoken leaves the choice to its user; its own two would add another C library or a dozen
//! crates to do what ring does. It verifies HS256, ES256, Ed25519, RS256 and PS256, and nothing
//! else; it signs nothing, because a server that only checks tokens has no business with private
//! keys.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// Makes ring the cryptography of this process's tokens, unless something was chosen before.
pub fn install() {
    static ONCE: Once = Once::new();
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        verifier_factory: verifier,
        key_utils: KeyUtils::new_unimplemented(),
    };
    // An error means that another was installed, which serves as well.
    ONCE.call_once(|| {
        let _ = PROVIDER.install_default();
    });
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if let DecodingKeyKind::RsaModulusExponent { n, e } = key.kind() {
        let key = RsaPublicKeyComponents { n: n.clone(), e: e.clone() };
        return Ok(Box::new(Rsa { key, by: rsa(*algorithm)?, algorithm: *algorithm }));
    }
    let bytes = key.try_get_as_bytes()?;
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            Ok(Box::new(Hmac(hmac::Key::new(hmac::HMAC_SHA256, bytes))))
        }
        (Algorithm::ES256, AlgorithmFamily::Ec) => {
            Ok(Box::new(PublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes, Algorithm::ES256)))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            Ok(Box::new(PublicKey::new(&ED25519, bytes, Algorithm::EdDSA)))
        }
        (Algorithm::RS256 | Algorithm::PS256, AlgorithmFamily::Rsa) => {
            Ok(Box::new(PublicKey::new(rsa(*algorithm)?, bytes, *algorithm)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

/// The verification of an RSA algorithm (RFC 7518, 3.3 and 3.5), with keys of 2,048 to 8,192 bits.
fn rsa(algorithm: Algorithm) -> Result<&'static RsaParameters, Error> {
    match algorithm {
        Algorithm::RS256 => Ok(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::PS256 => Ok(&RSA_PSS_2048_8192_SHA256),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

/// An RSA key of a key set, which has its numbers apart.
struct Rsa {
    key: RsaPublicKeyComponents<Vec<u8>>,
    by: &'static RsaParameters,
    algorithm: Algorithm,
}

impl Verifier<Vec<u8>> for Rsa {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        self.key.verify(self.by, message, signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Rsa {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

struct Hmac(hmac::Key);

impl Verifier<Vec<u8>> for Hmac {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        hmac::verify(&self.0, message, signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Hmac {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

struct PublicKey {
    key: UnparsedPublicKey<Vec<u8>>,
    algorithm: Algorithm,
}

impl PublicKey {
    fn new(by: &'static dyn VerificationAlgorithm, bytes: &[u8], algorithm: Algorithm) -> Self {
        Self { key: UnparsedPublicKey::new(by, bytes.to_vec()), algorithm }
    }
}

impl Verifier<Vec<u8>> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        self.key.verify(message, signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for PublicKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
