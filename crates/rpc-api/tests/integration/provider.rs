//! An identity provider: it signs tokens, and publishes its keys over HTTP.
//!
//! The test decides which keys are published, and replaces them while a server fetches.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

pub const ISSUER: &str = "https://id.example.org";
pub const AUDIENCE: &str = "stadium-rpc";

/// A key of tests alone: `openssl genrsa 2048`.
const RSA_PRIVATE: &[u8] = include_bytes!("../../../edge/tests/keys/rsa-2048.pk8");

/// A private key with the id that tokens name it by.
pub struct Signer {
    kid: &'static str,
    key: SigningKey,
}

enum SigningKey {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl Signer {
    pub fn es256(kid: &'static str) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random);
        Self { kid, key: SigningKey::Es256(pair.expect("its own")) }
    }

    pub fn rs256(kid: &'static str) -> Self {
        Self { kid, key: SigningKey::Rs256(RsaKeyPair::from_pkcs8(RSA_PRIVATE).expect("a key")) }
    }

    fn jwk(&self) -> Value {
        let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match &self.key {
            SigningKey::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (base64(&point[1..33]), base64(&point[33..65]));
                json!({ "kty": "EC", "crv": "P-256", "kid": self.kid, "x": x, "y": y })
            }
            SigningKey::Rs256(pair) => {
                let numbers = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "kid": self.kid, "n": base64(&numbers.n), "e": base64(&numbers.e) })
            }
        }
    }

    /// A set with its public key alone.
    pub fn set(&self) -> String {
        set(&[self])
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let algorithm = match self.key {
            SigningKey::Es256(_) => "ES256",
            SigningKey::Rs256(_) => "RS256",
        };
        let header = json!({ "alg": algorithm, "typ": "JWT", "kid": self.kid });
        let message = unsigned(&header, claims);
        let signature = match &self.key {
            SigningKey::Es256(pair) => {
                pair.sign(&SystemRandom::new(), message.as_bytes()).expect("signed").as_ref().to_vec()
            }
            SigningKey::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature)
                    .expect("signed");
                signature
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn set(keys: &[&Signer]) -> String {
    let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
    json!({ "keys": keys }).to_string()
}

/// The first two parts of a token.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// Claims of Ann, a member of these groups, for an hour.
pub fn claims(groups: &[&str]) -> Value {
    json!({
        "iss": ISSUER, "aud": [AUDIENCE, "other"], "sub": "ann", "exp": now() + 3_600, "groups": groups,
    })
}

/// The same with another value of a claim.
pub fn claims_with(groups: &[&str], claim: &str, value: Value) -> Value {
    let mut claims = claims(groups);
    claims[claim] = value;
    claims
}

/// Publishes a set of keys over HTTP, which the test replaces.
pub struct Provider {
    pub url: String,
    set: Arc<Mutex<String>>,
}

impl Provider {
    /// One that publishes these keys; it lasts as long as the test's process.
    pub fn of(keys: &[&Signer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/keys", listener.local_addr().expect("bound"));
        let provider = Self { url, set: Arc::default() };
        provider.publish(keys);
        let set = Arc::clone(&provider.set);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.expect("a connection"));
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
                    line.clear();
                }
                let body = set.lock().expect("no panic").clone();
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                let _ = write!(reader.get_mut(), "{head} {}\r\n\r\n{body}", body.len());
            }
        });
        provider
    }

    /// Publishes these keys in place of those before.
    pub fn publish(&self, keys: &[&Signer]) {
        *self.set.lock().expect("no panic") = set(keys);
    }
}
