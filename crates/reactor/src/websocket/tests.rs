//! Vectors of RFC 6455, 5.7, and what a peer may do wrong.
//!
//! Framing alone, without sockets; the way from a socket is in `tests/websocket.rs`.

use super::*;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    masked(0x80 | kind, payload)
}

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(0x80 | length as u8),
        length @ 126..65_536 => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&mask);
    bytes.extend(payload.iter().enumerate().map(|(place, byte)| byte ^ mask[place % 4]));
    bytes
}

const REASSEMBLED_BYTES_MAX: u32 = 100_000;

/// Feeds bytes in pieces of `size`: what the handler would see, what the peer is answered, and the end.
fn feed(websocket: &mut WebSocket, bytes: &[u8], size: usize) -> (Vec<u8>, Vec<u8>, End) {
    let (mut plain, mut reply, mut masks) = (Vec::new(), Vec::new(), Masks::new());
    for piece in bytes.chunks(size) {
        let mut piece = piece.to_vec();
        let mut messages = Vec::new();
        let mut sinks = Sinks {
            reply: &mut reply,
            masks: &mut masks,
            messages: &mut messages,
            reassembled_bytes_max: REASSEMBLED_BYTES_MAX,
        };
        let read = websocket.read(&mut piece, &mut sinks);
        plain.extend_from_slice(&piece[..read.plain]);
        plain.extend_from_slice(&messages);
        if read.end != End::Open {
            return (plain, reply, read.end);
        }
    }
    (plain, reply, End::Open)
}

fn server(mode: Mode) -> WebSocket {
    WebSocket::new(Role::Server, mode, 1 << 20, 1 << 20)
}

#[test]
fn a_masked_hello_of_the_specification_is_read() {
    let bytes = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let (_, reply, end) = feed(&mut server(Mode::Echo), &bytes, bytes.len());
    assert_eq!((reply.as_slice(), end), (&[0x81, 0x05, b'H', b'e', b'l', b'l', b'o'][..], End::Open));
}

#[test]
fn binary_messages_are_one_stream_wherever_they_are_cut() {
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for length in [0, 1, 5, 125, 126, 127, 1_000, 65_535, 65_536, 70_001] {
        let payload: Vec<u8> = (0..length).map(|place| place as u8).collect();
        let (first, second) = payload.split_at(length / 3);
        bytes.extend(masked(opcode::BINARY, first));
        bytes.extend(frame(opcode::PING, b"are you there"));
        bytes.extend(masked(opcode::CONTINUATION, &[]));
        bytes.extend(frame(opcode::CONTINUATION, second));
        expected.extend(payload);
    }
    for size in [1, 2, 3, 7, 1_000, bytes.len()] {
        let (plain, reply, end) = feed(&mut server(Mode::Stream), &bytes, size);
        assert!(plain == expected, "in pieces of {size}");
        assert_eq!(end, End::Open);
        assert_eq!(reply, [&[0x8a, 13][..], b"are you there"].concat().repeat(10));
    }
}

#[test]
fn what_a_client_writes_a_server_reads() {
    let mut client = WebSocket::new(Role::Client, Mode::Stream, 1 << 20, 1 << 20);
    let (mut out, mut masks) = (Vec::new(), Masks::new());
    for length in [1usize, 125, 126, 65_536] {
        let bytes = vec![0x5a; length];
        client.write_turn([Bytes::Plain(&bytes)].into_iter(), length, &mut out, &mut masks);
    }
    client.close_frame(&mut out, close_code::NORMAL, &mut masks);
    let mut peer = server(Mode::Stream);
    let (plain, reply, end) = feed(&mut peer, &out, 4_096);
    assert!(plain == vec![0x5a; 1 + 125 + 126 + 65_536]);
    assert_eq!((reply.as_slice(), end), (&[0x88, 2, 0x03, 0xe8][..], End::Closed));
    let (_, _, end) = feed(&mut client, &reply, 1);
    assert_eq!(end, End::Closed);
}

#[test]
fn a_broken_rule_is_answered_with_its_code() {
    let text = |payload: &[u8]| frame(opcode::TEXT, payload);
    let fragments = |first: u8, second: u8| [masked(first, b"a"), masked(second, b"b")].concat();
    let cases: Vec<(&str, Mode, Vec<u8>, u16)> = vec![
        ("text where a protocol is spoken", Mode::Stream, text(b"hello"), 1003),
        ("unmasked", Mode::Stream, vec![0x82, 0], 1002),
        ("reserved bit", Mode::Stream, masked(0xc2, b""), 1002),
        ("reserved opcode", Mode::Stream, frame(3, b""), 1002),
        ("reserved control opcode", Mode::Stream, frame(11, b""), 1002),
        ("fragmented ping", Mode::Stream, masked(opcode::PING, b""), 1002),
        ("long ping", Mode::Stream, frame(opcode::PING, &[0; 126]), 1002),
        ("continuation of nothing", Mode::Stream, frame(opcode::CONTINUATION, b"x"), 1002),
        ("message within a message", Mode::Echo, fragments(opcode::TEXT, opcode::TEXT), 1002),
        ("half a close code", Mode::Stream, frame(opcode::CLOSE, &[3]), 1002),
        ("close code of nobody", Mode::Stream, frame(opcode::CLOSE, &1005u16.to_be_bytes()), 1002),
        ("close reason that is no text", Mode::Stream, frame(opcode::CLOSE, &[3, 0xe8, 0xff]), 1007),
        ("frame too big", Mode::Stream, frame(opcode::BINARY, &vec![0; (1 << 20) + 1]), 1009),
        (
            "length with the highest bit",
            Mode::Stream,
            vec![0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4],
            1002,
        ),
        ("surrogate", Mode::Echo, text(&[0xed, 0xa0, 0x80]), 1007),
        ("text that ends within a item", Mode::Echo, text(&[0xe2, 0x82]), 1007),
    ];
    for (what, mode, bytes, code) in cases {
        for size in [1, bytes.len()] {
            let (_, reply, end) = feed(&mut server(mode), &bytes, size);
            assert_eq!(end, End::Broken(code), "{what}");
            let [high, low] = code.to_be_bytes();
            assert!(reply.ends_with(&[0x88, 2, high, low]), "{what}: {reply:x?}");
        }
    }
}

#[test]
fn a_wrong_text_fails_before_its_frame_ends() {
    let mut bytes = frame(opcode::TEXT, &[b'a', 0xf4, 0x90, 0x80, 0x80, b'b', b'c']);
    bytes.truncate(bytes.len() - 4);
    let (_, _, end) = feed(&mut server(Mode::Echo), &bytes, 1);
    assert_eq!(end, End::Broken(close_code::INVALID_TEXT));
}

#[test]
fn a_letter_may_be_cut_by_fragments() {
    let bytes = [masked(opcode::TEXT, &[0xe2]), frame(opcode::CONTINUATION, &[0x82, 0xac])].concat();
    let (_, reply, end) = feed(&mut server(Mode::Echo), &bytes, 1);
    assert_eq!((reply.as_slice(), end), (&[0x81, 3, 0xe2, 0x82, 0xac][..], End::Open));
}

fn request(path: &str, more: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    )
    .into_bytes()
}

#[test]
fn an_upgrade_is_answered_as_the_specification_shows() {
    let settings = crate::WebSocketSettings { echo_path: Some("/echo".to_owned()), ..Default::default() };
    let bytes = request("/mqtt?x=1", "Sec-WebSocket-Protocol: chat, mqtt\r\n");
    for end in 0..bytes.len() {
        assert_eq!(answer_request(&bytes[..end], &settings), Upgrade::Partial);
    }
    let Upgrade::Accepted { used, answer, mode } = answer_request(&bytes, &settings) else {
        panic!("the upgrade is accepted");
    };
    let answer = String::from_utf8(answer).expect("the answer is text");
    assert_eq!((used, mode), (bytes.len(), Mode::Stream));
    assert!(answer.starts_with("HTTP/1.1 101 "));
    assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert!(answer.contains("Sec-WebSocket-Protocol: mqtt\r\n"));
    let echo = answer_request(&request("/echo", ""), &settings);
    assert!(matches!(echo, Upgrade::Accepted { mode: Mode::Echo, .. }));
}

#[test]
fn an_upgrade_that_cannot_be_says_why() {
    let settings = crate::WebSocketSettings::default();
    let good = String::from_utf8(request("/mqtt", "Sec-WebSocket-Protocol: mqtt\r\n")).expect("text");
    let cases = [
        ("404", good.replace("/mqtt", "/other")),
        ("405", good.replace("GET", "POST")),
        ("426", good.replace("Upgrade: websocket\r\n", "")),
        ("426", good.replace("Version: 13", "Version: 8")),
        ("400", good.replace("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=")),
        ("400", good.replace("Protocol: mqtt", "Protocol: chat")),
        ("400", "\0\0\0".to_owned()),
        ("431", good.replace("Host: localhost", &format!("Host: {}", "x".repeat(5_000)))),
    ];
    for (status, text) in cases {
        let Upgrade::Refused(answer) = answer_request(text.as_bytes(), &settings) else {
            panic!("{status} refuses");
        };
        assert!(answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{status}");
    }
}

#[test]
fn a_client_checks_that_the_server_knows_its_key() {
    let wanted = crate::WebSocketRequest {
        host: "localhost".to_owned(),
        path: "/mqtt".to_owned(),
        subprotocol: Some("mqtt".to_owned()),
        ..Default::default()
    };
    let mut text = Vec::new();
    let key = write_request(&wanted, &mut Masks::new(), &mut text);
    let Upgrade::Accepted { answer, .. } = answer_request(&text, &crate::WebSocketSettings::default()) else {
        panic!("our own server accepts our own client");
    };
    assert_eq!(read_response(&answer, &wanted, &key), Answer::Accepted { used: answer.len() });
    assert_eq!(read_response(&answer[..answer.len() - 1], &wanted, &key), Answer::Partial);
    assert_eq!(read_response(&answer, &wanted, "dGhlIHNhbXBsZSBub25jZQ=="), Answer::Refused);
}
