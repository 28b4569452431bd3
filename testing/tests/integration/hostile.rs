//! Hostile input: each gets the specification's answer, and the server goes on.
//!
//! Rows are tables of bytes. MQTT 5.0, 4.13.1: after a Malformed Packet or Protocol Error the server closes the connection, and may
//! send DISCONNECT (or a CONNACK, before there is one) with the reason first; when it does, the reason must be one that fits.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::PATIENCE;
use stadium_testing::device::Device;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{
    self, Connect, Frame, Kind, Publish, VERSIONS, Version, packet, remaining_length, text,
};

/// Reason codes (2.4).
const MALFORMED: u8 = 0x81;
const PROTOCOL_ERROR: u8 = 0x82;
const UNSUPPORTED_VERSION: u8 = 0x84;
const IDENTIFIER_INVALID: u8 = 0x85;
const TOPIC_FILTER_INVALID: u8 = 0x8F;
const TOPIC_INVALID: u8 = 0x90;
const RECEIVE_MAXIMUM_EXCEEDED: u8 = 0x93;
const TOO_LARGE: u8 = 0x95;
const PAYLOAD_FORMAT_INVALID: u8 = 0x99;

/// CONNECT in pieces: protocol name, level, flags, and all that follows the flags.
fn connect(name: &[u8], level: u8, flags: u8, rest: &[u8]) -> Vec<u8> {
    packet(0x10, &[&text(name)[..], &[level, flags], rest].concat())
}

/// Keep alive 0, no properties, client id "h".
const REST_5: &[u8] = &[0, 0, 0, 0, 1, b'h'];
const REST_4: &[u8] = &[0, 0, 0, 1, b'h'];

/// A first packet that must not be served, and the reasons that a CONNACK or DISCONNECT may give.
fn first_packets() -> Vec<(&'static str, Vec<u8>, &'static [u8])> {
    let properties = |raw: &[u8]| {
        let mut rest = vec![0, 0];
        rest.extend(remaining_length(raw.len()));
        rest.extend(raw);
        rest.extend([0, 1, b'h']);
        connect(b"MQTT", 5, 2, &rest)
    };
    const WRONG: &[u8] = &[MALFORMED, PROTOCOL_ERROR];
    vec![
        ("PUBLISH before CONNECT", packet(0x30, b"\0\x01tx"), WRONG),
        ("SUBSCRIBE before CONNECT", wire::subscribe(Version::V5, 1, &["#"], 0), WRONG),
        ("PINGREQ before CONNECT", wire::PINGREQ.to_vec(), WRONG),
        ("DISCONNECT before CONNECT", wire::DISCONNECT.to_vec(), WRONG),
        ("AUTH before CONNECT", packet(0xF0, &[]), WRONG),
        ("CONNACK from a client", packet(0x20, &[0, 0, 0]), WRONG),
        ("packet type 0", packet(0x00, &[0; 4]), WRONG),
        ("an HTTP request", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), WRONG),
        ("a TLS hello", [&[0x16, 3, 1, 2, 0][..], &[1; 64]].concat(), WRONG),
        ("a remaining length of five bytes", vec![0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0, 4], WRONG),
        ("CONNECT with reserved header flags", packet(0x11, &connect(b"MQTT", 5, 2, REST_5)[2..]), WRONG),
        (
            "an unknown protocol name",
            connect(b"MQTQ", 5, 2, REST_5),
            &[MALFORMED, PROTOCOL_ERROR, UNSUPPORTED_VERSION, 1],
        ),
        ("an unknown protocol level", connect(b"MQTT", 6, 2, REST_5), &[UNSUPPORTED_VERSION, 1]),
        ("the reserved connect flag", connect(b"MQTT", 5, 3, REST_5), WRONG),
        ("a will QoS of 3", connect(b"MQTT", 5, 0x1E, &[REST_5, b"\0\0\x01t\0\x01x"].concat()), WRONG),
        ("a will QoS without a will", connect(b"MQTT", 5, 0x0A, REST_5), WRONG),
        ("will retain without a will", connect(b"MQTT", 5, 0x22, REST_5), WRONG),
        ("an empty CONNECT", packet(0x10, &[]), WRONG),
        ("a CONNECT that ends in its client id", connect(b"MQTT", 5, 2, &[0, 0, 0, 0, 9, b'h']), WRONG),
        ("bytes after the payload", connect(b"MQTT", 5, 2, &[REST_5, b"zz"].concat()), WRONG),
        (
            "a client id that is no UTF-8",
            connect(b"MQTT", 5, 2, &[0, 0, 0, 0, 2, 0xC3, 0x28]),
            &[MALFORMED, PROTOCOL_ERROR, IDENTIFIER_INVALID],
        ),
        (
            "a client id with U+0000",
            connect(b"MQTT", 5, 2, &[0, 0, 0, 0, 2, b'a', 0]),
            &[MALFORMED, PROTOCOL_ERROR, IDENTIFIER_INVALID],
        ),
        (
            "a client id with a surrogate",
            connect(b"MQTT", 5, 2, &[0, 0, 0, 0, 3, 0xED, 0xA0, 0x80]),
            &[MALFORMED, PROTOCOL_ERROR, IDENTIFIER_INVALID],
        ),
        ("a property that is repeated", properties(&[0x11, 0, 0, 0, 1, 0x11, 0, 0, 0, 1]), WRONG),
        ("a property of another packet", properties(&[0x23, 0, 1]), WRONG),
        ("an unknown property", properties(&[0x7F, 0]), WRONG),
        ("a Receive Maximum of 0", properties(&[0x21, 0, 0]), WRONG),
        ("a Maximum Packet Size of 0", properties(&[0x27, 0, 0, 0, 0]), WRONG),
        ("Request Problem Information of 2", properties(&[0x17, 2]), WRONG),
        ("authentication data without a method", properties(&[0x16, 0, 1, 0]), WRONG),
        ("a property that is cut short", properties(&[0x11, 0, 0]), WRONG),
        ("properties longer than the packet", connect(b"MQTT", 5, 2, &[0, 0, 0x7F, 0, 1, b'h']), WRONG),
        ("3.1.1: the reserved connect flag", connect(b"MQTT", 4, 3, REST_4), &[1]),
        (
            "3.1.1: a password without a user name",
            connect(b"MQTT", 4, 0x42, &[REST_4, b"\0\x01p"].concat()),
            &[1],
        ),
        ("3.1.1: no client id and a kept session", connect(b"MQTT", 4, 0, &[0, 0, 0, 0]), &[2]),
    ]
}

/// A packet on a connection that is served, and the reasons that a DISCONNECT may give.
fn later_packets(version: Version) -> Vec<(&'static str, Vec<u8>, &'static [u8])> {
    const WRONG: &[u8] = &[MALFORMED, PROTOCOL_ERROR];
    const TOPIC: &[u8] = &[MALFORMED, PROTOCOL_ERROR, TOPIC_INVALID];
    const FILTER: &[u8] = &[MALFORMED, PROTOCOL_ERROR, TOPIC_FILTER_INVALID];
    let none: &[u8] = if version == Version::V5 { &[0] } else { &[] };
    let publish = |first: u8, topic: &[u8], rest: &[u8]| packet(first, &[&text(topic)[..], rest].concat());
    let subscribe =
        |first: u8, id: u16, rest: &[u8]| packet(first, &[&id.to_be_bytes()[..], none, rest].concat());
    let mut rows = vec![
        ("a second CONNECT", Connect::new(version, "again").encode(), WRONG),
        ("PUBLISH at QoS 3", publish(0x36, b"t", &[&[0, 1][..], none].concat()), WRONG),
        ("PUBLISH at QoS 0 with DUP", publish(0x38, b"t", none), WRONG),
        ("PUBLISH at QoS 1 with identifier 0", publish(0x32, b"t", &[&[0, 0][..], none].concat()), WRONG),
        ("PUBLISH without an identifier", publish(0x32, b"t", &[]), WRONG),
        ("PUBLISH to a wildcard", publish(0x30, b"a/+", none), TOPIC),
        ("PUBLISH to #", publish(0x30, b"#", none), TOPIC),
        ("PUBLISH to a topic with U+0000", publish(0x30, b"a\0b", none), TOPIC),
        ("PUBLISH to bad UTF-8", publish(0x30, &[0xF5, 0x80, 0x80, 0x80], none), TOPIC),
        ("PUBLISH to an overlong encoding", publish(0x30, &[0xC0, 0xAF], none), TOPIC),
        ("PUBLISH to a surrogate", publish(0x30, &[0xED, 0xBF, 0xBF], none), TOPIC),
        ("PUBLISH to no topic", publish(0x30, b"", none), TOPIC),
        ("PUBLISH whose topic is longer than it", packet(0x30, &[0, 200, b't']), WRONG),
        ("SUBSCRIBE with wrong header flags", subscribe(0x80, 1, b"\0\x01t\0"), WRONG),
        ("SUBSCRIBE with identifier 0", subscribe(0x82, 0, b"\0\x01t\0"), WRONG),
        ("SUBSCRIBE to nothing", subscribe(0x82, 1, &[]), WRONG),
        ("SUBSCRIBE at QoS 3", subscribe(0x82, 1, b"\0\x01t\x03"), WRONG),
        ("SUBSCRIBE without options", subscribe(0x82, 1, b"\0\x01t"), WRONG),
        ("SUBSCRIBE with reserved options", subscribe(0x82, 1, b"\0\x01t\xC0"), WRONG),
        ("SUBSCRIBE to bad UTF-8", subscribe(0x82, 1, b"\0\x02\xC3\x28\0"), FILTER),
        ("UNSUBSCRIBE with wrong header flags", subscribe(0xA0, 1, b"\0\x01t"), WRONG),
        ("UNSUBSCRIBE from nothing", subscribe(0xA2, 1, &[]), WRONG),
        ("PUBREL with wrong header flags", packet(0x60, &[0, 1]), WRONG),
        ("PUBACK that is cut short", packet(0x40, &[0]), WRONG),
        ("PINGREQ with a body", packet(0xC0, &[0]), WRONG),
        ("PINGREQ with wrong header flags", packet(0xC1, &[]), WRONG),
        ("DISCONNECT with wrong header flags", packet(0xE1, &[]), WRONG),
        ("CONNACK from a client", packet(0x20, &[0, 0]), WRONG),
        ("SUBACK from a client", packet(0x90, &[0, 1, 0, 0]), WRONG),
        ("PINGRESP from a client", packet(0xD0, &[]), WRONG),
        ("packet type 0", packet(0x00, &[]), WRONG),
        ("a remaining length of five bytes", vec![0x30, 0x80, 0x80, 0x80, 0x80, 0x01], WRONG),
        ("a packet of 256 MB", vec![0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, b't'], &[TOO_LARGE]),
    ];
    if version == Version::V5 {
        rows.extend([
            ("AUTH without a method", packet(0xF0, &[]), WRONG),
            ("a Topic Alias of 0", publish(0x30, b"t", &[3, 0x23, 0, 0]), &[PROTOCOL_ERROR, 0x94] as &[u8]),
            ("a Subscription Identifier from a client", publish(0x30, b"t", &[2, 0x0B, 1]), WRONG),
            ("a Subscription Identifier of 0", packet(0x82, b"\0\x01\x02\x0B\0\0\x01t\0"), WRONG),
            ("two expiry intervals", publish(0x30, b"t", &[10, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1]), WRONG),
            ("a response topic with a wildcard", publish(0x30, b"t", &[5, 8, 0, 2, b'a', b'#']), TOPIC),
            ("a property length beyond the packet", publish(0x30, b"t", &[0x7F]), WRONG),
            ("Retain Handling of 3", packet(0x82, b"\0\x01\0\0\x01t\x30"), WRONG),
            ("a session expiry that CONNECT left out", packet(0xE0, &[0, 5, 0x11, 0, 0, 0, 9]), WRONG),
            ("a DISCONNECT reason of the server's", packet(0xE0, &[0x8E, 0]), WRONG),
        ]);
    } else {
        rows.push(("AUTH, which 3.1.1 does not have", packet(0xF0, &[]), WRONG));
    }
    rows
}

/// Requires that the frames are only those that may be sent before closing.
fn must_fit(frames: &[Frame], version: Version, allowed: &[u8]) -> Result<()> {
    for frame in frames {
        let reason = match frame.first {
            0x20 => frame.reason(version),
            0xE0 if version == Version::V5 => frame.reason(version),
            other => anyhow::bail!("answered with {other:02x} {:02x?}", frame.body),
        };
        ensure!(allowed.contains(&reason), "the reason is {reason:#04x}, allowed are {allowed:02x?}");
    }
    Ok(())
}

fn each_row<T>(
    rows: impl IntoIterator<Item = (&'static str, Vec<u8>, T)>,
    check: impl Fn(&[u8], T) -> Result<()>,
) -> Result<()> {
    let mut wrong = Vec::new();
    for (name, bytes, expected) in rows {
        if let Err(error) = check(&bytes, expected) {
            wrong.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn a_connection_that_begins_wrongly_is_closed() -> Result<()> {
    let mut server = Server::trial()?;
    each_row(first_packets(), |bytes, allowed| {
        let mut device = Device::dial(server.mqtt, Version::V5)?;
        device.send(bytes)?;
        must_fit(&device.end(Duration::from_secs(5))?, Version::V5, allowed)
    })?;
    server.must_still_serve()
}

#[test]
fn a_connection_that_goes_wrong_is_closed_with_the_reason() -> Result<()> {
    let mut server = Server::trial()?;
    for version in VERSIONS {
        each_row(later_packets(version), |bytes, allowed| {
            let mut device = Device::clean(server.mqtt, version, "wrong")?;
            device.send(bytes)?;
            must_fit(&device.end(Duration::from_secs(5))?, version, allowed)
        })
        .with_context(|| format!("{version:?}"))?;
    }
    server.must_still_serve()
}

#[test]
fn a_text_payload_that_is_no_utf_8_may_pass_unchecked_but_never_hurts() -> Result<()> {
    // 3.3.2.3.2: checking Payload Format is a MAY; subscribers get the same bytes, or the sender
    // 0x99.
    let mut server = Server::trial()?;
    let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
    reader.subscribe(&["t"], 0)?;
    let mut writer = Device::clean(server.mqtt, Version::V5, "writer")?;
    writer.send(&packet(0x32, &[0, 1, b't', 0, 1, 2, 1, 1, 0xC3, 0x28]))?;
    let answer = writer.next_packet()?;
    match answer.first {
        0x40 if answer.reason(Version::V5) < 0x80 => ensure!(reader.receive()?.payload == [0xC3, 0x28]),
        0x40 | 0xE0 => ensure!(answer.reason(Version::V5) == PAYLOAD_FORMAT_INVALID),
        other => anyhow::bail!("answered with {other:02x}"),
    }
    server.must_still_serve()
}

#[test]
fn every_packet_one_byte_at_a_time_is_understood() -> Result<()> {
    for loops in [1, 2] {
        let server = Server::start(Plan { loops, ..Plan::default() })?;
        for version in VERSIONS {
            let mut device = Device::dial(server.mqtt, version)?;
            let slowly =
                |device: &mut Device, bytes: &[u8]| bytes.iter().try_for_each(|byte| device.send(&[*byte]));
            slowly(&mut device, &Connect::new(version, "dribble").keep_alive(60).encode())?;
            ensure!(device.expect(Kind::Connack)?.reason(version) == 0);
            slowly(&mut device, &wire::subscribe(version, 1, &["t/#", "u"], 2))?;
            device.expect(Kind::Suback)?;
            slowly(&mut device, &Publish::new("t/1", b"one").qos(1, 1).encode(version))?;
            let mut kinds = [device.next_packet()?, device.next_packet()?];
            kinds.sort_by_key(|frame| frame.first);
            let message = kinds[0].publish(version)?;
            ensure!(message.payload == b"one" && kinds[1].is(Kind::Puback), "{kinds:?}");
            slowly(&mut device, &wire::acknowledge(Kind::Puback, message.id))?;

            slowly(&mut device, &Publish::new("t/2", b"two").qos(2, 2).encode(version))?;
            // The delivery may come before PUBREC, after it, or after PUBREL (4.3.3).
            let mut message = None;
            let mut completed = false;
            while message.is_none() || !completed {
                let frame = device.next_packet()?;
                if frame.is(Kind::Pubrec) {
                    slowly(&mut device, &wire::acknowledge(Kind::Pubrel, 2))?;
                } else if frame.is(Kind::Pubcomp) {
                    completed = true;
                } else {
                    message = Some(frame.publish(version)?);
                }
            }
            let message = message.context("it came")?;
            slowly(&mut device, &wire::acknowledge(Kind::Pubrec, message.id))?;
            device.expect(Kind::Pubrel)?;
            slowly(&mut device, &wire::acknowledge(Kind::Pubcomp, message.id))?;
            let none: &[u8] = if version == Version::V5 { &[0] } else { &[] };
            slowly(&mut device, &packet(0xA2, &[&[0, 3][..], none, &text("t/#")].concat()))?;
            device.expect(Kind::Unsuback)?;
            slowly(&mut device, &wire::PINGREQ)?;
            device.expect(Kind::Pingresp)?;
            slowly(&mut device, &wire::DISCONNECT)?;
            ensure!(device.end(PATIENCE)?.is_empty());
        }
    }
    Ok(())
}

#[test]
fn a_truncated_packet_at_any_byte_harms_nobody() -> Result<()> {
    let mut server = Server::trial()?;
    for version in VERSIONS {
        let packets = [
            Connect::new(version, "cut").persistent().encode(),
            Publish::new("t", b"payload").qos(1, 1).encode(version),
            wire::subscribe(version, 1, &["a/b", "c"], 1),
        ];
        for (index, whole) in packets.iter().enumerate() {
            for length in 1..whole.len() {
                let mut device = Device::dial(server.mqtt, version)?;
                if index > 0 {
                    device.send(&Connect::new(version, "cut").encode())?;
                    device.expect(Kind::Connack)?;
                }
                device.send(&whole[..length])?;
                if length % 2 == 0 { device.cut()? } else { drop(device) }
            }
        }
    }
    server.must_still_serve()
}

#[test]
fn random_bytes_after_connect_end_the_connection_or_mean_something() -> Result<()> {
    let mut server = Server::trial()?;
    let seed = 0x5EED_u64;
    let mut state = seed;
    let mut random = || {
        // xorshift64*: the same bytes each run.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8
    };
    for round in 0..400 {
        let version = VERSIONS[round % 2];
        let mut device = Device::clean(server.mqtt, version, "noise")?;
        let length = usize::from(random()) + 1;
        let bytes: Vec<u8> = (0..length).map(|_| random()).collect();
        device.send_if_open(&bytes);
        device.cut()?;
    }
    server.must_still_serve()
}

#[test]
fn more_than_the_receive_maximum_in_flight_is_a_protocol_error() -> Result<()> {
    // [MQTT-3.3.4-7] seen from the server: 0x93. QoS 2 without PUBREL keeps each message in flight.
    let mut server = Server::with("[limits]\nreceive_maximum = 10\n")?;
    let mut device = Device::clean(server.mqtt, Version::V5, "greedy")?;
    for id in 1..=11 {
        device.send_if_open(&Publish::new("t", b"").qos(2, id).encode(Version::V5));
    }
    let frames = device.end(PATIENCE)?;
    let reason =
        frames.last().filter(|frame| frame.is(Kind::Disconnect)).map(|frame| frame.reason(Version::V5));
    ensure!(reason == Some(RECEIVE_MAXIMUM_EXCEEDED), "{frames:02x?}");
    server.must_still_serve()
}

#[test]
fn a_packet_beyond_the_maximum_ends_the_connection_before_it_is_read() -> Result<()> {
    // [MQTT-3.2.2-15]: the header alone shows that it is too large.
    let mut server = Server::with("[limits]\npacket_bytes_max = 4096\n")?;
    let before = server.resident_bytes()?;
    for version in VERSIONS {
        let mut device = Device::clean(server.mqtt, version, "large")?;
        device.send(&[&[0x30][..], &remaining_length(5_000)].concat())?;
        must_fit(&device.end(PATIENCE)?, version, &[TOO_LARGE])?;
        let mut device = Device::clean(server.mqtt, version, "fits")?;
        device.publish(&Publish::new("t", &[0; 4_000]).qos(1, 1))?;
    }
    ensure!(server.resident_bytes()? < before + 16_000_000);
    server.must_still_serve()
}

#[test]
fn a_thousand_wrong_connections_leave_nothing_behind() -> Result<()> {
    let mut server = Server::trial()?;
    let files = server.process().open_files()?;
    let started = Instant::now();
    for (round, (_, bytes, _)) in first_packets().into_iter().cycle().take(1_000).enumerate() {
        let mut device = Device::dial(server.mqtt, Version::V5)?;
        device.send_if_open(&bytes);
        if round % 3 == 0 {
            device.end(PATIENCE)?;
        }
    }
    ensure!(started.elapsed() < Duration::from_secs(60));
    stadium_testing::deadline::until_true(PATIENCE, "every socket to be closed", || {
        Ok(server.process().open_files()? <= files + 4)
    })?;
    server.must_still_serve()
}
