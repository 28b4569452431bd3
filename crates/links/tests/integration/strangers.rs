//! Peers that are no nodes: bytes that are no TLS, no RSocket, no link; frames that are too long.
//!
//! Each is refused with a reason where it can be told one, and links of nodes go on.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_links::link::{Bounds, Hello, Lane, Range, VERSIONS, protocol};
use stadium_links::{Incarnation, Timing, TlsSettings};
use stadium_reactor::tls::{ClientTls, ClientTlsSettings, SessionResumption, Trust};
use stadium_reactor::{CloseReason, ConnectOptions, ConnectionId, Handler, Io, Loop, LoopSettings};
use stadium_rsocket::frame::{Completes, Interaction, Payload, REQUEST_N_MAX};
use stadium_rsocket::{Connection, SetupOptions};

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);

/// A peer that writes what it likes above TLS, and keeps what comes.
#[derive(Default)]
struct Stranger {
    writes: Vec<u8>,
    heard: Vec<u8>,
    ended: Option<CloseReason>,
}

impl Handler for Stranger {
    type Message = ();

    fn connected(&mut self, io: &mut Io<()>, id: ConnectionId, _tag: u64) {
        io.send(id, |out| out.extend_from_slice(&self.writes));
    }

    fn received(&mut self, _io: &mut Io<()>, _id: ConnectionId, bytes: &[u8]) -> usize {
        self.heard.extend_from_slice(bytes);
        bytes.len()
    }

    fn closed(&mut self, _io: &mut Io<()>, _id: ConnectionId, reason: CloseReason) {
        self.ended = Some(reason);
    }
}

/// Connects with a certificate of the cluster, writes, and returns what was heard until the node
/// closed.
fn says(address: SocketAddr, node: &str, tls: &TlsSettings, writes: Vec<u8>) -> String {
    let mut one = Loop::new(LoopSettings::default()).expect("a loop");
    let tls = ClientTls::new(&ClientTlsSettings {
        server_name: node.to_owned(),
        trust: Trust::Roots(tls.authorities.roots.clone()),
        identity: Some(tls.identity.clone()),
        alpn: Vec::new(),
        resumption: SessionResumption::Off,
    });
    let options = ConnectOptions { tls: Some(tls.expect("it is usable")), ..ConnectOptions::default() };
    one.io().connect(address, &options).expect("a socket");
    let mut driven = one.drive(Stranger { writes, ..Stranger::default() });
    let until = Instant::now() + SOON;
    while driven.handler().ended.is_none() {
        assert!(Instant::now() < until, "the node did not close: {:?}", driven.handler().heard);
        driven.turn(Some(Duration::from_millis(50))).expect("it turns");
    }
    String::from_utf8_lossy(&driven.handler().heard).into_owned()
}

fn hello(node: &str) -> Hello {
    Hello {
        cluster: CLUSTER,
        node: name(node),
        incarnation: Incarnation(1),
        versions: VERSIONS,
        levels: Range { first: 1, last: 1 },
        lane: Lane::Data,
        loop_index: 0,
        credit: Bounds { messages: 1, bytes: 10_000 },
    }
}

/// SETUP with a hello, the channel, and payloads on it.
fn link(hello: &[u8], payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let config = Arc::clone(&protocol(&Timing { body_bytes_max: 8 * 1024 * 1024, ..Timing::default() }));
    let payload = Payload { metadata: None, data: hello };
    let setup = SetupOptions { payload, ..SetupOptions::default() };
    let mut connection = Connection::client(config, &setup, 0, &mut out);
    let tag = stadium_rsocket::Tag(0);
    let stream = connection
        .request(Interaction::RequestChannel, REQUEST_N_MAX, Completes::No, tag, None, |_| {}, &mut out)
        .expect("it is the first");
    for payload in payloads {
        // Credit that nobody has given: REQUEST_N as the peer would send it.
        let mut granted = vec![0, 0, 10];
        granted.extend_from_slice(&stream.0.to_be_bytes());
        granted.extend_from_slice(&[0x20, 0, 0x7F, 0xFF, 0xFF, 0xFF]);
        connection.receive(0, &granted, &mut Vec::new());
        connection
            .payload(stream, Completes::No, None, |out| out.extend_from_slice(payload), &mut out)
            .expect("there is credit");
    }
    out
}

fn encoded(hello: &Hello) -> Vec<u8> {
    let mut bytes = Vec::new();
    hello.encode(&mut bytes);
    bytes
}

#[test]
fn garbage_at_the_port_ends_alone() {
    let authority = authority();
    let (a, b) = pair(&authority);
    let address = a.endpoint.address();
    let garbage: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0; 5_000], &[0xFF; 5_000], &[22, 3, 1, 0xFF, 0xFF]];
    for bytes in garbage {
        let mut socket = TcpStream::connect(address).expect("it listens");
        socket.set_read_timeout(Some(SOON)).expect("a timeout");
        socket.write_all(bytes).expect("it is taken");
        let mut heard = Vec::new();
        // A reset is an end too.
        let _ = socket.read_to_end(&mut heard);
        assert!(heard.len() < 100, "at most an alert: {heard:?}");
    }
    let _idle: Vec<_> = (0..50).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    a.request(&b, 1, LONG, b"x");
    b.request(&a, 1, LONG, b"x");
    assert_eq!((a.outcome(1), b.outcome(1)), (Became::Answer(b"x".into()), Became::Answer(b"x".into())));
}

#[test]
fn what_is_no_link_above_tls_is_refused_with_its_reason() {
    let authority = authority();
    let (a, b) = pair(&authority);
    let tls = tls(&authority, "b");
    let says = |writes: Vec<u8>| says(a.endpoint.address(), "a", &tls, writes);
    // A request: kind 1 and a whole head of 24 bytes.
    let mut request = vec![0, 0, 0, 28, 1];
    request.extend_from_slice(&[0; 27]);
    let answer = [0, 0, 0, 10, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    let good = encoded(&hello("b"));
    // Letters: one is within any credit, and 8,193 at once are not.
    let letters: Vec<u8> =
        std::iter::repeat_n([&[0, 0, 0, 13, 3][..], &[0; 12]].concat(), 8_193).flatten().collect();
    let cases: [(Vec<u8>, &str); 9] = [
        (b"no frame at all, but long enough to be one".into(), ""),
        (vec![0xFF; 4], "first frame has"),
        (link(b"no hello", &[]), "CLU-206"),
        (link(&encoded(&hello("c")), &[]), "CLU-203"),
        (link(&encoded(&Hello { incarnation: Incarnation(0), ..hello("b") }), &[]), "CLU-204"),
        (link(&good, &[b"no batch"]), "broken batch"),
        (link(&good, &[&answer]), "only an acceptor"),
        (link(&good, &[&letters]), "more on its way"),
        (link(&good, &[&vec![0; 4 * 1024 * 1024]]), "is too large"),
    ];
    for (writes, reason) in cases {
        let heard = says(writes);
        assert!(heard.contains(reason), "{reason:?} in {heard:?}");
    }
    a.request(&b, 1, LONG, b"x");
    assert_eq!(a.outcome(1), Became::Answer(b"x".into()));
}

#[test]
fn a_client_without_a_certificate_gets_nothing() {
    let authority = authority();
    let a = Node::start(settings(&authority, "a"));
    let other = crate::fixture::authority();
    let mut foreign = tls(&other, "b");
    foreign.authorities = tls(&authority, "b").authorities;
    let heard = says(a.endpoint.address(), "a", &foreign, link(&encoded(&hello("b")), &[]));
    assert!(heard.is_empty(), "{heard:?}");
}
