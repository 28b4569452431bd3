//! Connections that are slow, too many, ask for MQTT, stay while the port stops, or speak TLS.
//!
//! Each scenario has a server of its own, real sockets, and a deadline instead of sleeps.

use crate::support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use stadium_http::fleet::memory::MemoryFleet;
use stadium_http::{Config, Fleet, Server, SocketTaker, TakenPath, TakenSocket, TlsFiles};
use support::{Fixture, eventually};

/// Keeps the sockets that it gets.
struct KeptSockets(mpsc::Sender<TakenSocket>);

impl SocketTaker for KeptSockets {
    fn take(&self, socket: TakenSocket) {
        let _ = self.0.send(socket);
    }
}

fn connect(fixture: &Fixture) -> TcpStream {
    let stream = TcpStream::connect(fixture.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket option");
    stream
}

fn answer_of(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_string(&mut text);
    text
}

/// Asks for a path and reads until the connection ends.
fn asked_once(mut client: TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let _ = client.write_all(request.as_bytes());
    answer_of(client)
}

/// A connection from another address of this machine.
fn connect_from(address: [u8; 4], fixture: &Fixture) -> TcpStream {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((address, 0)).into()).expect("an address of this machine");
    socket.connect(&fixture.address.into()).expect("it listens");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket option");
    stream
}

#[test]
fn one_host_that_never_reads_takes_neither_the_port_nor_health() {
    let fixture = Fixture::with(
        |config| {
            config.write_timeout = Duration::from_millis(500);
            config.connections_max = 64;
            config.connections_per_address_max = 40;
        },
        None,
    );
    let attacker = [127, 0, 0, 2];
    let pipelined = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(40);
    let held: Vec<_> = (0..100)
        .map(|_| {
            let mut client = connect_from(attacker, &fixture);
            // The ones over the bound are closed while they write.
            let _ = client.write_all(pipelined.as_bytes());
            client
        })
        .collect();
    // Another address has its share, and health is answered to the full one too.
    let text = asked_once(connect(&fixture), "/live");
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    eventually("a full address is answered about health", || {
        asked_once(connect_from(attacker, &fixture), "/healthz").starts_with("HTTP/1.1 200")
    });
    // Without a read no answer leaves, and the places are free again.
    eventually("the connections that do not read are cut", || {
        asked_once(connect_from(attacker, &fixture), "/live").starts_with("HTTP/1.1 200")
    });
    drop(held);
}

#[test]
fn a_client_that_is_refused_in_the_middle_of_its_body_reads_the_answer() {
    let fixture = Fixture::with(|config| config.body_bytes_max = 1_000, None);
    let length = 3 << 20;
    let head = format!(
        "POST /api/push HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         authorization: Bearer {}\r\ncontent-length: {length}\r\n\r\n",
        fixture.admin
    );
    let mut client = connect(&fixture);
    client.write_all(head.as_bytes()).expect("it is open");
    for written in 0..length / 4_096 {
        client.write_all(&[b' '; 4_096]).expect("the server still reads");
        if written == 0 {
            // The bound is passed, and the server answers; the client goes on with its body.
            client.peek(&mut [0]).expect("an answer");
        }
    }
    let text = answer_of(client);
    assert!(text.starts_with("HTTP/1.1 413") && text.contains("HTTP-007"), "{text}");
}

#[test]
fn health_is_answered_while_the_port_is_full() {
    let fixture = Fixture::with(|config| config.connections_max = 2, None);
    let held: Vec<_> = (0..2).map(|_| connect(&fixture)).collect();
    for path in ["/healthz", "/readyz"] {
        let text = asked_once(connect(&fixture), path);
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
    let text = asked_once(connect(&fixture), "/metrics");
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("http.connections_max"), "{text}");
    drop(held);
}

#[test]
fn an_address_without_a_key_has_a_rate_and_one_with_a_key_does_not() {
    let fixture = Fixture::with(|config| config.keyless_requests_per_second_max = 2, None);
    let status = |headers: &[(&str, &str)]| fixture.ask("GET", "/live", headers, None).status;
    let answers: Vec<_> = (0..30).map(|_| status(&[])).collect();
    assert_eq!(answers[..10], [200; 10], "five seconds' worth at once");
    assert!(answers.contains(&429), "{answers:?}");
    let refused = fixture.ask("GET", "/live", &[], None);
    refused.problem(429, "HTTP-031");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(fixture.ask("GET", "/healthz", &[], None).status, 200, "health is not counted");
    assert_eq!(fixture.get("/api/devices").status, 200, "a key is not stopped by its neighbours");
    let other = asked_once(connect_from([127, 0, 0, 3], &fixture), "/live");
    assert!(other.starts_with("HTTP/1.1 200"), "{other}");
}

#[test]
fn mqtt_sockets_are_given_away_unread_and_others_are_not() {
    let (keep, kept) = mpsc::channel();
    let fixture = Fixture::with(|config| config.echo = true, Some(Arc::new(KeptSockets(keep))));
    for (request, path) in [
        ("GET /mqtt HTTP/1.1\r\nhost: x\r\n\r\n", TakenPath::Mqtt),
        ("GET /mqtt?token=1 HTTP/1.1\r\n\r\n", TakenPath::Mqtt),
        ("GET /echo HTTP/1.1\r\n\r\n", TakenPath::Echo),
    ] {
        let mut client = connect(&fixture);
        // In two pieces: the first alone does not show whose it is.
        client.write_all(&request.as_bytes()[..6]).expect("it is open");
        client.write_all(&request.as_bytes()[6..]).expect("it is open");
        let mut taken = kept.recv_timeout(Duration::from_secs(10)).expect("it is given away");
        assert_eq!(taken.path, path);
        assert_eq!(taken.peer, client.local_addr().expect("connected"));
        taken.stream.set_nonblocking(false).expect("a socket option");
        let mut unread = vec![0; request.len()];
        taken.stream.read_exact(&mut unread).expect("the whole request is still there");
        assert_eq!(unread, request.as_bytes());
    }
    fixture.get("/mqttx").problem(404, "HTTP-008");
    assert_eq!(fixture.get("/api/devices").status, 200);
    assert!(kept.try_recv().is_err());
}

#[test]
fn slow_heads_are_cut_at_their_time() {
    let (keep, _kept) = mpsc::channel();
    for taker in [None, Some(Arc::new(KeptSockets(keep)) as Arc<dyn SocketTaker>)] {
        let fixture = Fixture::with(|config| config.head_timeout = Duration::from_millis(300), taker);
        for sent in ["", "GET /m", "GET /api/devices HTTP/1.1\r\nx-slow: "] {
            let mut client = connect(&fixture);
            client.write_all(sent.as_bytes()).expect("it is open");
            let began = Instant::now();
            let text = answer_of(client);
            assert!(began.elapsed() < Duration::from_secs(5), "{sent:?}");
            assert!(text.is_empty() || text.starts_with("HTTP/1.1 408"), "{sent:?}: {text}");
        }
    }
}

#[test]
fn a_slow_body_is_answered_that_it_took_too_long() {
    let fixture = Fixture::with(|config| config.request_timeout = Duration::from_millis(300), None);
    let mut client = connect(&fixture);
    let head = format!(
        "POST /api/push HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: 50\r\nconnection: close\r\n\r\n{{",
        fixture.admin
    );
    client.write_all(head.as_bytes()).expect("it is open");
    let text = answer_of(client);
    assert!(text.starts_with("HTTP/1.1 504"), "{text}");
    assert!(text.contains("HTTP-018") && text.contains("retry-after: 1"), "{text}");
}

#[test]
fn an_oversize_head_is_refused() {
    let fixture = Fixture::begin();
    let mut client = connect(&fixture);
    let head = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx: {}", "x".repeat(40_000));
    // The server may cut the connection before everything is written.
    let _ = client.write_all(head.as_bytes());
    let text = answer_of(client);
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 431"), "{text}");
    assert_eq!(fixture.ask("GET", "/healthz", &[], None).status, 200);
}

#[test]
fn one_connection_too_many_is_refused_and_a_place_is_freed() {
    let fixture = Fixture::with(|config| config.connections_max = 2, None);
    let (first, second) = (connect(&fixture), connect(&fixture));
    // Accepted in order: once the second is served, both hold their places.
    let mut request = second.try_clone().expect("a second handle");
    request.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").expect("it is open");
    let mut line = String::new();
    BufReader::new(second.try_clone().expect("a handle")).read_line(&mut line).expect("an answer");
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");

    let text = asked_once(connect(&fixture), "/live");
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("HTTP-025"), "{text}");
    drop((first, second, request));
    eventually("a place is free again", || {
        asked_once(connect(&fixture), "/live").starts_with("HTTP/1.1 200")
    });
}

#[test]
fn connections_over_the_bound_are_closed_and_counted() {
    let fixture = Fixture::with(|config| config.connections_max = 2, None);
    let held: Vec<_> = (0..2).map(|_| connect(&fixture)).collect();
    // Most of them send and read no byte: each would hold its descriptor for a second.
    let silent: Vec<_> = (0..200).map(|_| connect(&fixture)).collect();
    let began = Instant::now();
    assert!(silent.into_iter().map(answer_of).all(|text| text.is_empty()), "nobody asked");
    assert!(began.elapsed() < Duration::from_secs(5), "a silent one is closed after a second");
    let text = asked_once(connect(&fixture), "/live");
    assert!(text.contains("HTTP-025"), "{text}");
    drop(held);
    eventually("a place is free again", || {
        asked_once(connect(&fixture), "/live").starts_with("HTTP/1.1 200")
    });
    let answer = fixture.get("/metrics");
    assert_eq!(answer.status, 200, "{}", answer.text);
    let metrics = answer.text;
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{metrics}"));
        line.rsplit(' ').next().and_then(|value| value.parse::<u64>().ok()).expect("a number")
    };
    assert!(value("stadium_http_connections_turned_away_total ") >= 200);
    assert_eq!(value("stadium_http_connections_max "), 2);
    assert!((1..=2).contains(&value("stadium_http_connections ")));
}

fn seen(lines: &mut impl Iterator<Item = String>, what: &str) -> String {
    lines.find(|line| line.contains(what)).unwrap_or_else(|| panic!("the view ended before {what}"))
}

#[test]
fn live_views_show_samples_and_end_when_the_server_stops() {
    let mut fixture = Fixture::with(
        |config| {
            config.open_read = true;
            config.live_views_max = 1;
        },
        None,
    );
    fixture.fleet.connect(&support::device("a"), &["everybody"]);
    let mut client = connect(&fixture);
    let request = format!("GET /api/live HTTP/1.1\r\nhost: {}\r\n\r\n", fixture.address);
    client.write_all(request.as_bytes()).expect("it is open");
    let mut lines = BufReader::new(client).lines().map_while(Result::ok);
    seen(&mut lines, "text/event-stream");
    seen(&mut lines, "event: history");
    seen(&mut lines, "event: sample");
    let sample = seen(&mut lines, "data: ");
    let sample: serde_json::Value = serde_json::from_str(&sample["data: ".len()..]).expect("JSON");
    assert_eq!(sample["connected"], 1, "{sample}");
    assert_eq!(sample["state"], "ready");

    fixture.get("/api/live").problem(503, "HTTP-019");

    fixture.post("/api/push", r#"{"to": "everybody", "message": "x"}"#);
    seen(&mut lines, "event: push");
    let push = seen(&mut lines, "data: ");
    assert!(push.contains("\"acknowledged\":1"), "{push}");

    assert!(fixture.stop(), "an open view does not hold the server up");
    assert_eq!(lines.last().as_deref(), Some(""), "the view was ended properly");
    assert!(TcpStream::connect(fixture.address).is_err(), "nothing listens any more");
}

#[test]
fn https_answers_and_takes_a_new_certificate_without_a_restart() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let files = TlsFiles {
        certificate: data.path().join("cert.pem"),
        key: data.path().join("key.pem"),
        clients: None,
    };
    let write_certificate = || {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        std::fs::write(&files.certificate, made.cert.pem()).expect("writes");
        std::fs::write(&files.key, made.signing_key.serialize_pem()).expect("writes");
        made.cert.der().clone()
    };
    let first = write_certificate();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let config = Config { tls: Some(files.clone()), ..Config::new(([127, 0, 0, 1], 0).into(), data.path()) };
    let server = runtime.block_on(Server::bind(config, Arc::new(MemoryFleet::new()) as Arc<dyn Fleet>, None));
    let server = server.expect("it binds");
    let (address, reloader) = (server.address(), server.reloader());
    runtime.spawn(server.run(std::future::pending()));

    let ask = |trusted: &rustls::pki_types::CertificateDer<'static>| -> std::io::Result<String> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(trusted.clone()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "localhost".try_into().expect("a name");
        let mut connection = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut socket = TcpStream::connect(address)?;
        let mut stream = rustls::Stream::new(&mut connection, &mut socket);
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        Ok(text)
    };
    assert!(ask(&first).expect("the certificate is trusted").starts_with("HTTP/1.1 200"));

    let second = write_certificate();
    assert!(ask(&second).is_err(), "the new one is not in use before the reload");
    reloader.reload().expect("both files are good");
    assert!(ask(&second).expect("the new one is in use").starts_with("HTTP/1.1 200"));
    std::fs::write(&files.certificate, "nonsense").expect("writes");
    assert!(reloader.reload().is_err());
    assert!(ask(&second).expect("the old one stays").starts_with("HTTP/1.1 200"));
    runtime.shutdown_background();
}
