//! MQTT over WebSocket, below what libraries send: packets across frames, several in one, and frames that are wrong.
//!
//! MQTT 5.0, 6; RFC 6455. The HTTP port's `/mqtt` and a WebSocket listener behave alike.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use stadium_testing::ports;
use stadium_testing::server::{Plan, Server};
use stadium_testing::websocket::{Frame, WebSocket, frame, opcode};
use stadium_testing::wire::{self, Connect, Publish, Version, packet};

const CONNACK_TYPE: u8 = 0x20;

/// Runs the test on the HTTP port's `/mqtt` and on a WebSocket listener of its own, with one loop
/// and with two.
fn test(test: impl Fn(SocketAddr) -> Result<()>) -> Result<()> {
    for loops in [1, 2] {
        let listener = ports::free()?;
        let settings = format!("[ws]\nlisten = \"{listener}\"\n");
        let mut server = Server::start(Plan { loops, settings, ..Plan::default() })?;
        for (name, address) in [("a WebSocket listener", listener), ("the HTTP port", server.http)] {
            test(address).with_context(|| format!("{name}, {loops} loops"))?;
        }
        server.must_still_serve()?;
    }
    Ok(())
}

fn connected(address: SocketAddr) -> Result<WebSocket> {
    let mut socket = WebSocket::open(address, "/mqtt")?;
    socket.send(opcode::BINARY, &Connect::new(Version::V311, "ws").encode())?;
    let connack = socket.binary(4)?;
    ensure!(connack == [CONNACK_TYPE, 2, 0, 0], "{connack:02x?}");
    Ok(socket)
}

/// Waits for the end; returns the close code if the server sent one.
fn ended(socket: &mut WebSocket) -> Result<Option<u16>> {
    let mut code = None;
    while let Some(frame) = socket.next_frame().context("waited for the server to close")? {
        if frame.opcode == opcode::CLOSE && frame.payload.len() >= 2 {
            code = Some(u16::from_be_bytes([frame.payload[0], frame.payload[1]]));
        }
        ensure!(frame.opcode == opcode::CLOSE, "{frame:02x?}");
    }
    Ok(code)
}

#[test]
fn the_upgrade_chooses_the_mqtt_sub_protocol() -> Result<()> {
    test(|address| {
        // [MQTT-6.0.0-4]
        let socket = WebSocket::open(address, "/mqtt")?;
        let head = socket.head.to_ascii_lowercase();
        ensure!(head.contains("\r\nsec-websocket-protocol: mqtt\r\n"), "{head}");
        Ok(())
    })
}

#[test]
fn a_packet_may_span_frames_and_a_frame_may_hold_many() -> Result<()> {
    // [MQTT-6.0.0-2]
    test(|address| {
        let mut socket = WebSocket::open(address, "/mqtt")?;
        for byte in Connect::new(Version::V311, "split").encode() {
            socket.send(opcode::BINARY, &[byte])?;
        }
        socket.binary(4)?;
        let several = [
            wire::subscribe(Version::V311, 1, &["t"], 0),
            Publish::new("t", b"one").encode(Version::V311),
            Publish::new("t", b"two").encode(Version::V311),
            wire::PINGREQ.to_vec(),
        ]
        .concat();
        socket.send(opcode::BINARY, &several)?;
        let expected =
            [&[0x90, 3, 0, 1, 0][..], b"\x30\x06\0\x01tone", b"\x30\x06\0\x01ttwo", &[0xD0, 0]].concat();
        let got = socket.binary(expected.len())?;
        let (mut sorted, mut wanted) = (got.clone(), expected.clone());
        // A delivery to oneself may come after the answer to the ping: same bytes, another order.
        sorted.sort_unstable();
        wanted.sort_unstable();
        ensure!(sorted == wanted, "{got:02x?}");
        Ok(())
    })
}

#[test]
fn a_message_in_fragments_is_put_together() -> Result<()> {
    test(|address| {
        let mut socket = connected(address)?;
        let ping = wire::PINGREQ;
        socket.send_part(opcode::BINARY, &ping[..1])?;
        // Control frames may come between fragments (RFC 6455, 5.4).
        socket.send(opcode::PING, b"between")?;
        socket.send(opcode::CONTINUATION, &ping[1..])?;
        let mut frames = vec![socket.next_frame()?, socket.next_frame()?];
        frames.sort_by_key(|frame| frame.as_ref().map(|frame| frame.opcode));
        ensure!(frames[0] == Some(Frame { opcode: opcode::BINARY, payload: vec![0xD0, 0] }), "{frames:02x?}");
        ensure!(
            frames[1] == Some(Frame { opcode: opcode::PONG, payload: b"between".to_vec() }),
            "{frames:02x?}"
        );
        Ok(())
    })
}

#[test]
fn frames_of_every_length_encoding_are_read() -> Result<()> {
    test(|address| {
        let mut socket = connected(address)?;
        for size in [100, 125, 126, 65_535, 65_536, 100_000] {
            let whole = Publish::new("t", &vec![b'x'; size]).qos(1, 7).encode(Version::V311);
            socket.send(opcode::BINARY, &whole)?;
            ensure!(socket.binary(4)? == [0x40, 2, 0, 7], "size {size}");
        }
        Ok(())
    })
}

#[test]
fn wrong_frames_end_the_connection() -> Result<()> {
    test(|address| {
        let unmasked = [&[0x82, 2][..], &wire::PINGREQ].concat();
        let table: [(&str, Vec<u8>); 8] = [
            ("a text frame", frame(0x80 | opcode::TEXT, &wire::PINGREQ)),
            ("an unmasked frame", unmasked),
            ("a reserved bit", frame(0xC2, &wire::PINGREQ)),
            ("an unknown opcode", frame(0x83, b"")),
            ("a continuation of nothing", frame(0x80, &wire::PINGREQ)),
            ("a control frame in fragments", frame(opcode::PING, b"")),
            ("a control frame of 126 bytes", frame(0x80 | opcode::PING, &[0; 126])),
            ("a frame of 2^63 bytes", vec![0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
        ];
        for (name, bytes) in table {
            let mut socket = connected(address)?;
            socket.raw(&bytes)?;
            let code = ended(&mut socket).context(name)?;
            ensure!(code.is_none_or(|code| [1002, 1003, 1007, 1009].contains(&code)), "{name}: {code:?}");
        }
        Ok(())
    })
}

#[test]
fn a_close_frame_is_answered() -> Result<()> {
    test(|address| {
        let mut socket = connected(address)?;
        socket.send(opcode::CLOSE, &1000_u16.to_be_bytes())?;
        let answer = socket.next_frame()?.context("closed without an answer (RFC 6455, 5.5.1)")?;
        ensure!(answer.opcode == opcode::CLOSE, "{answer:02x?}");
        ensure!(socket.next_frame()?.is_none());
        Ok(())
    })
}

#[test]
fn wrong_mqtt_inside_right_frames_is_still_wrong() -> Result<()> {
    test(|address| {
        let mut socket = connected(address)?;
        socket.send(opcode::BINARY, &packet(0x00, &[]))?;
        ended(&mut socket)?;
        Ok(())
    })
}

#[test]
fn an_upgrade_elsewhere_or_half_made_is_refused() -> Result<()> {
    test(|address| {
        for (path, headers) in [("/nowhere", "Sec-WebSocket-Protocol: mqtt\r\n"), ("/mqttx", ""), ("/", "")] {
            let socket = WebSocket::ask(address, path, headers)?;
            ensure!(!socket.head.starts_with("HTTP/1.1 101"), "{path}: {}", socket.head);
        }
        Ok(())
    })
}

#[test]
fn trial_mode_echoes_for_websocket_suites() -> Result<()> {
    let server = Server::trial()?;
    let mut socket = WebSocket::open(server.http, "/echo")?;
    for (kind, payload) in [(opcode::TEXT, &b"hello"[..]), (opcode::BINARY, &[0, 255, 1])] {
        socket.send(kind, payload)?;
        ensure!(socket.next_frame()? == Some(Frame { opcode: kind, payload: payload.to_vec() }));
    }
    Ok(())
}
