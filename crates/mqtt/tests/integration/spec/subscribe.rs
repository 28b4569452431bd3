//! Sections 3.8 and 3.9: SUBSCRIBE and SUBACK.

use crate::spec::support::*;

/// [MQTT-3.8.3-2] [3.1.1 MQTT-3.8.3-3]
#[test]
fn a_subscribe_without_a_filter_closes_the_connection() {
    for (version, bytes) in [(V311, &b"\x82\x02\x00\x01"[..]), (V5, b"\x82\x03\x00\x01\x00")] {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, ReasonCode::ProtocolError);
    }
}

/// [3.1.1 MQTT-3.8.3-2]
#[test]
fn filters_with_wildcards_are_supported() {
    let mut stage = Stage::new();
    let link = stage.client("c", V311);
    assert_eq!(stage.subscribe(link, "a/+/c", AtMostOnce), 0);
    assert_eq!(stage.subscribe(link, "b/#", AtMostOnce), 0);
    stage.somebody_publishes("a/b/c", "one", AtMostOnce);
    stage.somebody_publishes("b/x/y", "two", AtMostOnce);
    assert_eq!(stage.payloads(link), ["one", "two"]);
}

/// [MQTT-3.8.3-3]
#[test]
fn no_local_keeps_a_clients_own_messages_from_it() {
    let mut stage = Stage::new();
    let link = stage.connect(staying("c", V5));
    let deaf = SubscriptionOptions { no_local: true, ..options(AtLeastOnce) };
    stage.subscribe_as(link, "t", deaf, None);
    stage.publish(link, "t", "own");
    stage.somebody_publishes("t", "others", AtMostOnce);
    assert_eq!(stage.payloads(link), ["others"]);
    // The rule goes by the client, not by the connection.
    stage.server.cut(link);
    let link = stage.connect(staying("c", V5));
    stage.publish(link, "t", "own");
    assert_eq!(stage.hear(link), []);
}

/// [MQTT-3.8.3-4]
#[test]
fn no_local_on_a_shared_subscription_closes_the_connection() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    let deaf = SubscriptionOptions { no_local: true, ..options(AtMostOnce) };
    stage.say_subscribe(link, 1, &[("$share/g/t", deaf)], None);
    stage.assert_refused(link, ReasonCode::ProtocolError);
}

/// [MQTT-3.8.3-5] [3.1.1 MQTT-3.8.3-4]
#[test]
fn reserved_subscription_options_close_the_connection() {
    for (version, option, reason) in [
        (V311, 0x04, ReasonCode::MalformedPacket),
        (V311, 0x80, ReasonCode::MalformedPacket),
        (V311, 0x03, ReasonCode::ProtocolError),
        (V5, 0x40, ReasonCode::MalformedPacket),
        (V5, 0x80, ReasonCode::MalformedPacket),
        (V5, 0x03, ReasonCode::ProtocolError),
        (V5, 0x30, ReasonCode::ProtocolError),
    ] {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        match version {
            V311 => stage.say_bytes(link, &[0x82, 6, 0, 1, 0, 1, b't', option]),
            V5 => stage.say_bytes(link, &[0x82, 7, 0, 1, 0, 0, 1, b't', option]),
        }
        stage.assert_refused(link, reason);
    }
}

/// [MQTT-3.8.4-3] [MQTT-3.8.4-4] [3.1.1 MQTT-3.8.4-3]
#[test]
fn the_same_filter_again_replaces_the_subscription_and_sends_retained_messages_again() {
    for version in BOTH {
        let mut stage = Stage::new();
        let source = stage.client("source", version);
        stage.retain(source, "t", "kept");
        let link = stage.client("c", version);
        assert_eq!(stage.subscribe_as(link, "t", options(AtMostOnce), None).1.len(), 1);
        let (reason, retained) = stage.subscribe_as(link, "t", options(AtLeastOnce), None);
        assert_eq!((reason, retained.len()), (1, 1));
        stage.somebody_publishes("t", "x", ExactlyOnce);
        let heard = stage.messages(link);
        assert_eq!(heard.iter().map(|m| m.qos).collect::<Vec<_>>(), [AtLeastOnce]);
        assert_eq!(stage.server.brokers[0].totals().subscriptions, 1);
    }
}

/// [MQTT-3.8.4-5] [MQTT-3.8.4-6] [MQTT-3.9.3-1] [MQTT-3.9.3-2] [3.1.1 MQTT-3.8.4-4] [3.1.1 MQTT-3.8.4-5]
/// [3.1.1 MQTT-3.9.3-1] [3.1.1 MQTT-3.9.3-2]
#[test]
fn many_filters_are_answered_one_by_one_in_one_suback() {
    for version in BOTH {
        let mut stage = Stage::new();
        stage.server.host.denied.insert((false, "closed".to_owned()));
        let link = stage.client("c", version);
        let rows = [
            ("a", options(AtLeastOnce)),
            ("closed", options(AtMostOnce)),
            ("b/#", options(ExactlyOnce)),
            ("a", options(AtMostOnce)),
        ];
        stage.say_subscribe(link, 3, &rows, None);
        let Packet::Suback(suback) = stage.hear_one(link) else { panic!("no SUBACK") };
        assert_eq!(suback.reasons, if version == V5 { [1, 0x87, 2, 0] } else { [1, 0x80, 2, 0] });
        stage.somebody_publishes("closed", "no", AtMostOnce);
        stage.somebody_publishes("a", "once", ExactlyOnce);
        stage.somebody_publishes("b/c", "twice", ExactlyOnce);
        let heard = stage.messages(link);
        assert_eq!(
            heard.iter().map(|m| (m.topic, m.qos)).collect::<Vec<_>>(),
            [("a", AtMostOnce), ("b/c", ExactlyOnce)]
        );
    }
}

/// [MQTT-3.8.4-7] [MQTT-3.8.4-8] [3.1.1 MQTT-3.8.4-6]
#[test]
fn messages_go_out_at_the_lower_of_published_and_granted_qos() {
    for version in BOTH {
        let mut stage = Stage::new();
        for granted in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
            let link = stage.client(&format!("c{}", granted as u8), version);
            assert_eq!(stage.subscribe(link, "t", granted), granted as u8);
            for published in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
                stage.somebody_publishes("t", "x", published);
                let heard = stage.messages(link);
                assert_eq!(heard.iter().map(|m| m.qos).collect::<Vec<_>>(), [granted.min(published)]);
            }
        }
    }
}
