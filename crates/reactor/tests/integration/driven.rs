//! A loop whose caller turns it: what is sent between turns leaves, clocks move, ends are reported.
//!
//! Nothing here runs on a thread of its own: the loop does what it does within a turn.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use stadium_reactor::*;

const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Diary {
    open: Vec<ConnectionId>,
    received: Vec<u8>,
    closed: Vec<CloseReason>,
    turns_flushed: u32,
    /// Sent once, when the next turn's writes are done.
    afterwards: Option<&'static [u8]>,
}

impl Handler for Diary {
    type Message = ();

    fn established(&mut self, _io: &mut Io<()>, id: ConnectionId) {
        self.open.push(id);
    }

    fn connected(&mut self, _io: &mut Io<()>, id: ConnectionId, _tag: u64) {
        self.open.push(id);
    }

    fn received(&mut self, _io: &mut Io<()>, _id: ConnectionId, bytes: &[u8]) -> usize {
        self.received.extend_from_slice(bytes);
        bytes.len()
    }

    fn closed(&mut self, _io: &mut Io<()>, _id: ConnectionId, reason: CloseReason) {
        self.closed.push(reason);
    }

    fn turn_flushed(&mut self, io: &mut Io<()>) {
        self.turns_flushed += 1;
        if let Some(bytes) = self.afterwards.take() {
            io.send(self.open[0], |out| out.extend_from_slice(bytes));
        }
    }
}

fn drive() -> Driven<Diary> {
    drive_with(LoopSettings::default())
}

fn drive_with(settings: LoopSettings) -> Driven<Diary> {
    Loop::new(settings).expect("a loop").drive(Diary::default())
}

fn turn_until(driven: &mut Driven<Diary>, what: &str, mut holds: impl FnMut(&Diary) -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds(driven.handler()) {
        assert!(Instant::now() < end, "{what}");
        driven.turn(Some(Duration::from_millis(20))).expect("the loop turns");
    }
}

/// A driven loop with one outgoing connection, and the other end of it.
fn connected() -> (Driven<Diary>, ConnectionId, TcpStream) {
    connected_with(LoopSettings::default())
}

fn connected_with(settings: LoopSettings) -> (Driven<Diary>, ConnectionId, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let mut driven = drive_with(settings);
    let id = driven.io().connect(address, &ConnectOptions::default()).expect("a socket");
    turn_until(&mut driven, "it connects", |diary| !diary.open.is_empty());
    assert_eq!(driven.handler().open, [id]);
    let (peer, _) = listener.accept().expect("the loop's connection");
    peer.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    (driven, id, peer)
}

fn expect(peer: &mut TcpStream, wanted: &[u8]) {
    let mut got = vec![0; wanted.len()];
    peer.read_exact(&mut got).expect("the bytes come");
    assert_eq!(got, wanted);
}

#[test]
fn what_is_sent_between_turns_leaves_before_the_loop_waits() {
    let (mut driven, id, mut peer) = connected();
    let (diary, io) = driven.parts();
    assert_eq!(diary.open, [id]);
    io.send(id, |out| out.extend_from_slice(b"question"));
    let sends = driven.handle().stats().sends.value();
    driven.turn_now().expect("the loop turns");
    assert_eq!(driven.handle().stats().sends.value(), sends + 1);
    expect(&mut peer, b"question");
    peer.write_all(b"answer").expect("the loop reads");
    turn_until(&mut driven, "the answer comes", |diary| diary.received == b"answer");
}

#[test]
fn a_flush_writes_and_reports_ends_without_looking_for_anything_new() {
    let (mut driven, id, mut peer) = connected();
    peer.write_all(b"unread").expect("the kernel takes it");
    let (_, io) = driven.parts();
    io.send(id, |out| out.extend_from_slice(b"last words"));
    io.close(id);
    let flushed = driven.handler().turns_flushed;
    driven.flush();
    expect(&mut peer, b"last words");
    let diary = driven.handler();
    assert_eq!((diary.turns_flushed, diary.received.len()), (flushed + 1, 0));
    assert_eq!(diary.closed, [CloseReason::Asked]);
}

#[test]
fn what_a_handler_sends_after_the_writes_leaves_with_the_next_turn() {
    let (mut driven, _, mut peer) = connected();
    driven.handler_mut().afterwards = Some(b"one more thing");
    driven.turn_now().expect("the loop turns");
    driven.turn_now().expect("the loop turns");
    expect(&mut peer, b"one more thing");
}

#[test]
fn a_turn_waits_no_longer_than_it_may() {
    let mut driven = drive();
    let begun = Instant::now();
    driven.turn(Some(Duration::from_millis(3))).expect("the loop turns");
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(3) && took < DEADLINE, "{took:?}");
}

#[test]
fn a_loop_looks_on_for_a_while_after_it_found_something() {
    let settings = LoopSettings { busy_poll_us: 5_000, ..LoopSettings::default() };
    let (mut driven, _, mut peer) = connected_with(settings);
    let looks = |driven: &mut Driven<Diary>| {
        let (before, begun) = (driven.handle().stats().looks.value(), Instant::now());
        driven.turn(Some(Duration::from_millis(20))).expect("the loop turns");
        (driven.handle().stats().looks.value() - before, begun.elapsed())
    };
    // What is left of the connection's beginning goes by, and looking finds nothing.
    while looks(&mut driven).0 > 1 {}
    // Having looked in vain, it sleeps at once for some time, and then tries again.
    let mut asked = 0;
    let (many, took) = loop {
        assert!(asked < 64, "it never spins again");
        peer.write_all(b"?").expect("the loop reads");
        asked += 1;
        assert_eq!(looks(&mut driven).0, 1, "it slept until something came");
        let looked = looks(&mut driven);
        if looked.0 > 1 {
            break looked;
        }
    };
    assert!(took >= Duration::from_millis(20), "{many} looks in {took:?}");
    assert_eq!(looks(&mut driven).0, 1, "it found nothing and sleeps");
    assert_eq!(driven.handler().received.len(), asked);
}

#[test]
fn an_ended_loop_reports_and_a_dropped_one_closes() {
    let (driven, _, mut peer) = connected();
    assert_eq!(driven.finish().closed, [CloseReason::Stopped]);
    assert_eq!(peer.read(&mut [0]).expect("the end comes in order"), 0);
    let (driven, _, mut peer) = connected();
    drop(driven);
    assert_eq!(peer.read(&mut [0]).expect("the end comes in order"), 0);
}

#[test]
fn stop_is_seen_by_who_turns() {
    let mut driven = drive();
    assert!(!driven.is_stopping());
    driven.handle().stop();
    let end = Instant::now() + DEADLINE;
    while !driven.is_stopping() {
        assert!(Instant::now() < end, "the stop is seen");
        driven.turn(None).expect("the loop turns");
    }
}

#[test]
fn the_clock_of_a_loop_that_was_left_alone_is_right_between_turns() {
    let mut driven = drive();
    let turned = driven.io().now_us();
    while driven.io().read_clock_us() < turned + 2_000 {}
    let io = driven.io();
    let now = io.now_us();
    assert!(now >= turned + 2_000, "{now} after {turned}");
    assert_eq!(io.now(), now / 1_000);
    assert!(io.read_clock_us() >= now);
    assert_eq!(io.now_us(), now, "reading the clock moves no loop time");
}

#[test]
fn many_messages_are_appended_at_once_and_something_returned() {
    let (mut driven, id, mut peer) = connected();
    let (_, io) = driven.parts();
    io.send(id, |out| out.extend_from_slice(b"before "));
    let start = io.with_output(id, |out| {
        let start = out.len();
        for word in ["one ", "two ", "three "] {
            out.extend_from_slice(word.as_bytes());
        }
        out[start..start + 3].copy_from_slice(b"ONE");
        out.len() - start
    });
    assert_eq!(start, Some(14));
    assert_eq!(io.with_output(id, |_| "nothing"), Some("nothing"));
    io.send(id, |out| out.extend_from_slice(b"after"));
    driven.flush();
    expect(&mut peer, b"before ONE two three after");
    driven.io().close(id);
    assert_eq!(driven.io().with_output(id, |_| ()), None);
    let nobody: SocketAddr = peer.local_addr().expect("bound");
    let connecting = driven.io().connect(nobody, &ConnectOptions::default()).expect("a socket");
    assert_eq!(driven.io().with_output(connecting, |_| ()), None, "nothing is sent before it connects");
}

/// Connects to a listener of the test; returns the other end.
fn another(driven: &mut Driven<Diary>) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let open = driven.handler().open.len();
    let address = listener.local_addr().expect("bound");
    driven.io().connect(address, &ConnectOptions::default()).expect("a socket");
    turn_until(driven, "it connects", |diary| diary.open.len() > open);
    let (peer, _) = listener.accept().expect("the loop's connection");
    peer.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    peer
}

#[test]
fn a_step_reads_one_connection_and_writes_what_was_sent_before() {
    let mut driven = drive();
    let mut peers: Vec<TcpStream> = (0..3).map(|_| another(&mut driven)).collect();
    for (byte, peer) in b"abc".iter().zip(&mut peers) {
        peer.write_all(&[*byte]).expect("the loop is there");
    }
    // Loopback has delivered all three before the loop looks.
    std::thread::sleep(Duration::from_millis(50));
    let flushed = driven.handler().turns_flushed;

    driven.step(Some(DEADLINE)).expect("the loop turns");
    assert_eq!(driven.handler().received.len(), 1, "one connection was read");
    let place = usize::from(driven.handler().received[0] - b'a');
    let id = driven.handler().open[place];
    driven.io().send(id, |out| out.extend_from_slice(b"answer"));
    driven.step(Some(DEADLINE)).expect("the loop turns");
    assert_eq!(driven.handler().received.len(), 2, "the next one was read");
    expect(&mut peers[place], b"answer");
    assert_eq!(driven.handler().turns_flushed, flushed, "the turn is not over");

    // A turn does the rest, and does not wait for more.
    let began = Instant::now();
    driven.turn(Some(DEADLINE)).expect("the loop turns");
    assert!(began.elapsed() < DEADLINE / 2);
    driven.handler_mut().received.sort_unstable();
    assert_eq!(driven.handler().received, b"abc");
    assert_eq!(driven.handler().turns_flushed, flushed + 1);
}

#[test]
fn a_connection_that_is_closed_between_steps_is_not_read() {
    let mut driven = drive();
    let mut peers = [another(&mut driven), another(&mut driven)];
    for (byte, peer) in b"ab".iter().zip(&mut peers) {
        peer.write_all(&[*byte]).expect("the loop is there");
    }
    std::thread::sleep(Duration::from_millis(50));
    driven.step(Some(DEADLINE)).expect("the loop turns");
    let read = driven.handler().received[0];
    let other = driven.handler().open[usize::from(read == b'a')];
    driven.io().abort(other);
    driven.step(Some(DEADLINE)).expect("the loop turns");
    assert_eq!(driven.handler().received, [read]);
    assert_eq!(driven.handler().closed.len(), 1);
}
