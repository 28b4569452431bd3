//! The answers of your own server.
//!
//! A real HTTP server in the test answers yes, no, nothing, or nonsense.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stadium_edge::auth::*;

use crate::auth::fixture::{DEADLINE, Files, allowed, check, line, open, password_config, with_password};

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
fn the_callback_gets_what_was_shown_and_names_the_principal() {
    let service = Service::start();
    let authenticator = with_callback(CallbackConfig::new(&service.url));
    service.answer(200, &json!({"allow": true, "principal": "tenant-7", "groups": ["staff"]}));
    let identity = allowed(check(&authenticator, with_password("anna", b"secret")));
    assert_eq!(
        (&*identity.principal, identity.via, &*identity.groups[0]),
        ("tenant-7", Via::Callback, "staff")
    );
    let expected =
        json!({"client_id": "anna", "username": "anna", "password": "secret", "peer": "192.0.2.1:40000"});
    assert_eq!(service.request(), expected);

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
            // The request fits one read or two; its contents are another test's matter.
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
