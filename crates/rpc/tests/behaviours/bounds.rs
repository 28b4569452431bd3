//! What all connections of a server may cost together, and what one may cost the others.
//!
//! Callers here begin frames and payloads that they never end, read too slowly, or leave with very many streams open.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use stadium_rpc::{Call, CallContext, ServerConfig, StreamSender};
use stadium_rsocket::connection::{Config as ProtocolConfig, Connection, SetupOptions};
use stadium_rsocket::frame::{self, Frame, Interaction, More, Payload, REQUEST_N_MAX, StreamId};
use stadium_rsocket::metadata;

use crate::fixture::*;
use crate::plain::{Got, Plain};

const MIB: usize = 1024 * 1024;

fn statistics(server: &stadium_rpc::Server) -> stadium_rpc::proto::Statistics {
    server.statistics("words").expect("it serves words")
}

fn setup() -> Vec<u8> {
    let mut out = Vec::new();
    let config = std::sync::Arc::new(ProtocolConfig::default());
    drop(Connection::client(config, &SetupOptions::default(), 0, &mut out));
    out
}

/// The beginning of a frame that never ends, of so many bytes.
fn unfinished_frame(bytes: usize) -> Vec<u8> {
    let mut out = vec![0xFF, 0xFF, 0xFE];
    out.extend_from_slice(&1_u32.to_be_bytes());
    out.resize(bytes, 0);
    out
}

/// The first fragments of a payload that never ends, of so many bytes.
fn unfinished_payload(bytes: usize) -> Vec<u8> {
    let mut metadata = Vec::new();
    metadata::write_route(&mut metadata, "words/Echo");
    let mut out = Vec::new();
    let data = vec![1; bytes / 2];
    let (stream, more) = (StreamId(1), More::Follows);
    let payload = Payload { metadata: Some(&metadata), data: &data };
    frame::encode(&Frame::RequestResponse { stream, more, payload }, &mut out);
    let payload = Payload { metadata: None, data: &data };
    let (next, completes) = (frame::Next::Value, frame::Completes::No);
    frame::encode(&Frame::Payload { stream, more, next, completes, payload }, &mut out);
    out
}

/// A connection that begins what it never ends. The server may cut it meanwhile.
fn begin(server: &stadium_rpc::Server, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(server.bound()[0]).expect("the server listens");
    socket.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
    let _ = socket.write_all(&setup()).and_then(|()| socket.write_all(bytes));
    socket
}

/// Whether the server has ended it, waited for.
fn is_cut(socket: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn connections_beyond_the_bound_are_refused_and_counted() {
    let server = serve_with(ServerConfig { connections_max: 3, ..server_config() }, echo());
    let mut held: Vec<Plain> = (0..3).map(|_| Plain::dial(&server)).collect();
    for plain in &mut held {
        plain.ask("words/Echo", 0, &word("a"));
        assert!(matches!(plain.next(), Got::Message { .. }));
    }
    let mut refused = TcpStream::connect(server.bound()[0]).expect("the kernel takes it");
    refused.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
    assert!(is_cut(&mut refused));
    assert_eq!((statistics(&server).refused_connections, connections(&server)), (1, 3));
    drop(held.pop());
    until("there is room again", || connections(&server) == 2);
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
}

#[test]
fn unfinished_frames_and_fragments_of_all_connections_are_bounded_together() {
    for loops in [1, 2] {
        let config = ServerConfig { partial_bytes_max: 8 * MIB, loops, ..server_config() };
        let server = serve_with(config, echo());
        let words = client_of(&[&server]).service("words");
        let (frame, payload) = (unfinished_frame(MIB), unfinished_payload(MIB));
        let held: Vec<TcpStream> =
            (0..64).map(|nth| begin(&server, if nth % 2 == 0 { &frame } else { &payload })).collect();
        until("most are cut", || statistics(&server).cut_unfinished >= 48);
        assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")), "others are served");
        until("what is left fits", || connections(&server) <= 17);
        drop(held);
        until("they have gone", || connections(&server) == 1);
        let cut = statistics(&server).cut_unfinished;
        // Nothing of it counts any more.
        let again: Vec<TcpStream> = (0..3).map(|_| begin(&server, &frame)).collect();
        until("they are there", || connections(&server) == 4);
        assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
        assert_eq!(statistics(&server).cut_unfinished, cut);
        drop(again);
    }
}

#[test]
fn connection_that_holds_most_is_cut_first() {
    let server = serve_with(ServerConfig { partial_bytes_max: 8 * MIB, ..server_config() }, echo());
    let small = unfinished_frame(MIB / 4);
    let mut heavy = begin(&server, &unfinished_payload(7 * MIB));
    let others: Vec<TcpStream> = (0..8).map(|_| begin(&server, &small)).collect();
    assert!(is_cut(&mut heavy));
    until("the others stay", || connections(&server) == 8);
    assert_eq!(statistics(&server).cut_unfinished, 1);
    drop(others);
}

#[test]
fn reader_that_is_too_slow_is_cut_and_counted() {
    let mut config = server_config();
    config.limits.write_stall_ms = 1_000;
    config.limits.write_progress_bytes = 8 * MIB as u32;
    let server = serve_with(
        config,
        echo().streaming(&COUNT, |_: CallContext, _: Word, out: StreamSender<Word>| async move {
            loop {
                out.send(Word { bytes: vec![1; 16 * 1024], ..number(1) }).await?;
            }
        }),
    );
    let mut socket = begin(&server, &{
        let mut metadata = Vec::new();
        metadata::write_route(&mut metadata, "words/Count");
        let (stream, more, initial) = (StreamId(1), More::Whole, REQUEST_N_MAX);
        let payload = Payload { metadata: Some(&metadata), data: &[] };
        let mut out = Vec::new();
        frame::encode(&Frame::RequestStream { stream, more, initial, payload }, &mut out);
        out
    });
    // It reads all the time, some bytes each millisecond.
    let mut some = [0; 256];
    until("it is cut", || {
        let _ = socket.read(&mut some);
        statistics(&server).cut_slow_readers == 1
    });
    until("its stream has ended", || statistics(&server).inflight == 0);
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.call(&ECHO, &word("on")).wait(), Ok(word("on")));
}

#[test]
fn end_of_a_connection_with_many_streams_leaves_others_their_turns() {
    const STREAMS: u64 = 20_000;
    let (begun, dropped) = (Tally::default(), Tally::default());
    let between = Tally::default();
    let service = words()
        .streaming(&COUNT, {
            let (begun, dropped) = (begun.clone(), dropped.clone());
            move |_: CallContext, _: Word, out: StreamSender<Word>| {
                begun.add();
                let counts = CountsDrop(dropped.clone());
                async move {
                    let _counts = counts;
                    out.send(number(1)).await?;
                    std::future::pending().await
                }
            }
        })
        .inline(&ECHO, {
            let (dropped, between) = (dropped.clone(), between.clone());
            move |_: &Call<'_>, _: &Word, _: &mut Word| {
                if (1..STREAMS).contains(&dropped.count()) {
                    between.add();
                }
                Ok(())
            }
        });
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    assert!(words.call(&ECHO, &word("")).wait().is_ok());
    let config = ProtocolConfig { streams_max: 100_000, ..ProtocolConfig::default() };
    let mut plain = Plain::dial_with(server.bound()[0], config, &SetupOptions::default());
    let mut metadata = Vec::new();
    metadata::write_route(&mut metadata, "words/Count");
    for _ in 0..STREAMS {
        plain.ask_with(Interaction::RequestStream, 1, Some(&metadata), &[]);
    }
    until("all have begun", || begun.count() == STREAMS);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    words.call(&ECHO, &word("")).wait().expect("it is answered");
                }
            });
        }
        drop(plain);
        until("all are dropped", || dropped.count() == STREAMS);
        over.store(true, Ordering::Relaxed);
    });
    assert!(between.count() > 0, "calls are answered between them");
    until("nothing is left", || statistics(&server).inflight == 0);
    assert_eq!(counted(&server, "words/Count").cancelled, STREAMS);
}
