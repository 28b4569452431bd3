//! WebSocket messages with boundaries on real sockets: both roles, TLS, slow readers, limits, adoption.
//!
//! Each test writes what a handler would on TCP, or what a peer would in frames of RFC 6455.

use crate::fixture;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use fixture::*;
use stadium_reactor::tls::*;
use stadium_reactor::*;

fn settings() -> Arc<WebSocketSettings> {
    Arc::new(WebSocketSettings {
        path: "/rsocket".to_owned(),
        subprotocols: Vec::new(),
        messages: Messages::LengthPrefixed24,
        message_bytes_max: 100_000,
        ..WebSocketSettings::default()
    })
}

fn listener() -> ListenerSettings {
    ListenerSettings { websocket: Some(settings()), ..fixture::listener() }
}

/// A client that was upgraded without a subprotocol, as rsocket-js asks.
fn client(server: &Running) -> TcpStream {
    let mut stream = server.dial();
    let request = "GET /rsocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("the loop reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the answer comes");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("the answer is text");
    assert!(head.starts_with("HTTP/1.1 101 ") && !head.contains("Protocol:"), "{head}");
    stream
}

/// A client's frame of up to 65,535 bytes, masked.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    if payload.len() < 126 {
        bytes.push(0x80 | payload.len() as u8);
    } else {
        bytes.push(0x80 | 126);
        bytes.extend_from_slice(&u16::try_from(payload.len()).expect("it is short").to_be_bytes());
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

/// A message as the handler writes it.
fn prefixed(payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], payload].concat()
}

#[test]
fn the_handler_sees_lengths_that_the_websocket_lacks() {
    let server = start(Style::Report, listener());
    let mut client = client(&server);
    let id = server.wait_established();
    let fragments = [frame(0x02, b"in "), frame(0x89, b"?"), frame(0x80, b"two")].concat();
    client.write_all(&[frame(0x82, b"whole"), fragments, frame(0x82, b"")].concat()).expect("the loop reads");
    assert_eq!(server.wait_received(8 + 9 + 3), b"\0\0\x05whole\0\0\x06in two\0\0\0");
    expect(&mut client, b"\x8a\x01?");
    server.act(move |io| {
        io.send(id, |out| out.extend(prefixed(b"one")));
        io.send(id, |out| out.extend([prefixed(b""), prefixed(&[b'x'; 200]), vec![0, 0]].concat()));
    });
    expect(&mut client, &[b"\x82\x03one\x82\0\x82\x7e\0\xc8", &[b'x'; 200][..]].concat());
    // The turn before ended within a length, this one ends within a message: what is there leaves.
    server.act(move |io| io.send(id, |out| out.extend_from_slice(b"\x09cut ")));
    expect(&mut client, b"\x02\x04cut ");
    server.act(move |io| io.send(id, |out| out.extend_from_slice(b"here!\0\0\x01z")));
    expect(&mut client, b"\x80\x05here!\x82\x01z");
    server.act(move |io| io.close(id));
    expect(&mut client, b"\x88\x02\x03\xe8");
}

#[test]
fn text_and_long_messages_are_refused_with_their_codes() {
    let server = start(Style::Report, listener());
    let most = vec![b'x'; 60_000];
    let cases: [(Vec<u8>, u16); 3] = [
        (frame(0x81, b"text"), 1003),
        (vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0x86, 0xa1], 1009),
        ([frame(0x02, &most), frame(0x00, &most)].concat(), 1009),
    ];
    for (bytes, code) in cases {
        let mut client = client(&server);
        let id = server.wait_established();
        client.write_all(&bytes).expect("the loop reads");
        if bytes.len() < 11 && code == 1009 {
            client.write_all(&[1, 2, 3, 4]).expect("the loop reads");
        }
        let [high, low] = code.to_be_bytes();
        expect(&mut client, &[0x88, 2, high, low]);
        assert_eq!(server.wait_closed(), (id, CloseReason::WebSocket(code)));
    }
    until("nothing is held", || server.handle.stats().carry_bytes.value() == 0);
}

#[test]
fn fragments_count_against_what_the_connection_may_hold() {
    let mut settings = listener();
    settings.limits.carry_bytes_max = 1_000;
    let server = start(Style::Report, settings);
    let mut client = client(&server);
    let id = server.wait_established();
    client.write_all(&frame(0x02, &[b'x'; 900])).expect("the loop reads");
    until("the fragment is held and counted", || server.handle.stats().carry_bytes.value() >= 900);
    client.write_all(&frame(0x00, &[b'x'; 101])).expect("the loop reads");
    expect(&mut client, &[0x88, 2, 0x03, 0xf1]);
    assert_eq!(server.wait_closed(), (id, CloseReason::WebSocket(1009)));
    until("nothing is held", || server.handle.stats().carry_bytes.value() == 0);
}

#[test]
fn a_slow_reader_gets_every_message_whole_and_in_order() {
    let mut settings = listener();
    settings.limits.write_queue_bytes_max = 16 * 1024 * 1024;
    let server = start(Style::Report, settings);
    let mut client = client(&server);
    let id = server.wait_established();
    for round in 0..80u8 {
        server.act(move |io| {
            io.with_output(id, |out| (0..50).for_each(|_| out.extend(prefixed(&vec![round; 2_000]))));
        });
    }
    until("the peer is behind", || server.handle.stats().write_queue_bytes.value() > 0);
    for round in 0..80u8 {
        let message = [&[0x82, 126, 0x07, 0xd0][..], &vec![round; 2_000]].concat();
        for _ in 0..50 {
            expect(&mut client, &message);
        }
    }
    server.wait(|seen| matches!(seen, Seen::Drained(_)).then_some(()));
}

/// A server's TLS, and a client's that asks for no certificate's name.
fn tls() -> (ServerTls, ClientTls) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerTls::new(&ServerTlsSettings {
        identity: Identity { chain: vec![made.cert.der().clone()], key: key.into() },
        client_certificates: ClientCertificates::None,
        alpn: Vec::new(),
    });
    let client = ClientTls::new(&ClientTlsSettings {
        server_name: "localhost".to_owned(),
        trust: Trust::Anybody,
        identity: None,
        alpn: Vec::new(),
        resumption: SessionResumption::Tickets,
    });
    (server.expect("the settings are right"), client.expect("the settings are right"))
}

#[test]
fn two_loops_exchange_messages_as_on_tcp_with_and_without_tls() {
    let (server_tls, client_tls) = tls();
    let plain: (Option<ServerTls>, Option<ClientTls>) = (None, None);
    for (server_tls, client_tls) in [plain, (Some(server_tls), Some(client_tls))] {
        let websocket = WebSocketSettings { message_bytes_max: u64::MAX, ..(*settings()).clone() };
        let mut listener =
            ListenerSettings { tls: server_tls, websocket: Some(Arc::new(websocket)), ..listener() };
        listener.limits.write_queue_bytes_max = 32 * 1024 * 1024;
        let server = start(Style::Echo, listener);
        let client = start(Style::Report, fixture::listener());
        let mut options = ConnectOptions {
            tls: client_tls,
            websocket: Some(Arc::new(WebSocketRequest {
                host: "localhost".to_owned(),
                path: "/rsocket".to_owned(),
                subprotocol: None,
                messages: Messages::LengthPrefixed24,
            })),
            ..ConnectOptions::default()
        };
        options.limits.write_queue_bytes_max = 32 * 1024 * 1024;
        // The server echoes a message as it reads it, so that it comes back in fragments.
        options.limits.carry_bytes_max = 8 * 1024 * 1024;
        let address = server.address;
        let id = client.ask(move |io| io.connect(address, &options).expect("a socket"));
        client.wait(|seen| matches!(seen, Seen::Connected(..)).then_some(()));
        for length in [0, 1, 125, 126, 65_535, 65_536, 3_000_000] {
            let message = prefixed(&vec![length as u8; length]);
            let wanted = message.clone();
            // Cut within the length: the first turn has nothing to send.
            let (first, second) = (message[..2].to_vec(), message[2..].to_vec());
            client.act(move |io| io.send(id, |out| out.extend_from_slice(&first)));
            client.act(move |io| io.send(id, |out| out.extend_from_slice(&second)));
            assert!(client.wait_received(wanted.len()) == wanted, "{length} bytes");
        }
        until("nothing is held", || client.handle.stats().carry_bytes.value() == 0);
        client.act(move |io| io.close(id));
        assert_eq!(server.wait_closed().1, CloseReason::PeerClosed);
    }
}

#[test]
fn a_socket_upgraded_elsewhere_keeps_its_boundaries() {
    let server = start(Style::Echo, fixture::listener());
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
