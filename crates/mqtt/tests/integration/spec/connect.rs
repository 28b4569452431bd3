//! Section 3.1: CONNECT.
//!
//! How a stage is set and what clients hear is in `support`.

use crate::spec::support::*;

/// [MQTT-3.1.0-1] [3.1.1 MQTT-3.1.0-1]
#[test]
fn a_first_packet_that_is_no_connect_closes_the_connection() {
    for bytes in [&b"\xC0\x00"[..], b"\x30\x03\x00\x01t", b"\xE0\x00", b"\x20\x02\x00\x00"] {
        let mut stage = Stage::new();
        let link = stage.open(V311);
        stage.say_bytes(link, bytes);
        assert!(!stage.server.is_open(link));
        assert_eq!(stage.hear(link), []);
    }
}

/// [MQTT-3.1.0-2] [3.1.1 MQTT-3.1.0-2]
#[test]
fn a_second_connect_closes_the_connection() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say(link, Packet::Connect(clean("c", version)));
        stage.assert_refused(link, ReasonCode::ProtocolError);
        // Also one that could not be read.
        let link = stage.client("c", version);
        stage.say_bytes(link, b"\x10\x0C\x00\x04MQTT\x09\x02\x00\x3C\x00\x00");
        stage.assert_refused(link, ReasonCode::ProtocolError);
    }
}

/// [MQTT-3.1.2-1] [3.1.1 MQTT-3.1.2-1]
#[test]
fn another_protocol_name_is_refused_and_the_connect_not_acted_on() {
    for bytes in [
        &b"\x10\x10\x00\x06MQIsdp\x03\x02\x00\x3C\x00\x02me"[..],
        b"\x10\x0E\x00\x04HTTP\x04\x02\x00\x3C\x00\x02me",
    ] {
        let mut stage = Stage::new();
        let link = stage.open(V311);
        stage.say_bytes(link, bytes);
        let answer = stage.hear_one(link);
        assert!(matches!(
            answer,
            Packet::Connack(Connack { reason: ReasonCode::UnsupportedProtocolVersion, .. })
        ));
        assert!(!stage.server.is_open(link));
        assert_eq!(stage.server.brokers[0].totals().sessions, 0);
    }
}

/// [MQTT-3.1.2-2] [3.1.1 MQTT-3.1.2-2]
#[test]
fn a_protocol_level_that_we_do_not_speak_is_refused() {
    for level in [0, 3, 6, 0x84] {
        let mut stage = Stage::new();
        let link = stage.open(V5);
        stage.say_bytes(link, &[0x10, 13, 0, 4, b'M', b'Q', b'T', b'T', level, 2, 0, 60, 0, 1, b'c']);
        assert_eq!(stage.server.take_bytes(link), b"\x20\x02\x00\x01");
        assert!(!stage.server.is_open(link));
    }
}

/// [MQTT-3.1.2-3] [MQTT-3.1.4-1] [3.1.1 MQTT-3.1.2-3] [3.1.1 MQTT-3.1.4-1] [3.1.1 MQTT-3.2.2-6]
#[test]
fn the_reserved_connect_flag_is_refused() {
    let mut stage = Stage::new();
    let link = stage.open(V311);
    stage.say_bytes(link, b"\x10\x0D\x00\x04MQTT\x04\x03\x00\x3C\x00\x01c");
    assert!(!stage.server.is_open(link));
    assert_eq!(stage.hear(link), [], "3.1.1 has no code for it");
    let link = stage.open(V5);
    stage.say_bytes(link, b"\x10\x0E\x00\x04MQTT\x05\x03\x00\x3C\x00\x00\x01c");
    let answer = stage.hear_one(link);
    assert!(matches!(answer, Packet::Connack(Connack { reason: ReasonCode::MalformedPacket, .. })));
    assert!(!stage.server.is_open(link));
}

/// [MQTT-3.1.2-4] [MQTT-3.1.4-4] [MQTT-3.2.2-2] [3.1.1 MQTT-3.1.2-6] [3.1.1 MQTT-3.1.4-3] [3.1.1 MQTT-3.2.2-1]
#[test]
fn a_clean_start_forgets_the_session() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", AtLeastOnce);
        stage.server.cut(link);
        stage.somebody_publishes("t", "missed", AtLeastOnce);
        let (link, connack) = stage.connack(clean("c", version));
        assert!(!connack.session_present);
        stage.somebody_publishes("t", "more", AtLeastOnce);
        assert_eq!(stage.hear(link), []);
    }
}

/// [MQTT-3.1.2-5] [MQTT-3.1.2-23] [MQTT-3.2.2-3] [3.1.1 MQTT-3.1.2-4] [3.1.1 MQTT-3.1.2-5] [3.1.1 MQTT-3.2.2-2]
#[test]
fn a_session_is_resumed_with_its_subscriptions_and_messages() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", ExactlyOnce);
        stage.server.cut(link);
        stage.somebody_publishes("t", "one", AtLeastOnce);
        stage.somebody_publishes("t", "two", ExactlyOnce);
        let (link, heard) = stage.arrive(staying("c", version));
        assert!(matches!(heard[0], Packet::Connack(Connack { session_present: true, .. })));
        let payloads: Vec<&[u8]> = heard[1..]
            .iter()
            .map(|packet| match packet {
                Packet::Publish(publish) => publish.payload,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(payloads, [&b"one"[..], b"two"]);
        stage.somebody_publishes("t", "three", AtMostOnce);
        assert_eq!(stage.payloads(link), ["three"]);
    }
}

/// [MQTT-3.1.2-6] [3.1.1 MQTT-3.2.2-3]
#[test]
fn without_a_session_a_new_one_is_made() {
    for version in BOTH {
        let mut stage = Stage::new();
        let (_, connack) = stage.connack(staying("c", version));
        assert!(!connack.session_present);
        assert_eq!(stage.server.brokers[0].totals().sessions, 1);
    }
}

/// [MQTT-3.1.2-9] [MQTT-3.1.3-11] [3.1.1 MQTT-3.1.2-9] [3.1.1 MQTT-3.1.3-10]
#[test]
fn a_will_flag_without_a_whole_will_is_refused() {
    for bytes in [
        &b"\x10\x0D\x00\x04MQTT\x04\x06\x00\x3C\x00\x01c"[..],
        b"\x10\x10\x00\x04MQTT\x04\x06\x00\x3C\x00\x01c\x00\x01w",
        b"\x10\x12\x00\x04MQTT\x04\x06\x00\x3C\x00\x01c\x00\x01\xFF\x00\x00",
        b"\x10\x0E\x00\x04MQTT\x05\x06\x00\x3C\x00\x00\x01c",
        b"\x10\x0F\x00\x04MQTT\x05\x06\x00\x3C\x00\x00\x01c\x00",
        b"\x10\x13\x00\x04MQTT\x05\x06\x00\x3C\x00\x00\x01c\x00\x00\x01\xFF\x00\x00",
    ] {
        refused_malformed(bytes);
    }
}

fn refused_malformed(bytes: &[u8]) {
    let mut stage = Stage::new();
    let version = if bytes[8] == 5 { V5 } else { V311 };
    let link = stage.open(version);
    stage.say_bytes(link, bytes);
    assert_eq!(
        stage.server.close_reason(link),
        Some(Close::Refused(ReasonCode::MalformedPacket)),
        "{bytes:02x?}"
    );
    let heard = stage.hear(link);
    match version {
        V311 => assert_eq!(heard, []),
        V5 => assert!(matches!(
            heard[..],
            [Packet::Connack(Connack { reason: ReasonCode::MalformedPacket, .. })]
        )),
    }
}

/// [MQTT-3.1.2-11] [MQTT-3.1.2-12] [MQTT-3.1.2-13] [3.1.1 MQTT-3.1.2-11] [3.1.1 MQTT-3.1.2-13]
/// [3.1.1 MQTT-3.1.2-14] [3.1.1 MQTT-3.1.2-15]
#[test]
fn will_flags_that_contradict_each_other_are_refused() {
    for flags in [0x0A, 0x12, 0x22, 0x3A, 0x1E, 0x1A] {
        let mut older = b"\x10\x0D\x00\x04MQTT\x04\x00\x00\x3C\x00\x01c".to_vec();
        older[9] = flags;
        refused_malformed(&older);
        let mut newer = b"\x10\x0E\x00\x04MQTT\x05\x00\x00\x3C\x00\x00\x01c".to_vec();
        newer[9] = flags;
        refused_malformed(&newer);
    }
}

/// [MQTT-3.1.2-16] [MQTT-3.1.2-17] [MQTT-3.1.2-18] [MQTT-3.1.2-19] [3.1.1 MQTT-3.1.2-18] [3.1.1 MQTT-3.1.2-19]
/// [3.1.1 MQTT-3.1.2-20] [3.1.1 MQTT-3.1.2-21]
#[test]
fn user_name_and_password_stand_where_their_flags_say() {
    // A field without its flag, then a flag without its field.
    for bytes in [
        &b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3C\x00\x01c\x00\x01u"[..],
        b"\x10\x13\x00\x04MQTT\x04\x82\x00\x3C\x00\x01c\x00\x01u\x00\x01p",
        b"\x10\x0D\x00\x04MQTT\x04\x82\x00\x3C\x00\x01c",
        b"\x10\x10\x00\x04MQTT\x04\xC2\x00\x3C\x00\x01c\x00\x01u",
        b"\x10\x11\x00\x04MQTT\x05\x02\x00\x3C\x00\x00\x01c\x00\x01u",
        b"\x10\x14\x00\x04MQTT\x05\x82\x00\x3C\x00\x00\x01c\x00\x01u\x00\x01p",
        b"\x10\x0E\x00\x04MQTT\x05\x82\x00\x3C\x00\x00\x01c",
        b"\x10\x0E\x00\x04MQTT\x05\x42\x00\x3C\x00\x00\x01c",
    ] {
        refused_malformed(bytes);
    }
}

/// [3.1.1 MQTT-3.1.2-22]
#[test]
fn a_password_without_a_user_name_is_refused_before_version_5() {
    refused_malformed(b"\x10\x10\x00\x04MQTT\x04\x42\x00\x3C\x00\x01c\x00\x01p");
    let mut stage = Stage::new();
    stage.connect(Connect { password: Some(b"p"), ..clean("c", V5) });
}

/// [MQTT-3.1.2-22] [3.1.1 MQTT-3.1.2-24]
#[test]
fn a_client_that_says_nothing_is_cut_as_if_its_network_had_failed() {
    for version in BOTH {
        let mut stage = Stage::new();
        let watcher = stage.client("watcher", V5);
        stage.subscribe(watcher, "gone", AtMostOnce);
        let link = stage.connect(Connect { will: Some(will("gone", b"silent")), ..clean("c", version) });
        let key = stage.server.session(link).unwrap();
        let Stage { server, .. } = &mut stage;
        assert!(server.brokers[0].keep_alive_over(&mut server.host, key));
        assert_eq!(server.close_reason(link), Some(Close::KeepAlive));
        server.advance_ms(0);
        assert_eq!(stage.payloads(watcher), ["silent"]);
        if version == V5 {
            let heard = stage.hear_one(link);
            assert!(matches!(
                heard,
                Packet::Disconnect(Disconnect { reason: ReasonCode::KeepAliveTimeout, .. })
            ));
        }
    }
}

/// [MQTT-3.1.2-24] [MQTT-3.1.2-25]
#[test]
fn a_message_too_large_for_a_client_is_dropped_as_if_it_had_been_sent() {
    for qos in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
        let mut stage = Stage::new();
        let link = stage.connect(Connect {
            maximum_packet_size: Some(40),
            receive_maximum: Some(1),
            ..clean("c", V5)
        });
        stage.subscribe(link, "t", qos);
        let fits = "f".repeat(if qos == AtMostOnce { 34 } else { 32 });
        stage.somebody_publishes("t", &format!("{fits}!"), qos);
        assert_eq!(stage.hear(link), []);
        // Neither connection nor window is spoilt.
        stage.somebody_publishes("t", &fits, qos);
        assert_eq!(stage.payloads(link), [fits]);
        assert!(stage.server.is_open(link));
    }
}

/// [MQTT-3.1.2-24] [MQTT-3.2.2-19] [MQTT-3.2.2-20] [MQTT-3.9.2-1] [MQTT-3.9.2-2] [MQTT-3.11.2-1] [MQTT-3.11.2-2]
#[test]
fn no_answer_is_larger_than_the_client_allows() {
    let mut stage = Stage::new();
    let link = stage.connect(Connect { maximum_packet_size: Some(30), ..clean("c", V5) });
    let rows: Vec<(String, SubscriptionOptions)> =
        (0..40).map(|n| (format!("t{n}"), options(AtMostOnce))).collect();
    let rows: Vec<(&str, SubscriptionOptions)> = rows.iter().map(|(f, o)| (f.as_str(), *o)).collect();
    stage.say_subscribe(link, 1, &rows, None);
    let names: Vec<&str> = rows.iter().map(|&(filter, _)| filter).collect();
    let mut filters = FilterNamesBuffer::default();
    names.iter().for_each(|name| filters.push(name).unwrap());
    stage.say(
        link,
        Packet::Unsubscribe(Unsubscribe {
            packet_id: 2,
            user_properties: Default::default(),
            filters: filters.filters(),
        }),
    );
    let mut rest = &stage.server.take_bytes(link)[..];
    while !rest.is_empty() {
        let frame = decode::frame(rest, u32::MAX).unwrap().unwrap();
        assert!(frame.total <= 30, "a packet of {} bytes", frame.total);
        rest = &rest[frame.total..];
    }
}

/// [MQTT-3.1.2-24] [MQTT-3.1.4-5]
#[test]
fn a_client_that_takes_too_little_for_a_connack_is_not_let_in() {
    let mut stage = Stage::new();
    let watcher = stage.client("watcher", V5);
    stage.subscribe(watcher, "gone", AtMostOnce);
    for limit in [1, 5, 30] {
        let tight =
            Connect { maximum_packet_size: Some(limit), will: Some(will("gone", b"w")), ..clean("", V5) };
        let (link, heard) = stage.arrive(tight);
        assert!(!stage.server.is_open(link));
        let refused = |packet: &Packet<'_>| {
            matches!(packet, Packet::Connack(Connack { reason: ReasonCode::PacketTooLarge, .. }))
        };
        assert_eq!(heard.len(), usize::from(limit >= 5));
        assert!(heard.iter().all(refused));
    }
    assert_eq!(stage.hear(watcher), [], "a client that was not let in has no will");
    assert_eq!(stage.server.brokers[0].totals().sessions, 1);
}

/// [MQTT-3.2.2-19] [MQTT-3.2.2-20]
#[test]
fn a_refusal_is_no_larger_than_the_client_allows() {
    let mut stage = Stage::with(Config { sessions_max: 1, ..Config::default() });
    stage.client("first", V5);
    for limit in [None, Some(45), Some(20)] {
        let (link, connack) = stage.connack(Connect { maximum_packet_size: limit, ..clean("c", V5) });
        assert_eq!(connack.reason, ReasonCode::ServerBusy);
        assert!(!stage.server.is_open(link));
        let size = Packet::Connack(connack).encoded_len(V5);
        assert!(size <= limit.unwrap_or(u32::MAX) as usize, "{size} bytes where {limit:?} are allowed");
    }
}

/// [MQTT-3.1.2-26] [MQTT-3.1.2-27] [MQTT-3.3.2-11]
#[test]
fn a_client_gets_no_topic_alias_that_it_did_not_allow() {
    for maximum in [None, Some(0), Some(5)] {
        let mut stage = Stage::new();
        let link = stage.connect(Connect { topic_alias_maximum: maximum, ..clean("c", V5) });
        stage.subscribe(link, "#", AtMostOnce);
        for number in 0..10 {
            stage.somebody_publishes(&format!("t{}", number % 7), "x", AtMostOnce);
        }
        let heard = stage.messages(link);
        assert_eq!(heard.len(), 10);
        assert!(heard.iter().all(|m| m.properties.topic_alias.unwrap_or(0) <= maximum.unwrap_or(0)));
    }
}

/// [MQTT-3.1.2-28]
#[test]
fn response_information_is_given_only_when_asked_for() {
    let mut stage = Stage::new();
    let (_, connack) = stage.connack(clean("c", V5));
    assert_eq!(connack.response_information, None);
    let (_, connack) = stage.connack(Connect { request_response_information: true, ..clean("d", V5) });
    assert!(connack.response_information.is_some());
}

/// [MQTT-3.1.2-29]
#[test]
fn without_problem_information_no_answer_has_words() {
    let mut stage = Stage::new();
    stage.server.host.denied.insert((true, "closed".to_owned()));
    stage.server.host.denied.insert((false, "closed".to_owned()));
    let link = stage.connect(Connect { request_problem_information: false, ..clean("c", V5) });
    stage.say(link, Packet::Publish(message("closed", b"", AtLeastOnce, 1)));
    stage.say(link, Packet::Publish(message("closed", b"", ExactlyOnce, 2)));
    stage.say(link, Packet::Pubrel(ack(9)));
    stage.say_subscribe(link, 3, &[("closed", options(AtMostOnce))], None);
    let heard = stage.hear(link);
    assert_eq!(heard.len(), 4);
    for packet in heard {
        match packet {
            Packet::Puback(ack) | Packet::Pubrec(ack) | Packet::Pubcomp(ack) => {
                assert!(ack.reason.is_error());
                assert_eq!((ack.reason_string, ack.user_properties.is_empty()), (None, true));
            }
            Packet::Suback(suback) => {
                assert_eq!((suback.reason_string, suback.user_properties.is_empty()), (None, true));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// [MQTT-3.1.3-1] [MQTT-3.1.3-3] [3.1.1 MQTT-3.1.3-1] [3.1.1 MQTT-3.1.3-3]
#[test]
fn the_payload_fields_are_read_in_their_order() {
    let mut stage = Stage::new();
    let watcher = stage.client("watcher", V5);
    stage.subscribe(watcher, "wt", AtMostOnce);
    let link = stage.open(V311);
    stage.say_bytes(
        link,
        b"\x10\x20\x00\x04MQTT\x04\xC6\x00\x3C\x00\x02id\x00\x02wt\x00\x03wil\x00\x04user\x00\x01p",
    );
    assert!(matches!(stage.hear_one(link), Packet::Connack(Connack { reason: ReasonCode::Success, .. })));
    stage.server.cut(link);
    assert_eq!(stage.payloads(watcher), ["wil"]);
    // Without a client identifier, even an empty one, nothing is whole.
    refused_malformed(b"\x10\x0A\x00\x04MQTT\x04\x02\x00\x3C");
    refused_malformed(b"\x10\x0B\x00\x04MQTT\x05\x02\x00\x3C\x00");
}

/// [MQTT-3.1.3-2] [3.1.1 MQTT-3.1.3-2]
#[test]
fn the_client_identifier_names_the_session() {
    for version in BOTH {
        let mut stage = Stage::new();
        let one = stage.connect(staying("one", version));
        stage.subscribe(one, "t", AtLeastOnce);
        stage.server.cut(one);
        let (_, other) = stage.connack(staying("two", version));
        assert!(!other.session_present);
        let (_, same) = stage.connack(staying("one", version));
        assert!(same.session_present);
    }
}

/// [MQTT-3.1.3-4] [MQTT-3.1.3-12] [3.1.1 MQTT-3.1.3-4] [3.1.1 MQTT-3.1.3-11]
#[test]
fn client_identifier_and_user_name_must_be_utf8() {
    refused_malformed(b"\x10\x0D\x00\x04MQTT\x04\x02\x00\x3C\x00\x01\xFF");
    refused_malformed(b"\x10\x0E\x00\x04MQTT\x05\x02\x00\x3C\x00\x00\x01\xFF");
    refused_malformed(b"\x10\x10\x00\x04MQTT\x04\x82\x00\x3C\x00\x01c\x00\x01\xFF");
    refused_malformed(b"\x10\x11\x00\x04MQTT\x05\x82\x00\x3C\x00\x00\x01c\x00\x01\xFF");
}

/// [MQTT-3.1.3-5] [3.1.1 MQTT-3.1.3-5]
#[test]
fn every_plain_client_identifier_is_allowed() {
    for version in BOTH {
        let mut stage = Stage::new();
        for id in ["0", "Z", "0123456789abcdefghijklm", "nopqrstuvwxyzABCDEFGHIJ", "KLMNOPQRSTUVWXYZ"] {
            stage.client(id, version);
        }
    }
}

/// [MQTT-3.1.3-6] [MQTT-3.1.3-7] [MQTT-3.2.2-16] [3.1.1 MQTT-3.1.3-6]
#[test]
fn an_empty_client_identifier_is_replaced_by_one_of_the_servers() {
    let mut stage = Stage::new();
    let (_, first) = stage.connack(clean("", V5));
    let (_, second) = stage.connack(clean("", V5));
    let (first, second) = (first.assigned_client_id.unwrap(), second.assigned_client_id.unwrap());
    assert_ne!(first, second);
    // It is the client's as if it had chosen it: a session can be resumed by it.
    let (link, third) = stage.connack(Connect { session_expiry_s: Some(60), ..clean("", V5) });
    let third = third.assigned_client_id.unwrap();
    stage.server.cut(link);
    let (_, back) = stage.connack(staying(third, V5));
    assert!(back.session_present);
    assert_eq!(back.assigned_client_id, None);
    let before = stage.server.brokers[0].totals().sessions;
    stage.client("", V311);
    stage.client("", V311);
    assert_eq!(stage.server.brokers[0].totals().sessions, before + 2);
}

/// [3.1.1 MQTT-3.1.3-7] [3.1.1 MQTT-3.1.3-8] [3.1.1 MQTT-3.1.3-9] [MQTT-3.1.3-8]
#[test]
fn an_empty_client_identifier_cannot_keep_a_session_before_version_5() {
    let mut stage = Stage::new();
    let (link, connack) = stage.connack(staying("", V311));
    assert_eq!(connack.reason, ReasonCode::ClientIdentifierNotValid);
    assert!(!stage.server.is_open(link));
}

/// [MQTT-3.1.4-2]
#[test]
fn a_client_that_may_not_connect_is_refused_and_cut() {
    for version in BOTH {
        let mut stage = Stage::new();
        stage.server.host.denied.insert((true, "secret".to_owned()));
        let (link, connack) =
            stage.connack(Connect { will: Some(will("secret", b"")), ..clean("c", version) });
        assert_eq!(connack.reason, ReasonCode::NotAuthorized);
        assert!(!stage.server.is_open(link));
    }
}

/// [MQTT-3.1.4-3] [3.1.1 MQTT-3.1.4-2]
#[test]
fn a_newer_connection_of_the_same_client_cuts_the_older() {
    for version in BOTH {
        let mut stage = Stage::new();
        let older = stage.client("c", version);
        let newer = stage.client("c", version);
        assert_eq!(stage.server.close_reason(older), Some(Close::TakenOver));
        assert!(stage.server.is_open(newer));
        let heard = stage.hear(older);
        match version {
            V311 => assert_eq!(heard, []),
            V5 => assert!(matches!(
                heard[..],
                [Packet::Disconnect(Disconnect { reason: ReasonCode::SessionTakenOver, .. })]
            )),
        }
    }
}

/// [MQTT-3.1.4-5] [3.1.1 MQTT-3.1.4-4]
#[test]
fn a_good_connect_is_answered_with_success() {
    for version in BOTH {
        let mut stage = Stage::new();
        let (link, connack) = stage.connack(clean("c", version));
        assert_eq!(connack.reason, ReasonCode::Success);
        assert!(stage.server.is_open(link));
    }
}

/// [MQTT-3.1.4-6] [3.1.1 MQTT-3.1.4-5]
#[test]
fn what_follows_a_refused_connect_is_not_looked_at() {
    let mut stage = Stage::new();
    let watcher = stage.client("watcher", V5);
    stage.subscribe(watcher, "#", AtMostOnce);
    let link = stage.open(V311);
    let mut bytes = Vec::new();
    Packet::Connect(staying("", V311)).encode(V311, &mut bytes);
    Packet::Publish(message("t", b"x", AtMostOnce, 0)).encode(V311, &mut bytes);
    stage.say_bytes(link, &bytes);
    stage.say_bytes(link, b"\xC0\x00");
    assert!(matches!(stage.hear_one(link), Packet::Connack(_)));
    assert_eq!(stage.hear(watcher), []);
}

/// [MQTT-4.12.0-1] [MQTT-4.12.0-4]
#[test]
fn an_authentication_method_that_we_do_not_offer_is_refused() {
    let mut stage = Stage::new();
    let (link, connack) =
        stage.connack(Connect { authentication_method: Some("SCRAM-SHA-256"), ..clean("c", V5) });
    assert_eq!(connack.reason, ReasonCode::BadAuthenticationMethod);
    assert!(!stage.server.is_open(link));
}
