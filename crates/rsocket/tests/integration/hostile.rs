//! Peers that want our memory or our time: floods of all kinds leave a connection that is small, or ended.
//!
//! Single frames that break the protocol are in proto/vectors/hostile.json, which `vectors.rs` reads.

use std::sync::Arc;

use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, More, Next, Payload, Respond, StreamId, encode,
};
use stadium_rsocket::metadata::{Mime, entries, find, write_entry};
use stadium_rsocket::{Config, Connection, Event, SetupOptions};

/// A server that has accepted a client, and what it sends.
struct Server {
    connection: Connection,
    out: Vec<u8>,
    events: usize,
    is_closed: bool,
}

impl Server {
    fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let mut hello = Vec::new();
        drop(Connection::client(config.clone(), &SetupOptions::default(), 0, &mut hello));
        let mut connection = Connection::server(config, 0);
        assert!(matches!(connection.receive(0, &hello, &mut Vec::new()).event, Some(Event::Setup(_))));
        connection.accept();
        Self { connection, out: Vec::new(), events: 0, is_closed: false }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let mut at = 0;
        loop {
            let received = self.connection.receive(1, &bytes[at..], &mut self.out);
            at += received.used;
            match received.event {
                Some(Event::Closed(_)) => self.is_closed = true,
                Some(_) => self.events += 1,
                None if received.used == 0 => break,
                None => {}
            }
        }
    }

    fn hear_frame(&mut self, frame: Frame<'_>) {
        let mut bytes = Vec::new();
        encode(&frame, &mut bytes);
        self.hear(&bytes);
    }

    /// How many ERROR frames of `code` it has sent.
    fn errors(&self, code: ErrorCode) -> usize {
        let (mut rest, mut count) = (self.out.as_slice(), 0);
        while let Some((frame, used)) = frame::split(rest, 1 << 24).expect("our own") {
            let decoded = frame::decode(frame).expect("our own");
            count += usize::from(matches!(decoded, Frame::Error { code: sent, .. } if sent == code));
            rest = &rest[used..];
        }
        count
    }
}

const KIB: usize = 1024;

fn payload(data: &[u8]) -> Payload<'_> {
    Payload { metadata: None, data }
}

#[test]
fn no_flood_grows_the_memory() {
    let config = Config { payload_bytes_max: 64 * KIB, streams_max: 1_000, ..Config::default() };
    // Beginnings of requests, each with its fragment, none ever finished.
    let mut server = Server::new(config.clone());
    for nth in 0..100_000 {
        let (stream, more) = (StreamId(1 + 2 * nth), More::Follows);
        server.hear_frame(Frame::RequestResponse { stream, more, payload: payload(&[1; 100]) });
        assert!(server.connection.memory_bytes() < 150 * KIB);
    }
    assert_eq!(server.events, 0);
    // Empty beginnings.
    let mut server = Server::new(config.clone());
    for nth in 0..100_000 {
        let (stream, more) = (StreamId(1 + 2 * nth), More::Follows);
        server.hear_frame(Frame::RequestFireAndForget { stream, more, payload: payload(b"") });
    }
    assert!(server.connection.memory_bytes() < 150 * KIB);
    // One request without an end.
    let mut server = Server::new(config.clone());
    let stream = StreamId(1);
    server.hear_frame(Frame::RequestStream {
        stream,
        more: More::Follows,
        initial: 1,
        payload: payload(b""),
    });
    for _ in 0..10_000 {
        let (more, completes, next) = (More::Follows, Completes::No, Next::Value);
        server.hear_frame(Frame::Payload { stream, more, completes, next, payload: payload(&[1; 1_000]) });
        assert!(server.connection.memory_bytes() < 150 * KIB);
    }
    assert_eq!(server.errors(ErrorCode::INVALID), 1);
    // Streams without an end.
    let mut server = Server::new(config);
    for nth in 0..100_000 {
        let (stream, more) = (StreamId(1 + 2 * nth), More::Whole);
        server.hear_frame(Frame::RequestStream { stream, more, initial: 1, payload: payload(b"") });
    }
    assert_eq!(server.connection.streams_open(), 1_000);
    assert_eq!(server.errors(ErrorCode::REJECTED), 99_000);
    assert!(server.connection.memory_bytes() < 64 * KIB);
    assert!(!server.is_closed);
}

#[test]
fn memory_comes_back_when_a_flood_is_over() {
    let mut server = Server::new(Config::default());
    for nth in 0..5_000 {
        let (stream, more) = (StreamId(1 + 2 * nth), More::Whole);
        server.hear_frame(Frame::RequestStream { stream, more, initial: 1, payload: payload(b"") });
    }
    assert!(server.connection.memory_bytes() > 100_000);
    for nth in 0..5_000 {
        server.hear_frame(Frame::Cancel { stream: StreamId(1 + 2 * nth) });
    }
    assert_eq!(server.connection.advance(1, &mut server.out), None);
    assert!(server.connection.memory_bytes() < 200, "{}", server.connection.memory_bytes());
}

#[test]
fn ids_that_collide_are_refused_before_they_cost_time() {
    // Ids that a table of up to a million slots puts into one: multiples of the inverse of its multiplier.
    let inverse = (0..5).fold(0x9E37_79B1_u32, |inverse, _| {
        inverse.wrapping_mul(2u32.wrapping_sub(0x9E37_79B1_u32.wrapping_mul(inverse)))
    });
    assert_eq!(inverse.wrapping_mul(0x9E37_79B1), 1);
    let mut ids: Vec<u32> = (0..1 << 12)
        .map(|nth: u32| nth.wrapping_mul(inverse))
        .filter(|id| id % 2 == 1 && *id < 1 << 31)
        .collect();
    ids.sort_unstable();
    assert!(ids.len() > 900);
    let mut server = Server::new(Config::default());
    for id in ids {
        let (stream, more) = (StreamId(id), More::Whole);
        server.hear_frame(Frame::RequestStream { stream, more, initial: 1, payload: payload(b"") });
    }
    // The last one leaves its place.
    server.hear(b"");
    assert!(server.connection.streams_open() < 300, "{}", server.connection.streams_open());
    assert!(server.errors(ErrorCode::REJECTED) > 600);
    assert!(!server.is_closed);
}

#[test]
fn answers_are_no_longer_than_what_they_answer() {
    let mut server = Server::new(Config::default());
    let data = vec![7; 10_000];
    let keepalive = Frame::KeepAlive { respond: Respond::Yes, last_received_position: 0, data: &data };
    server.hear_frame(keepalive);
    assert!(server.out.len() < 10_100);
}

#[test]
fn a_bomb_of_metadata_is_walked_without_memory() {
    // Sixteen megabytes of entries without content, and one frame inside the other.
    let mut bomb = Vec::new();
    while bomb.len() < 1 << 20 {
        write_entry(&mut bomb, Mime::JSON, b"");
    }
    let counted = allocation_counter::measure(|| {
        assert_eq!(entries(&bomb).count(), (1 << 20) / 4);
        assert_eq!(find(&bomb, Mime::ROUTING), None);
    });
    assert_eq!(counted.count_total, 0);
    let mut nested = Vec::new();
    for _ in 0..1_000 {
        let inner = std::mem::take(&mut nested);
        write_entry(&mut nested, Mime::COMPOSITE, &inner);
    }
    assert_eq!(entries(&nested).count(), 1, "what is inside is only read by who asks for it");
}

#[test]
fn whatever_is_said_instead_of_setup_costs_one_answer() {
    for first in 0..=255u8 {
        let mut server = Connection::server(Arc::new(Config::default()), 0);
        let mut out = Vec::new();
        let bytes: Vec<u8> = (0..6_000).map(|at| first.wrapping_add((at * 7) as u8)).collect();
        let mut at = 0;
        while at < bytes.len() {
            let used = server.receive(0, &bytes[at..], &mut out).used;
            if used == 0 {
                break;
            }
            at += used;
        }
        assert!(out.len() < 200);
        assert!(server.is_closed() || at == 0);
        assert!(server.memory_bytes() < 300);
    }
}
