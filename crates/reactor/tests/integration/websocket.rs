//! WebSocket on real sockets: the echo path, the stream path, upgrades that are refused, adoption.
//!
//! Framing alone is tested in `src/websocket/tests.rs`.

use crate::fixture;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use fixture::*;
use stadium_reactor::*;

fn settings() -> Arc<WebSocketSettings> {
    Arc::new(WebSocketSettings { echo_path: Some("/echo".to_owned()), ..WebSocketSettings::default() })
}

fn serve(style: Style) -> Running {
    start(style, ListenerSettings { websocket: Some(settings()), ..listener() })
}

/// Asks for an upgrade, one byte at a time, and returns the head of the answer.
fn upgrade(stream: &mut TcpStream, path: &str) -> String {
    upgrade_with(stream, path, "")
}

/// The same with further header lines.
fn upgrade_with(stream: &mut TcpStream, path: &str, headers: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\n{headers}Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: mqtt\r\n\r\n"
    );
    for byte in request.bytes() {
        stream.write_all(&[byte]).expect("the loop reads");
    }
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the answer comes");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("the answer is text")
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first, 0x80 | 126];
    bytes.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    if payload.len() < 126 {
        bytes.truncate(1);
        bytes.push(0x80 | payload.len() as u8);
    }
    bytes.extend_from_slice(&[1, 2, 3, 4]);
    bytes.extend(payload.iter().enumerate().map(|(place, byte)| byte ^ (place % 4 + 1) as u8));
    bytes
}

fn expect(stream: &mut TcpStream, wanted: &[u8]) {
    let mut got = vec![0; wanted.len()];
    stream.read_exact(&mut got).expect("the answer comes");
    assert_eq!(got, wanted);
}

fn expect_end(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0; 1]).expect("the end comes in order"), 0);
}

#[test]
fn the_echo_path_answers_text_binary_and_pings_without_the_handler() {
    let server = serve(Style::Report);
    let mut client = server.dial();
    assert!(upgrade(&mut client, "/echo").starts_with("HTTP/1.1 101 "));
    client.write_all(&frame(0x81, "grüße".as_bytes())).expect("the loop reads");
    expect(&mut client, &[&[0x81, 7][..], "grüße".as_bytes()].concat());
    let parts = [frame(0x02, b"one "), frame(0x89, b"ping"), frame(0x80, b"two")].concat();
    client.write_all(&parts).expect("the loop reads");
    expect(&mut client, b"\x8a\x04ping\x82\x07one two");
    client.write_all(&frame(0x88, &[0x03, 0xe8])).expect("the loop reads");
    expect(&mut client, &[0x88, 2, 0x03, 0xe8]);
    expect_end(&mut client);
    assert_eq!(server.wait_closed().1, CloseReason::PeerClosed);

    let mut client = server.dial();
    upgrade(&mut client, "/echo");
    client.write_all(&frame(0x81, &[0xc0])).expect("the loop reads");
    expect(&mut client, &[0x88, 2, 0x03, 0xef]);
    expect_end(&mut client);
    let mut seen = Vec::new();
    server.wait(|event| {
        seen.push(event.clone());
        matches!(event, Seen::Closed(_, CloseReason::WebSocket(1007))).then_some(())
    });
    assert!(seen.iter().all(|event| matches!(event, Seen::Accepted(..) | Seen::Closed(..))), "{seen:?}");
}

#[test]
fn the_stream_path_carries_bytes_in_one_frame_a_turn() {
    let server = serve(Style::Report);
    let mut client = server.dial();
    let head = upgrade(&mut client, "/mqtt");
    assert!(head.contains("Sec-WebSocket-Protocol: mqtt\r\n"), "{head}");
    let id = server.wait_established();
    client.write_all(&[frame(0x02, b"hel"), frame(0x80, b"lo")].concat()).expect("the loop reads");
    assert_eq!(server.wait_received(5), b"hello");
    server.act(move |io| {
        let segment = io.stage(|buffer| buffer.extend_from_slice(b"one..two"));
        io.deliver(id, segment);
        io.deliver_patched(id, segment, 3, 0x2d2d);
    });
    expect(&mut client, b"\x82\x10one..twoone--two");
    client.write_all(&frame(0x81, b"text")).expect("the loop reads");
    expect(&mut client, &[0x88, 2, 0x03, 0xeb]);
    assert_eq!(server.wait_closed(), (id, CloseReason::WebSocket(1003)));
    let mut client = server.dial();
    upgrade(&mut client, "/mqtt");
    let id = server.wait_established();
    server.act(move |io| {
        io.send(id, |buffer| buffer.extend_from_slice(b"bye"));
        io.close(id);
    });
    expect(&mut client, b"\x82\x03bye\x88\x02\x03\xe8");
    expect_end(&mut client);
}

#[test]
fn only_pages_of_its_own_host_and_of_listed_origins_open_a_websocket() {
    let listed =
        WebSocketSettings { origins: vec!["https://app.example.org".to_owned()], ..(*settings()).clone() };
    let all = WebSocketSettings { origins: vec!["*".to_owned()], ..listed.clone() };
    let server = |websocket| {
        start(Style::Report, ListenerSettings { websocket: Some(Arc::new(websocket)), ..listener() })
    };
    let (own, listed, all) = (server((*settings()).clone()), server(listed), server(all));
    for (headers, by_default, if_listed) in [
        ("", true, true),
        ("Origin: http://localhost\r\n", true, true),
        ("Origin: HTTP://LOCALHOST:80\r\n", true, true),
        ("Origin: https://localhost:443\r\n", true, true),
        ("Origin: http://localhost:8081\r\n", false, false),
        ("Origin: https://app.example.org\r\n", false, true),
        ("Origin: https://app.example.org.evil.example\r\n", false, false),
        ("Origin: http://localhost.evil.example\r\n", false, false),
        ("Origin: null\r\n", false, false),
        ("Origin: \r\n", false, false),
        ("Origin: http://localhost\r\nOrigin: http://evil.example\r\n", false, false),
    ] {
        for (server, allowed) in [(&own, by_default), (&listed, if_listed)] {
            for path in ["/mqtt", "/echo"] {
                let answer = upgrade_with(&mut server.dial(), path, headers);
                let expected = if allowed { "HTTP/1.1 101 " } else { "HTTP/1.1 403 " };
                assert!(answer.starts_with(expected), "{headers:?}: {answer}");
            }
        }
    }
    let answer = upgrade_with(&mut all.dial(), "/mqtt", "Origin: https://evil.example\r\n");
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
}

#[test]
fn a_refused_upgrade_is_answered_before_the_end() {
    let server = serve(Style::Report);
    let mut client = server.dial();
    assert!(upgrade(&mut client, "/nowhere").starts_with("HTTP/1.1 404 "));
    let mut text = Vec::new();
    client.read_to_end(&mut text).expect("the end comes in order");
    assert_eq!(text, b"There is no WebSocket at this path.\n");
    assert_eq!(server.wait_closed().1, CloseReason::Upgrade);

    let mut client = server.dial();
    client
        .write_all(&[b"GET /mqtt HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 5_000]].concat())
        .expect("the loop reads");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("the end comes in order");
    assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
}

#[test]
fn a_socket_upgraded_elsewhere_is_taken_over() {
    let server = start(Style::Echo, listener());
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut client = TcpStream::connect(other.local_addr().expect("bound")).expect("it listens");
    client.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    let (stream, _) = other.accept().expect("the client");
    let whole = frame(0x82, b"first");
    let adopt =
        Adopt { carries: Carries::WebSocket(settings()), leftover: whole[..4].to_vec(), ..Adopt::default() };
    assert!(server.handle.adopt(stream, adopt).is_ok());
    client.write_all(&whole[4..]).expect("the loop reads");
    expect(&mut client, b"\x82\x05first");
}
