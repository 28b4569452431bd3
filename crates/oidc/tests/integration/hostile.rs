//! Providers that answer as no real one does: too much, for somebody else, from elsewhere.
//!
//! The first test shows that the suite's provider is good until a test changes one answer.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Instant, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use stadium_oidc::{Callback, Error, Identity, Now, PendingLogins, Provider, Refusal, ReturnPath, Settings};

use crate::browser::parameter;
use crate::provider::REDIRECT_URL;

/// An answer: status, more header lines, body.
type Answer = (u16, String, Vec<u8>);

/// A server that gives the answers that a test wants, and records the paths of requests.
struct Hostile {
    issuer: String,
    key: Ed25519KeyPair,
    answers: Arc<Mutex<BTreeMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Hostile {
    /// A provider that is as good as any, until a test changes an answer.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("bound"));
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let key = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("its own");
        let (answers, asked) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
        let hostile = Self { issuer, key, answers: Arc::clone(&answers), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &answers, &asked);
            }
        });
        hostile.answer("/.well-known/openid-configuration", &hostile.metadata());
        let x = URL_SAFE_NO_PAD.encode(hostile.key.public_key().as_ref());
        let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x }] });
        hostile.answer("/keys", &keys);
        hostile
    }

    fn metadata(&self) -> Value {
        let url = |path: &str| format!("{}{path}", self.issuer);
        json!({
            "issuer": self.issuer,
            "authorization_endpoint": url("/auth"),
            "token_endpoint": url("/token"),
            "jwks_uri": url("/keys"),
            "userinfo_endpoint": url("/userinfo"),
        })
    }

    fn answer(&self, path: &str, body: &Value) {
        self.answer_with(path, good(body));
    }

    fn answer_with(&self, path: &str, answer: Answer) {
        self.answers.lock().expect("whole").insert(path.to_owned(), answer);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("whole").clone()
    }

    fn provider(&self) -> Provider {
        Provider::new(Settings::new(&self.issuer, "stadium", REDIRECT_URL)).expect("settings")
    }

    /// The answer of the token endpoint, with an ID token of these claims besides the good ones.
    fn tokens(&self, nonce: &str, claims: Value) -> Value {
        let time = UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        let mut all = json!({
            "iss": self.issuer, "aud": "stadium", "sub": "ann", "nonce": nonce, "iat": time, "exp": time + 60,
        });
        for (name, value) in claims.as_object().expect("an object") {
            all[name] = value.clone();
        }
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(json!({ "alg": "EdDSA", "kid": "k" })), part(all));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes()));
        json!({
            "id_token": format!("{message}.{signature}"),
            "access_token": "the-access-token",
            "token_type": "Bearer",
        })
    }

    /// A login whose tokens are made from its nonce.
    fn log_in(&self, tokens: impl FnOnce(&str) -> Value) -> Result<Identity, Error> {
        self.log_in_with(|nonce| good(&tokens(nonce)))
    }

    /// A login with this answer of the token endpoint.
    fn log_in_with(&self, answer: impl FnOnce(&str) -> Answer) -> Result<Identity, Error> {
        let (provider, logins, now) = (self.provider(), PendingLogins::default(), Now::read());
        let begun = provider.begin(ReturnPath::default(), now.instant)?;
        let sent = |name| parameter(&begun.authorization_url, name).expect(name);
        let query = format!("code=the-code&state={}", sent("state"));
        self.answer_with("/token", answer(&sent("nonce")));
        let cookie = logins.add(begun.pending, now.instant)?;
        let callback = Callback::parse(&query)?;
        let login = logins.take(callback.state(), Some(cookie.expose()), now.instant)?;
        provider.finish(&callback, &login, now)
    }
}

fn good(body: &Value) -> Answer {
    (200, String::new(), body.to_string().into_bytes())
}

fn serve(
    mut stream: TcpStream,
    answers: &Mutex<BTreeMap<String, Answer>>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first)?;
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().expect("whole").push(path.clone());
    let answer = answers.lock().expect("whole").get(&path).cloned();
    let (status, headers, body) = answer.unwrap_or((404, String::new(), Vec::new()));
    write!(
        stream,
        "HTTP/1.1 {status} OK\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

fn problem_of_begin(hostile: &Hostile) -> String {
    match hostile.provider().begin(ReturnPath::default(), Instant::now()) {
        Err(Error::Provider { problem }) => problem,
        other => panic!("not the provider: {other:?}"),
    }
}

fn problem_of(outcome: Result<Identity, Error>) -> String {
    match outcome {
        Err(Error::Provider { problem }) => problem,
        other => panic!("not the provider: {other:?}"),
    }
}

#[test]
fn the_provider_of_this_suite_is_good_until_it_is_changed() {
    let hostile = Hostile::start();
    let ann = hostile.log_in(|nonce| hostile.tokens(nonce, json!({ "groups": ["ops"] }))).expect("logged in");
    assert_eq!((ann.subject.as_str(), ann.groups), ("ann", vec!["ops".to_owned()]));
    assert!(!hostile.asked().contains(&"/userinfo".to_owned()), "the token has the groups");
}

#[test]
fn documents_that_are_too_large_are_not_read() {
    let hostile = Hostile::start();
    let filled = |bytes: usize| (200, String::new(), vec![b' '; bytes]);
    hostile.answer_with("/keys", filled(300_000));
    assert!(problem_of_begin(&hostile).contains("cannot be read"), "keys");
    hostile.answer_with("/.well-known/openid-configuration", filled(200_000));
    assert!(problem_of_begin(&hostile).contains("cannot be read"), "metadata");
}

#[test]
fn answers_with_tokens_or_claims_that_are_too_large_are_not_read() {
    let hostile = Hostile::start();
    let padded = |mut answer: Value| {
        answer["padding"] = json!("x".repeat(300_000));
        answer
    };
    let outcome = hostile.log_in(|nonce| padded(hostile.tokens(nonce, json!({}))));
    let problem = problem_of(outcome);
    assert!(problem.contains("token endpoint") && problem.contains("cannot be read"), "{problem}");
    hostile.answer("/userinfo", &padded(json!({ "sub": "ann" })));
    let problem = problem_of(hostile.log_in(|nonce| hostile.tokens(nonce, json!({}))));
    assert!(problem.contains("userinfo") && problem.contains("cannot be read"), "{problem}");
}

#[test]
fn no_redirect_is_followed() {
    let (hostile, other) = (Hostile::start(), Hostile::start());
    let elsewhere = |path: &str| (302, format!("Location: {}{path}\r\n", other.issuer), Vec::new());
    assert!(problem_of(hostile.log_in_with(|_| elsewhere("/token"))).contains("302"));
    hostile.answer_with("/userinfo", elsewhere("/userinfo"));
    assert!(problem_of(hostile.log_in(|nonce| hostile.tokens(nonce, json!({})))).contains("302"));
    for path in ["/keys", "/.well-known/openid-configuration"] {
        hostile.answer_with(path, elsewhere(path));
        assert!(problem_of_begin(&hostile).contains("302"), "{path}");
    }
    assert!(other.asked().is_empty());
}

#[test]
fn the_metadata_of_another_issuer_is_refused() {
    let hostile = Hostile::start();
    let mut metadata = hostile.metadata();
    metadata["issuer"] = json!("https://id.example.org");
    hostile.answer("/.well-known/openid-configuration", &metadata);
    assert!(problem_of_begin(&hostile).contains("issuer"));
}

#[test]
fn a_set_with_secrets_alone_is_no_set() {
    let hostile = Hostile::start();
    let secret = URL_SAFE_NO_PAD.encode([7; 32]);
    hostile.answer("/keys", &json!({ "keys": [{ "kty": "oct", "kid": "k", "k": secret }] }));
    assert!(problem_of_begin(&hostile).contains("0 public keys"));
}

#[test]
fn a_failure_is_asked_for_again_only_after_its_delay() {
    let hostile = Hostile::start();
    hostile.answer_with("/keys", (503, String::new(), Vec::new()));
    let (provider, now) = (hostile.provider(), Instant::now());
    for _ in 0..3 {
        assert!(provider.begin(ReturnPath::default(), now).is_err());
    }
    assert_eq!(hostile.asked().len(), 2, "metadata and keys, once");
}

#[test]
fn a_token_of_another_login_is_refused() {
    let hostile = Hostile::start();
    let outcome = hostile.log_in(|_| hostile.tokens("another-nonce", json!({ "groups": [] })));
    let Err(Error::Refused(Refusal::Token(problem))) = outcome else { panic!("not refused: {outcome:?}") };
    assert!(problem.contains("(nonce)"), "{problem}");
}

#[test]
fn claims_of_another_person_are_not_used() {
    let hostile = Hostile::start();
    for userinfo in [json!({ "sub": "bob", "groups": ["ops"] }), json!({ "groups": ["ops"] })] {
        hostile.answer("/userinfo", &userinfo);
        let problem = problem_of(hostile.log_in(|nonce| hostile.tokens(nonce, json!({}))));
        assert!(problem.contains("another person"), "{problem}");
    }
    hostile.answer("/userinfo", &json!({ "sub": "ann", "groups": ["ops"] }));
    let ann = hostile.log_in(|nonce| hostile.tokens(nonce, json!({}))).expect("logged in");
    assert_eq!(ann.groups, ["ops"]);
}

#[test]
fn groups_that_cannot_be_read_refuse_the_login() {
    let hostile = Hostile::start();
    let outcome = hostile.log_in(|nonce| hostile.tokens(nonce, json!({ "groups": [{ "id": 1 }] })));
    assert!(matches!(outcome, Err(Error::Refused(Refusal::Token(_)))), "{outcome:?}");
    hostile.answer("/userinfo", &json!({ "sub": "ann", "groups": 7 }));
    assert!(problem_of(hostile.log_in(|nonce| hostile.tokens(nonce, json!({})))).contains("groups"));
}

#[test]
fn errors_do_not_quote_what_the_token_endpoint_sends() {
    let hostile = Hostile::start();
    for body in [json!({ "error": "<b>hunter2</b>" }), json!({ "id_token": 7, "access_token": "hunter2" })] {
        let error = hostile.log_in(|_| body).expect_err("refused");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("the-code"), "{shown}");
    }
}
