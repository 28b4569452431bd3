//! Chapters 1 and 2: data types, fixed header, packet identifiers, properties.
//!
//! How a stage is set and what clients hear is in `support`.

use crate::spec::support::*;

/// [MQTT-1.5.4-1] [MQTT-3.3.2-1] [MQTT-3.8.3-1] [MQTT-3.10.3-1] [MQTT-3.3.2-13] [MQTT-3.3.2-19]
/// [3.1.1 MQTT-1.5.3-1] [3.1.1 MQTT-3.3.2-1] [3.1.1 MQTT-3.8.3-1] [3.1.1 MQTT-3.10.3-1]
#[test]
fn ill_formed_utf8_closes_the_connection() {
    for (version, bytes) in [
        (V311, &b"\x30\x03\x00\x01\xFF"[..]),
        (V311, b"\x30\x05\x00\x03\xED\xA0\x80"),
        (V311, b"\x82\x06\x00\x01\x00\x01\xC0\x00"),
        (V311, b"\xA2\x05\x00\x01\x00\x01\xF5"),
        (V5, b"\x30\x04\x00\x01\xFF\x00"),
        (V5, b"\x82\x07\x00\x01\x00\x00\x01\xFE\x00"),
        (V5, b"\xA2\x06\x00\x01\x00\x00\x01\x80"),
        (V5, b"\x30\x08\x00\x01t\x04\x08\x00\x01\xFF"),
        (V5, b"\x30\x08\x00\x01t\x04\x03\x00\x01\xFF"),
    ] {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
}

/// [MQTT-1.5.4-2] [MQTT-4.7.3-2] [3.1.1 MQTT-1.5.3-2] [3.1.1 MQTT-4.7.3-2]
#[test]
fn a_null_character_closes_the_connection() {
    for (version, bytes) in [
        (V311, &b"\x30\x04\x00\x02a\x00"[..]),
        (V311, b"\x82\x07\x00\x01\x00\x02a\x00\x00"),
        (V5, b"\x30\x05\x00\x02a\x00\x00"),
        (V5, b"\x82\x08\x00\x01\x00\x00\x02a\x00\x00"),
    ] {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
}

/// [MQTT-1.5.4-3] [3.1.1 MQTT-1.5.3-3]
#[test]
fn a_byte_order_mark_is_part_of_the_topic() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "\u{FEFF}a", AtMostOnce);
        stage.somebody_publishes("a", "without", AtMostOnce);
        stage.somebody_publishes("\u{FEFF}a", "with", AtMostOnce);
        let heard = stage.messages(link);
        assert_eq!(
            heard.iter().map(|m| (m.topic, m.payload)).collect::<Vec<_>>(),
            [("\u{FEFF}a", &b"with"[..])]
        );
    }
}

/// [MQTT-1.5.5-1]
#[test]
fn lengths_take_no_more_bytes_than_they_need() {
    for bytes in [&b"\xC0\x80\x00"[..], b"\x30\x05\x00\x01t\x80\x00", b"\x30\xFF\xFF\xFF\xFF"] {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
    // What the server writes is shortest on both sides of each boundary.
    for len in [100, 127, 128, 16_383, 16_384] {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        stage.subscribe(link, "t", AtMostOnce);
        let payload = "x".repeat(len - 4);
        stage.somebody_publishes("t", &payload, AtMostOnce);
        let bytes = stage.server.take_bytes(link);
        let digits = bytes[1..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        assert_eq!(bytes.len(), 1 + digits + len);
        assert_eq!(
            digits,
            [1, 1, 2, 2, 3][[100, 127, 128, 16_383, 16_384].iter().position(|&l| l == len).unwrap()]
        );
    }
}

/// [MQTT-1.5.7-1]
#[test]
fn both_strings_of_a_user_property_must_be_valid() {
    for property in
        [&b"\x26\x00\x01\xFF\x00\x01v"[..], b"\x26\x00\x01k\x00\x01\xFF", b"\x26\x00\x01k\x00\x01\x00"]
    {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        let mut bytes = vec![0x30, 11, 0, 1, b't', 7];
        bytes.extend_from_slice(property);
        stage.say_bytes(link, &bytes);
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
}

/// [MQTT-2.1.3-1] [MQTT-3.6.1-1] [MQTT-3.8.1-1] [MQTT-3.10.1-1] [MQTT-3.14.1-1] [MQTT-3.15.1-1]
/// [3.1.1 MQTT-2.2.2-1] [3.1.1 MQTT-2.2.2-2] [3.1.1 MQTT-3.6.1-1] [3.1.1 MQTT-3.8.1-1] [3.1.1 MQTT-3.10.1-1]
#[test]
fn reserved_flags_of_the_fixed_header_close_the_connection() {
    for version in BOTH {
        for bytes in [
            &b"\x41\x02\x00\x01"[..],
            b"\x52\x02\x00\x01",
            b"\x60\x02\x00\x01",
            b"\x63\x02\x00\x01",
            b"\x71\x02\x00\x01",
            b"\x80\x06\x00\x01\x00\x01t\x00",
            b"\x83\x06\x00\x01\x00\x01t\x00",
            b"\xA0\x05\x00\x01\x00\x01t",
            b"\xC1\x00",
            b"\xE1\x00",
            b"\xF1\x00",
            b"\x00\x00",
        ] {
            let mut stage = Stage::new();
            let link = stage.client("c", version);
            stage.say_bytes(link, bytes);
            stage.assert_refused(link, ReasonCode::MalformedPacket);
        }
    }
}

/// [MQTT-2.2.1-2] [3.1.1 MQTT-2.3.1-5]
#[test]
fn qos_0_has_no_packet_identifier() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "t", AtMostOnce);
        stage.somebody_publishes("t", "xy", AtLeastOnce);
        let expected: &[u8] = if version == V5 { b"\x30\x06\x00\x01t\x00xy" } else { b"\x30\x05\x00\x01txy" };
        assert_eq!(stage.server.take_bytes(link), expected);
    }
}

/// [MQTT-2.2.1-3] [3.1.1 MQTT-2.3.1-1]
#[test]
fn packet_identifier_0_closes_the_connection() {
    for (version, bytes) in [
        (V311, &b"\x32\x05\x00\x01t\x00\x00"[..]),
        (V311, b"\x82\x06\x00\x00\x00\x01t\x00"),
        (V311, b"\xA2\x05\x00\x00\x00\x01t"),
        (V5, b"\x34\x06\x00\x01t\x00\x00\x00"),
        (V5, b"\x82\x07\x00\x00\x00\x00\x01t\x00"),
        (V5, b"\xA2\x06\x00\x00\x00\x00\x01t"),
    ] {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, ReasonCode::ProtocolError);
    }
}

/// [MQTT-2.2.1-4] [MQTT-4.3.2-1] [MQTT-4.3.3-1] [3.1.1 MQTT-2.3.1-4]
#[test]
fn the_server_uses_no_packet_identifier_twice_at_a_time() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "t", ExactlyOnce);
        let source = stage.client("source", V5);
        let mut stuck = None;
        // More than there are identifiers, with the first one never acknowledged.
        for round in 0..66_000_u32 {
            let qos = if round % 2 == 0 { AtLeastOnce } else { ExactlyOnce };
            stage.say(source, Packet::Publish(message("t", b"x", qos, 1)));
            stage.hear(source);
            stage.say(source, Packet::Pubrel(ack(1)));
            stage.hear(source);
            let heard = stage.messages(link);
            let id = heard[0].packet_id;
            assert_ne!(id, 0);
            match stuck {
                None => stuck = Some(id),
                Some(stuck) => {
                    assert_ne!(id, stuck);
                    if qos == AtLeastOnce {
                        stage.say(link, Packet::Puback(ack(id)));
                    } else {
                        stage.say(link, Packet::Pubrec(ack(id)));
                        stage.say(link, Packet::Pubcomp(ack(id)));
                        stage.hear(link);
                    }
                }
            }
        }
    }
}

/// [MQTT-2.2.1-5] [MQTT-4.3.2-4] [MQTT-4.3.3-8] [MQTT-4.3.3-11] [3.1.1 MQTT-2.3.1-6]
#[test]
fn acknowledgements_carry_the_identifier_of_what_they_answer() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say(link, Packet::Publish(message("t", b"x", AtLeastOnce, 0x1234)));
        let answer = stage.hear_one(link);
        assert!(matches!(answer, Packet::Puback(Ack { packet_id: 0x1234, .. })));
        stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, 0xFFFF)));
        assert!(matches!(stage.hear_one(link), Packet::Pubrec(Ack { packet_id: 0xFFFF, .. })));
        stage.say(link, Packet::Pubrel(ack(0xFFFF)));
        assert!(matches!(stage.hear_one(link), Packet::Pubcomp(Ack { packet_id: 0xFFFF, .. })));
    }
}

/// [MQTT-2.2.1-6] [MQTT-3.8.4-1] [MQTT-3.8.4-2] [MQTT-3.10.4-4] [MQTT-3.10.4-5]
/// [3.1.1 MQTT-2.3.1-7] [3.1.1 MQTT-3.8.4-1] [3.1.1 MQTT-3.8.4-2] [3.1.1 MQTT-3.10.4-4]
/// [3.1.1 MQTT-3.10.4-5]
#[test]
fn suback_and_unsuback_carry_the_identifier_of_their_request() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_subscribe(link, 0xABCD, &[("t", options(AtMostOnce))], None);
        assert!(matches!(stage.hear_one(link), Packet::Suback(Suback { packet_id: 0xABCD, .. })));
        assert_eq!(stage.unsubscribe(link, 0xABCE, &["t"]).packet_id, 0xABCE);
        let nothing_there = stage.unsubscribe(link, 0xABCF, &["t"]);
        assert_eq!(nothing_there.packet_id, 0xABCF);
    }
}

/// [MQTT-2.2.2-1]
#[test]
fn a_packet_without_properties_says_so() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    stage.say_subscribe(link, 1, &[("t", options(AtMostOnce))], None);
    assert_eq!(stage.server.take_bytes(link), b"\x90\x04\x00\x01\x00\x00");
    stage.somebody_publishes("t", "", AtMostOnce);
    assert_eq!(stage.server.take_bytes(link), b"\x30\x04\x00\x01t\x00");
    // One that leaves the length out is not whole.
    stage.say_bytes(link, b"\x30\x03\x00\x01t");
    stage.assert_refused(link, ReasonCode::MalformedPacket);
}

/// [MQTT-3.4.2-1] [MQTT-3.5.2-1] [MQTT-3.6.2-1] [MQTT-3.7.2-1] [MQTT-3.14.2-1] [MQTT-3.15.2-1]
#[test]
fn reason_codes_of_other_packets_close_the_connection() {
    for (bytes, reason) in [
        (&b"\x40\x03\x00\x01\x92"[..], ReasonCode::ProtocolError),
        (b"\x50\x03\x00\x01\x8E", ReasonCode::ProtocolError),
        (b"\x62\x03\x00\x01\x80", ReasonCode::ProtocolError),
        (b"\x70\x03\x00\x01\x10", ReasonCode::ProtocolError),
        (b"\xE0\x01\x92", ReasonCode::ProtocolError),
        (b"\xE0\x01\x7F", ReasonCode::MalformedPacket),
        (b"\xF0\x06\x87\x04\x15\x00\x01m", ReasonCode::ProtocolError),
    ] {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, reason);
    }
}
