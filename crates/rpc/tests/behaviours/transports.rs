//! Several loops, TLS, WebSocket, and both together.
//!
//! The same small test runs over each: calls of two sizes, many at once, and a stream, on one
//! connection.

use std::sync::Arc;

use stadium_reactor::tls::{
    ClientCertificates, ClientTls, ClientTlsSettings, ServerTls, ServerTlsSettings, SessionResumption, Trust,
    certificates_from_pem, identity_from_pem,
};
use stadium_reactor::{Messages, WebSocketRequest, WebSocketSettings};
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, Listen, Server, ServerConfig};

use crate::fixture::*;

/// Small and large calls, and a stream.
fn works(server: &Server, config: ClientConfig) {
    let words = Client::start(config).expect("a thread can be had").service("words");
    assert_eq!(words.call(&ECHO, &word("a")).wait(), Ok(word("a")));
    let large = Word { bytes: vec![5; 1_000_000], ..word("b") };
    assert!(words.call(&ECHO, &large).wait() == Ok(large));
    let calls: Vec<_> = (0..500).map(|round| words.call(&ECHO, &number(round))).collect();
    for (round, call) in (0..).zip(calls) {
        assert_eq!(call.wait(), Ok(number(round)));
    }
    let mut stream = words.stream(&COUNT, &number(100), 3, &CallOptions::default());
    for next in 1..=100 {
        assert_eq!(stream.next_within(SOON), Ok(Some(number(next))));
    }
    assert_eq!(stream.next_within(SOON), Ok(None));
    assert_eq!(connections(server), 1);
}

fn echo_and_count() -> stadium_rpc::Service {
    echo().streaming(
        &COUNT,
        |_: stadium_rpc::CallContext, upto: Word, out: stadium_rpc::StreamSender<Word>| async move {
            for next in 1..=upto.number {
                out.send(number(next)).await?;
            }
            Ok(())
        },
    )
}

fn tls() -> (ServerTls, ClientTls) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("it is signed");
    let identity = identity_from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes());
    let server = ServerTls::new(&ServerTlsSettings {
        identity: identity.expect("it was just made"),
        client_certificates: ClientCertificates::None,
        alpn: Vec::new(),
    });
    let client = ClientTls::new(&ClientTlsSettings {
        server_name: "localhost".to_owned(),
        trust: Trust::Roots(certificates_from_pem(certificate.pem().as_bytes()).expect("it was just made")),
        identity: None,
        alpn: Vec::new(),
        resumption: SessionResumption::Off,
    });
    (server.expect("the settings are right"), client.expect("the settings are right"))
}

fn websocket() -> (Arc<WebSocketSettings>, Arc<WebSocketRequest>) {
    let settings = WebSocketSettings {
        path: "/rsocket".to_owned(),
        subprotocols: Vec::new(),
        messages: Messages::LengthPrefixed24,
        message_bytes_max: 16_777_215,
        ..WebSocketSettings::default()
    };
    let request = WebSocketRequest {
        host: "localhost".to_owned(),
        path: "/rsocket".to_owned(),
        subprotocol: None,
        messages: Messages::LengthPrefixed24,
    };
    (Arc::new(settings), Arc::new(request))
}

#[test]
fn calls_over_tls() {
    let (secret, trusting) = tls();
    let mut config = server_config();
    config.listen[0].tls = Some(secret);
    let server = serve_with(config, echo_and_count());
    works(&server, ClientConfig { tls: Some(trusting), ..client_config(&[&server]) });
}

#[test]
fn calls_over_websocket() {
    let (settings, request) = websocket();
    let mut config = server_config();
    config.listen[0].websocket = Some(settings);
    let server = serve_with(config, echo_and_count());
    works(&server, ClientConfig { websocket: Some(request), ..client_config(&[&server]) });
}

#[test]
fn calls_over_websocket_in_tls() {
    let ((secret, trusting), (settings, request)) = (tls(), websocket());
    let mut config = server_config();
    config.listen[0].websocket = Some(settings);
    config.listen[0].tls = Some(secret);
    let server = serve_with(config, echo_and_count());
    let config = client_config(&[&server]);
    works(&server, ClientConfig { websocket: Some(request), tls: Some(trusting), ..config });
}

#[test]
fn client_that_does_not_trust_the_server_does_not_call_it() {
    let ((secret, _), (_, other)) = (tls(), tls());
    let mut config = server_config();
    config.listen[0].tls = Some(secret);
    let server = serve_with(config, echo());
    let mut config = client_config(&[&server]);
    config.tls = Some(other);
    config.deadline = std::time::Duration::from_millis(500);
    let client = Client::start(config).expect("a thread can be had");
    let answer = client.service("words").call(&ECHO, &word("secret")).wait();
    assert!(matches!(answer, Err(CallError::Unavailable(_))), "{answer:?}");
}

#[test]
fn one_server_speaks_all_of_them_at_once() {
    let ((secret, trusting), (settings, request)) = (tls(), websocket());
    let free = Listen::tcp(([127, 0, 0, 1], 0).into());
    let listen = vec![
        free.clone(),
        Listen { tls: Some(secret), ..free.clone() },
        Listen { websocket: Some(settings), ..free },
    ];
    let server = serve_with(ServerConfig { listen, ..server_config() }, echo());
    let at = |place: usize| ClientConfig::at(vec![server.bound()[place]]);
    let configs = [
        at(0),
        ClientConfig { tls: Some(trusting), ..at(1) },
        ClientConfig { websocket: Some(request), ..at(2) },
    ];
    for config in configs {
        let words = Client::start(config).expect("a thread can be had").service("words");
        assert_eq!(words.call(&ECHO, &word("a")).wait(), Ok(word("a")));
    }
}

#[test]
fn several_loops_serve_one_address() {
    let server = serve_with(ServerConfig { loops: 3, ..server_config() }, echo_and_count());
    let mut config = client_config(&[&server]);
    config.connections_per_instance = 12;
    let words = Client::start(config).expect("a thread can be had").service("words");
    until("all connections are there", || {
        assert!(words.call(&ECHO, &word("a")).wait().is_ok());
        connections(&server) == 12
    });
    let calls: Vec<_> = (0..1_000).map(|round| words.call(&ECHO, &number(round))).collect();
    for (round, call) in (0..).zip(calls) {
        assert_eq!(call.wait(), Ok(number(round)));
    }
    until("all are counted", || counted(&server, "words/Echo").ok > 1_000);
    assert_eq!(server.quiesce(SOON).wait(), 0, "all loops quiesce");
}
