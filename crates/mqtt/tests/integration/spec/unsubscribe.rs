//! Sections 3.10 and 3.11: UNSUBSCRIBE and UNSUBACK.

use crate::spec::support::*;

/// [MQTT-3.10.3-2] [3.1.1 MQTT-3.10.3-2]
#[test]
fn an_unsubscribe_without_a_filter_closes_the_connection() {
    for (version, bytes) in [(V311, &b"\xA2\x02\x00\x01"[..]), (V5, b"\xA2\x03\x00\x01\x00")] {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_bytes(link, bytes);
        stage.assert_refused(link, ReasonCode::ProtocolError);
    }
}

/// [MQTT-4.7.3-1] [3.1.1 MQTT-4.7.3-1]
#[test]
fn an_unsubscribe_of_an_empty_filter_is_refused() {
    let bytes = [(V311, &b"\xA2\x04\x00\x01\x00\x00"[..]), (V5, b"\xA2\x05\x00\x01\x00\x00\x00")];
    for (version, bytes) in bytes {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "t", AtMostOnce);
        stage.say_bytes(link, bytes);
        if version == V311 {
            stage.assert_refused(link, ReasonCode::MalformedPacket);
            continue;
        }
        let Packet::Unsuback(unsuback) = stage.hear_one(link) else { panic!("no UNSUBACK") };
        assert_eq!(unsuback.reasons, [ReasonCode::TopicFilterInvalid as u8]);
    }
}

/// [MQTT-3.10.4-1] [MQTT-3.10.4-2] [3.1.1 MQTT-3.10.4-1] [3.1.1 MQTT-3.10.4-2]
#[test]
fn only_the_very_same_filter_is_deleted() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "a/+", AtMostOnce);
        for other in ["a/b", "A/+", "a/#", "a", "a/+/"] {
            stage.unsubscribe(link, 1, &[other]);
        }
        stage.somebody_publishes("a/b", "still", AtMostOnce);
        assert_eq!(stage.payloads(link), ["still"]);
        stage.unsubscribe(link, 1, &["a/+"]);
        stage.somebody_publishes("a/b", "gone", AtMostOnce);
        assert_eq!(stage.hear(link), []);
    }
}

/// [MQTT-3.10.4-3] [3.1.1 MQTT-3.10.4-3]
#[test]
fn deliveries_that_were_begun_are_finished() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", ExactlyOnce);
        stage.somebody_publishes("t", "one", AtLeastOnce);
        stage.somebody_publishes("t", "two", ExactlyOnce);
        let sent = stage.messages(link);
        stage.unsubscribe(link, 1, &["t"]);
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        assert_eq!(stage.payloads(link), ["one", "two"]);
        stage.say(link, Packet::Puback(ack(sent[0].packet_id)));
        stage.say(link, Packet::Pubrec(ack(sent[1].packet_id)));
        assert!(matches!(stage.hear_one(link), Packet::Pubrel(_)));
    }
}

/// [MQTT-3.10.4-6] [MQTT-3.11.3-1] [MQTT-3.11.3-2] [3.1.1 MQTT-3.10.4-6]
#[test]
fn many_filters_are_answered_one_by_one_in_one_unsuback() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        for filter in ["a", "b", "c"] {
            stage.subscribe(link, filter, AtMostOnce);
        }
        let unsuback = stage.unsubscribe(link, 1, &["a", "nothing", "c"]);
        assert_eq!(unsuback.reasons, if version == V5 { &[0, 0x11, 0][..] } else { &[] });
        for topic in ["a", "b", "c"] {
            stage.somebody_publishes(topic, topic, AtMostOnce);
        }
        assert_eq!(stage.payloads(link), ["b"]);
    }
}
