//! Calls by UDP: answered where nothing is lost, ended in time where something is.
//!
//! A server that serves both has one number for both ports, as clients expect. Losses are made by an instance of
//! the test's own, which answers what it likes.

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use prost::Message;
use stadium_rpc::{
    Call, CallContext, CallError, CallOptions, Client, ClientConfig, Listen, Method, Refusal, Server,
    ServerConfig, Service,
};
use stadium_rsocket::frame::{self, Completes, Frame, More, Next, PREFIX_BYTES, Payload, StreamId};

use crate::fixture::*;

/// A server whose TCP and UDP ports have one number.
fn serve_both(service: impl Fn() -> Service) -> Server {
    for _ in 0..100 {
        let address = nobody();
        let config =
            ServerConfig { listen: vec![Listen::tcp(address)], udp: Some(address), ..server_config() };
        if let Ok(server) = Server::start(config, vec![service()]) {
            return server;
        }
    }
    panic!("no port is free for TCP and UDP");
}

fn none() -> CallOptions<'static> {
    CallOptions::default()
}

fn within(deadline: Duration) -> CallOptions<'static> {
    CallOptions { deadline: Some(deadline), ..none() }
}

#[test]
fn datagrams_are_answered() {
    let server = serve_both(echo);
    let words = client_of(&[&server]).service("words");
    // One after the other, so that no buffer is full and none is lost.
    for round in 0..200 {
        let answer = words.datagram(&ECHO, &number(round), &within(SOON)).wait();
        assert_eq!(answer, Ok(number(round)));
    }
    assert_eq!(counted(&server, "words/Echo").ok, 200);
}

#[test]
fn answers_of_datagrams_under_way_together_do_not_mix() {
    let server = serve_both(echo);
    let words = client_of(&[&server]).service("words");
    let calls: Vec<_> =
        (0..50).map(|round| (round, words.datagram(&ECHO, &number(round), &within(SOON)))).collect();
    for (round, call) in calls {
        assert_eq!(answer(call), Ok(number(round)));
    }
}

#[test]
fn function_sees_the_datagrams_key_and_deadline() {
    let server = serve_both(|| {
        words().inline(&ECHO, |call: &Call<'_>, _: &Word, answer: &mut Word| {
            answer.number = call.time_left().as_millis() as u64;
            answer.bytes.extend_from_slice(call.key().unwrap_or_default());
            Ok(())
        })
    });
    let words = client_of(&[&server]).service("words");
    let options = CallOptions { key: Some(b"device-1"), ..none() };
    let answer = words.datagram(&ECHO, &word(""), &options).wait();
    assert_eq!(answer, Ok(Word { number: 1_000, bytes: b"device-1".to_vec(), ..word("") }));
}

#[test]
fn refusals_come_by_datagram_too() {
    const ASYNC: Method<Word, Word> = Method::unary("words/Async");
    const LARGE: Method<Word, Word> = Method::unary("words/Large");
    let server = serve_both(|| {
        words()
            .inline(&ECHO, |_: &Call<'_>, request: &Word, _: &mut Word| match request.number {
                0 => Err(Refusal::busy(Duration::from_millis(77), "not now")),
                1 => Err(no()),
                _ => panic!("as the test wants"),
            })
            .inline(&LARGE, |_: &Call<'_>, _: &Word, answer: &mut Word| {
                answer.bytes.resize(2_000, 1);
                Ok(())
            })
            .asynchronous(&ASYNC, |_: CallContext, request: Word| async move { Ok(request) })
    });
    let words = client_of(&[&server]).service("words");
    let busy = words.datagram(&ECHO, &number(0), &within(SOON)).wait();
    assert_eq!(
        busy,
        Err(CallError::Busy { retry_after: Duration::from_millis(77), reason: "not now".into() }),
        "it is not made again"
    );
    for (method, request, code) in [
        (ECHO, number(1), "WORDS-001"),
        (ASYNC, word(""), "RPC-005"),
        (Method::unary("words/Nothing"), word(""), "RPC-002"),
    ] {
        let answer = words.datagram(&method, &request, &within(SOON)).wait();
        assert_eq!(rejection(answer).0, code, "{}", method.route());
    }
    for (method, request, code) in [(ECHO, number(2), "RPC-007"), (LARGE, word(""), "RPC-006")] {
        let answer = words.datagram(&method, &request, &within(SOON)).wait();
        assert_eq!(unknown(answer).0, code, "{}: its function has run", method.route());
    }
    assert_eq!(counted(&server, "words/Echo").busy, 1);
}

#[test]
fn one_way_datagram_reaches_its_function() {
    let noted = Notes::default();
    let server = serve_both(|| {
        let noted = noted.clone();
        words().inline(&TELL, move |_: &Call<'_>, request: &Word, _: &mut Word| {
            noted.add(&request.text);
            Ok(())
        })
    });
    let words = client_of(&[&server]).service("words");
    assert_eq!(words.datagram(&TELL, &word("a"), &none()).wait(), Ok(word("")));
    until("it is noted", || noted.all() == ["a"]);
}

#[test]
fn request_that_does_not_fit_is_rejected_at_once() {
    let server = serve_both(echo);
    let words = client_of(&[&server]).service("words");
    let large = Word { bytes: vec![1; 1_400], ..word("") };
    assert_eq!(rejection(words.datagram(&ECHO, &large, &none()).wait()).0, "RPC-011");
    let fits = Word { bytes: vec![1; 1_200], ..word("") };
    assert_eq!(words.datagram(&ECHO, &fits, &within(SOON)).wait(), Ok(fits));
    assert_eq!(counted(&server, "words/Echo").ok, 1);
}

/// An instance of the test's own: a UDP socket, and a listener that takes connections and sends
/// nothing.
struct Instance {
    socket: UdpSocket,
    _listener: TcpListener,
}

/// An instance and a client of it.
fn peer() -> (Instance, Client) {
    let both = (0..100).find_map(|_| {
        let listener = TcpListener::bind("127.0.0.1:0").ok()?;
        let socket = UdpSocket::bind(listener.local_addr().ok()?).ok()?;
        Some((listener, socket))
    });
    let (_listener, socket) = both.expect("there are free ports");
    socket.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
    let address = socket.local_addr().expect("it is bound");
    let client = Client::start(ClientConfig::at(vec![address])).expect("a thread can be had");
    (Instance { socket, _listener }, client)
}

/// The next request's stream, and who asks.
fn take(instance: &Instance) -> (StreamId, std::net::SocketAddr) {
    let mut bytes = [0; 2_000];
    let (count, from) = instance.socket.recv_from(&mut bytes).expect("the client sends");
    match frame::decode(&bytes[..count]) {
        Ok(Frame::RequestResponse { stream, .. }) => (stream, from),
        other => panic!("not a request: {other:?}"),
    }
}

fn reply(stream: StreamId, answer: &Word) -> Vec<u8> {
    let data = answer.encode_to_vec();
    let payload = Payload { metadata: None, data: &data };
    let (more, next, completes) = (More::Whole, Next::Value, Completes::Yes);
    let mut bytes = Vec::new();
    frame::encode(&Frame::Payload { stream, more, next, completes, payload }, &mut bytes);
    bytes.split_off(PREFIX_BYTES)
}

#[test]
fn lost_datagram_ends_by_its_deadline_and_is_not_sent_again() {
    let (instance, client) = peer();
    let words = client.service("words");
    let began = Instant::now();
    let lost = words.datagram(&ECHO_TWICE, &word(""), &within(Duration::from_millis(100)));
    let first = take(&instance);
    assert_eq!(lost.wait(), Err(CallError::Deadline));
    assert!(began.elapsed() >= Duration::from_millis(100));
    let next = words.datagram(&ECHO, &word(""), &within(SOON));
    let second = take(&instance);
    assert_ne!(first.0, second.0, "what comes next is the next call");
    instance.socket.send_to(&reply(second.0, &word("second")), second.1).expect("it is local");
    assert_eq!(next.wait(), Ok(word("second")), "the instance is not held against");
}

#[test]
fn datagram_without_a_deadline_waits_for_a_second() {
    let (instance, client) = peer();
    let began = Instant::now();
    let lost = client.service("words").datagram(&ECHO, &word(""), &none());
    take(&instance);
    assert_eq!(lost.wait(), Err(CallError::Deadline));
    assert!(began.elapsed() >= Duration::from_millis(990) && began.elapsed() < SOON);
}

#[test]
fn late_doubled_foreign_and_garbled_answers_are_nobodys() {
    let (instance, client) = peer();
    let words = client.service("words");
    let lost = words.datagram(&ECHO, &word(""), &within(Duration::from_millis(50)));
    let (late, to) = take(&instance);
    assert_eq!(lost.wait(), Err(CallError::Deadline));

    let call = words.datagram(&ECHO, &word(""), &within(SOON));
    let (stream, _) = take(&instance);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("there are free ports");
    stranger.send_to(&reply(stream, &word("from a stranger")), to).expect("it is local");
    for bytes in [reply(late, &word("late")), vec![], vec![0; 3], vec![0xFF; 100]] {
        instance.socket.send_to(&bytes, to).expect("it is local");
    }
    instance.socket.send_to(&reply(stream, &word("right")), to).expect("it is local");
    instance.socket.send_to(&reply(stream, &word("again")), to).expect("it is local");
    assert_eq!(call.wait(), Ok(word("right")));

    let last = words.datagram(&ECHO, &word(""), &within(SOON));
    let (stream, _) = take(&instance);
    instance.socket.send_to(&reply(stream, &word("last")), to).expect("it is local");
    assert_eq!(last.wait(), Ok(word("last")));
}

#[test]
fn dropped_datagrams_and_a_client_that_ends_leave_nothing_behind() {
    let (instance, client) = peer();
    let words = client.service("words");
    for _ in 0..20 {
        drop(words.datagram(&ECHO, &word(""), &none()));
    }
    let open = words.datagram(&ECHO, &word(""), &within(SOON));
    take(&instance);
    drop((words, client));
    assert_eq!(open.wait(), Err(CallError::Cancelled));
}

#[test]
fn keys_lead_datagrams_and_calls_to_the_same_instance() {
    let servers = [serve_both(|| named("one")), serve_both(|| named("two")), serve_both(|| named("three"))];
    let all: Vec<_> = servers.iter().collect();
    let words = connected_client(&all, client_config(&all)).service("words");
    for key in 0..30_u32 {
        let key = key.to_be_bytes();
        let options = CallOptions { key: Some(&key), deadline: Some(SOON), ..none() };
        let called = words.call_with(&ECHO, &word(""), &options).wait();
        assert_eq!(words.datagram(&ECHO, &word(""), &options).wait(), called);
    }
}
