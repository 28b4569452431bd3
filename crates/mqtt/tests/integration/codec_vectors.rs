//! Each packet against bytes laid out by hand from the tables of MQTT 5.0 chapter 3 and 3.1.1 chapter 3:
//! decoded field by field, and encoded back to the same bytes.

use stadium_mqtt::decode;
use stadium_mqtt::encode;
use stadium_mqtt::packet::*;
use stadium_mqtt::property::{SubscriptionIds, UserPropertiesBuffer};
use stadium_mqtt::reason::ReasonCode;

use Version::{V5, V311};

/// Bytes and packet are each other's.
fn check(version: Version, bytes: &[u8], packet: &Packet<'_>) {
    let frame = decode::frame(bytes, 1 << 20).unwrap().unwrap();
    assert_eq!(frame.total, bytes.len());
    assert_eq!(&decode::packet(&frame, version).unwrap(), packet);
    let mut encoded = Vec::new();
    packet.encode(version, &mut encoded);
    assert_eq!(encoded, bytes);
    assert_eq!(packet.encoded_len(version), bytes.len());
}

fn decoded<'a>(version: Version, bytes: &'a [u8]) -> Packet<'a> {
    decode::packet(&decode::frame(bytes, 1 << 20).unwrap().unwrap(), version).unwrap()
}

fn minimal_connect(version: Version) -> Connect<'static> {
    Connect::new(version, "c")
}

#[test]
fn connect() {
    check(V311, b"\x10\x0D\x00\x04MQTT\x04\x02\x00\x3C\x00\x01c", &Packet::Connect(minimal_connect(V311)));
    check(V5, b"\x10\x0E\x00\x04MQTT\x05\x02\x00\x3C\x00\x00\x01c", &Packet::Connect(minimal_connect(V5)));
    check(
        V311,
        b"\x10\x19\x00\x04MQTT\x04\xEC\x00\x00\x00\x00\x00\x01w\x00\x02by\x00\x01u\x00\x01p",
        &Packet::Connect(Connect {
            clean_start: false,
            keep_alive_s: 0,
            client_id: "",
            will: Some(Will {
                topic: "w",
                payload: b"by",
                qos: QoS::AtLeastOnce,
                retain: true,
                delay_s: 0,
                properties: PublishProperties::default(),
            }),
            username: Some("u"),
            password: Some(b"p"),
            ..minimal_connect(V311)
        }),
    );
}

#[test]
fn connect_with_every_property() {
    let mut user = UserPropertiesBuffer::default();
    user.push("a", "1");
    user.push("a", "2");
    let mut will_user = UserPropertiesBuffer::default();
    will_user.push("w", "");
    let bytes: &[u8] = b"\x10\x67\x00\x04MQTT\x05\xF6\x00\x0A\
        \x2B\x11\x00\x00\x0E\x10\x21\x00\x14\x27\x00\x01\x00\x00\x22\x00\x05\x19\x01\x17\x00\
        \x15\x00\x01m\x16\x00\x02\x01\x02\x26\x00\x01a\x00\x011\x26\x00\x01a\x00\x012\
        \x00\x02id\
        \x1E\x18\x00\x00\x00\x1E\x02\x00\x00\x00\x3C\x01\x01\x08\x00\x01r\x09\x00\x01\xFF\x03\x00\x01c\x26\x00\x01w\x00\x00\
        \x00\x01t\x00\x02hi\x00\x02me\x00\x01\x00";
    check(
        V5,
        bytes,
        &Packet::Connect(Connect {
            version: V5,
            clean_start: true,
            keep_alive_s: 10,
            client_id: "id",
            will: Some(Will {
                topic: "t",
                payload: b"hi",
                qos: QoS::ExactlyOnce,
                retain: true,
                delay_s: 30,
                properties: PublishProperties {
                    payload_format: Some(1),
                    message_expiry_s: Some(60),
                    response_topic: Some("r"),
                    correlation_data: Some(&[0xFF]),
                    content_type: Some("c"),
                    user_properties: will_user.properties(),
                    ..PublishProperties::default()
                },
            }),
            username: Some("me"),
            password: Some(&[0]),
            session_expiry_s: Some(3600),
            receive_maximum: Some(20),
            maximum_packet_size: Some(65_536),
            topic_alias_maximum: Some(5),
            request_response_information: true,
            request_problem_information: false,
            authentication_method: Some("m"),
            authentication_data: Some(&[1, 2]),
            user_properties: user.properties(),
        }),
    );
}

#[test]
fn a_password_alone_is_allowed_since_version_5() {
    let bytes = b"\x10\x11\x00\x04MQTT\x05\x42\x00\x3C\x00\x00\x01c\x00\x01p";
    check(V5, bytes, &Packet::Connect(Connect { password: Some(b"p"), ..minimal_connect(V5) }));
}

#[test]
fn the_version_of_a_connect_shows_before_the_rest_is_valid() {
    let frame = decode::frame(b"\x10\x08\x00\x04MQTT\x05\x03", 100).unwrap().unwrap();
    assert_eq!(decode::connect_version(&frame), Some(V5));
    assert!(decode::connect(&frame).is_err());
}

#[test]
fn connack() {
    check(
        V311,
        b"\x20\x02\x01\x00",
        &Packet::Connack(Connack { session_present: true, ..Connack::default() }),
    );
    check(
        V311,
        b"\x20\x02\x00\x05",
        &Packet::Connack(Connack { reason: ReasonCode::NotAuthorized, ..Connack::default() }),
    );
    check(V5, b"\x20\x03\x00\x00\x00", &Packet::Connack(Connack::default()));
    let mut user = UserPropertiesBuffer::default();
    user.push("k", "v");
    check(
        V5,
        b"\x20\x48\x00\x9C\x45\x11\x00\x00\x00\x78\x21\x00\x0A\x24\x01\x25\x00\x27\x00\x00\x10\x00\x12\x00\x02id\
          \x22\x00\x08\x1F\x00\x04move\x26\x00\x01k\x00\x01v\x28\x00\x29\x01\x2A\x00\x13\x00\x1E\x1A\x00\x01i\
          \x1C\x00\x06host:1\x15\x00\x01m\x16\x00\x01d",
        &Packet::Connack(Connack {
            session_present: false,
            reason: ReasonCode::UseAnotherServer,
            session_expiry_s: Some(120),
            receive_maximum: Some(10),
            maximum_qos: Some(1),
            retain_available: Some(false),
            maximum_packet_size: Some(4096),
            assigned_client_id: Some("id"),
            topic_alias_maximum: Some(8),
            reason_string: Some("move"),
            user_properties: user.properties(),
            wildcard_subscription_available: Some(false),
            subscription_ids_available: Some(true),
            shared_subscription_available: Some(false),
            server_keep_alive_s: Some(30),
            response_information: Some("i"),
            server_reference: Some("host:1"),
            authentication_method: Some("m"),
            authentication_data: Some(b"d"),
        }),
    );
}

#[test]
fn a_connack_that_3_1_1_has_no_word_for_is_not_written() {
    let packet = Packet::Connack(Connack { reason: ReasonCode::ProtocolError, ..Connack::default() });
    let mut buf = Vec::new();
    packet.encode(V311, &mut buf);
    assert!(!packet.encode_within(V311, 100, &mut buf));
    assert_eq!((buf.len(), packet.encoded_len(V311)), (0, 0));
    let moved = Packet::Connack(Connack { reason: ReasonCode::ServerMoved, ..Connack::default() });
    moved.encode(V311, &mut buf);
    assert_eq!(buf, b"\x20\x02\x00\x03");
}

#[test]
fn publish() {
    let plain = Publish {
        dup: false,
        qos: QoS::AtMostOnce,
        retain: false,
        topic: "a/b",
        packet_id: 0,
        properties: PublishProperties::default(),
        payload: b"hi",
    };
    check(V311, b"\x30\x07\x00\x03a/bhi", &Packet::Publish(plain.clone()));
    check(V5, b"\x30\x08\x00\x03a/b\x00hi", &Packet::Publish(plain.clone()));
    check(
        V311,
        b"\x3D\x07\x00\x03a/b\x00\x0A",
        &Packet::Publish(Publish {
            dup: true,
            qos: QoS::ExactlyOnce,
            retain: true,
            packet_id: 10,
            payload: b"",
            ..plain.clone()
        }),
    );
    let mut user = UserPropertiesBuffer::default();
    user.push("n", "1");
    user.push("n", "0");
    check(
        V5,
        b"\x32\x35\x00\x00\x12\x34\x2E\x02\x00\x00\x00\x05\x23\x00\x07\x0B\x01\x0B\x80\x01\x0B\xFF\xFF\xFF\x7F\
          \x01\x00\x08\x00\x01r\x09\x00\x01\x00\x03\x00\x01j\x26\x00\x01n\x00\x011\x26\x00\x01n\x00\x010!!",
        &Packet::Publish(Publish {
            qos: QoS::AtLeastOnce,
            topic: "",
            packet_id: 0x1234,
            properties: PublishProperties {
                payload_format: Some(0),
                message_expiry_s: Some(5),
                topic_alias: Some(7),
                response_topic: Some("r"),
                correlation_data: Some(&[0]),
                content_type: Some("j"),
                subscription_ids: SubscriptionIds::list(&[1, 128, 268_435_455]),
                user_properties: user.properties(),
                ..PublishProperties::default()
            },
            payload: b"!!",
            ..plain
        }),
    );
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let Packet::Publish(publish) = decoded(V311, b"\x30\x06\x00\x04\xEF\xBB\xBFa") else { unreachable!() };
    assert_eq!(publish.topic, "\u{FEFF}a");
}

#[test]
fn forwardable_properties_keep_their_bytes_and_the_others_stay_behind() {
    // Expiry, then content type and user property side by side, then an alias: the middle is
    // forwarded.
    let bytes = b"\x30\x17\x00\x01t\x12\x02\x00\x00\x00\x05\x03\x00\x01j\x26\x00\x01k\x00\x00\x23\x00\x01x";
    let Packet::Publish(publish) = decoded(V5, bytes) else { unreachable!() };
    let mut forwardable = Vec::new();
    publish.properties.encode_forwardable(&mut forwardable);
    assert_eq!(forwardable, b"\x03\x00\x01j\x26\x00\x01k\x00\x00");
    // The alias in the middle: written anew, the user properties in their order.
    let bytes = b"\x30\x19\x00\x01t\x12\x26\x00\x01b\x00\x00\x23\x00\x01\x01\x01\x26\x00\x01a\x00\x011yyx";
    let Packet::Publish(publish) = decoded(V5, bytes) else { unreachable!() };
    assert_eq!(publish.payload, b"yyx");
    forwardable.clear();
    publish.properties.encode_forwardable(&mut forwardable);
    assert_eq!(forwardable, b"\x01\x01\x26\x00\x01b\x00\x00\x26\x00\x01a\x00\x011");
}

#[test]
fn a_payload_is_checked_for_utf8_only_when_asked() {
    let Packet::Publish(good) = decoded(V5, "\x30\x08\x00\x01t\x02\x01\x01ß".as_bytes()) else {
        unreachable!()
    };
    assert!(good.payload_is_valid_utf8());
    let Packet::Publish(bad) = decoded(V5, b"\x30\x07\x00\x01t\x02\x01\x01\xFF") else { unreachable!() };
    assert!(!bad.payload_is_valid_utf8());
}

#[test]
fn acknowledgements_take_their_shortest_form() {
    let ack = Ack { packet_id: 5, ..Ack::default() };
    for version in [V311, V5] {
        check(version, b"\x40\x02\x00\x05", &Packet::Puback(ack));
        check(version, b"\x50\x02\x00\x05", &Packet::Pubrec(ack));
        check(version, b"\x62\x02\x00\x05", &Packet::Pubrel(ack));
        check(version, b"\x70\x02\x00\x05", &Packet::Pubcomp(ack));
    }
    let refused = Ack { packet_id: 5, reason: ReasonCode::NotAuthorized, ..Ack::default() };
    check(V5, b"\x40\x03\x00\x05\x87", &Packet::Puback(refused));
    let worded = Ack { reason_string: Some("no"), ..refused };
    check(V5, b"\x50\x09\x00\x05\x87\x05\x1F\x00\x02no", &Packet::Pubrec(worded));
    let unknown = Ack { packet_id: 5, reason: ReasonCode::PacketIdentifierNotFound, ..Ack::default() };
    check(V5, b"\x62\x03\x00\x05\x92", &Packet::Pubrel(unknown));
    // Longer than needed, but allowed.
    assert_eq!(decoded(V5, b"\x40\x04\x00\x05\x00\x00"), Packet::Puback(ack));
    assert_eq!(decoded(V5, b"\x40\x03\x00\x05\x00"), Packet::Puback(ack));
}

#[test]
fn the_direct_writers_write_the_same() {
    let mut buf = Vec::new();
    encode::ack(&mut buf, AckKind::Puback, V5, 5, ReasonCode::Success);
    encode::ack(&mut buf, AckKind::Pubrel, V5, 5, ReasonCode::PacketIdentifierNotFound);
    encode::ack(&mut buf, AckKind::Pubrec, V311, 5, ReasonCode::NotAuthorized);
    encode::ack(&mut buf, AckKind::Pubcomp, V311, 0x0102, ReasonCode::Success);
    encode::pingreq(&mut buf);
    encode::pingresp(&mut buf);
    assert_eq!(buf, b"\x40\x02\x00\x05\x62\x03\x00\x05\x92\x50\x02\x00\x05\x70\x02\x01\x02\xC0\x00\xD0\x00");
}

#[test]
fn subscribe() {
    let options = |qos| SubscriptionOptions {
        qos,
        no_local: false,
        retain_as_published: false,
        retain_handling: RetainHandling::Send,
    };
    let mut rows = FiltersBuffer::new(V311);
    rows.push("a/b", options(QoS::AtLeastOnce)).unwrap();
    rows.push("c/d", options(QoS::ExactlyOnce)).unwrap();
    check(
        V311,
        b"\x82\x0E\x00\x0A\x00\x03a/b\x01\x00\x03c/d\x02",
        &Packet::Subscribe(Subscribe {
            packet_id: 10,
            subscription_id: None,
            user_properties: Default::default(),
            filters: rows.filters(),
        }),
    );
    let mut rows = FiltersBuffer::new(V5);
    rows.push(
        "#",
        SubscriptionOptions {
            qos: QoS::AtLeastOnce,
            no_local: true,
            retain_as_published: true,
            retain_handling: RetainHandling::DontSend,
        },
    )
    .unwrap();
    let packet = Packet::Subscribe(Subscribe {
        packet_id: 1,
        subscription_id: Some(300),
        user_properties: Default::default(),
        filters: rows.filters(),
    });
    check(V5, b"\x82\x0A\x00\x01\x03\x0B\xAC\x02\x00\x01#\x2D", &packet);
    let mut older = Vec::new();
    packet.encode(V311, &mut older);
    assert_eq!(older, b"\x82\x06\x00\x01\x00\x01#\x01");
    assert!(rows.push(&"x".repeat(65_536), options(QoS::AtMostOnce)).is_err());
}

#[test]
fn suback() {
    let suback = |reasons| {
        Packet::Suback(Suback {
            packet_id: 10,
            reason_string: None,
            user_properties: Default::default(),
            reasons,
        })
    };
    check(V311, b"\x90\x06\x00\x0A\x00\x01\x02\x80", &suback(&[0, 1, 2, 0x80]));
    check(V5, b"\x90\x05\x00\x0A\x00\x02\x8F", &suback(&[2, 0x8F]));
    let mut older = Vec::new();
    suback(&[2, 0x8F, 0x87]).encode(V311, &mut older);
    assert_eq!(older, b"\x90\x05\x00\x0A\x02\x80\x80");
}

#[test]
fn unsubscribe_and_unsuback() {
    let mut names = FilterNamesBuffer::default();
    names.push("a/b").unwrap();
    names.push("#").unwrap();
    let packet = Packet::Unsubscribe(Unsubscribe {
        packet_id: 3,
        user_properties: Default::default(),
        filters: names.filters(),
    });
    check(V311, b"\xA2\x0A\x00\x03\x00\x03a/b\x00\x01#", &packet);
    check(V5, b"\xA2\x0B\x00\x03\x00\x00\x03a/b\x00\x01#", &packet);
    let unsuback = Packet::Unsuback(Suback {
        packet_id: 3,
        reason_string: None,
        user_properties: Default::default(),
        reasons: &[0, 0x11],
    });
    check(V5, b"\xB0\x05\x00\x03\x00\x00\x11", &unsuback);
    let mut older = Vec::new();
    unsuback.encode(V311, &mut older);
    assert_eq!(older, b"\xB0\x02\x00\x03");
}

#[test]
fn pings_and_goodbyes() {
    for version in [V311, V5] {
        check(version, b"\xC0\x00", &Packet::Pingreq);
        check(version, b"\xD0\x00", &Packet::Pingresp);
        check(version, b"\xE0\x00", &Packet::Disconnect(Disconnect::default()));
    }
    let takeover = Disconnect { reason: ReasonCode::SessionTakenOver, ..Disconnect::default() };
    check(V5, b"\xE0\x01\x8E", &Packet::Disconnect(takeover));
    let mut user = UserPropertiesBuffer::default();
    user.push("k", "v");
    let moved = Disconnect {
        reason: ReasonCode::ServerMoved,
        session_expiry_s: Some(1),
        reason_string: Some("r"),
        server_reference: Some("h"),
        user_properties: user.properties(),
    };
    check(
        V5,
        b"\xE0\x16\x9D\x14\x11\x00\x00\x00\x01\x1F\x00\x01r\x26\x00\x01k\x00\x01v\x1C\x00\x01h",
        &Packet::Disconnect(moved),
    );
    assert_eq!(decoded(V5, b"\xE0\x02\x8E\x00"), Packet::Disconnect(takeover));
}

#[test]
fn authentication() {
    check(V5, b"\xF0\x00", &Packet::Auth(Auth::default()));
    check(
        V5,
        b"\xF0\x0D\x18\x0B\x15\x00\x05SCRAM\x16\x00\x00",
        &Packet::Auth(Auth {
            reason: ReasonCode::ContinueAuthentication,
            method: Some("SCRAM"),
            data: Some(b""),
            ..Auth::default()
        }),
    );
    let mut buf = Vec::new();
    Packet::Auth(Auth::default()).encode(V311, &mut buf);
    assert!(buf.is_empty());
}

#[test]
fn lengths_change_size_where_the_specification_says() {
    for (payload, header) in [(0x7F, 2), (0x80, 3), (0x3FFF, 3), (0x4000, 4), (0x1F_FFFF, 4), (0x20_0000, 5)]
    {
        let body = vec![b'x'; payload - 3];
        let packet = Packet::Publish(Publish {
            dup: false,
            qos: QoS::AtMostOnce,
            retain: false,
            topic: "t",
            packet_id: 0,
            properties: PublishProperties::default(),
            payload: &body,
        });
        let mut bytes = Vec::new();
        packet.encode(V311, &mut bytes);
        assert_eq!(bytes.len(), header + payload);
        let frame = decode::frame(&bytes, u32::MAX).unwrap().unwrap();
        assert_eq!((frame.total, frame.body.len()), (bytes.len(), payload));
    }
}

#[test]
fn words_are_left_out_before_a_packet_is_too_large() {
    let mut user = UserPropertiesBuffer::default();
    user.push("key", "value");
    let packet = Packet::Puback(Ack {
        packet_id: 1,
        reason: ReasonCode::QuotaExceeded,
        reason_string: Some("full"),
        user_properties: user.properties(),
    });
    let within = |limit| {
        let mut buf = Vec::new();
        packet.encode_within(V5, limit, &mut buf).then_some(buf)
    };
    assert_eq!(within(100).unwrap().len(), 26);
    assert_eq!(within(26).unwrap().len(), 26);
    assert_eq!(within(25).unwrap(), b"\x40\x0B\x00\x01\x97\x07\x1F\x00\x04full");
    assert_eq!(within(12).unwrap(), b"\x40\x03\x00\x01\x97");
    assert_eq!(within(4), None);
}

#[test]
fn a_string_too_long_to_say_is_cut_at_a_character() {
    let long = "ß".repeat(40_000);
    let mut user = UserPropertiesBuffer::default();
    user.push(&long, "v");
    let (name, value) = user.properties().iter().next().unwrap();
    assert_eq!((name.len(), value), (65_534, "v"));
}
