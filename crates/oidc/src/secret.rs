//! Text that must not be printed, and random tokens.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq as _;

use crate::Error;

/// Random bytes of a token: 256 bits.
const TOKEN_BYTES: usize = 32;

/// Characters of a token: [`TOKEN_BYTES`] in base64url without padding.
pub(crate) const TOKEN_CHARS: usize = 43;

/// Text that `Debug` does not show. It has no `Display`, and compares in constant time.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Takes the text as it is. A caller that read it from a file has removed the line end.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// 256 random bits of the system, as 43 characters of base64url.
    pub(crate) fn random() -> Result<Self, Error> {
        let mut bytes = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::Random)?;
        Ok(Self::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The text, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether this is the same text. The time does not depend on where the two differ.
    pub fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The SHA-256 of a token, which is kept in its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    pub(crate) fn of(token: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Self(bytes)
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// The PKCE challenge of a verifier, method S256 (RFC 7636, 4.2).
pub(crate) fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(..) Some(Secret(..))");
        assert!(secret.matches("hunter2"));
        assert!(!secret.matches("hunter3") && !secret.matches("hunter") && !secret.matches(""));
    }

    #[test]
    fn random_tokens_have_256_bits_and_differ() {
        let (one, two) = (Secret::random().expect("random"), Secret::random().expect("random"));
        assert_eq!(one.expose().len(), TOKEN_CHARS);
        assert!(!one.matches(two.expose()));
    }

    #[test]
    fn the_challenge_is_that_of_rfc_7636_appendix_b() {
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
