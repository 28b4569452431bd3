//! What the protocol costs without sockets: nanoseconds for a request-response that is answered at once, and
//! for a payload on one of a million open streams.
//!
//! `cargo run --release -p stadium-rsocket --example hot_path`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use stadium_rsocket::connection::SetupOptions;
use stadium_rsocket::frame::{Completes, Frame, Interaction, More, Payload, StreamId, encode};
use stadium_rsocket::metadata::write_route;
use stadium_rsocket::{Config, Connection, Event, Tag};

const ROUNDS: u32 = 10_000_000;
const BATCH: u32 = 64;
const CONNECTIONS: usize = 10_000;
const STREAMS: usize = 100;
const MESSAGE: [u8; 48] = [7; 48];

fn main() {
    for _ in 0..3 {
        request_response();
    }
    both_sides();
    streams();
}

fn server(config: &Arc<Config>, out: &mut Vec<u8>) -> Connection {
    let mut hello = Vec::new();
    drop(Connection::client(config.clone(), &SetupOptions::default(), 0, &mut hello));
    let mut server = Connection::server(config.clone(), 0);
    let received = server.receive(0, &hello, out);
    assert!(matches!(received.event, Some(Event::Setup(_))));
    server.accept();
    server
}

/// Batches of 64 requests with a route and 48 bytes, as a loop reads them; each answered with 48 bytes.
fn request_response() {
    let config = Arc::new(Config::default());
    let mut out = Vec::with_capacity(1 << 16);
    let mut server = server(&config, &mut out);
    let mut metadata = Vec::new();
    write_route(&mut metadata, "geo/Store");
    let mut bytes = Vec::with_capacity(1 << 16);
    let mut id = 1;
    let mut spent = std::time::Duration::ZERO;
    let mut answers = 0;
    for _ in 0..ROUNDS / BATCH {
        bytes.clear();
        for _ in 0..BATCH {
            let payload = Payload { metadata: Some(&metadata), data: &MESSAGE };
            encode(&Frame::RequestResponse { stream: StreamId(id), more: More::Whole, payload }, &mut bytes);
            id += 2;
        }
        let started = Instant::now();
        out.clear();
        let mut at = 0;
        while at < bytes.len() {
            let received = server.receive(1, &bytes[at..], &mut out);
            at += received.used;
            if let Some(Event::Request { stream, payload, .. }) = received.event {
                black_box(&payload);
                let answer = |out: &mut Vec<u8>| out.extend_from_slice(&MESSAGE);
                server.payload(stream, Completes::Yes, None, answer, &mut out).expect("an open stream");
                answers += 1;
            }
        }
        spent += started.elapsed();
        black_box(&out);
    }
    println!("request-response, server:  {:6.1} ns", spent.as_nanos() as f64 / f64::from(answers));
}

/// The whole round: request, decode, answer, decode; 64 in flight.
fn both_sides() {
    let config = Arc::new(Config::default());
    let (mut up, mut down) = (Vec::with_capacity(1 << 16), Vec::with_capacity(1 << 16));
    let mut client = Connection::client(config.clone(), &SetupOptions::default(), 0, &mut up);
    let mut server = Connection::server(config, 0);
    let received = server.receive(0, &up, &mut down);
    assert!(matches!(received.event, Some(Event::Setup(_))));
    server.accept();
    let mut metadata = Vec::new();
    write_route(&mut metadata, "geo/Store");
    let message = |out: &mut Vec<u8>| out.extend_from_slice(&MESSAGE);
    let started = Instant::now();
    let mut rounds = 0;
    for _ in 0..ROUNDS / BATCH {
        up.clear();
        down.clear();
        for tag in 0..BATCH {
            let interaction = Interaction::RequestResponse;
            client
                .request(interaction, 1, Completes::Yes, Tag(tag), Some(&metadata), message, &mut up)
                .expect("room for a stream");
        }
        let mut at = 0;
        while at < up.len() {
            let received = server.receive(1, &up[at..], &mut down);
            at += received.used;
            if let Some(Event::Request { stream, .. }) = received.event {
                server.payload(stream, Completes::Yes, None, message, &mut down).expect("an open stream");
            }
        }
        at = 0;
        while at < down.len() {
            let received = client.receive(1, &down[at..], &mut up);
            at += received.used;
            rounds += u32::from(received.event.is_some());
        }
    }
    assert_eq!(rounds, ROUNDS / BATCH * BATCH);
    println!("request-response, both:    {:6.1} ns", started.elapsed().as_nanos() as f64 / f64::from(rounds));
}

/// One payload on each of a million streams, a connection's streams after each other; then in an order that
/// no cache likes.
fn streams() {
    let config = Arc::new(Config::default());
    let mut out = Vec::with_capacity(1 << 16);
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| server(&config, &mut out)).collect();
    let mut bytes = Vec::new();
    for stream in 0..STREAMS as u32 {
        let stream = StreamId(stream * 2 + 1);
        let payload = Payload { metadata: None, data: b"tick" };
        encode(&Frame::RequestStream { stream, more: More::Whole, initial: 1 << 30, payload }, &mut bytes);
    }
    for connection in &mut connections {
        let mut at = 0;
        while at < bytes.len() {
            at += connection.receive(1, &bytes[at..], &mut out).used;
        }
        // The last request leaves its place for the newest.
        connection.receive(1, &[], &mut out);
        assert_eq!(connection.streams_open(), STREAMS);
    }
    let held: usize = connections.iter().map(Connection::memory_bytes).sum();
    println!("memory of a stream:        {:6.1} B", held as f64 / (CONNECTIONS * STREAMS) as f64);
    let message = |out: &mut Vec<u8>| out.extend_from_slice(&MESSAGE);
    for name in ["burst", "burst"] {
        let started = Instant::now();
        for connection in &mut connections {
            out.clear();
            for stream in 0..STREAMS as u32 {
                let stream = StreamId(stream * 2 + 1);
                connection.payload(stream, Completes::No, None, message, &mut out).expect("credit");
            }
            black_box(&out);
        }
        let spent = started.elapsed().as_nanos() as f64;
        println!("stream payload, {name}:     {:6.1} ns", spent / (CONNECTIONS * STREAMS) as f64);
    }
    for name in ["spread", "spread"] {
        let started = Instant::now();
        for stream in 0..STREAMS as u32 {
            for connection in &mut connections {
                out.clear();
                let stream = StreamId(stream * 2 + 1);
                connection.payload(stream, Completes::No, None, message, &mut out).expect("credit");
                black_box(&out);
            }
        }
        let spent = started.elapsed().as_nanos() as f64;
        println!("stream payload, {name}:    {:6.1} ns", spent / (CONNECTIONS * STREAMS) as f64);
    }
}
