//! Sections 3.12 to 3.15, 4.12 and 4.13: PINGREQ, DISCONNECT, AUTH, errors.

use crate::spec::support::*;

/// [MQTT-3.12.4-1] [3.1.1 MQTT-3.12.4-1]
#[test]
fn a_ping_is_answered() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say(link, Packet::Pingreq);
        assert_eq!(stage.server.take_bytes(link), b"\xD0\x00");
    }
}

/// [MQTT-3.14.0-1]
#[test]
fn no_disconnect_is_sent_before_a_connack() {
    for bytes in [
        &b"\x10\x0E\x00\x04MQTT\x05\x03\x00\x3C\x00\x00\x01c"[..],
        b"\x10\x0F\x00\x04MQTT\x05\x02\x00\x3C\x02\x17\x02\x00\x00",
        b"\xC0\x00",
        b"\xFF\x00",
    ] {
        let mut stage = Stage::new();
        let link = stage.open(V5);
        stage.say_bytes(link, bytes);
        assert!(!stage.server.is_open(link));
        assert!(stage.hear(link).iter().all(|packet| matches!(packet, Packet::Connack(_))));
    }
}

/// [MQTT-3.14.2-2]
#[test]
fn the_servers_disconnect_names_no_session_expiry() {
    let mut stage = Stage::new();
    let link = stage.connect(staying("c", V5));
    let Stage { server, .. } = &mut stage;
    let key = server.session(link).unwrap();
    assert!(server.brokers[0].move_away(&mut server.host, key, Some("other:1883")));
    let Packet::Disconnect(disconnect) = stage.hear_one(link) else { panic!("no DISCONNECT") };
    assert_eq!(disconnect.session_expiry_s, None);
    assert_eq!(
        (disconnect.reason, disconnect.server_reference),
        (ReasonCode::UseAnotherServer, Some("other:1883"))
    );
}

/// [MQTT-3.14.4-1] [MQTT-3.14.4-2]
#[test]
fn after_a_disconnect_nothing_more_is_said_or_heard() {
    for version in BOTH {
        // The client's.
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", AtLeastOnce);
        let mut bytes = Vec::new();
        Packet::Disconnect(Disconnect::default()).encode(version, &mut bytes);
        Packet::Pingreq.encode(version, &mut bytes);
        stage.say_bytes(link, &bytes);
        stage.somebody_publishes("t", "x", AtLeastOnce);
        assert_eq!(stage.hear(link), []);
        assert!(!stage.server.is_open(link));
        // The server's.
        let link = stage.connect(clean("d", version));
        stage.subscribe(link, "t", AtMostOnce);
        stage.say_bytes(link, b"\xC0\x01\x00\xC0\x00");
        stage.somebody_publishes("t", "x", AtLeastOnce);
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
}

/// [3.1.1 MQTT-3.14.1-1]
#[test]
fn reserved_bits_of_a_disconnect_close_the_connection() {
    let mut stage = Stage::new();
    let link = stage.client("c", V311);
    stage.say_bytes(link, b"\xE4\x00");
    stage.assert_refused(link, ReasonCode::MalformedPacket);
}

/// [MQTT-4.12.0-6] [MQTT-4.12.0-7]
#[test]
fn an_auth_without_a_method_agreed_upon_closes_the_connection() {
    let mut stage = Stage::new();
    let (link, connack) = stage.connack(clean("c", V5));
    assert_eq!(connack.authentication_method, None);
    let auth = Auth { reason: ReasonCode::ReAuthenticate, method: Some("m"), ..Auth::default() };
    stage.say(link, Packet::Auth(auth));
    stage.assert_refused(link, ReasonCode::ProtocolError);
    let link = stage.client("d", V311);
    stage.say_bytes(link, b"\xF0\x00");
    stage.assert_refused(link, ReasonCode::ProtocolError);
}

/// [MQTT-4.13.1-1] [3.1.1 MQTT-4.8.0-1]
#[test]
fn a_broken_packet_closes_the_connection_with_its_reason() {
    for (bytes, reason) in [
        // Packets that only a server sends.
        (&b"\x20\x02\x00\x00"[..], ReasonCode::ProtocolError),
        (b"\x90\x03\x00\x01\x00", ReasonCode::ProtocolError),
        (b"\xB0\x02\x00\x01", ReasonCode::ProtocolError),
        (b"\xD0\x00", ReasonCode::ProtocolError),
        // Too short, too long.
        (b"\x30\x01\x00", ReasonCode::MalformedPacket),
        (b"\x40\x01\x00", ReasonCode::MalformedPacket),
        (b"\xC0\x01\x00", ReasonCode::MalformedPacket),
        // No such packet.
        (b"\x0F\x00", ReasonCode::MalformedPacket),
    ] {
        for version in BOTH {
            let mut stage = Stage::new();
            let link = stage.client("c", version);
            stage.say_bytes(link, bytes);
            stage.assert_refused(link, reason);
        }
    }
}

/// [MQTT-4.13.1-1]
#[test]
fn properties_that_break_a_rule_close_the_connection() {
    for (bytes, reason) in [
        // Unknown, of another packet, twice, with a value that is not allowed.
        (&b"\x30\x06\x00\x01t\x02\x05\x00"[..], ReasonCode::MalformedPacket),
        (b"\x30\x09\x00\x01t\x05\x11\x00\x00\x00\x01", ReasonCode::ProtocolError),
        (b"\x30\x08\x00\x01t\x04\x01\x00\x01\x00", ReasonCode::ProtocolError),
        (b"\x30\x06\x00\x01t\x02\x01\x02", ReasonCode::ProtocolError),
        (b"\x82\x09\x00\x01\x02\x0B\x00\x00\x01t\x00", ReasonCode::ProtocolError),
        (b"\xE0\x04\x00\x02\x21\x00", ReasonCode::ProtocolError),
    ] {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, reason);
    }
}
