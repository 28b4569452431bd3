//! Sections 4.1, 4.5 and 4.6: sessions, receipt and order of messages.

use crate::spec::support::*;

/// [MQTT-4.1.0-1] [3.1.1 MQTT-4.1.0-1] [3.1.1 MQTT-4.1.0-2]
#[test]
fn a_session_lasts_while_its_connection_is_open() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link =
            stage.connect(Connect { session_expiry_s: (version == V5).then_some(5), ..clean("c", version) });
        stage.subscribe(link, "t", AtLeastOnce);
        stage.server.advance_ms(30 * 24 * 3600 * 1000);
        stage.somebody_publishes("t", "x", AtLeastOnce);
        assert_eq!(stage.payloads(link), ["x"]);
    }
}

/// [MQTT-4.1.0-2]
#[test]
fn a_session_ends_when_its_expiry_interval_has_passed() {
    let mut stage = Stage::new();
    for (wait_ms, present) in [(599_999, true), (600_000, false)] {
        let link = stage.connect(staying("c", V5));
        stage.subscribe(link, "t", AtLeastOnce);
        stage.server.cut(link);
        stage.server.advance_ms(wait_ms);
        let (link, connack) = stage.connack(staying("c", V5));
        assert_eq!(connack.session_present, present);
        stage.server.cut(link);
    }
    // Zero ends with the connection; DISCONNECT may change the interval.
    let link = stage.client("zero", V5);
    stage.server.cut(link);
    assert!(!stage.connack(staying("zero", V5)).1.session_present);
    let link = stage.connect(staying("shorter", V5));
    let goodbye = Disconnect { session_expiry_s: Some(1), ..Disconnect::default() };
    stage.say(link, Packet::Disconnect(goodbye));
    stage.server.advance_ms(1_000);
    assert!(!stage.connack(staying("shorter", V5)).1.session_present);
}

/// [MQTT-4.5.0-1] [3.1.1 MQTT-4.5.0-1]
#[test]
fn a_message_is_kept_for_every_session_that_subscribed() {
    for version in BOTH {
        let mut stage = Stage::new();
        let names = ["one", "two", "three"];
        for name in names {
            let link = stage.connect(staying(name, version));
            stage.subscribe(link, "t/#", AtLeastOnce);
            stage.server.cut(link);
        }
        stage.somebody_publishes("t/x", "x", AtLeastOnce);
        for name in names {
            let link = stage.connect_and_keep(staying(name, version));
            assert_eq!(stage.payloads(link), ["x"]);
        }
    }
}

/// [MQTT-4.6.0-5] [MQTT-4.6.0-6] [3.1.1 MQTT-4.6.0-5] [3.1.1 MQTT-4.6.0-6]
#[test]
fn messages_of_one_client_keep_their_order() {
    for version in BOTH {
        for qos in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
            let mut stage = Stage::new();
            let link = stage
                .connect(Connect { receive_maximum: (version == V5).then_some(3), ..staying("c", version) });
            stage.subscribe(link, "t", qos);
            let source = stage.client("source", V5);
            let mut expected = Vec::new();
            let mut seen = Vec::new();
            for number in 0..30_u16 {
                let payload = number.to_string();
                stage.deliver(source, "t", &payload, qos);
                expected.push(payload);
                // Acknowledge now and then, so that windows fill and empty.
                if number % 4 == 3 {
                    take_and_acknowledge(&mut stage, link, &mut seen);
                }
            }
            while take_and_acknowledge(&mut stage, link, &mut seen) {}
            assert_eq!(seen, expected, "{version:?} {qos:?}");
        }
    }
}

fn take_and_acknowledge(stage: &mut Stage, link: Link, seen: &mut Vec<String>) -> bool {
    let heard = stage.messages(link);
    for message in &heard {
        seen.push(String::from_utf8(message.payload.to_vec()).unwrap());
    }
    for message in &heard {
        match message.qos {
            AtMostOnce => {}
            AtLeastOnce => stage.say(link, Packet::Puback(ack(message.packet_id))),
            ExactlyOnce => {
                stage.say(link, Packet::Pubrec(ack(message.packet_id)));
                stage.say(link, Packet::Pubcomp(ack(message.packet_id)));
            }
        }
    }
    !heard.is_empty()
}

/// [MQTT-4.6.0-5] [3.1.1 MQTT-4.6.0-6]
#[test]
fn what_is_sent_again_keeps_its_order() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", AtLeastOnce);
        for payload in ["a", "b", "c", "d"] {
            stage.somebody_publishes("t", payload, AtLeastOnce);
        }
        let second = stage.messages(link)[1].packet_id;
        stage.say(link, Packet::Puback(ack(second)));
        stage.server.cut(link);
        stage.somebody_publishes("t", "e", AtLeastOnce);
        let link = stage.connect_and_keep(staying("c", version));
        assert_eq!(stage.payloads(link), ["a", "c", "d", "e"]);
    }
}

/// [MQTT-4.4.0-1] [MQTT-3.3.4-9]
#[test]
fn a_client_back_with_a_smaller_window_gets_everything_in_turn() {
    let mut stage = Stage::new();
    let link = stage.connect(staying("c", V5));
    stage.subscribe(link, "t", AtLeastOnce);
    for payload in ["a", "b", "c", "d"] {
        stage.somebody_publishes("t", payload, AtLeastOnce);
    }
    let first = stage.messages(link);
    stage.server.cut(link);
    let link = stage.connect_and_keep(Connect { receive_maximum: Some(1), ..staying("c", V5) });
    for sent in first {
        let again = stage.messages(link);
        assert_eq!(
            again.iter().map(|m| (m.packet_id, m.payload, m.dup)).collect::<Vec<_>>(),
            [(sent.packet_id, sent.payload, true)]
        );
        stage.say(link, Packet::Puback(ack(sent.packet_id)));
    }
    assert_eq!(stage.hear(link), []);
    assert_eq!(stage.server.brokers[0].totals().deliveries, 0);
}
