//! Section 3.2: CONNACK.

use crate::spec::support::*;

/// [MQTT-3.2.0-1] [MQTT-3.2.0-2] [3.1.1 MQTT-3.2.0-1]
#[test]
fn connack_comes_first_and_once() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", AtLeastOnce);
        stage.server.cut(link);
        stage.somebody_publishes("t", "waiting", AtLeastOnce);
        let link = stage.open(version);
        let mut bytes = Vec::new();
        Packet::Connect(staying("c", version)).encode(version, &mut bytes);
        Packet::Pingreq.encode(version, &mut bytes);
        stage.say_bytes(link, &bytes);
        let heard = stage.hear(link);
        assert!(matches!(heard[..], [Packet::Connack(_), Packet::Publish(_), Packet::Pingresp]), "{heard:?}");
    }
}

/// [MQTT-3.2.2-1] [MQTT-3.2.2-8]
#[test]
fn the_acknowledge_flags_are_session_present_alone() {
    for (version, first) in [(V311, &b"\x20\x02\x00\x00"[..]), (V5, b"\x20")] {
        let mut stage = Stage::new();
        let link = stage.open(version);
        stage.say(link, Packet::Connect(staying("c", version)));
        let bytes = stage.server.take_bytes(link);
        assert!(bytes.starts_with(first));
        assert_eq!(bytes[2..4], [0, 0]);
        stage.server.cut(link);
        let link = stage.open(version);
        stage.say(link, Packet::Connect(staying("c", version)));
        assert_eq!(stage.server.take_bytes(link)[2..4], [1, 0]);
    }
}

/// [MQTT-3.2.2-6] [MQTT-3.2.2-7] [MQTT-4.13.2-1] [3.1.1 MQTT-3.2.2-4] [3.1.1 MQTT-3.2.2-5]
#[test]
fn a_refusal_says_no_session_and_closes() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.server.cut(link);
        stage.server.host.denied.insert((true, "secret".to_owned()));
        let (link, connack) =
            stage.connack(Connect { will: Some(will("secret", b"")), ..staying("c", version) });
        assert_eq!((connack.reason, connack.session_present), (ReasonCode::NotAuthorized, false));
        assert!(!stage.server.is_open(link));
    }
}

/// [MQTT-3.2.2-15]
#[test]
fn a_packet_larger_than_announced_closes_the_connection() {
    let mut stage = Stage::with(Config { packet_bytes_max: 100, ..Config::default() });
    let (link, connack) = stage.connack(clean("c", V5));
    assert_eq!(connack.maximum_packet_size, Some(100));
    stage.publish(link, "t", &"x".repeat(94));
    assert!(stage.server.is_open(link));
    stage.publish(link, "t", &"x".repeat(95));
    stage.assert_refused(link, ReasonCode::PacketTooLarge);
}

/// [MQTT-3.2.2-17] [MQTT-3.2.2-18] [MQTT-3.3.2-9]
#[test]
fn a_topic_alias_above_the_announced_maximum_closes_the_connection() {
    for maximum in [0, 3] {
        let mut stage = Stage::with(Config { topic_alias_maximum: maximum, ..Config::default() });
        let (link, connack) = stage.connack(clean("c", V5));
        assert_eq!(connack.topic_alias_maximum.unwrap_or(0), maximum);
        let properties = PublishProperties { topic_alias: Some(maximum + 1), ..Default::default() };
        stage.say(link, Packet::Publish(Publish { properties, ..message("t", b"x", AtMostOnce, 0) }));
        stage.assert_refused(link, ReasonCode::TopicAliasInvalid);
    }
}

/// [MQTT-3.2.2-22]
#[test]
fn the_clients_keep_alive_holds_unless_the_server_names_another() {
    let mut stage = Stage::with(Config { keep_alive_s_max: 100, ..Config::default() });
    let (link, connack) = stage.connack(Connect { keep_alive_s: 45, ..clean("c", V5) });
    assert_eq!(connack.server_keep_alive_s, None);
    let key = stage.server.session(link).unwrap();
    assert_eq!(stage.server.brokers[0].keep_alive_s(key), 45);
    let (_, connack) = stage.connack(Connect { keep_alive_s: 1000, ..clean("d", V5) });
    assert!(connack.server_keep_alive_s.is_some_and(|s| (1..=100).contains(&s)));
}
