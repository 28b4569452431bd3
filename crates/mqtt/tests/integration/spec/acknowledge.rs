//! Sections 3.4 to 3.7, 4.3 and 4.4: acknowledgements, the flows of QoS 1 and 2, resending.
//!
//! How a stage is set and what clients hear is in `support`.

use crate::spec::support::*;

fn subscriber(version: Version) -> (Stage, Link) {
    let mut stage = Stage::new();
    let link = stage.connect(staying("c", version));
    stage.subscribe(link, "t", ExactlyOnce);
    (stage, link)
}

/// [MQTT-3.4.2-2] [MQTT-3.4.2-3] [MQTT-3.5.2-2] [MQTT-3.5.2-3] [MQTT-3.6.2-2] [MQTT-3.6.2-3] [MQTT-3.7.2-2]
/// [MQTT-3.7.2-3] [MQTT-3.14.2-3] [MQTT-3.14.2-4] [MQTT-3.15.2-2] [MQTT-3.15.2-3] [MQTT-3.2.2-19] [MQTT-3.2.2-20]
/// [MQTT-3.9.2-1] [MQTT-3.9.2-2] [MQTT-3.11.2-1] [MQTT-3.11.2-2]
#[test]
fn words_are_left_out_of_a_packet_that_would_be_too_large() {
    let mut words = UserPropertiesBuffer::default();
    words.push("name", "value");
    let user_properties = words.properties();
    let reason_string = Some("because");
    let answer = Ack { packet_id: 1, reason: ReasonCode::Success, reason_string, user_properties };
    let row = Suback { packet_id: 1, reason_string, user_properties, reasons: &[0] };
    let disconnect = Disconnect { reason_string, user_properties, ..Disconnect::default() };
    for packet in [
        Packet::Puback(answer),
        Packet::Pubrec(answer),
        Packet::Pubrel(answer),
        Packet::Pubcomp(answer),
        Packet::Suback(row.clone()),
        Packet::Unsuback(row),
        Packet::Connack(Connack { reason_string, user_properties, ..Connack::default() }),
        Packet::Disconnect(disconnect),
        Packet::Auth(Auth { method: Some("m"), reason_string, user_properties, ..Auth::default() }),
    ] {
        let whole = packet.encoded_len(V5) as u32;
        let mut sizes = Vec::new();
        for limit in (0..=whole).rev() {
            let mut buf = Vec::new();
            if !packet.encode_within(V5, limit, &mut buf) {
                break;
            }
            assert!(buf.len() <= limit as usize);
            sizes.push(buf.len());
        }
        sizes.dedup();
        // Whole, without user properties, without both.
        assert_eq!(sizes.len(), 3, "{packet:?}");
    }
}

/// [MQTT-4.3.2-3] [3.1.1 MQTT-4.3.2-1]
#[test]
fn qos_1_is_in_flight_until_puback() {
    for version in BOTH {
        let (mut stage, link) = subscriber(version);
        stage.somebody_publishes("t", "x", AtLeastOnce);
        let sent = stage.messages(link).remove(0);
        assert_eq!((sent.qos, sent.dup), (AtLeastOnce, false));
        assert_ne!(sent.packet_id, 0);
        // The acknowledgement of another packet does not end it.
        stage.say(link, Packet::Puback(ack(sent.packet_id + 1)));
        assert_eq!(stage.hear(link), []);
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        assert_eq!(stage.messages(link).len(), 1);
        stage.say(link, Packet::Puback(ack(sent.packet_id)));
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        assert_eq!(stage.messages(link), []);
    }
}

/// [MQTT-4.3.2-5] [3.1.1 MQTT-4.3.2-2]
#[test]
fn after_puback_the_same_identifier_is_a_new_message() {
    for version in BOTH {
        let (mut stage, link) = subscriber(V5);
        let source = stage.client("source", version);
        for dup in [false, true, false] {
            stage.say(source, Packet::Publish(Publish { dup, ..message("t", b"x", AtLeastOnce, 7) }));
            assert!(matches!(stage.hear_one(source), Packet::Puback(Ack { packet_id: 7, .. })));
        }
        assert_eq!(stage.messages(link).len(), 3);
    }
}

/// [MQTT-4.3.3-3] [MQTT-4.3.3-4] [MQTT-4.3.3-5] [MQTT-4.3.3-6] [3.1.1 MQTT-4.3.3-1]
#[test]
fn qos_2_goes_through_publish_pubrel_and_pubcomp() {
    for version in BOTH {
        let (mut stage, link) = subscriber(version);
        stage.somebody_publishes("t", "x", ExactlyOnce);
        let sent = stage.messages(link).remove(0);
        assert_eq!((sent.qos, sent.dup), (ExactlyOnce, false));
        // Until PUBREC the PUBLISH is repeated.
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        assert!(matches!(stage.hear_one(link), Packet::Publish(Publish { dup: true, .. })));
        stage.say(link, Packet::Pubrec(ack(sent.packet_id)));
        assert_eq!(acked(&stage.hear_one(link)), Some((sent.packet_id, ReasonCode::Success)));
        // From then on the PUBREL, never the PUBLISH.
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        let again = stage.hear_one(link);
        assert!(matches!(again, Packet::Pubrel(Ack { packet_id, .. }) if packet_id == sent.packet_id));
        stage.say(link, Packet::Pubcomp(ack(sent.packet_id)));
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        assert_eq!(stage.hear(link), []);
    }
}

/// [MQTT-4.13.1-1] [3.1.1 MQTT-4.8.0-1]
#[test]
fn an_acknowledgement_of_the_wrong_kind_closes_the_connection() {
    let kinds: [fn(Ack<'static>) -> Packet<'static>; 3] = [Packet::Puback, Packet::Pubrec, Packet::Pubcomp];
    for version in BOTH {
        // How far the delivery has come, and the acknowledgements that do not belong there.
        for (qos, is_received, wrong) in
            [(AtLeastOnce, false, &[1, 2][..]), (ExactlyOnce, false, &[0, 2]), (ExactlyOnce, true, &[0])]
        {
            for &kind in wrong {
                let (mut stage, link) = subscriber(version);
                stage.somebody_publishes("t", "x", qos);
                let sent = stage.messages(link).remove(0);
                if is_received {
                    stage.say(link, Packet::Pubrec(ack(sent.packet_id)));
                    stage.hear(link);
                }
                stage.say(link, kinds[kind](ack(sent.packet_id)));
                stage.assert_refused(link, ReasonCode::ProtocolError);
                // The delivery is not finished by it.
                let link = stage.connect_and_keep(staying("c", version));
                assert_eq!(stage.hear(link).len(), 1, "{version:?} {qos:?} {kind}");
            }
        }
    }
}

/// [MQTT-4.3.3-4]
#[test]
fn a_refusing_pubrec_is_answered_by_nothing() {
    let (mut stage, link) = subscriber(V5);
    let refusal = |reason| Packet::Pubrec(Ack { reason, ..ack(9) });
    for reason in [ReasonCode::UnspecifiedError, ReasonCode::PacketIdentifierInUse] {
        stage.say(link, refusal(reason));
        assert_eq!(stage.hear(link), [], "no packet with this identifier is in flight");
    }
    stage.say(link, refusal(ReasonCode::Success));
    let answer = stage.hear_one(link);
    assert!(matches!(answer, Packet::Pubrel(_)));
    assert_eq!(acked(&answer), Some((9, ReasonCode::PacketIdentifierNotFound)));
}

/// [MQTT-4.3.3-7] [MQTT-4.3.3-13]
#[test]
fn a_message_that_was_sent_expires_no_more() {
    for qos in [AtLeastOnce, ExactlyOnce] {
        let (mut stage, link) = subscriber(V5);
        let source = stage.client("source", V5);
        let properties = PublishProperties { message_expiry_s: Some(10), ..Default::default() };
        stage.say(source, Packet::Publish(Publish { properties, ..message("t", b"x", qos, 1) }));
        let sent = stage.messages(link).remove(0);
        stage.server.cut(link);
        stage.server.advance_ms(60_000);
        let link = stage.connect_and_keep(staying("c", V5));
        let again = stage.messages(link);
        assert_eq!(again.iter().map(|m| m.packet_id).collect::<Vec<_>>(), [sent.packet_id], "{qos:?}");
        // The receiver's end of the flow goes on as well.
        stage.say(source, Packet::Pubrel(ack(1)));
        let answers = stage.hear(source);
        assert!(matches!(answers.last(), Some(Packet::Pubcomp(Ack { packet_id: 1, .. }))));
    }
}

/// [MQTT-4.3.3-9]
#[test]
fn after_a_refusing_pubrec_the_same_identifier_is_a_new_message() {
    let mut stage = Stage::new();
    stage.server.host.denied.insert((true, "closed".to_owned()));
    let watcher = stage.client("watcher", V5);
    stage.subscribe(watcher, "#", AtMostOnce);
    let link = stage.client("c", V5);
    stage.say(link, Packet::Publish(message("closed", b"x", ExactlyOnce, 3)));
    assert_eq!(acked(&stage.hear_one(link)), Some((3, ReasonCode::NotAuthorized)));
    stage.say(link, Packet::Publish(message("open", b"x", ExactlyOnce, 3)));
    assert_eq!(acked(&stage.hear_one(link)), Some((3, ReasonCode::Success)));
    assert_eq!(stage.messages(watcher).len(), 1);
}

/// [MQTT-4.3.3-10] [MQTT-4.3.3-12] [3.1.1 MQTT-4.3.3-2]
#[test]
fn a_repeated_qos_2_message_is_delivered_once_until_it_is_released() {
    for version in BOTH {
        let (mut stage, link) = subscriber(V5);
        let source = stage.connect(staying("source", version));
        for dup in [false, true, true] {
            stage.say(source, Packet::Publish(Publish { dup, ..message("t", b"x", ExactlyOnce, 9) }));
            assert!(
                matches!(stage.hear_one(source), Packet::Pubrec(Ack { packet_id: 9, reason, .. }) if !reason.is_error())
            );
        }
        // Also over a new connection.
        stage.server.cut(source);
        let source = stage.connect(staying("source", version));
        stage.say(source, Packet::Publish(Publish { dup: true, ..message("t", b"x", ExactlyOnce, 9) }));
        assert!(matches!(stage.hear_one(source), Packet::Pubrec(Ack { packet_id: 9, .. })));
        assert_eq!(stage.messages(link).len(), 1);
        stage.say(source, Packet::Pubrel(ack(9)));
        assert_eq!(acked(&stage.hear_one(source)), Some((9, ReasonCode::Success)));
        stage.say(source, Packet::Publish(message("t", b"x", ExactlyOnce, 9)));
        stage.hear(source);
        assert_eq!(stage.messages(link).len(), 1);
    }
}

/// [MQTT-4.4.0-2]
#[test]
fn a_refusing_acknowledgement_ends_the_delivery() {
    for qos in [AtLeastOnce, ExactlyOnce] {
        let (mut stage, link) = subscriber(V5);
        stage.somebody_publishes("t", "x", qos);
        let sent = stage.messages(link).remove(0);
        let no = Ack { reason: ReasonCode::ImplementationSpecificError, ..ack(sent.packet_id) };
        stage.say(link, if qos == AtLeastOnce { Packet::Puback(no) } else { Packet::Pubrec(no) });
        assert_eq!(stage.hear(link), []);
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", V5));
        assert_eq!(stage.hear(link), []);
    }
}
