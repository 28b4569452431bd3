//! Section 4.8.2: shared subscriptions.

use crate::spec::support::*;

/// [MQTT-4.8.2-1] [MQTT-4.8.2-2]
#[test]
fn a_share_needs_a_name_and_a_filter() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    for bad in ["$share//t", "$share/g", "$share/g/", "$share/g+/t", "$share/#/t", "$share/g/a#"] {
        assert_eq!(stage.subscribe(link, bad, AtMostOnce), ReasonCode::TopicFilterInvalid as u8, "{bad}");
    }
    assert_eq!(stage.subscribe(link, "$share/g/t/+", AtMostOnce), 0);
    stage.somebody_publishes("t/x", "shared", AtMostOnce);
    assert_eq!(stage.payloads(link), ["shared"]);
}

/// [MQTT-4.8.2-3]
#[test]
fn each_member_gets_messages_at_its_own_qos() {
    let mut stage = Stage::new();
    let members: Vec<(Link, QoS)> = [AtMostOnce, AtLeastOnce, ExactlyOnce]
        .into_iter()
        .map(|qos| {
            let link = stage.client(&format!("m{}", qos as u8), V5);
            assert_eq!(stage.subscribe(link, "$share/g/t", qos), qos as u8);
            (link, qos)
        })
        .collect();
    for _ in 0..6 {
        stage.somebody_publishes("t", "x", ExactlyOnce);
    }
    let mut total = 0;
    for (link, qos) in members {
        let heard = stage.messages(link);
        total += heard.len();
        assert!(!heard.is_empty() && heard.iter().all(|m| m.qos == qos));
    }
    assert_eq!(total, 6);
}

/// [MQTT-4.8.2-4] [MQTT-4.8.2-5]
#[test]
fn a_qos_2_delivery_belongs_to_the_member_that_it_was_sent_to() {
    for comes_back in [true, false] {
        let mut stage = Stage::new();
        let first = stage.connect(staying("first", V5));
        stage.subscribe(first, "$share/g/t", ExactlyOnce);
        stage.somebody_publishes("t", "x", ExactlyOnce);
        let sent = stage.messages(first).remove(0);
        let second = stage.client("second", V5);
        stage.subscribe(second, "$share/g/t", ExactlyOnce);
        stage.server.cut(first);
        if comes_back {
            let first = stage.connect_and_keep(staying("first", V5));
            let again = stage.messages(first).remove(0);
            assert_eq!((again.packet_id, again.dup), (sent.packet_id, true));
        } else {
            stage.server.advance_ms(600_000);
            assert!(!stage.connack(staying("first", V5)).1.session_present);
        }
        assert_eq!(stage.hear(second), []);
    }
}

/// [MQTT-4.8.2-6]
#[test]
fn a_message_that_a_member_refuses_goes_to_no_other() {
    for qos in [AtLeastOnce, ExactlyOnce] {
        let mut stage = Stage::new();
        let members = ["one", "two"].map(|name| {
            let link = stage.client(name, V5);
            stage.subscribe(link, "$share/g/t", qos);
            link
        });
        stage.somebody_publishes("t", "x", qos);
        for (at, member) in members.into_iter().enumerate() {
            for message in stage.messages(member) {
                let no = Ack { reason: ReasonCode::UnspecifiedError, ..ack(message.packet_id) };
                stage.say(member, if qos == AtLeastOnce { Packet::Puback(no) } else { Packet::Pubrec(no) });
                assert_eq!(stage.hear(members[1 - at]), []);
            }
        }
        assert_eq!((stage.hear(members[0]), stage.hear(members[1])), (vec![], vec![]));
    }
}
