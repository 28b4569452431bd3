//! Validates an ID token (OpenID Connect Core 1.0, 3.1.3.7). Pure: the caller passes keys and time.
//!
//! The key decides on the algorithm, never the token: RS256, PS256, ES256 or EdDSA. `none` and HMAC
//! are refused whatever the keys are.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::Value;
use stadium_token_keys::Key;

use crate::identity::{self, Claims};
use crate::pending::LOGIN_LIFETIME;
use crate::secret::Secret;

/// Bytes of a token. One with a thousand groups has some 50 KB.
const TOKEN_BYTES_MAX: usize = 98_304;

/// The values that a token's claims must have.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a Secret,
    pub(crate) leeway: Duration,
    pub(crate) time: SystemTime,
}

/// Why a token is not believed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No key has its `kid` and its algorithm: the provider may have a key that is not fetched yet.
    UnknownKey,
    /// It breaks this rule.
    Rule(&'static str),
}

/// The claims of a token that is genuine, of this login, and not expired.
pub(crate) fn verify(token: &Secret, keys: &[Key], expected: &Expected<'_>) -> Result<Claims, Fault> {
    let claims = signed_claims(token.expose(), keys)?;
    check(&claims, expected).map_err(Fault::Rule)?;
    Ok(claims)
}

fn signed_claims(token: &str, keys: &[Key]) -> Result<Claims, Fault> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Fault::Rule("has more than 96 KB"));
    }
    // `none` and other unknown algorithms do not parse.
    let header = decode_header(token).map_err(|_| Fault::Rule("is malformed, or has no known algorithm"))?;
    let accepted = [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];
    if !accepted.contains(&header.alg) {
        return Err(Fault::Rule("is not signed with RS256, PS256, ES256 or EdDSA"));
    }
    // No extension is understood here, so one that must be refuses the token (RFC 7515, 4.1.11).
    if header.crit.is_some() {
        return Err(Fault::Rule("has an extension that must be understood"));
    }
    let is_named = |key: &&Key| header.kid.is_none() || key.id == header.kid;
    let mut fitting = keys.iter().filter(|key| key.algorithm == header.alg).filter(is_named).peekable();
    if fitting.peek().is_none() {
        return Err(Fault::UnknownKey);
    }
    let claims = fitting.find_map(|key| {
        let signature_only = signature_only(key.algorithm);
        decode::<Claims>(token, &key.key, &signature_only).ok().map(|decoded| decoded.claims)
    });
    claims.ok_or(Fault::Rule("has a signature that is wrong, or claims that are not JSON"))
}

/// The library reads the clock of the system and leaves out claims that are absent: [`check`] does
/// neither.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    validation
}

fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), &'static str> {
    let text = |claim: &str| claims.get(claim).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err("is of another issuer (iss)");
    }
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect::<Option<_>>().unwrap_or_default(),
        _ => Vec::new(),
    };
    if !audiences.contains(&expected.client_id) {
        return Err("is for another client (aud)");
    }
    // A token for several is ours only where it was issued to us.
    if audiences.len() > 1 && !claims.contains_key("azp") {
        return Err("is for several clients and does not name the one that it was issued to (azp)");
    }
    if claims.contains_key("azp") && text("azp") != Some(expected.client_id) {
        return Err("was issued to another client (azp)");
    }
    let now = expected.time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let leeway = expected.leeway.as_secs_f64();
    let time = |claim: &str| claims.get(claim).and_then(Value::as_f64).filter(|time| time.is_finite());
    if time("exp").is_none_or(|expires| expires + leeway <= now) {
        return Err("expired, or has no end (exp)");
    }
    let issued = time("iat").ok_or("has no time of issue (iat)")?;
    if issued > now + leeway {
        return Err("is issued in the future (iat): one of the clocks is wrong");
    }
    // It is fetched at once, and the code for it is not older than the login.
    if issued + LOGIN_LIFETIME.as_secs_f64() + leeway < now {
        return Err("is older than any login (iat): one of the clocks is wrong");
    }
    if claims.contains_key("nbf") && time("nbf").is_none_or(|from| from > now + leeway) {
        return Err("is not valid yet (nbf)");
    }
    if !text("nonce").is_some_and(|nonce| expected.nonce.matches(nonce)) {
        return Err("is not of this login (nonce)");
    }
    identity::subject(claims).map(|_| ()).ok_or("names no person (sub)")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
    use ring::{digest, hmac};
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    struct Signer {
        ec: EcdsaKeyPair,
        ed: Ed25519KeyPair,
    }

    impl Signer {
        fn new() -> Self {
            stadium_token_keys::install();
            let random = SystemRandom::new();
            let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
            let ed = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
            Self {
                ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random)
                    .expect("its own"),
                ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).expect("its own"),
            }
        }

        fn keys(&self) -> Vec<Key> {
            let point = self.ec.public_key().as_ref();
            let coordinate = |range| URL_SAFE_NO_PAD.encode(&point[range]);
            let set = json!({ "keys": [
                { "kty": "EC", "crv": "P-256", "kid": "e", "x": coordinate(1..33), "y": coordinate(33..65) },
                { "kty": "OKP", "crv": "Ed25519", "kid": "d",
                  "x": URL_SAFE_NO_PAD.encode(self.ed.public_key().as_ref()) },
            ] });
            stadium_token_keys::public_of_set(set.to_string().as_bytes()).expect("a set")
        }

        fn sign(&self, header: &Value, claims: &Value) -> Secret {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let message = format!("{}.{}", part(header), part(claims));
            let signature = match header["alg"].as_str() {
                Some("ES256") => {
                    self.ec.sign(&SystemRandom::new(), message.as_bytes()).expect("signed").as_ref().to_vec()
                }
                Some("EdDSA") => self.ed.sign(message.as_bytes()).as_ref().to_vec(),
                // The key that everybody knows, used as a secret.
                Some("HS256") => {
                    let key = hmac::Key::new(hmac::HMAC_SHA256, self.ec.public_key().as_ref());
                    hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
                }
                _ => Vec::new(),
            };
            Secret::new(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
        }
    }

    fn header() -> Value {
        json!({ "alg": "ES256", "kid": "e" })
    }

    fn claims() -> Value {
        json!({
            "iss": "https://id.example.org", "sub": "ann", "aud": "stadium", "nonce": "the-nonce",
            "iat": NOW, "exp": NOW + 300,
        })
    }

    fn verified(token: &Secret, keys: &[Key]) -> Result<Claims, Fault> {
        let expected = Expected {
            issuer: "https://id.example.org",
            client_id: "stadium",
            nonce: &Secret::new("the-nonce"),
            leeway: Duration::from_secs(60),
            time: UNIX_EPOCH + Duration::from_secs(NOW),
        };
        verify(token, keys, &expected)
    }

    #[test]
    fn a_genuine_token_is_believed() {
        let signer = Signer::new();
        let keys = signer.keys();
        for header in [header(), json!({ "alg": "EdDSA", "kid": "d" }), json!({ "alg": "ES256" })] {
            let verified = verified(&signer.sign(&header, &claims()), &keys).expect("good");
            assert_eq!(identity::subject(&verified), Some("ann"), "{header}");
        }
    }

    #[test]
    fn each_claim_is_checked() {
        let signer = Signer::new();
        let keys = signer.keys();
        let cases = [
            ("iss", json!("https://id.example.org/"), "iss"),
            ("iss", Value::Null, "iss"),
            ("aud", json!("other"), "aud"),
            ("aud", json!([]), "aud"),
            ("aud", json!(["stadium", 7]), "aud"),
            ("aud", Value::Null, "aud"),
            ("aud", json!(["stadium", "other"]), "azp"),
            ("azp", json!("other"), "azp"),
            ("azp", json!(["stadium"]), "azp"),
            ("exp", json!(NOW - 60), "exp"),
            ("exp", json!("never"), "exp"),
            ("exp", Value::Null, "exp"),
            ("iat", json!(NOW + 61), "iat"),
            ("iat", json!(NOW - 661), "iat"),
            ("iat", Value::Null, "iat"),
            ("nbf", json!(NOW + 61), "nbf"),
            ("nbf", json!("now"), "nbf"),
            ("nonce", json!("another-nonce"), "nonce"),
            ("nonce", json!(""), "nonce"),
            ("nonce", Value::Null, "nonce"),
            ("sub", json!(""), "sub"),
            ("sub", json!(7), "sub"),
        ];
        for (claim, value, expected) in cases {
            let mut claims = claims();
            claims[claim] = value;
            match verified(&signer.sign(&header(), &claims), &keys) {
                Err(Fault::Rule(problem)) => {
                    assert!(problem.contains(&format!("({expected})")), "{claims}: {problem}")
                }
                other => panic!("{claims}: {other:?}"),
            }
        }
        let absent = ["iss", "aud", "exp", "iat", "nonce", "sub"];
        for claim in absent {
            let mut claims = claims();
            claims.as_object_mut().expect("an object").remove(claim);
            assert!(verified(&signer.sign(&header(), &claims), &keys).is_err(), "{claim}");
        }
    }

    #[test]
    fn several_audiences_and_clocks_within_the_leeway_are_accepted() {
        let signer = Signer::new();
        let keys = signer.keys();
        let mut claims = claims();
        claims["aud"] = json!(["other", "stadium"]);
        claims["azp"] = json!("stadium");
        claims["exp"] = json!(NOW - 59);
        claims["iat"] = json!(NOW + 60);
        claims["nbf"] = json!(NOW as f64 + 59.5);
        assert!(verified(&signer.sign(&header(), &claims), &keys).is_ok());
    }

    #[test]
    fn the_key_decides_on_the_algorithm() {
        let signer = Signer::new();
        let keys = signer.keys();
        let fault = |header: Value| verified(&signer.sign(&header, &claims()), &keys).expect_err("refused");
        let unknown_algorithm = Fault::Rule("is malformed, or has no known algorithm");
        assert_eq!(fault(json!({ "alg": "none" })), unknown_algorithm);
        assert_eq!(fault(json!({ "alg": "None", "kid": "e" })), unknown_algorithm);
        let not_accepted = Fault::Rule("is not signed with RS256, PS256, ES256 or EdDSA");
        assert_eq!(fault(json!({ "alg": "HS256", "kid": "e" })), not_accepted);
        assert_eq!(fault(json!({ "alg": "HS512" })), not_accepted);
        assert_eq!(fault(json!({ "alg": "ES384", "kid": "e" })), not_accepted);
        assert_eq!(fault(json!({ "alg": "RS256", "kid": "e" })), Fault::UnknownKey);
        assert_eq!(fault(json!({ "alg": "EdDSA", "kid": "e" })), Fault::UnknownKey);
        assert_eq!(fault(json!({ "alg": "ES256", "kid": "other" })), Fault::UnknownKey);
        let critical = json!({ "alg": "ES256", "kid": "e", "crit": ["x"], "x": 1 });
        assert!(matches!(fault(critical), Fault::Rule(_)));
    }

    #[test]
    fn another_key_or_another_text_is_not_believed() {
        let (signer, stranger) = (Signer::new(), Signer::new());
        let keys = signer.keys();
        let forged = stranger.sign(&header(), &claims());
        assert!(matches!(verified(&forged, &keys), Err(Fault::Rule(_))));
        let genuine = signer.sign(&header(), &claims());
        let mut parts: Vec<&str> = genuine.expose().split('.').collect();
        let mut other = claims();
        other["sub"] = json!("bob");
        let other = URL_SAFE_NO_PAD.encode(other.to_string());
        parts[1] = &other;
        assert!(matches!(verified(&Secret::new(parts.join(".")), &keys), Err(Fault::Rule(_))));
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let signer = Signer::new();
        let keys = signer.keys();
        let genuine = signer.sign(&header(), &claims()).expose().to_owned();
        let (unsigned, _) = genuine.rsplit_once('.').expect("three parts");
        let list = signer.sign(&header(), &json!(["ann"])).expose().to_owned();
        let long = format!("{genuine}{}", "A".repeat(TOKEN_BYTES_MAX));
        let digest = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, b"x"));
        for bad in [
            "",
            ".",
            "..",
            "a.b.c",
            unsigned,
            &format!("{unsigned}."),
            &format!("{unsigned}.{digest}"),
            &format!("{genuine}."),
            &format!("{genuine}.a.b"),
            &format!(" {genuine}"),
            &list,
            &long,
        ] {
            assert!(matches!(verified(&Secret::new(bad), &keys), Err(Fault::Rule(_))), "{bad}");
        }
    }
}
