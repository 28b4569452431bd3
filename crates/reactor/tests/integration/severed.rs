//! A severed connection: nothing gets through either way, and neither side learns of it until it is closed.
//!
//! A second connection of the same loop and peer carries markers: loopback delivers in the sender's own call, so what
//! has not come when a later marker has did not get through.

use crate::fixture;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use fixture::*;
use stadium_reactor::*;

/// A connection of the loop's, and its peer.
fn connect(server: &Running, peers: &TcpListener) -> (ConnectionId, TcpStream) {
    let address = peers.local_addr().expect("a bound socket has an address");
    let id = server.ask(move |io| io.connect(address, &ConnectOptions::default()).expect("a socket"));
    let (peer, _) = peers.accept().expect("the loop connects");
    assert_eq!(next(server), Seen::Connected(id, 0));
    peer.set_read_timeout(Some(DEADLINE)).expect("an option");
    (id, peer)
}

/// What the handler sees next.
fn next(server: &Running) -> Seen {
    server.seen.recv_timeout(DEADLINE).expect("something happens in time")
}

fn hears(peer: &mut TcpStream, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    peer.read_exact(&mut bytes).expect("the marker comes");
    assert_eq!(bytes, expected);
}

fn assert_silent(peer: &mut TcpStream) {
    peer.set_nonblocking(true).expect("an option");
    let error = peer.read(&mut [0; 16]).expect_err("neither bytes nor an end");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    peer.set_nonblocking(false).expect("an option");
}

#[test]
fn nothing_gets_through_a_severed_connection_and_nobody_is_notified() {
    let peers = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = start(Style::Report, listener());
    let (severed, mut far) = connect(&server, &peers);
    let (marker, mut near) = connect(&server, &peers);

    // What is sent in the turn of the cut, and after it, goes nowhere.
    server.act(move |io| {
        io.send(severed, |buffer| buffer.extend_from_slice(b"lost"));
        io.sever(severed).expect("an established connection is severed");
        io.send(severed, |buffer| buffer.extend_from_slice(b"lost too"));
        io.send(marker, |buffer| buffer.extend_from_slice(b"marker"));
    });
    hears(&mut near, b"marker");
    assert_silent(&mut far);

    // Nor does what the peer sends, its end included.
    far.write_all(b"hello?").expect("the peer's kernel takes it");
    far.shutdown(Shutdown::Write).expect("the peer closes its side");
    near.write_all(b"marker").expect("the peer's kernel takes it");
    assert_eq!(next(&server), Seen::Received(marker, b"marker".to_vec()));
    assert!(server.ask(move |io| io.contains(severed)), "the loop believes in it");

    // Its timer goes on: that is how a client notices.
    server.act(move |io| io.set_timer(severed, 1));
    assert!(matches!(next(&server), Seen::Timeout(id, _) if id == severed));

    server.act(move |io| io.abort(severed));
    assert_eq!(next(&server), Seen::Closed(severed, CloseReason::Aborted));
    let error = far.read(&mut [0; 16]).expect_err("the peer is notified now");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn only_what_we_opened_and_is_established_can_be_severed() {
    let peers = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = start(Style::Report, listener());
    let (id, _peer) = connect(&server, &peers);
    let kind = move |io: &mut Io<Order>, id| io.sever(id).map_err(|error| error.kind());
    let _client = server.dial();
    let accepted = server.wait_established();
    assert_eq!(server.ask(move |io| kind(io, accepted)), Err(ErrorKind::NotConnected));
    assert_eq!(server.ask(move |io| kind(io, ConnectionId::NONE)), Err(ErrorKind::NotConnected));
    assert_eq!(server.ask(move |io| kind(io, id)), Ok(()));
    assert_eq!(server.ask(move |io| kind(io, id)), Err(ErrorKind::NotConnected), "once is enough");
}

#[test]
fn what_comes_during_a_pause_is_known_of() {
    let peers = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = start(Style::Report, listener());
    let (id, mut peer) = connect(&server, &peers);
    let (marker, mut near) = connect(&server, &peers);
    server.ask(move |io| io.pause(id));
    assert!(!server.ask(move |io| io.has_unread(id)));
    peer.write_all(b"later").expect("the peer's kernel takes it");
    near.write_all(b"marker").expect("the peer's kernel takes it");
    assert_eq!(next(&server), Seen::Received(marker, b"marker".to_vec()));
    assert!(server.ask(move |io| io.has_unread(id)));
    server.act(move |io| io.resume(id));
    assert_eq!(next(&server), Seen::Received(id, b"later".to_vec()));
    assert!(!server.ask(move |io| io.has_unread(id)));
}
