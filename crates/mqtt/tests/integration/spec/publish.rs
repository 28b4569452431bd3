//! Section 3.3: PUBLISH, retained messages and what travels with a message.
//!
//! How a stage is set and what clients hear is in `support`.

use crate::spec::support::*;

/// [MQTT-3.3.1-1] [MQTT-4.4.0-1] [3.1.1 MQTT-3.3.1-1] [3.1.1 MQTT-4.4.0-1]
#[test]
fn what_was_not_acknowledged_comes_again_marked_dup() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.connect(staying("c", version));
        stage.subscribe(link, "t", ExactlyOnce);
        stage.somebody_publishes("t", "one", AtLeastOnce);
        stage.somebody_publishes("t", "two", ExactlyOnce);
        let first = stage.messages(link);
        assert!(first.iter().all(|m| !m.dup));
        // Nothing is sent again while the connection lasts, however long.
        stage.server.advance_ms(3_600_000);
        assert_eq!(stage.hear(link), []);
        stage.server.cut(link);
        let link = stage.connect_and_keep(staying("c", version));
        let again = stage.messages(link);
        let keep = |list: &[Publish<'static>]| -> Vec<(u16, &[u8], QoS)> {
            list.iter().map(|m| (m.packet_id, m.payload, m.qos)).collect()
        };
        assert_eq!(keep(&again), keep(&first));
        assert!(again.iter().all(|m| m.dup));
    }
}

/// [MQTT-3.3.1-2] [MQTT-4.3.1-1] [3.1.1 MQTT-3.3.1-2] [3.1.1 MQTT-4.3.1-1]
#[test]
fn qos_0_is_never_dup() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "t", AtMostOnce);
        stage.somebody_publishes("t", "x", ExactlyOnce);
        let heard = stage.messages(link);
        assert_eq!((heard[0].qos, heard[0].dup), (AtMostOnce, false));
        // A client that sends such a topic is cut.
        stage.say_bytes(link, b"\x38\x04\x00\x01t\x00");
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
}

/// [MQTT-3.3.1-3] [MQTT-4.3.2-2] [MQTT-4.3.3-2] [3.1.1 MQTT-3.3.1-3]
#[test]
fn dup_of_the_sender_is_not_passed_on() {
    for qos in [AtLeastOnce, ExactlyOnce] {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        stage.subscribe(link, "t", ExactlyOnce);
        let source = stage.client("source", V5);
        stage.say(source, Packet::Publish(Publish { dup: true, ..message("t", b"x", qos, 1) }));
        let heard = stage.messages(link);
        assert_eq!((heard[0].qos, heard[0].dup), (qos, false));
    }
}

/// [MQTT-3.3.1-4] [3.1.1 MQTT-3.3.1-4]
#[test]
fn both_qos_bits_close_the_connection() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.say_bytes(link, b"\x36\x06\x00\x01t\x00\x01\x00");
        stage.assert_refused(link, ReasonCode::MalformedPacket);
    }
}

/// [MQTT-3.3.1-5] [MQTT-3.3.1-9] [3.1.1 MQTT-3.3.1-5] [3.1.1 MQTT-3.3.1-6] [3.1.1 MQTT-3.3.1-7] [3.1.1 MQTT-3.3.1-8]
#[test]
fn the_last_retained_message_awaits_new_subscribers() {
    for version in BOTH {
        for qos in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
            let mut stage = Stage::new();
            let source = stage.client("source", version);
            stage.retain(source, "t", "older");
            stage.say(source, Packet::Publish(Publish { retain: true, ..message("t", b"newer", qos, 5) }));
            stage.retain(source, "t/below", "no match");
            let link = stage.client("c", version);
            let (_, retained) = stage.subscribe_as(link, "t", options(ExactlyOnce), None);
            let kept: Vec<_> = retained.iter().map(|m| (m.payload, m.qos, m.retain)).collect();
            assert_eq!(kept, [(&b"newer"[..], qos, true)]);
        }
    }
}

/// [MQTT-3.3.1-6] [MQTT-3.3.1-7] [3.1.1 MQTT-3.3.1-10] [3.1.1 MQTT-3.3.1-11]
#[test]
fn an_empty_retained_message_is_delivered_and_clears_the_topic() {
    for version in BOTH {
        let mut stage = Stage::new();
        let source = stage.client("source", version);
        let present = stage.client("present", version);
        stage.subscribe(present, "t", AtMostOnce);
        stage.retain(source, "t", "something");
        stage.retain(source, "t", "");
        assert_eq!(stage.payloads(present), ["something", ""]);
        let late = stage.client("late", version);
        let (_, retained) = stage.subscribe_as(late, "t", options(AtMostOnce), None);
        assert_eq!(retained, []);
    }
}

/// [MQTT-3.3.1-8] [3.1.1 MQTT-3.3.1-12]
#[test]
fn a_message_that_is_not_retained_leaves_the_retained_one() {
    for version in BOTH {
        let mut stage = Stage::new();
        let source = stage.client("source", version);
        stage.publish(source, "t", "before");
        let link = stage.client("c", version);
        assert_eq!(stage.subscribe_as(link, "t", options(AtMostOnce), None).1, []);
        stage.retain(source, "t", "kept");
        stage.publish(source, "t", "passing");
        stage.publish(source, "t", "");
        let late = stage.client("late", version);
        let (_, retained) = stage.subscribe_as(late, "t", options(AtMostOnce), None);
        assert_eq!(retained.iter().map(|m| m.payload).collect::<Vec<_>>(), [b"kept"]);
    }
}

/// [3.1.1 MQTT-3.1.2-7]
#[test]
fn retained_messages_outlive_the_session_that_sent_them() {
    for version in BOTH {
        let mut stage = Stage::new();
        let source = stage.client("source", version);
        stage.retain(source, "t", "kept");
        stage.say(source, Packet::Disconnect(Disconnect::default()));
        stage.client("source", version);
        let link = stage.client("c", version);
        assert_eq!(stage.subscribe_as(link, "t", options(AtMostOnce), None).1.len(), 1);
    }
}

/// [MQTT-3.3.1-10] [MQTT-3.3.1-11]
#[test]
fn retain_handling_decides_who_gets_retained_messages() {
    use RetainHandling::*;
    let mut stage = Stage::new();
    let source = stage.client("source", V5);
    stage.retain(source, "t", "kept");
    let link = stage.client("c", V5);
    for (handling, expected) in [(DontSend, 0), (SendIfNew, 0), (Send, 1), (Send, 1), (SendIfNew, 0)] {
        let how = SubscriptionOptions { retain_handling: handling, ..options(AtMostOnce) };
        let (_, retained) = stage.subscribe_as(link, "t", how, None);
        assert_eq!(retained.len(), expected, "{handling:?}");
    }
    stage.unsubscribe(link, 1, &["t"]);
    let how = SubscriptionOptions { retain_handling: SendIfNew, ..options(AtMostOnce) };
    assert_eq!(stage.subscribe_as(link, "t", how, None).1.len(), 1);
    // The rule holds for the last of many filters as for the first.
    let silent = SubscriptionOptions { retain_handling: DontSend, ..options(AtMostOnce) };
    let mut rows: Vec<(String, SubscriptionOptions)> = (0..99).map(|n| (format!("x{n}"), silent)).collect();
    rows.push(("t".to_owned(), silent));
    let rows: Vec<(&str, SubscriptionOptions)> = rows.iter().map(|(f, o)| (f.as_str(), *o)).collect();
    stage.say_subscribe(link, 3, &rows, None);
    assert!(matches!(stage.hear_one(link), Packet::Suback(_)));
}

/// [MQTT-3.3.1-12] [MQTT-3.3.1-13] [3.1.1 MQTT-3.3.1-9]
#[test]
fn retain_reaches_a_present_subscriber_only_as_published() {
    let mut stage = Stage::new();
    let plain = stage.client("plain", V5);
    let faithful = stage.client("faithful", V5);
    let older = stage.client("older", V311);
    stage.subscribe(plain, "t", AtMostOnce);
    stage.subscribe(older, "t", AtMostOnce);
    let as_published = SubscriptionOptions { retain_as_published: true, ..options(AtMostOnce) };
    stage.subscribe_as(faithful, "t", as_published, None);
    let source = stage.client("source", V5);
    stage.retain(source, "t", "x");
    stage.publish(source, "t", "y");
    let flags =
        |stage: &mut Stage, link| -> Vec<bool> { stage.messages(link).iter().map(|m| m.retain).collect() };
    assert_eq!(flags(&mut stage, plain), [false, false]);
    assert_eq!(flags(&mut stage, older), [false, false]);
    assert_eq!(flags(&mut stage, faithful), [true, false]);
}

/// [MQTT-3.3.2-2] [MQTT-4.7.0-1] [3.1.1 MQTT-3.3.2-2] [3.1.1 MQTT-4.7.1-1]
#[test]
fn a_topic_name_with_a_wildcard_closes_the_connection() {
    for version in BOTH {
        for topic in ["#", "a/+", "a/#", "+", "a+b"] {
            let mut stage = Stage::new();
            let link = stage.client("c", version);
            stage.publish(link, topic, "x");
            stage.assert_refused(link, ReasonCode::TopicNameInvalid);
        }
    }
}

/// [MQTT-3.3.2-3] [3.1.1 MQTT-3.3.2-3]
#[test]
fn subscribers_see_the_topic_that_was_published() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "a/+/#", AtMostOnce);
        stage.somebody_publishes("a/b/c", "x", AtMostOnce);
        assert_eq!(stage.messages(link)[0].topic, "a/b/c");
    }
}

/// [MQTT-3.3.2-4] [MQTT-3.3.2-15] [MQTT-3.3.2-16] [MQTT-3.3.2-17] [MQTT-3.3.2-18] [MQTT-3.3.2-20]
#[test]
fn properties_of_a_message_reach_every_subscriber_unaltered() {
    let mut words = UserPropertiesBuffer::default();
    for (name, value) in [("b", "2"), ("a", "1"), ("b", "1"), ("", "")] {
        words.push(name, value);
    }
    let properties = PublishProperties {
        payload_format: Some(1),
        response_topic: Some("answers/c"),
        correlation_data: Some(&[0, 255, 7]),
        content_type: Some("text/plain"),
        user_properties: words.properties(),
        ..PublishProperties::default()
    };
    let mut stage = Stage::new();
    let present = stage.client("present", V5);
    stage.subscribe(present, "t", AtMostOnce);
    let away = stage.connect(staying("away", V5));
    stage.subscribe(away, "t", ExactlyOnce);
    stage.server.cut(away);
    let source = stage.client("source", V5);
    let sent = Publish { retain: true, properties, ..message("t", b"text", AtLeastOnce, 1) };
    stage.say(source, Packet::Publish(sent));
    let away = stage.connect_and_keep(staying("away", V5));
    let late = stage.client("late", V5);
    let (_, retained) = stage.subscribe_as(late, "t", options(AtMostOnce), None);
    let heard = [stage.messages(present), stage.messages(away), retained].concat();
    assert_eq!(heard.len(), 3);
    for message in heard {
        assert_eq!(message.properties, properties);
    }
}

/// [MQTT-3.3.2-5]
#[test]
fn an_expired_message_is_not_delivered() {
    let mut stage = Stage::new();
    let away = stage.connect(staying("away", V5));
    stage.subscribe(away, "t", AtLeastOnce);
    stage.server.cut(away);
    let source = stage.client("source", V5);
    let expires = |s| PublishProperties { message_expiry_s: Some(s), ..Default::default() };
    for (payload, expiry_s) in [("short", 10), ("long", 100)] {
        let sent =
            Publish { properties: expires(expiry_s), ..message("t", payload.as_bytes(), AtLeastOnce, 1) };
        stage.say(source, Packet::Publish(Publish { retain: true, ..sent }));
    }
    let kept = Publish { retain: true, properties: expires(10), ..message("kept", b"x", AtMostOnce, 0) };
    stage.say(source, Packet::Publish(kept));
    stage.server.advance_ms(10_000);
    let away = stage.connect_and_keep(staying("away", V5));
    assert_eq!(stage.payloads(away), ["long"]);
    let (_, retained) = stage.subscribe_as(away, "kept", options(AtMostOnce), None);
    assert_eq!(retained, []);
}

/// [MQTT-3.3.2-6]
#[test]
fn the_expiry_interval_shrinks_by_the_time_waited() {
    let mut stage = Stage::new();
    let away = stage.connect(staying("away", V5));
    stage.subscribe(away, "t", AtLeastOnce);
    stage.server.cut(away);
    let source = stage.client("source", V5);
    let properties = PublishProperties { message_expiry_s: Some(100), ..Default::default() };
    stage.say(source, Packet::Publish(Publish { properties, ..message("t", b"x", AtLeastOnce, 1) }));
    stage.server.advance_ms(30_000);
    let away = stage.connect_and_keep(staying("away", V5));
    assert_eq!(stage.messages(away)[0].properties.message_expiry_s, Some(70));
}

fn aliased(topic: &str, alias: u16) -> Publish<'_> {
    Publish {
        properties: PublishProperties { topic_alias: Some(alias), ..Default::default() },
        ..message(topic, b"x", AtMostOnce, 0)
    }
}

/// [MQTT-3.3.2-7]
#[test]
fn a_topic_alias_ends_with_its_connection() {
    let mut stage = Stage::new();
    let link = stage.connect(staying("c", V5));
    stage.say(link, Packet::Publish(aliased("t", 1)));
    stage.say(link, Packet::Publish(aliased("", 1)));
    assert!(stage.server.is_open(link));
    stage.server.cut(link);
    let link = stage.connect(staying("c", V5));
    stage.say(link, Packet::Publish(aliased("", 1)));
    stage.assert_refused(link, ReasonCode::ProtocolError);
}

/// [MQTT-3.3.2-8]
#[test]
fn topic_alias_0_closes_the_connection() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    stage.say_bytes(link, b"\x30\x07\x00\x01t\x03\x23\x00\x00");
    stage.assert_refused(link, ReasonCode::TopicAliasInvalid);
}

/// [MQTT-3.3.2-12]
#[test]
fn every_announced_topic_alias_is_accepted() {
    let mut stage = Stage::new();
    let watcher = stage.client("watcher", V5);
    stage.subscribe(watcher, "#", AtMostOnce);
    let (link, connack) = stage.connack(clean("c", V5));
    let maximum = connack.topic_alias_maximum.unwrap();
    assert!(maximum > 1);
    for alias in 1..=maximum {
        stage.say(link, Packet::Publish(aliased(&format!("t{alias}"), alias)));
    }
    stage.say(link, Packet::Publish(aliased("moved", 2)));
    stage.messages(watcher);
    for alias in 1..=maximum {
        stage.say(link, Packet::Publish(aliased("", alias)));
        let expected = if alias == 2 { "moved".to_owned() } else { format!("t{alias}") };
        assert_eq!(stage.messages(watcher)[0].topic, expected);
    }
}

/// [MQTT-3.3.2-14]
#[test]
fn a_response_topic_with_a_wildcard_closes_the_connection() {
    for topic in ["#", "a/+"] {
        let mut stage = Stage::new();
        let link = stage.client("c", V5);
        let properties = PublishProperties { response_topic: Some(topic), ..Default::default() };
        stage.say(link, Packet::Publish(Publish { properties, ..message("t", b"x", AtMostOnce, 0) }));
        stage.assert_refused(link, ReasonCode::ProtocolError);
    }
}

/// [MQTT-3.3.4-1] [3.1.1 MQTT-3.3.4-1]
#[test]
fn each_qos_gets_its_answer() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.publish(link, "t", "x");
        assert_eq!(stage.hear(link), []);
        stage.say(link, Packet::Publish(message("t", b"x", AtLeastOnce, 1)));
        assert!(matches!(stage.hear_one(link), Packet::Puback(_)));
        stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, 1)));
        assert!(matches!(stage.hear_one(link), Packet::Pubrec(_)));
    }
}

/// [MQTT-3.3.4-2] [3.1.1 MQTT-3.3.5-1]
#[test]
fn overlapping_subscriptions_get_the_highest_qos() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.subscribe(link, "a/#", AtMostOnce);
        stage.subscribe(link, "a/+", ExactlyOnce);
        stage.subscribe(link, "a/b", AtLeastOnce);
        stage.somebody_publishes("a/b", "x", ExactlyOnce);
        assert_eq!(stage.messages(link).iter().map(|m| m.qos).max(), Some(ExactlyOnce));
    }
}

/// [MQTT-3.3.4-3] [MQTT-3.3.4-4] [MQTT-3.3.4-5]
#[test]
fn a_message_carries_the_identifiers_of_the_subscriptions_that_it_matches() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    stage.subscribe_as(link, "a/#", options(AtMostOnce), Some(7));
    stage.subscribe_as(link, "a/b", options(AtLeastOnce), Some(268_435_455));
    stage.subscribe_as(link, "+/b", options(AtLeastOnce), None);
    stage.subscribe_as(link, "other", options(AtLeastOnce), Some(9));
    stage.somebody_publishes("a/b", "x", AtLeastOnce);
    let heard = stage.messages(link);
    let mut ids: Vec<u32> = heard.iter().flat_map(|m| m.properties.subscription_ids.iter()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [7, 268_435_455]);
    // A retained message carries that of the subscription it is sent for.
    let source = stage.client("source", V5);
    stage.retain(source, "kept", "x");
    let (_, retained) = stage.subscribe_as(link, "kept", options(AtMostOnce), Some(11));
    assert_eq!(retained[0].properties.subscription_ids, SubscriptionIds::list(&[11]));
}

/// [MQTT-3.3.4-4]
#[test]
fn however_many_subscriptions_match_all_their_identifiers_are_sent() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    let levels = ["a", "b", "c", "d", "e", "f"];
    for set in 0..64_u32 {
        let filter =
            levels.iter().enumerate().map(|(at, &level)| if set >> at & 1 == 1 { "+" } else { level });
        let filter = filter.collect::<Vec<_>>().join("/");
        stage.subscribe_as(link, &filter, options(AtMostOnce), Some(set + 1));
    }
    stage.somebody_publishes("a/b/c/d/e/f", "x", AtMostOnce);
    let heard = stage.messages(link);
    let mut ids: Vec<u32> = heard.iter().flat_map(|m| m.properties.subscription_ids.iter()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=64).collect::<Vec<_>>());
}

/// [MQTT-3.3.4-6]
#[test]
fn a_client_that_sends_a_subscription_identifier_is_cut() {
    let mut stage = Stage::new();
    let link = stage.client("c", V5);
    stage.say_bytes(link, b"\x30\x07\x00\x01t\x02\x0B\x01x");
    stage.assert_refused(link, ReasonCode::ProtocolError);
}

/// [MQTT-3.3.4-7]
#[test]
fn a_client_that_exceeds_the_receive_maximum_is_cut() {
    let mut stage = Stage::with(Config { receive_maximum: 3, ..Config::default() });
    let (link, connack) = stage.connack(clean("c", V5));
    assert_eq!(connack.receive_maximum, Some(3));
    for id in 1..=3 {
        stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, id)));
    }
    assert_eq!(stage.hear(link).len(), 3);
    stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, 4)));
    stage.assert_refused(link, ReasonCode::ReceiveMaximumExceeded);
}

/// [MQTT-3.3.4-7]
#[test]
fn what_another_connection_left_unreleased_takes_no_place_in_the_receive_maximum() {
    let mut stage = Stage::with(Config { receive_maximum: 3, ..Config::default() });
    let mut link = stage.connect(staying("c", V5));
    for id in 1..=3 {
        stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, id)));
    }
    stage.server.cut(link);
    link = stage.connect(staying("c", V5));
    for id in 4..=6 {
        stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, id)));
    }
    assert_eq!(stage.hear(link).len(), 3);
    stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, 7)));
    stage.assert_refused(link, ReasonCode::ReceiveMaximumExceeded);
}

/// [3.1.1 MQTT-4.3.3-2]
#[test]
fn a_3_1_1_client_may_have_every_packet_identifier_unreleased() {
    let mut stage = Stage::with(Config { receive_maximum: 3, ..Config::default() });
    let watcher = stage.client("watcher", V5);
    stage.subscribe(watcher, "t", AtMostOnce);
    let link = stage.client("c", V311);
    // Nothing that it sends frees a place before the last PUBLISH is there: to stop reading would be a deadlock.
    for id in 1..=u16::MAX {
        stage.say(link, Packet::Publish(message("t", b"x", ExactlyOnce, id)));
    }
    assert_eq!(stage.server.close_reason(link), None);
    assert_eq!(stage.hear(link).len(), usize::from(u16::MAX));
    assert_eq!(stage.messages(watcher).len(), usize::from(u16::MAX));
    for id in (1..=u16::MAX).rev() {
        stage.say(link, Packet::Publish(Publish { dup: true, ..message("t", b"x", ExactlyOnce, id) }));
        stage.say(link, Packet::Pubrel(ack(id)));
    }
    let answers = stage.hear(link);
    assert_eq!(answers.iter().filter(|answer| matches!(answer, Packet::Pubcomp(_))).count(), 65_535);
    assert_eq!(stage.messages(watcher), [], "each was delivered once");
}

/// [MQTT-3.3.4-9] [MQTT-4.9.0-1] [MQTT-4.9.0-2]
#[test]
fn a_client_never_has_more_in_flight_than_it_can_take() {
    for maximum in [1, 2, 5] {
        let mut stage = Stage::new();
        let link = stage.connect(Connect { receive_maximum: Some(maximum), ..clean("c", V5) });
        stage.subscribe(link, "t", ExactlyOnce);
        for number in 0..8_u8 {
            let qos = if number % 2 == 0 { AtLeastOnce } else { ExactlyOnce };
            stage.somebody_publishes("t", &number.to_string(), qos);
        }
        let mut seen = Vec::new();
        let mut in_flight = stage.messages(link);
        assert_eq!(in_flight.len(), usize::from(maximum));
        while let Some(first) = (!in_flight.is_empty()).then(|| in_flight.remove(0)) {
            seen.push(String::from_utf8(first.payload.to_vec()).unwrap());
            if first.qos == AtLeastOnce {
                stage.say(link, Packet::Puback(ack(first.packet_id)));
            } else {
                // The place is free with PUBCOMP, not before.
                stage.say(link, Packet::Pubrec(ack(first.packet_id)));
                assert_eq!(stage.messages(link), []);
                stage.say(link, Packet::Pubcomp(ack(first.packet_id)));
            }
            in_flight.extend(stage.messages(link));
            assert!(in_flight.len() <= usize::from(maximum));
        }
        assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    }
}

/// [MQTT-3.3.4-10] [MQTT-4.9.0-3]
#[test]
fn a_full_window_delays_nothing_but_messages() {
    let mut stage = Stage::new();
    let link = stage.connect(Connect { receive_maximum: Some(1), ..clean("c", V5) });
    stage.subscribe(link, "t", AtLeastOnce);
    stage.somebody_publishes("t", "one", AtLeastOnce);
    stage.somebody_publishes("t", "two", AtLeastOnce);
    assert_eq!(stage.payloads(link), ["one"]);
    stage.say(link, Packet::Pingreq);
    assert_eq!(stage.hear_one(link), Packet::Pingresp);
    stage.say(link, Packet::Publish(message("elsewhere", b"x", AtLeastOnce, 1)));
    assert!(matches!(stage.hear_one(link), Packet::Puback(_)));
    assert_eq!(stage.subscribe(link, "u", AtMostOnce), 0);
    // QoS 0 takes no place in the window.
    stage.somebody_publishes("u", "free", AtLeastOnce);
    assert_eq!(stage.payloads(link), ["free"]);
}

/// [3.1.1 MQTT-3.3.5-2]
#[test]
fn a_forbidden_publish_is_acknowledged_and_goes_nowhere() {
    for version in BOTH {
        let mut stage = Stage::new();
        stage.server.host.denied.insert((true, "closed".to_owned()));
        let watcher = stage.client("watcher", V5);
        stage.subscribe(watcher, "#", AtMostOnce);
        let link = stage.client("c", version);
        stage.say(link, Packet::Publish(message("closed", b"x", AtLeastOnce, 4)));
        let expected = if version == V5 { ReasonCode::NotAuthorized } else { ReasonCode::Success };
        assert_eq!(acked(&stage.hear_one(link)), Some((4, expected)));
        stage.say(link, Packet::Publish(message("closed", b"x", ExactlyOnce, 5)));
        assert_eq!(acked(&stage.hear_one(link)), Some((5, expected)));
        assert_eq!(stage.hear(watcher), []);
    }
}

/// [MQTT-4.8.2-1]
#[test]
fn a_topic_name_of_shared_subscriptions_is_not_published_to() {
    for version in BOTH {
        let mut stage = Stage::new();
        let watcher = stage.client("watcher", V5);
        stage.subscribe(watcher, "$share/g/t", AtMostOnce);
        stage.subscribe(watcher, "t", AtMostOnce);
        for topic in ["$share/g/t", "$share/", "$share"] {
            let link = stage.client("c", version);
            let expected = if version == V5 { ReasonCode::TopicNameInvalid } else { ReasonCode::Success };
            stage.say(link, Packet::Publish(message(topic, b"x", AtMostOnce, 0)));
            assert_eq!(stage.hear(link), []);
            stage.say(link, Packet::Publish(message(topic, b"x", AtLeastOnce, 4)));
            assert_eq!(acked(&stage.hear_one(link)), Some((4, expected)));
            stage.say(link, Packet::Publish(message(topic, b"x", ExactlyOnce, 5)));
            assert_eq!(acked(&stage.hear_one(link)), Some((5, expected)));
            assert_eq!(stage.hear(watcher), []);
            // Nor does a will go there.
            let testament = Connect { will: Some(will(topic, b"x")), ..clean("w", version) };
            let (link, _) = stage.arrive(testament);
            let refused = Some(Close::Refused(ReasonCode::TopicNameInvalid));
            assert_eq!(stage.server.close_reason(link), refused);
        }
        let link = stage.client("c", version);
        stage.say(link, Packet::Publish(message("$shared/g/t", b"x", AtLeastOnce, 6)));
        let Some((6, reason)) = acked(&stage.hear_one(link)) else { panic!("no PUBACK") };
        assert!(!reason.is_error(), "a level that only begins like it is a topic like others");
    }
}
