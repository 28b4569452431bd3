//! Short-lived tokens of devices: claims that the server signed.
//!
//! ```text
//! token = "st_" base64url( kind: 1 | expiry: 8 | app | device | signature: 32 )
//! signature = HMAC-SHA256(secret, all before)
//! ```
//!
//! `expiry` is seconds since 1970, big-endian; a text stands behind its length in one byte. A token
//! is void after its expiry, and all are when the secret is replaced. Whether its device is revoked
//! is the shard's to say, at each use.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use stadium_registry::{AppName, DeviceId};

use crate::config::Config;
use crate::secret_file;

/// How tokens of devices begin. No API key does.
pub(crate) const PREFIX: &str = "st_";

/// The file of the secret that tokens are signed with. A holder of the file can make tokens.
const SECRET_FILE: &str = "device-tokens.key";

/// Characters of the longest token, and a margin.
const TOKEN_CHARS_MAX: usize = 512;

const KIND: u8 = 1;

const SIGNATURE_BYTES: usize = 32;

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) app: AppName,
    pub(crate) device: DeviceId,
    /// Seconds since 1970.
    pub(crate) expires_at_s: u64,
}

/// Signs tokens and reads them.
pub(crate) struct DeviceTokens {
    secret: hmac::Key,
}

impl DeviceTokens {
    /// Opens the secret of a data directory or a cluster; at the first start it is made.
    ///
    /// # Errors
    /// The system's error, or that the file is not one of this server.
    pub(crate) fn open(config: &Config) -> io::Result<Self> {
        let secret = secret_file::open(config, SECRET_FILE, "device tokens", "all tokens of devices")?;
        Ok(Self::new(&secret))
    }

    fn new(secret: &[u8; 32]) -> Self {
        Self { secret: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    pub(crate) fn sign(&self, claims: &Claims) -> String {
        let mut bytes = vec![KIND];
        bytes.extend_from_slice(&claims.expires_at_s.to_be_bytes());
        put(&mut bytes, claims.app.as_str());
        put(&mut bytes, claims.device.as_str());
        let signature = hmac::sign(&self.secret, &bytes);
        bytes.extend_from_slice(signature.as_ref());
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The claims of a token; none where this server did not sign it, or it is over at `now_s`.
    pub(crate) fn read(&self, token: &str, now_s: u64) -> Option<Claims> {
        let token = token.strip_prefix(PREFIX).filter(|token| token.len() <= TOKEN_CHARS_MAX)?;
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (signed, signature) = bytes.split_last_chunk::<SIGNATURE_BYTES>()?;
        hmac::verify(&self.secret, signed, signature).ok()?;
        let (&kind, rest) = signed.split_first()?;
        let (expiry, mut rest) = rest.split_first_chunk()?;
        let expires_at_s = u64::from_be_bytes(*expiry);
        let app = AppName::new(take(&mut rest)?).ok()?;
        let device = DeviceId::new(take(&mut rest)?).ok()?;
        let is_valid = kind == KIND && rest.is_empty() && now_s < expires_at_s;
        is_valid.then_some(Claims { app, device, expires_at_s })
    }
}

/// A text behind its length in one byte.
fn put(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(u8::try_from(text.len()).expect("names of apps and devices have at most 128 bytes"));
    bytes.extend_from_slice(text.as_bytes());
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let (&length, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(length.into())?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(device: &str) -> Claims {
        Claims {
            app: AppName::new("shop").expect("a name"),
            device: DeviceId::new(device).expect("a name"),
            expires_at_s: 1_000,
        }
    }

    #[test]
    fn a_token_names_its_device_until_its_expiry() {
        let tokens = DeviceTokens::new(&[7; 32]);
        for device in ["phone-7", &"x".repeat(DeviceId::BYTES_MAX)] {
            let token = tokens.sign(&claims(device));
            assert!(token.starts_with("st_") && token.len() <= TOKEN_CHARS_MAX);
            assert_eq!(tokens.read(&token, 999), Some(claims(device)));
            assert_eq!(tokens.read(&token, 1_000), None);
        }
    }

    #[test]
    fn changed_tokens_and_those_of_another_server_name_nobody() {
        let tokens = DeviceTokens::new(&[7; 32]);
        let token = tokens.sign(&claims("phone-7"));
        assert_eq!(DeviceTokens::new(&[8; 32]).read(&token, 0), None);
        let bytes = URL_SAFE_NO_PAD.decode(&token[3..]).expect("base64url");
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            let changed = format!("st_{}", URL_SAFE_NO_PAD.encode(changed));
            assert_eq!(tokens.read(&changed, 0), None, "{place}");
            let cut = format!("st_{}", URL_SAFE_NO_PAD.encode(&bytes[..place]));
            assert_eq!(tokens.read(&cut, 0), None, "{place}");
        }
        for other in ["", "st_", &token[3..], &token.replace("st_", "sk_"), "st_näh"] {
            assert_eq!(tokens.read(other, 0), None, "{other}");
        }
    }
}
