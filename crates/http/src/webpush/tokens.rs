//! Addresses that contain everything and show nothing: sealed with the server's secret.
//!
//! ```text
//! token = base64url( salt: 16 | AES-256-GCM(fields) | tag: 16 ),  key = HMAC-SHA256(secret, kind | salt),  nonce = 0
//! ```
//!
//! Each token has a key of its own, so a nonce is never used twice. Sealed rather than only signed, because a sender that sees which
//! app and device stand behind an endpoint could tell that two subscriptions are of one person (RFC 8030, 8.3).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use stadium_push::PushId;
use stadium_registry::{AppName, DeviceId};

/// Characters of the longest token: all names as long as they may be, and an origin of 300 bytes.
const TOKEN_CHARS_MAX: usize = 1_024;

const SALT_BYTES: usize = 16;

/// The kind is part of the key, so that a message's address never works as an endpoint.
const SUBSCRIPTION: u8 = 1;
const MESSAGE: u8 = 2;

/// Who may push to a device, and by which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// Whose device.
    pub(crate) app: AppName,
    /// Which device.
    pub(crate) device: DeviceId,
    /// Scheme, host and port of its endpoint: whom VAPID tokens must be made out to.
    pub(crate) origin: String,
    /// SHA-256 of the only public key whose owner may push.
    pub(crate) key: Option<[u8; 32]>,
    /// Makes it one of a kind; its first bytes are the number that the device keeps.
    pub(crate) salt: [u8; SALT_BYTES],
}

impl Subscription {
    /// The number by which the device knows it.
    pub(crate) fn number(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.salt[..6])
    }
}

/// A message that was accepted: what its address stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) app: AppName,
    pub(crate) device: DeviceId,
    pub(crate) push: PushId,
}

/// Seals and opens tokens.
pub(crate) struct Vault {
    secret: hmac::Key,
}

impl Vault {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self { secret: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    pub(crate) fn seal_subscription(&self, subscription: &Subscription) -> String {
        let mut fields = Vec::with_capacity(128);
        put(&mut fields, subscription.app.as_str());
        put(&mut fields, subscription.device.as_str());
        put(&mut fields, &subscription.origin);
        fields.extend_from_slice(subscription.key.as_ref().map_or(&[], |key| key.as_slice()));
        self.seal(SUBSCRIPTION, subscription.salt, fields)
    }

    /// None where this server did not make it.
    pub(crate) fn open_subscription(&self, token: &str) -> Option<Subscription> {
        let (salt, fields) = self.open(SUBSCRIPTION, token)?;
        let mut rest = fields.as_slice();
        let app = AppName::new(take(&mut rest)?).ok()?;
        let device = DeviceId::new(take(&mut rest)?).ok()?;
        let origin = take(&mut rest)?.to_owned();
        let key = if rest.is_empty() { None } else { Some(rest.try_into().ok()?) };
        Some(Subscription { app, device, origin, key, salt })
    }

    pub(crate) fn seal_message(&self, message: &Message) -> String {
        let mut fields = Vec::with_capacity(64);
        put(&mut fields, message.app.as_str());
        put(&mut fields, message.device.as_str());
        self.seal(MESSAGE, message.push.0.to_be_bytes(), fields)
    }

    /// None where this server did not make it.
    pub(crate) fn open_message(&self, token: &str) -> Option<Message> {
        let (salt, fields) = self.open(MESSAGE, token)?;
        let mut rest = fields.as_slice();
        let app = AppName::new(take(&mut rest)?).ok()?;
        let device = DeviceId::new(take(&mut rest)?).ok()?;
        rest.is_empty().then_some(Message { app, device, push: PushId(u128::from_be_bytes(salt)) })
    }

    fn seal(&self, kind: u8, salt: [u8; SALT_BYTES], mut fields: Vec<u8>) -> String {
        let key = self.key(kind, salt);
        key.seal_in_place_append_tag(nonce(), Aad::empty(), &mut fields)
            .expect("fields are far below the limit of a seal");
        let mut token = salt.to_vec();
        token.append(&mut fields);
        URL_SAFE_NO_PAD.encode(token)
    }

    fn open(&self, kind: u8, token: &str) -> Option<([u8; SALT_BYTES], Vec<u8>)> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (salt, sealed) = token.split_first_chunk::<SALT_BYTES>()?;
        let mut fields = sealed.to_vec();
        let opened = self.key(kind, *salt).open_in_place(nonce(), Aad::empty(), &mut fields).ok()?.len();
        fields.truncate(opened);
        Some((*salt, fields))
    }

    fn key(&self, kind: u8, salt: [u8; SALT_BYTES]) -> LessSafeKey {
        let mut of = [kind; SALT_BYTES + 1];
        of[1..].copy_from_slice(&salt);
        let key = hmac::sign(&self.secret, &of);
        LessSafeKey::new(
            UnboundKey::new(&AES_256_GCM, key.as_ref()).expect("SHA-256 and an AES-256 key have 32 bytes"),
        )
    }
}

/// Always the same: each token has a key of its own.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

/// A text behind its length in two bytes.
fn put(fields: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("names and origins are checked to be shorter");
    fields.extend_from_slice(&length.to_be_bytes());
    fields.extend_from_slice(text.as_bytes());
}

fn take<'a>(fields: &mut &'a [u8]) -> Option<&'a str> {
    let (length, rest) = fields.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    *fields = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(key: Option<[u8; 32]>) -> Subscription {
        Subscription {
            app: AppName::new("matchday").expect("a name"),
            device: DeviceId::new("phone-7").expect("a name"),
            origin: "https://push.example.org".to_owned(),
            key,
            salt: *b"0123456789abcdef",
        }
    }

    #[test]
    fn a_token_contains_what_was_sealed_and_shows_none_of_it() {
        let vault = Vault::new(&[7; 32]);
        for key in [None, Some([9; 32])] {
            let token = vault.seal_subscription(&subscription(key));
            assert_eq!(vault.open_subscription(&token), Some(subscription(key)));
            let bytes = URL_SAFE_NO_PAD.decode(&token).expect("base64url");
            assert!(!bytes.windows(7).any(|part| part == b"phone-7"));
        }
        let app = AppName::new("default").expect("a name");
        let message = Message { app, device: DeviceId::new("d").expect("a name"), push: PushId(77) };
        assert_eq!(vault.open_message(&vault.seal_message(&message)), Some(message));
    }

    #[test]
    fn tokens_of_another_server_of_another_kind_and_changed_ones_open_nothing() {
        let vault = Vault::new(&[7; 32]);
        let token = vault.seal_subscription(&subscription(None));
        assert_eq!(Vault::new(&[8; 32]).open_subscription(&token), None);
        assert_eq!(vault.open_message(&token), None);
        let bytes = URL_SAFE_NO_PAD.decode(&token).expect("base64url");
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert_eq!(vault.open_subscription(&URL_SAFE_NO_PAD.encode(changed)), None, "{place}");
            assert_eq!(vault.open_subscription(&URL_SAFE_NO_PAD.encode(&bytes[..place])), None, "{place}");
        }
        assert_eq!(vault.open_subscription(&"A".repeat(TOKEN_CHARS_MAX + 4)), None);
        assert_eq!(vault.open_subscription("näh"), None);
    }
}
