//! VAPID (RFC 8292): the identity of a sender, checked.
//!
//! `Authorization: vapid t=JWT, k=PUBLIC KEY`: the token is signed with the key (ES256), made out to this server's origin, and good for a
//! day at most. A token that was checked is remembered until it ends: senders use one for hours, and a signature costs as much as
//! many pushes.

use std::collections::HashMap;

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use crate::request::problem::Problem;
use crate::webpush::problems::{VAPID_MISSING, VAPID_WRONG};
use crate::webpush::tokens::Subscription;

/// A token is good for so long at most (RFC 8292, 2).
const DAY_S: u64 = 24 * 3_600;

/// Clocks of sender and server may be apart by so much.
const CLOCKS_APART_S: u64 = 60;

/// Characters of a token; real ones have about 300.
const TOKEN_CHARS_MAX: usize = 4_096;

/// Tokens that are remembered, 48 bytes each; one more and all are checked anew.
const REMEMBERED_MAX: usize = 4_096;

/// Checks senders.
#[derive(Default)]
pub(crate) struct Verifier {
    /// Until when a token is good, in seconds since 1970, by the SHA-256 of token, key and origin.
    remembered: Mutex<HashMap<[u8; 32], u64>>,
}

#[derive(Deserialize)]
struct Head {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    aud: Value,
    exp: f64,
}

impl Verifier {
    /// Whether the request may push to the subscription, `now` in seconds since 1970.
    pub(crate) fn check(
        &self,
        headers: &HeaderMap,
        subscription: &Subscription,
        now: u64,
    ) -> Result<(), Problem> {
        let Some(given) = headers.get(header::AUTHORIZATION) else {
            return match subscription.key {
                None => Ok(()),
                Some(_) => {
                    let detail = "send the header `Authorization: vapid t=..., k=...` with the key that the subscription was made for";
                    Err(Problem::new(VAPID_MISSING, detail))
                }
            };
        };
        let (scheme, fields) = given.to_str().unwrap_or_default().split_once(' ').unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("vapid") {
            let detail =
                "the scheme is `vapid` of RFC 8292; the older `WebPush` with `Crypto-Key` is not taken";
            return Err(Problem::new(VAPID_MISSING, detail));
        }
        let token = field(fields, "t").ok_or_else(|| wrong("it has no `t`"))?;
        let key = field(fields, "k").ok_or_else(|| wrong("it has no `k`"))?;
        let key = public_key(key)
            .ok_or_else(|| wrong("`k` is no public key on P-256: 65 bytes, uncompressed, as base64url"))?;
        if subscription.key.is_some_and(|expected| expected != key_hash(&key)) {
            return Err(wrong("the subscription was made for another public key"));
        }
        let name = remembered_as(token, &key, &subscription.origin);
        let known = self.remembered.lock().get(&name).copied();
        if known.is_some_and(|until| now < until) {
            return Ok(());
        }
        let until = verify(token, &key, &subscription.origin, now)?;
        let mut remembered = self.remembered.lock();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(name, until);
        Ok(())
    }
}

/// The SHA-256 of a public key, by which subscriptions know it.
pub(crate) fn key_hash(key: &[u8; 65]) -> [u8; 32] {
    digest(&SHA256, key).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// An uncompressed point, as base64url with or without padding.
pub(crate) fn public_key(text: &str) -> Option<[u8; 65]> {
    let key: [u8; 65] = decode(text)?.try_into().ok()?;
    (key[0] == 4).then_some(key)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// The value of a parameter, with or without quotes.
fn field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = fields.split(',').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(known, _)| known.trim().eq_ignore_ascii_case(name))?;
    Some(value.trim().trim_matches('"')).filter(|value| !value.is_empty() && value.len() <= TOKEN_CHARS_MAX)
}

fn remembered_as(token: &str, key: &[u8; 65], origin: &str) -> [u8; 32] {
    let mut of = ring::digest::Context::new(&SHA256);
    // The key has one length, and a token no line break: no two sorts of input are the same bytes.
    of.update(key);
    of.update(token.as_bytes());
    of.update(b"\n");
    of.update(origin.as_bytes());
    of.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Until when the token is good.
fn verify(token: &str, key: &[u8; 65], origin: &str, now: u64) -> Result<u64, Problem> {
    let parts = || {
        let (signed, signature) = token.rsplit_once('.')?;
        let (head, claims) = signed.split_once('.')?;
        Some((signed, decode(signature)?, decode(head)?, decode(claims)?))
    };
    let (signed, signature, head, claims) = parts()
        .ok_or_else(|| wrong("`t` is no JSON web token: three parts of base64url with points between"))?;
    let head: Head = serde_json::from_slice(&head)
        .map_err(|error| wrong(&format!("the token's head cannot be read: {error}")))?;
    if head.alg != "ES256" {
        return Err(wrong("the token is signed by ES256 and nothing else"));
    }
    let claims: Claims = serde_json::from_slice(&claims)
        .map_err(|error| wrong(&format!("the token's claims cannot be read: {error}")))?;
    let ours = |aud: &Value| aud.as_str().is_some_and(|aud| same_origin(aud, origin));
    let is_for_us = match &claims.aud {
        Value::Array(several) => several.iter().any(ours),
        one => ours(one),
    };
    if !is_for_us {
        return Err(wrong(&format!("the token's `aud` is not {origin}, the endpoint's origin")));
    }
    let ends = claims.exp;
    if ends <= now as f64 {
        return Err(wrong("the token's `exp` is past"));
    }
    if ends > (now + DAY_S + CLOCKS_APART_S) as f64 {
        return Err(wrong("the token's `exp` is more than a day ahead"));
    }
    let signature =
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed.as_bytes(), &signature);
    signature.map_err(|_| wrong("the token's signature is not of the key `k`"))?;
    Ok(ends as u64)
}

/// Whether a text names this origin: a slash at its end and the scheme's own port make no difference.
fn same_origin(aud: &str, origin: &str) -> bool {
    let aud = aud.trim_end_matches('/').to_ascii_lowercase();
    let without = match aud.split_once("://") {
        Some(("https", host)) => host.strip_suffix(":443").map(|host| format!("https://{host}")),
        Some(("http", host)) => host.strip_suffix(":80").map(|host| format!("http://{host}")),
        _ => None,
    };
    without.as_deref().unwrap_or(&aud) == origin
}

fn wrong(detail: &str) -> Problem {
    Problem::new(VAPID_WRONG, detail)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;
    use stadium_registry::{AppName, DeviceId};

    use super::*;

    const NOW: u64 = 1_900_000_000;
    const ORIGIN: &str = "https://push.example.org";

    struct Sender(EcdsaKeyPair);

    impl Sender {
        fn new() -> Self {
            let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let made = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).expect("a key is made");
            Self(EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &SystemRandom::new()).expect("it is one"))
        }

        fn key(&self) -> [u8; 65] {
            self.0.public_key().as_ref().try_into().expect("a point on P-256")
        }

        fn token(&self, head: &Value, claims: &Value) -> String {
            let encode = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
            let signed = format!("{}.{}", encode(head), encode(claims));
            let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).expect("it signs");
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
        }

        fn header(&self, head: &Value, claims: &Value) -> String {
            format!("vapid t={}, k={}", self.token(head, claims), URL_SAFE_NO_PAD.encode(self.key()))
        }

        fn good(&self) -> String {
            self.header(&head(), &claims())
        }
    }

    fn head() -> Value {
        json!({"typ": "JWT", "alg": "ES256"})
    }

    fn claims() -> Value {
        json!({"aud": ORIGIN, "exp": NOW + 3_600, "sub": "mailto:ops@example.org"})
    }

    fn subscription(key: Option<&Sender>) -> Subscription {
        Subscription {
            app: AppName::new("default").expect("a name"),
            device: DeviceId::new("phone-7").expect("a name"),
            origin: ORIGIN.to_owned(),
            key: key.map(|sender| key_hash(&sender.key())),
            salt: [0; 16],
        }
    }

    fn check(verifier: &Verifier, header: &str, subscription: &Subscription, now: u64) -> Result<(), String> {
        let value = HeaderValue::from_str(header).expect("a header");
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        verifier.check(&headers, subscription, now).map_err(|problem| problem.in_words())
    }

    #[test]
    fn a_restricted_subscription_takes_its_key_alone_and_an_open_one_nobody_or_anybody() {
        let (verifier, ours, other) = (Verifier::default(), Sender::new(), Sender::new());
        let (restricted, open) = (subscription(Some(&ours)), subscription(None));
        check(&verifier, &ours.good(), &restricted, NOW).expect("its own key");
        let refused = check(&verifier, &other.good(), &restricted, NOW).expect_err("not its key");
        assert!(refused.contains("another public key (WEB-008)"), "{refused}");
        let missing = verifier.check(&HeaderMap::new(), &restricted, NOW).expect_err("nothing").in_words();
        assert!(missing.contains("WEB-007"), "{missing}");
        verifier.check(&HeaderMap::new(), &open, NOW).expect("nobody");
        check(&verifier, &other.good(), &open, NOW).expect("any sender with a valid signature");
        let stolen =
            format!("vapid t={}, k={}", other.token(&head(), &claims()), URL_SAFE_NO_PAD.encode(ours.key()));
        assert!(check(&verifier, &stolen, &open, NOW).expect_err("not signed by k").contains("signature"));
        assert!(check(&verifier, "WebPush abc", &open, NOW).expect_err("old").contains("WEB-007"));
    }

    #[test]
    fn a_token_is_for_us_and_for_a_day_at_most() {
        let (verifier, sender) = (Verifier::default(), Sender::new());
        let to = subscription(None);
        let with = |name: &str, value: Value| {
            let mut claims = claims();
            claims[name] = value;
            check(&verifier, &sender.header(&head(), &claims), &to, NOW)
        };
        with("aud", json!("https://push.example.org:443/")).expect("the same origin");
        with("aud", json!(["https://else.example", ORIGIN])).expect("one of several");
        with("exp", json!(NOW + DAY_S)).expect("a day");
        for (name, value, reason) in [
            ("aud", json!("https://else.example"), "`aud` is not"),
            ("aud", json!("http://push.example.org"), "`aud` is not"),
            ("aud", json!(7), "`aud` is not"),
            ("exp", json!(NOW), "past"),
            ("exp", json!(NOW + DAY_S + 3_600), "more than a day"),
            ("exp", Value::Null, "cannot be read"),
        ] {
            let refused = with(name, value).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
        let none = sender.header(&json!({"alg": "none"}), &claims());
        assert!(check(&verifier, &none, &to, NOW).expect_err("unsigned").contains("ES256"));
        for broken in ["vapid", "vapid t=a.b", "vapid t=a.b.c, k=AAAA", "vapid t=, k="] {
            check(&verifier, broken, &to, NOW).expect_err(broken);
        }
    }

    #[test]
    fn a_token_that_was_checked_is_no_better_when_it_is_remembered() {
        let (verifier, sender) = (Verifier::default(), Sender::new());
        let to = subscription(None);
        let header = sender.good();
        check(&verifier, &header, &to, NOW).expect("good");
        assert_eq!(verifier.remembered.lock().len(), 1);
        check(&verifier, &header, &to, NOW + 1).expect("good still");
        assert!(check(&verifier, &header, &to, NOW + 3_600).expect_err("it has ended").contains("past"));
        let elsewhere = Subscription { origin: "https://else.example".to_owned(), ..to };
        assert!(check(&verifier, &header, &elsewhere, NOW).expect_err("of another origin").contains("aud"));
    }
}
