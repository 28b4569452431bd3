//! Tokens: signed by whom, with what, for whom.
//!
//! Each is signed for real; the wrong ones are wrong in one thing only.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};
use stadium_edge::auth::*;

use crate::auth::fixture::{
    DEADLINE, Files, allowed, check, credentials, line, open, password_config, with_password,
};

/// A private key that signs tokens, and the files that verify them.
enum Signer {
    Hs256(Vec<u8>),
    Es256(EcdsaKeyPair, String),
    EdDsa(Ed25519KeyPair, String),
    Rsa(TokenAlgorithm),
}

/// A key of this test alone: `openssl genrsa 2048`.
const RSA_PRIVATE: &[u8] = include_bytes!("../../keys/rsa-2048.pk8");
const RSA_PUBLIC: &str = include_str!("../../keys/rsa-2048.pub.pem");

impl Signer {
    fn hs256() -> Self {
        Self::Hs256(b"a secret of at least 32 bytes, for tests".to_vec())
    }

    fn es256() -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key");
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key.serialize_der(), &random);
        Self::Es256(pair.expect("a key"), key.public_key_pem())
    }

    fn eddsa() -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key.serialize_der());
        Self::EdDsa(pair.expect("a key"), key.public_key_pem())
    }

    fn algorithm(&self) -> (&'static str, TokenAlgorithm) {
        match self {
            Self::Hs256(_) => ("HS256", TokenAlgorithm::Hs256),
            Self::Es256(..) => ("ES256", TokenAlgorithm::Es256),
            Self::EdDsa(..) => ("EdDSA", TokenAlgorithm::EdDsa),
            Self::Rsa(TokenAlgorithm::Rs256) => ("RS256", TokenAlgorithm::Rs256),
            Self::Rsa(_) => ("PS256", TokenAlgorithm::Ps256),
        }
    }

    fn file(&self) -> Vec<u8> {
        match self {
            Self::Hs256(secret) => [secret, &b"\n"[..]].concat(),
            Self::Es256(_, pem) | Self::EdDsa(_, pem) => pem.clone().into_bytes(),
            Self::Rsa(_) => RSA_PUBLIC.as_bytes().to_vec(),
        }
    }

    fn key(&self, files: &Files, id: Option<&str>) -> TokenKeyConfig {
        let (name, algorithm) = self.algorithm();
        let file = files.write(&format!("{name}-{}", id.unwrap_or("none")), self.file());
        TokenKeyConfig { id: id.map(str::to_owned), algorithm, file }
    }

    fn sign_message(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Hs256(secret) => {
                hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec()
            }
            Self::Es256(pair, _) => {
                pair.sign(&SystemRandom::new(), message).expect("signed").as_ref().to_vec()
            }
            Self::EdDsa(pair, _) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(algorithm) => {
                let pair = RsaKeyPair::from_pkcs8(RSA_PRIVATE).expect("a key");
                let padding: &dyn RsaEncoding = match algorithm {
                    TokenAlgorithm::Rs256 => &RSA_PKCS1_SHA256,
                    _ => &RSA_PSS_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &SystemRandom::new(), message, &mut signature).expect("signed");
                signature
            }
        }
    }

    fn sign_with_header(&self, header: &Value, claims: &Value) -> Vec<u8> {
        let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.sign_message(message.as_bytes()));
        format!("{message}.{signature}").into_bytes()
    }

    fn sign(&self, kid: Option<&str>, claims: &Value) -> Vec<u8> {
        let header = match kid {
            Some(kid) => json!({"alg": self.algorithm().0, "typ": "JWT", "kid": kid}),
            None => json!({"alg": self.algorithm().0}),
        };
        self.sign_with_header(&header, claims)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn claims(changes: Value) -> Value {
    let mut claims =
        json!({"sub": "d1", "exp": now() + 3600, "iss": "https://id.example", "aud": ["stadium", "x"]});
    let (Value::Object(claims_map), Value::Object(changes)) = (&mut claims, changes) else {
        panic!("objects")
    };
    for (name, value) in changes {
        if value.is_null() {
            claims_map.remove(&name);
        } else {
            claims_map.insert(name, value);
        }
    }
    claims
}

fn token_config(keys: Vec<TokenKeyConfig>) -> TokenConfig {
    TokenConfig {
        keys,
        issuer: Some("https://id.example".to_owned()),
        audience: Some("stadium".to_owned()),
        groups_claim: Some("groups".to_owned()),
        ..TokenConfig::default()
    }
}

fn with_tokens(token: TokenConfig) -> Authenticator {
    open(AuthConfig { token: Some(token), failures: None, ..AuthConfig::default() })
}

/// Shows a token; its verdict must come at once.
fn show(authenticator: &Authenticator, token: Vec<u8>) -> Verdict {
    let shown = Credentials { password: Some(token), ..credentials("d1") };
    authenticator.check(shown, |_| panic!("the verdict was early")).expect("an immediate verdict")
}

#[test]
fn tokens_of_all_three_algorithms_are_believed() {
    for signer in [Signer::hs256(), Signer::es256(), Signer::eddsa()] {
        let files = Files::new();
        let authenticator = with_tokens(token_config(vec![signer.key(&files, Some("k1"))]));
        let claims = claims(json!({"groups": ["gates", "staff"]}));
        let identity = allowed(show(&authenticator, signer.sign(Some("k1"), &claims)));
        assert_eq!((&*identity.principal, identity.via, identity.groups.len()), ("d1", Via::Token, 2));
        let expires = identity.expires_at.expect("an end").duration_since(UNIX_EPOCH).expect("after 1970");
        assert_eq!(expires.as_secs(), claims["exp"].as_u64().expect("a number") + 30, "exp and the leeway");

        let mut forged = signer.sign(Some("k1"), &claims);
        let at = forged.len() - 10;
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        assert_eq!(show(&authenticator, forged), Verdict::Deny(DenyReason::BadToken));
    }
}

#[test]
fn a_claim_that_is_wrong_or_missing_refuses_a_genuine_token() {
    let files = Files::new();
    let signer = Signer::eddsa();
    let authenticator = with_tokens(token_config(vec![signer.key(&files, None)]));
    use DenyReason::{ClientId, TokenClaims, TokenExpired, TokenNotYetValid};
    let table = [
        (json!({"exp": now() - 31}), TokenExpired),
        (json!({"exp": null}), TokenClaims),
        (json!({"exp": "soon"}), TokenClaims),
        (json!({"nbf": now() + 600}), TokenNotYetValid),
        (json!({"iss": "https://evil.example"}), TokenClaims),
        (json!({"iss": null}), TokenClaims),
        (json!({"iss": 7}), TokenClaims),
        (json!({"aud": "other"}), TokenClaims),
        (json!({"aud": null}), TokenClaims),
        (json!({"aud": {"stadium": true}}), TokenClaims),
        (json!({"sub": null}), TokenClaims),
        (json!({"sub": ""}), TokenClaims),
        (json!({"sub": "d\u{0}1"}), TokenClaims),
        (json!({"sub": "d2"}), ClientId),
        (json!({"groups": 7}), TokenClaims),
    ];
    for (change, reason) in table {
        let token = signer.sign(None, &claims(change.clone()));
        assert_eq!(show(&authenticator, token), Verdict::Deny(reason), "{change}");
    }
    for change in [json!({"exp": now() - 10}), json!({"nbf": now() + 10}), json!({"aud": "stadium"})] {
        allowed(show(&authenticator, signer.sign(None, &claims(change))));
    }
}

#[test]
fn the_key_and_not_the_token_chooses_the_algorithm() {
    let files = Files::new();
    let (ec, ed) = (Signer::es256(), Signer::eddsa());
    let authenticator =
        with_tokens(token_config(vec![ec.key(&files, Some("ec")), ed.key(&files, Some("ed"))]));
    let denied = Verdict::Deny(DenyReason::BadToken);

    // The public key's file as the secret of an HMAC: the classic confusion.
    let confused = Signer::Hs256(ec.file());
    assert_eq!(show(&authenticator, confused.sign(Some("ec"), &claims(json!({})))), denied);
    // Right signature, another key's id, no id, an unknown id.
    for kid in [Some("ed"), None, Some("other"), Some("")] {
        assert_eq!(show(&authenticator, ec.sign(kid, &claims(json!({})))), denied, "{kid:?}");
    }
    // No signature at all.
    for alg in ["none", "None", "NONE", "HS512", "RS256", ""] {
        let header = json!({"alg": alg, "kid": "ec"});
        assert_eq!(show(&authenticator, ec.sign_with_header(&header, &claims(json!({})))), denied, "{alg}");
        let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let unsigned = format!("{}.{}.", part(&header), part(&claims(json!({}))));
        assert_eq!(show(&authenticator, unsigned.into_bytes()), denied, "{alg} without signature");
    }
    // An extension that must be understood.
    let header = json!({"alg": "ES256", "kid": "ec", "crit": ["exp"]});
    assert_eq!(show(&authenticator, ec.sign_with_header(&header, &claims(json!({})))), denied);
    allowed(show(&authenticator, ec.sign(Some("ec"), &claims(json!({})))));
    allowed(show(&authenticator, ed.sign(Some("ed"), &claims(json!({})))));
}

#[test]
fn keys_of_a_set_verify_and_foreign_ones_are_passed_over() {
    let files = Files::new();
    let (ec, secret) = (Signer::es256(), Signer::hs256());
    let (Signer::Es256(pair, _), Signer::Hs256(bytes)) = (&ec, &secret) else { panic!("as made") };
    let point = ring::signature::KeyPair::public_key(pair).as_ref();
    let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let set = json!({"keys": [
        {"kty": "RSA", "kid": "rsa", "alg": "RS256", "n": "AQAB", "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "x": base64(&point[1..33]), "y": base64(&point[33..])},
        {"kty": "EC", "crv": "P-256", "kid": "enc", "use": "enc", "x": base64(&point[1..33]), "y": base64(&point[33..])},
        {"kty": "oct", "kid": "oct", "alg": "HS256", "k": base64(bytes)},
        {"kty": "oct", "kid": "hs512", "alg": "HS512", "k": base64(bytes)},
    ]});
    let mut config = token_config(Vec::new());
    config.key_sets = vec![files.write("set", set.to_string())];
    let authenticator = with_tokens(config);
    allowed(show(&authenticator, ec.sign(Some("ec"), &claims(json!({})))));
    allowed(show(&authenticator, secret.sign(Some("oct"), &claims(json!({})))));
    for (signer, kid) in [(&ec, "enc"), (&secret, "hs512"), (&secret, "rsa"), (&secret, "ec")] {
        let verdict = show(&authenticator, signer.sign(Some(kid), &claims(json!({}))));
        assert_eq!(verdict, Verdict::Deny(DenyReason::BadToken), "{kid}");
    }
}

#[test]
fn an_rsa_key_verifies_the_algorithm_that_it_is_for_and_no_other() {
    use TokenAlgorithm::{Ps256, Rs256};
    let files = Files::new();
    let (rs, ps) = (Signer::Rsa(Rs256), Signer::Rsa(Ps256));
    for (right, wrong) in [(&rs, &ps), (&ps, &rs)] {
        let authenticator = with_tokens(token_config(vec![right.key(&files, None)]));
        allowed(show(&authenticator, right.sign(None, &claims(json!({})))));
        let verdict = show(&authenticator, wrong.sign(None, &claims(json!({}))));
        assert_eq!(verdict, Verdict::Deny(DenyReason::BadToken));
        // The signature of the one under the name of the other.
        let mixed = wrong.sign_with_header(&json!({"alg": right.algorithm().0}), &claims(json!({})));
        assert_eq!(show(&authenticator, mixed), Verdict::Deny(DenyReason::BadToken));
    }
}

#[test]
fn an_rsa_key_of_a_set_is_for_what_it_names_or_for_both() {
    let files = Files::new();
    let (rs, ps) = (Signer::Rsa(TokenAlgorithm::Rs256), Signer::Rsa(TokenAlgorithm::Ps256));
    let pair = RsaKeyPair::from_pkcs8(RSA_PRIVATE).expect("a key");
    let numbers = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
    let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let jwk = |kid: &str| json!({"kty": "RSA", "kid": kid, "n": base64(&numbers.n), "e": base64(&numbers.e)});
    let (both, mut only_ps, mut short) = (jwk("both"), jwk("ps"), jwk("short"));
    only_ps["alg"] = "PS256".into();
    short["n"] = base64(&numbers.n[..128]).into();
    let mut config = token_config(Vec::new());
    config.key_sets = vec![files.write("set", json!({"keys": [both, only_ps, short]}).to_string())];
    let authenticator = with_tokens(config);
    for (signer, kid, is_good) in [
        (&rs, "both", true),
        (&ps, "both", true),
        (&ps, "ps", true),
        (&rs, "ps", false),
        (&rs, "short", false),
    ] {
        let verdict = show(&authenticator, signer.sign(Some(kid), &claims(json!({}))));
        assert_eq!(matches!(verdict, Verdict::Allow(_)), is_good, "{kid}: {verdict:?}");
    }
}

/// Publishes a set of keys over HTTP; the test replaces it, or has it fail with nothing.
struct Provider {
    url: String,
    set: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/keys", listener.local_addr().expect("bound"));
        let (set, asked) = (Arc::new(Mutex::new(None::<String>)), Arc::new(AtomicUsize::new(0)));
        let (published, count) = (Arc::clone(&set), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.expect("a connection"));
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
                    line.clear();
                }
                count.fetch_add(1, Ordering::SeqCst);
                let body = published.lock().expect("no panic").clone();
                let status = if body.is_some() { "200 OK" } else { "500 Broken" };
                let body = body.unwrap_or_default();
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}");
                let _ = write!(reader.get_mut(), "{head}\r\n\r\n{body}");
            }
        });
        Self { url, set, asked }
    }

    fn publish(&self, keys: &[(&str, &Signer)]) {
        let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let jwk = |(kid, signer): &(&str, &Signer)| match signer {
            Signer::EdDsa(pair, _) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": base64(pair.public_key().as_ref())})
            }
            Signer::Hs256(secret) => json!({"kty": "oct", "kid": kid, "k": base64(secret)}),
            _ => panic!("not published here"),
        };
        let keys: Vec<Value> = keys.iter().map(jwk).collect();
        *self.set.lock().expect("no panic") = Some(json!({"keys": keys}).to_string());
    }

    fn fail(&self) {
        *self.set.lock().expect("no panic") = None;
    }

    fn config(&self, again_min: Duration) -> TokenConfig {
        let fetch = KeyFetchConfig { urls: vec![self.url.clone()], again_min, ..KeyFetchConfig::default() };
        TokenConfig { fetch, ..token_config(Vec::new()) }
    }
}

/// The verdict on a token once it is no longer asked to retry.
fn settled(authenticator: &Authenticator, token: &[u8]) -> Verdict {
    let end = Instant::now() + DEADLINE;
    loop {
        match show(authenticator, token.to_vec()) {
            Verdict::Busy { .. } if Instant::now() < end => std::thread::yield_now(),
            verdict => return verdict,
        }
    }
}

#[test]
fn keys_are_fetched_from_a_url_and_a_new_one_when_a_token_needs_it() {
    let provider = Provider::start();
    let (old, new) = (Signer::eddsa(), Signer::eddsa());
    let secret = Signer::hs256();
    provider.publish(&[("old", &old), ("secret", &secret)]);
    let authenticator = with_tokens(provider.config(Duration::ZERO));
    let by_old = old.sign(Some("old"), &claims(json!({})));
    allowed(settled(&authenticator, &by_old));
    let published = secret.sign(Some("secret"), &claims(json!({})));
    provider.fail();
    assert_eq!(
        show(&authenticator, by_old.clone()),
        settled(&authenticator, &by_old),
        "the key is still there"
    );
    assert!(!matches!(show(&authenticator, published), Verdict::Allow(_)), "a published secret is none");

    provider.publish(&[("new", &new)]);
    allowed(settled(&authenticator, &new.sign(Some("new"), &claims(json!({})))));
    let end = Instant::now() + DEADLINE;
    while matches!(show(&authenticator, by_old.clone()), Verdict::Allow(_)) {
        assert!(Instant::now() < end, "the old key was withdrawn");
    }
}

#[test]
fn a_set_that_cannot_be_read_stays_and_strangers_do_not_have_it_fetched_at_will() {
    let provider = Provider::start();
    let signer = Signer::eddsa();
    provider.publish(&[("k", &signer)]);
    let authenticator = with_tokens(provider.config(Duration::from_secs(3_600)));
    let good = signer.sign(Some("k"), &claims(json!({})));
    allowed(settled(&authenticator, &good));
    provider.fail();
    for number in 0..100 {
        let stranger = Signer::eddsa().sign(Some(&format!("k{number}")), &claims(json!({})));
        assert_eq!(show(&authenticator, stranger), Verdict::Deny(DenyReason::BadToken));
    }
    assert_eq!(provider.asked.load(Ordering::SeqCst), 1, "once in an hour");
    authenticator.reload().expect("there are no files");
    let end = Instant::now() + DEADLINE;
    while provider.asked.load(Ordering::SeqCst) < 2 {
        assert!(Instant::now() < end, "SIGHUP has it fetched");
        std::thread::yield_now();
    }
    allowed(settled(&authenticator, &good));
}

#[test]
fn a_set_over_plain_http_from_elsewhere_is_refused() {
    let fetch =
        KeyFetchConfig { urls: vec!["http://id.example/keys".to_owned()], ..KeyFetchConfig::default() };
    let config = TokenConfig { fetch, ..token_config(Vec::new()) };
    let result = Authenticator::open(&AuthConfig { token: Some(config), ..AuthConfig::default() });
    assert_eq!(result.err().map(|error| error.code()), Some("AUTH-003"));
}

#[test]
fn keys_are_replaced_on_reload_and_when_their_file_changes() {
    let files = Files::new();
    let (old, new, third) = (Signer::eddsa(), Signer::eddsa(), Signer::eddsa());
    let authenticator = with_tokens(token_config(vec![old.key(&files, Some("k"))]));
    allowed(show(&authenticator, old.sign(Some("k"), &claims(json!({})))));
    new.key(&files, Some("k"));
    authenticator.reload().expect("good keys");
    assert_eq!(
        show(&authenticator, old.sign(Some("k"), &claims(json!({})))),
        Verdict::Deny(DenyReason::BadToken)
    );
    allowed(show(&authenticator, new.sign(Some("k"), &claims(json!({})))));

    third.key(&files, Some("k"));
    let end = Instant::now() + DEADLINE;
    while show(&authenticator, third.sign(Some("k"), &claims(json!({}))))
        == Verdict::Deny(DenyReason::BadToken)
    {
        assert!(Instant::now() < end, "the new key was never read");
    }
}

#[test]
fn keys_that_cannot_be_meant_are_refused() {
    let files = Files::new();
    let key =
        |algorithm, content: &[u8]| TokenKeyConfig { id: None, algorithm, file: files.write("key", content) };
    let (ec, ed) = (Signer::es256().file(), Signer::eddsa().file());
    let p384 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).expect("a key").public_key_pem();
    for (algorithm, content) in [
        (TokenAlgorithm::Hs256, &b"short"[..]),
        (TokenAlgorithm::Hs256, &ec),
        (TokenAlgorithm::Es256, &ed),
        (TokenAlgorithm::Es256, p384.as_bytes()),
        (TokenAlgorithm::EdDsa, &ec),
        (TokenAlgorithm::EdDsa, b"no PEM"),
        (TokenAlgorithm::Rs256, &ec),
        (TokenAlgorithm::Rs256, include_bytes!("../../keys/rsa-1024.pub.pem")),
        (TokenAlgorithm::Ps256, include_bytes!("../../keys/rsa-1024.pub.pem")),
    ] {
        let config = token_config(vec![key(algorithm, content)]);
        let result = Authenticator::open(&AuthConfig { token: Some(config), ..AuthConfig::default() });
        assert_eq!(result.err().map(|error| error.code()), Some("AUTH-003"), "{algorithm:?}");
    }
}

#[test]
fn a_claim_may_name_the_client_identifier_and_the_user_name_may_be_required() {
    let files = Files::new();
    let signer = Signer::hs256();
    let mut config = token_config(vec![signer.key(&files, None)]);
    config.client_id_claim = Some("device".to_owned());
    config.username = TokenUsername::MustEqualPrincipal;
    let authenticator = with_tokens(config);
    let verdict = |username: Option<&str>, change: Value| {
        let token = signer.sign(None, &claims(change));
        let username = username.map(str::to_owned);
        check(&authenticator, Credentials { username, password: Some(token), ..credentials("phone") })
    };
    allowed(verdict(Some("d1"), json!({"device": "phone"})));
    assert_eq!(verdict(Some("d1"), json!({"device": "other"})), Verdict::Deny(DenyReason::ClientId));
    assert_eq!(verdict(Some("d1"), json!({})), Verdict::Deny(DenyReason::TokenClaims));
    assert_eq!(verdict(Some("d2"), json!({"device": "phone"})), Verdict::Deny(DenyReason::TokenClaims));
    assert_eq!(verdict(None, json!({"device": "phone"})), Verdict::Deny(DenyReason::TokenClaims));
}

#[test]
fn a_password_beside_tokens_goes_to_the_password_file() {
    let files = Files::new();
    let signer = Signer::hs256();
    let config = AuthConfig {
        token: Some(token_config(vec![signer.key(&files, None)])),
        ..password_config(files.write("users", line("d1", b"a.b.c", &[])))
    };
    let authenticator = open(config);
    assert_eq!(allowed(check(&authenticator, with_password("d1", b"a.b.c"))).via, Via::Password);
    let token = signer.sign(None, &claims(json!({})));
    assert_eq!(allowed(check(&authenticator, with_password("d1", &token))).via, Via::Token);
}
