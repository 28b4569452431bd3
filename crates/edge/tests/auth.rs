//! Authentication from its public side, with real argon2 hashes, real tokens of all three algorithms, real
//! certificates and a real HTTP service on a loopback socket.
//!
//! Verdicts that come late are waited for with a deadline; nothing sleeps for timing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use serde_json::{Value, json};
use stadium_edge::auth::*;

const DEADLINE: Duration = Duration::from_secs(20);

fn credentials(client_id: &str) -> Credentials {
    Credentials {
        client_id: client_id.to_owned(),
        username: None,
        password: None,
        certificate: None,
        peer: SocketAddr::from(([192, 0, 2, 1], 40_000)),
        method: None,
    }
}

fn with_password(user: &str, password: &[u8]) -> Credentials {
    Credentials { username: Some(user.to_owned()), password: Some(password.to_vec()), ..credentials(user) }
}

/// The verdict, early or late.
fn check(authenticator: &Authenticator, credentials: Credentials) -> Verdict {
    let (answer, verdicts) = mpsc::channel();
    let early =
        authenticator.check(credentials, move |verdict| answer.send(verdict).expect("the test waits"));
    early.unwrap_or_else(|| verdicts.recv_timeout(DEADLINE).expect("a verdict in time"))
}

fn allowed(verdict: Verdict) -> Identity {
    match verdict {
        Verdict::Allow(identity) => identity,
        other => panic!("not allowed: {other:?}"),
    }
}

fn open(config: AuthConfig) -> Authenticator {
    Authenticator::open(&config).expect("a configuration that can be used")
}

/// A folder with the files of one test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("written");
        path
    }
}

// --- anonymous ---

#[test]
fn nobody_is_let_in_unless_configured() {
    let authenticator = open(AuthConfig::default());
    assert_eq!(check(&authenticator, credentials("d1")), Verdict::Deny(DenyReason::NoCredentials));
    let shown = with_password("anna", b"secret");
    assert_eq!(check(&authenticator, shown), Verdict::Deny(DenyReason::NoCredentials));
}

#[test]
fn anonymous_devices_are_let_in_only_without_credentials_or_in_the_trial_mode() {
    let without = AuthConfig { anonymous: AnonymousAccess::WithoutCredentials, ..AuthConfig::default() };
    let without = open(without);
    assert_eq!(allowed(check(&without, credentials("d1"))), Identity::anonymous());
    let wrong = check(&without, with_password("anna", b"secret"));
    assert_eq!(wrong, Verdict::Deny(DenyReason::NoCredentials));

    let trial = open(AuthConfig { anonymous: AnonymousAccess::Anyone, ..AuthConfig::default() });
    assert_eq!(allowed(check(&trial, with_password("anna", b"secret"))).via, Via::Anonymous);
}

#[test]
fn enhanced_authentication_is_refused_with_its_own_code() {
    let authenticator = open(AuthConfig { anonymous: AnonymousAccess::Anyone, ..AuthConfig::default() });
    let shown = Credentials { method: Some("SCRAM-SHA-256".to_owned()), ..credentials("d1") };
    let Verdict::Deny(reason) = check(&authenticator, shown) else { panic!("not denied") };
    assert_eq!((reason.answer().reason_code(), reason.answer().return_code_v3()), (0x8C, 5));
}

// --- passwords ---

fn password_config(file: PathBuf) -> AuthConfig {
    AuthConfig { password: Some(PasswordConfig::new(file)), ..AuthConfig::default() }
}

fn line(user: &str, password: &[u8], groups: &[&str]) -> String {
    password_line(user, password, groups).expect("a line")
}

#[test]
fn a_password_is_checked_against_its_hash() {
    let files = Files::new();
    let users =
        format!("# users\n\n{}\n{}\n", line("anna", b"secret", &["staff"]), line("bert", b"other", &[]));
    let authenticator = open(password_config(files.write("users", users)));

    let anna = allowed(check(&authenticator, with_password("anna", b"secret")));
    assert_eq!((&*anna.principal, anna.via, &*anna.groups[0]), ("anna", Via::Password, "staff"));
    for (user, password) in [("anna", "other"), ("bert", "secret"), ("carl", "secret"), ("anna", "")] {
        let verdict = check(&authenticator, with_password(user, password.as_bytes()));
        assert_eq!(verdict, Verdict::Deny(DenyReason::BadPassword), "{user} {password}");
    }
    let nothing = check(&authenticator, credentials("anna"));
    assert_eq!(nothing, Verdict::Deny(DenyReason::NoCredentials));
    let counts = authenticator.counts();
    assert!(counts.denied.contains(&(DenyReason::BadPassword, 4)), "{counts:?}");
    assert!(counts.allowed.contains(&(Via::Password, 1)), "{counts:?}");
}

#[test]
fn an_unknown_name_is_refused_late_like_a_wrong_password() {
    let files = Files::new();
    let authenticator = open(password_config(files.write("users", line("anna", b"secret", &[]))));
    for user in ["anna", "nobody"] {
        let (answer, verdicts) = mpsc::channel();
        let early = authenticator.check(with_password(user, b"wrong"), move |verdict| {
            answer.send(verdict).expect("the test waits")
        });
        assert_eq!(early, None, "{user} was answered without the time of a hash");
        assert_eq!(verdicts.recv_timeout(DEADLINE), Ok(Verdict::Deny(DenyReason::BadPassword)));
    }
}

#[test]
fn a_pair_that_was_right_is_remembered_until_the_file_changes_it() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let authenticator = open(password_config(path));
    let never = |_| panic!("the verdict was early");
    allowed(check(&authenticator, with_password("anna", b"secret")));
    let again = authenticator.check(with_password("anna", b"secret"), never);
    allowed(again.expect("an immediate verdict"));
    assert_eq!(authenticator.counts().remembered, 1);

    files.write("users", line("anna", b"new secret", &[]));
    authenticator.reload().expect("the file is good");
    let old = check(&authenticator, with_password("anna", b"secret"));
    assert_eq!(old, Verdict::Deny(DenyReason::BadPassword));
    allowed(check(&authenticator, with_password("anna", b"new secret")));
}

#[test]
fn a_changed_password_file_is_noticed_without_being_asked() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let config = AuthConfig { failures: None, ..password_config(path) };
    let authenticator = open(config);
    let deny = Verdict::Deny(DenyReason::BadPassword);
    assert_eq!(check(&authenticator, with_password("bert", b"other")), deny);
    files.write("users", line("bert", b"other", &[]));
    let end = Instant::now() + DEADLINE;
    while check(&authenticator, with_password("bert", b"other")) == deny {
        assert!(Instant::now() < end, "the new file was never read");
    }
    assert_eq!(check(&authenticator, with_password("anna", b"secret")), deny);
}

#[test]
fn a_bad_password_file_is_refused_and_the_one_in_force_stays() {
    let files = Files::new();
    let good = line("anna", b"secret", &[]);
    let path = files.write("users", &good);
    let authenticator = open(password_config(path.clone()));
    files.write("users", format!("{good}\nbert:secret\n"));
    let error = authenticator.reload().expect_err("a bad line");
    assert!(error.to_string().contains("line 2") && error.code() == "AUTH-002", "{error}");
    allowed(check(&authenticator, with_password("anna", b"secret")));
    assert!(Authenticator::open(&password_config(path)).is_err());
    files.write("users", format!("{good}\n{good}\n"));
    assert!(authenticator.reload().expect_err("twice").to_string().contains("twice"));
}

#[test]
fn an_identity_may_use_its_own_client_identifier_only() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let authenticator = open(password_config(path.clone()));
    let other = Credentials { client_id: "bert".to_owned(), ..with_password("anna", b"secret") };
    assert_eq!(check(&authenticator, other.clone()), Verdict::Deny(DenyReason::ClientId));
    let assigned = Credentials { client_id: String::new(), ..with_password("anna", b"secret") };
    allowed(check(&authenticator, assigned));

    let any = PasswordConfig { client_id: ClientIdBinding::Any, ..PasswordConfig::new(path) };
    let authenticator = open(AuthConfig { password: Some(any), ..AuthConfig::default() });
    allowed(check(&authenticator, other));
}

#[test]
fn more_devices_than_the_queue_holds_are_told_to_come_again() {
    let files = Files::new();
    let path = files.write("users", line("anna", b"secret", &[]));
    let password =
        PasswordConfig { threads: 1, queue_max: 2, remember: Duration::ZERO, ..PasswordConfig::new(path) };
    let authenticator = open(AuthConfig { password: Some(password), ..AuthConfig::default() });
    let (answer, verdicts) = mpsc::channel();
    let mut busy = 0;
    for _ in 0..20 {
        let answer = answer.clone();
        let shown = with_password("anna", b"secret");
        match authenticator.check(shown, move |verdict| answer.send(verdict).expect("the test waits")) {
            None => {}
            Some(Verdict::Busy { retry_after }) => {
                assert!(retry_after >= Duration::from_secs(1));
                busy += 1;
            }
            Some(other) => panic!("{other:?}"),
        }
    }
    drop(answer);
    assert!(busy >= 1, "the queue took them all");
    let late: Vec<_> = verdicts.iter().collect();
    assert_eq!(late.len() + busy, 20, "every device gets exactly one verdict");
    assert!(late.iter().all(|verdict| matches!(verdict, Verdict::Allow(_))));
    assert_eq!(authenticator.counts().busy, busy as u64);
}

#[test]
fn an_address_that_guesses_is_banned_and_others_are_not() {
    let files = Files::new();
    let limit = FailureLimit { burst: 3, refill: Duration::from_secs(60), ban: Duration::from_secs(60) };
    let users = files.write("users", line("anna", b"secret", &[]));
    let authenticator = open(AuthConfig { failures: Some(limit), ..password_config(users) });
    for _ in 0..4 {
        check(&authenticator, with_password("anna", b"guess"));
    }
    let right = with_password("anna", b"secret");
    let Verdict::Deny(reason) = check(&authenticator, right.clone()) else { panic!("not denied") };
    assert_eq!((reason, reason.answer().reason_code()), (DenyReason::Banned, 0x8A));
    allowed(check(&authenticator, Credentials { peer: SocketAddr::from(([192, 0, 2, 2], 1)), ..right }));
    assert_eq!(authenticator.counts().bans, 1);
}

#[test]
fn secrets_are_not_printed() {
    let text = format!("{:?}", with_password("anna", b"secret-4711"));
    assert!(text.contains("anna") && !text.contains("4711") && !text.contains("115, 101"), "{text}");
}

// --- tokens ---

/// A private key that signs tokens, and the files that verify them.
enum Signer {
    Hs256(Vec<u8>),
    Es256(EcdsaKeyPair, String),
    EdDsa(Ed25519KeyPair, String),
}

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
        }
    }

    fn file(&self) -> Vec<u8> {
        match self {
            Self::Hs256(secret) => [secret, &b"\n"[..]].concat(),
            Self::Es256(_, pem) | Self::EdDsa(_, pem) => pem.clone().into_bytes(),
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

// --- certificates ---

#[test]
fn a_verified_certificate_needs_no_password() {
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(rcgen::DnType::CommonName, "d1");
    let key = rcgen::KeyPair::generate().expect("a key");
    let der = params.self_signed(&key).expect("a certificate").der().to_vec();
    let config = AuthConfig { certificate: Some(CertificateConfig::default()), ..AuthConfig::default() };
    let authenticator = open(config);
    let shown = |client_id: &str| Credentials { certificate: Some(der.clone()), ..credentials(client_id) };
    let identity = allowed(check(&authenticator, shown("d1")));
    assert_eq!((&*identity.principal, identity.via), ("d1", Via::Certificate));
    assert_eq!(check(&authenticator, shown("d2")), Verdict::Deny(DenyReason::ClientId));
    assert_eq!(check(&authenticator, credentials("d1")), Verdict::Deny(DenyReason::NoCredentials));
}

// --- callback ---

/// A real HTTP service: each request's body comes out of `requests`, each answer is taken from `answers`.
struct Service {
    url: String,
    requests: Receiver<Value>,
    answers: Sender<(u16, &'static str, String)>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/auth", listener.local_addr().expect("bound"));
        let (request, requests) = mpsc::channel();
        let (answers, answer) = mpsc::channel::<(u16, &'static str, String)>();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.expect("a connection"));
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().expect("a length");
                    }
                }
                let mut body = vec![0; length];
                if reader.read_exact(&mut body).is_err() || body.is_empty() {
                    // Its time ran out before it had asked.
                    continue;
                }
                request.send(serde_json::from_slice(&body).expect("JSON")).expect("the test waits");
                // The test ends a call without an answer by dropping the sender.
                let Ok((status, headers, body)) = answer.recv() else { return };
                let head = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {}",
                    body.len()
                );
                let _ = write!(reader.get_mut(), "{head}\r\n\r\n{body}");
            }
        });
        Self { url, requests, answers }
    }

    fn answer(&self, status: u16, body: &Value) {
        self.answers.send((status, "", body.to_string())).expect("the service runs");
    }

    fn request(&self) -> Value {
        self.requests.recv_timeout(DEADLINE).expect("a request in time")
    }
}

fn with_callback(callback: CallbackConfig) -> Authenticator {
    open(AuthConfig { callback: Some(callback), ..AuthConfig::default() })
}

#[test]
fn the_callback_is_told_what_was_shown_and_names_the_principal() {
    let service = Service::start();
    let authenticator = with_callback(CallbackConfig::new(&service.url));
    service.answer(200, &json!({"allow": true, "principal": "tenant-7", "groups": ["staff"]}));
    let identity = allowed(check(&authenticator, with_password("anna", b"secret")));
    assert_eq!(
        (&*identity.principal, identity.via, &*identity.groups[0]),
        ("tenant-7", Via::Callback, "staff")
    );
    let told =
        json!({"client_id": "anna", "username": "anna", "password": "secret", "peer": "192.0.2.1:40000"});
    assert_eq!(service.request(), told);

    service.answer(200, &json!({"allow": true}));
    assert_eq!(&*allowed(check(&authenticator, with_password("anna", b"\xff\x00"))).principal, "anna");
    assert_eq!(service.request()["password_base64"], "/wA=");
}

#[test]
fn a_callback_over_https_is_asked_only_when_its_authority_is_trusted() {
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .expect("parameters")
        .self_signed(&key)
        .expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().expect("a key"));
    let tls = Arc::new(tls.expect("a configuration"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}/auth", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let session = rustls::ServerConnection::new(Arc::clone(&tls)).expect("a session");
            let mut stream = rustls::StreamOwned::new(session, stream.expect("a connection"));
            // The request fits one read or two; what it says is another test's matter.
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            while !seen.ends_with(b"}") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => seen.extend_from_slice(&buffer[..read]),
                }
            }
            let body = r#"{"allow":true}"#;
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}", body.len());
            let _ = write!(stream, "{head}\r\n\r\n{body}");
            let _ = stream.flush();
        }
    });
    let files = Files::new();
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    for (pem, trusted) in [(certificate.pem(), true), (other.cert.pem(), false)] {
        let authorities = Some(files.write("authorities.pem", pem));
        let authenticator = with_callback(CallbackConfig { authorities, ..CallbackConfig::new(&url) });
        match check(&authenticator, with_password("anna", b"secret")) {
            Verdict::Allow(_) if trusted => {}
            Verdict::Busy { .. } if !trusted => {}
            other => panic!("trusted {trusted}: {other:?}"),
        }
    }
}

#[test]
fn only_a_clear_no_of_the_callback_denies() {
    let service = Service::start();
    let callback = CallbackConfig { failures_max: 100, ..CallbackConfig::new(&service.url) };
    let authenticator = with_callback(callback);
    let ask = |status, body: Value| {
        service.answer(status, &body);
        check(&authenticator, with_password("anna", b"secret"))
    };
    let denied = Verdict::Deny(DenyReason::Callback);
    assert_eq!(ask(200, json!({"allow": false})), denied);
    assert_eq!(ask(401, json!({"allow": true})), denied);
    assert_eq!(ask(403, json!(null)), denied);
    for (status, body) in [
        (500, json!({"allow": true})),
        (302, json!({"allow": true})),
        (204, json!({"allow": true})),
        (200, json!("yes")),
        (200, json!({"allow": "true"})),
        (200, json!({"allow": true, "principal": ""})),
        (200, json!({"allow": true, "principal": "a\nb"})),
    ] {
        let verdict = ask(status, body.clone());
        assert!(matches!(verdict, Verdict::Busy { .. }), "{status} {body}: {verdict:?}");
    }
    service.answers.send((429, "Retry-After: 17\r\n", String::new())).expect("the service runs");
    let verdict = check(&authenticator, with_password("anna", b"secret"));
    assert_eq!(verdict, Verdict::Busy { retry_after: Duration::from_secs(17) });
    assert_eq!(authenticator.counts().callback_failures, 7);
}

#[test]
fn a_yes_of_the_callback_is_remembered_where_configured() {
    let service = Service::start();
    let callback = CallbackConfig { remember: Duration::from_secs(60), ..CallbackConfig::new(&service.url) };
    let authenticator = with_callback(callback);
    service.answer(200, &json!({"allow": true}));
    allowed(check(&authenticator, with_password("anna", b"secret")));
    let again = authenticator.check(with_password("anna", b"secret"), |_| panic!("the verdict was early"));
    allowed(again.expect("an immediate verdict"));
    service.answer(401, &json!(null));
    let other = check(&authenticator, with_password("anna", b"Secret"));
    assert_eq!(other, Verdict::Deny(DenyReason::Callback));
    authenticator.reload().expect("nothing to read");
    service.answer(401, &json!(null));
    let forgotten = check(&authenticator, with_password("anna", b"secret"));
    assert_eq!(forgotten, Verdict::Deny(DenyReason::Callback));
}

#[test]
fn a_callback_that_does_not_answer_is_left_alone_and_tried_again() {
    let service = Service::start();
    let callback = CallbackConfig {
        timeout: Duration::from_millis(250),
        failures_max: 2,
        rest: Duration::from_secs(3),
        in_flight_max: 1,
        ..CallbackConfig::new(&service.url)
    };
    let authenticator = with_callback(callback);
    // Nobody answers: both calls run into their time-out.
    for _ in 0..2 {
        assert!(matches!(check(&authenticator, with_password("anna", b"x")), Verdict::Busy { .. }));
    }
    let rests = authenticator.check(with_password("anna", b"x"), |_| panic!("the verdict was early"));
    assert!(matches!(rests, Some(Verdict::Busy { retry_after }) if retry_after <= Duration::from_secs(3)));

    // Two answers for the calls that nobody waits for any more, then those that count.
    let end = Instant::now() + DEADLINE;
    for _ in 0..64 {
        service.answer(200, &json!({"allow": true}));
    }
    while !matches!(check(&authenticator, with_password("anna", b"x")), Verdict::Allow(_)) {
        assert!(Instant::now() < end, "the service was never tried again");
    }
}

#[test]
fn a_callback_that_nobody_listens_on_does_not_deny() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let authenticator = with_callback(CallbackConfig::new(format!("http://{closed}/")));
    assert!(matches!(check(&authenticator, with_password("anna", b"x")), Verdict::Busy { .. }));
    let odd = AuthConfig { callback: Some(CallbackConfig::new("ftp://x")), ..AuthConfig::default() };
    assert_eq!(Authenticator::open(&odd).err().map(|error| error.code()), Some("AUTH-005"));
}

#[test]
fn a_name_that_the_password_file_does_not_know_goes_on_to_the_callback() {
    let files = Files::new();
    let service = Service::start();
    let config = AuthConfig {
        callback: Some(CallbackConfig::new(&service.url)),
        ..password_config(files.write("users", line("anna", b"secret", &[])))
    };
    let authenticator = open(config);
    assert_eq!(allowed(check(&authenticator, with_password("anna", b"secret"))).via, Via::Password);
    let wrong = check(&authenticator, with_password("anna", b"wrong"));
    assert_eq!(wrong, Verdict::Deny(DenyReason::BadPassword), "the file has decided");
    service.answer(200, &json!({"allow": true}));
    assert_eq!(allowed(check(&authenticator, with_password("bert", b"x"))).via, Via::Callback);
}
