//! Packets that the broker holds back until its host reports them durable, and the end of those
//! that are not.
//!
//! The test's host collects changes; a test makes them durable, or fails them, when it likes.

use crate::durable_support;

use std::sync::Arc;

use durable_support::{heard, kept, publish, reader, server, subscribe, with_a_will, writer};
use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::broker::{
    Away, Head, MailboxLimits, Message, Persisted, Publication, Restored, RestoredMessage, SharedId,
};
use stadium_mqtt::packet::*;
use stadium_mqtt::reason::ReasonCode;

#[test]
fn a_session_that_persists_is_answered_when_it_is_durable() {
    let mut server = server(1, 1);
    let link = server.connect(kept("phone"));
    subscribe(&mut server, link, "t", 1);
    assert!(heard(&mut server, link).is_empty(), "nothing is sent yet");
    assert_eq!(server.persist_all(), ["phone: connect for 600 s"]);
    assert_eq!(heard(&mut server, link), ["connack false"]);
    // What the client sent meanwhile is read now.
    server.send_bytes(link, &[]);
    assert!(heard(&mut server, link).is_empty());
    assert_eq!(server.persist_all(), ["phone: subscribe t"]);
    assert_eq!(heard(&mut server, link), ["suback [1]"]);
}

#[test]
fn a_session_that_cannot_be_kept_is_refused_as_busy() {
    let mut server = server(1, 1);
    let link = server.connect(kept("phone"));
    server.persist_one(Persisted::Busy);
    let mut reason = None;
    server.take(link, |packet| {
        if let Packet::Connack(connack) = packet {
            reason = Some(connack.reason);
        }
    });
    assert_eq!(reason, Some(ReasonCode::ServerBusy));
    assert!(!server.is_open(link));
    assert_eq!(server.brokers[0].totals().sessions, 0);
}

#[test]
fn clean_sessions_wait_for_nothing() {
    let mut server = server(1, 1);
    let reader = server.connect(Connect::new(Version::V5, "reader"));
    subscribe(&mut server, reader, "t", 1);
    let writer = writer(&mut server);
    server.send(writer, &publish("t", b"news", QoS::AtLeastOnce, 5));
    assert!(server.host.changes.is_empty());
    assert_eq!(heard(&mut server, reader), ["connack false", "suback [1]", "news 0x1"]);
    assert_eq!(heard(&mut server, writer), ["puback 5 0x00"]);
}

#[test]
fn a_publish_is_acknowledged_and_delivered_when_it_is_owed_durably() {
    let mut server = server(1, 1);
    let reader = reader(&mut server, 0, "reader", 1);
    let writer = writer(&mut server);
    server.send(writer, &publish("t", b"first", QoS::AtLeastOnce, 5));
    // Nobody wants this one; it is acknowledged behind the first all the same [MQTT-4.6.0-2].
    server.send(writer, &publish("nobody", b"", QoS::AtLeastOnce, 6));
    assert!(heard(&mut server, reader).is_empty());
    assert!(heard(&mut server, writer).is_empty());
    assert_eq!(server.persist_all(), ["keep first reader#1"]);
    assert_eq!(heard(&mut server, reader), ["first 0x8001"]);
    assert_eq!(heard(&mut server, writer), ["puback 5 0x00", "puback 6 0x10"]);
    server.send(reader, &Packet::Puback(Ack { packet_id: 0x8001, ..Ack::default() }));
    assert_eq!(server.persist_all(), ["reader: done #1"]);
}

#[test]
fn a_message_with_a_receipt_is_answered_when_it_is_owed_durably_and_its_deliveries_have_that_receipt() {
    for loops in [1, 2] {
        let mut server = server(loops, 1);
        reader(&mut server, loops - 1, "reader", 1);
        let clean = server.connect_on(loops - 1, Connect::new(Version::V5, "clean"));
        subscribe(&mut server, clean, "#", 0);
        let writer = writer(&mut server);
        server.host.receipt_of_each = 7;
        server.send(writer, &publish("t", b"first", QoS::AtLeastOnce, 5));
        assert!(server.host.answered.is_empty(), "it is not durable yet");
        server.host.receipt_of_each = 8;
        // Nobody is owed this one, and nobody hears an answer to the next.
        server.send(writer, &publish("other", b"", QoS::AtLeastOnce, 6));
        server.send(writer, &publish("other", b"", QoS::AtMostOnce, 0));
        assert_eq!(server.host.answered, [(8, ReasonCode::Success); 2]);
        server.persist_all();
        assert_eq!(server.host.answered[2..], [(7, ReasonCode::Success)]);
        server.host.receipt_of_each = 9;
        server.send(writer, &publish("t", b"lost", QoS::AtLeastOnce, 7));
        server.persist_one(Persisted::Full);
        assert_eq!(server.host.answered[3..], [(9, ReasonCode::QuotaExceeded)]);
        let to = |receipt, client: &str, qos| (receipt, client.to_owned(), qos);
        let begun = |receipt| server.host.delivers.iter().filter(move |one| one.0 == receipt).count();
        assert!(server.host.delivers.contains(&to(7, "reader", QoS::AtLeastOnce)));
        assert!(server.host.delivers.contains(&to(7, "clean", QoS::AtMostOnce)));
        assert_eq!((begun(7), begun(8)), (2, 2), "{:?}", server.host.delivers);
        assert!(!server.host.delivers.contains(&to(9, "reader", QoS::AtLeastOnce)));
    }
}

#[test]
fn a_publish_that_cannot_be_kept_is_refused_and_reaches_nobody_who_is_owed_it() {
    for (version, failed) in [(Version::V5, Persisted::Full), (Version::V311, Persisted::Busy)] {
        let mut server = server(1, 1);
        let reader = reader(&mut server, 0, "reader", 2);
        let writer = server.connect(Connect::new(version, "writer"));
        heard(&mut server, writer);
        server.send(writer, &publish("t", b"lost", QoS::ExactlyOnce, 5));
        server.persist_one(failed);
        assert!(heard(&mut server, reader).is_empty());
        if version == Version::V5 {
            assert_eq!(heard(&mut server, writer), ["pubrec 5 0x97"]);
            // The identifier is free again.
            server.send(writer, &publish("t", b"taken", QoS::ExactlyOnce, 5));
            server.persist_all();
            assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
            assert_eq!(heard(&mut server, reader), ["taken 0x8002"]);
        } else {
            // 3.1.1 has no way to say no.
            assert!(heard(&mut server, writer).is_empty());
            assert!(!server.is_open(writer));
        }
    }
}

#[test]
fn a_publish_of_which_it_is_not_known_whether_it_is_kept_is_not_acknowledged_and_its_repeat_is_known() {
    for (version, qos) in [
        (Version::V5, QoS::AtLeastOnce),
        (Version::V5, QoS::ExactlyOnce),
        (Version::V311, QoS::AtLeastOnce),
        (Version::V311, QoS::ExactlyOnce),
    ] {
        let mut server = server(1, 1);
        let reader = reader(&mut server, 0, "reader", 2);
        let again = || Connect { clean_start: false, version, ..kept("writer") };
        let writer = server.connect(again());
        server.persist_all();
        heard(&mut server, writer);
        server.send(writer, &publish("t", b"news", qos, 5));
        assert_eq!(server.host.changes.len(), 1);
        server.persist_one(Persisted::Unknown);
        // Neither a yes nor a no: no acknowledgement, and the connection ends.
        let heard_of_it = heard(&mut server, writer);
        assert!(!heard_of_it.iter().any(|one| one.starts_with("pub")), "{heard_of_it:?}");
        assert!(!server.is_open(writer), "{version:?} {qos:?}");
        // It may be owed, so it is sent.
        assert_eq!(heard(&mut server, reader).len(), 1);
        // No shard was asked to forget it: that is how the repeat is known.
        let changes = server.persist_all();
        assert!(
            !changes.iter().any(|one| one.starts_with("forget") || one.contains("released")),
            "{changes:?}"
        );
        let writer = server.connect(again());
        server.persist_all();
        heard(&mut server, writer);
        server.send(writer, &publish("t", b"news", qos, 5));
        server.persist_one(Persisted::Known);
        server.persist_all();
        let acknowledgement = if qos == QoS::AtLeastOnce { "puback 5 0x00" } else { "pubrec 5 0x00" };
        assert_eq!(heard(&mut server, writer), [acknowledgement]);
        assert!(heard(&mut server, reader).is_empty(), "nobody is owed it twice");
    }
}

#[test]
fn a_client_of_which_it_is_not_known_whether_it_is_kept_hears_nothing() {
    let mut server = server(1, 1);
    let link = server.connect(kept("phone"));
    server.persist_one(Persisted::Unknown);
    assert!(heard(&mut server, link).is_empty(), "a CONNACK of either kind might be wrong");
    assert!(!server.is_open(link));
    server.persist_all();
    let link = server.connect(kept("phone"));
    server.persist_all();
    assert_eq!(heard(&mut server, link), ["connack false"]);
    subscribe(&mut server, link, "t", 1);
    server.persist_one(Persisted::Unknown);
    let heard_of_it = heard(&mut server, link);
    assert!(!heard_of_it.iter().any(|one| one.starts_with("suback")), "{heard_of_it:?}");
    assert!(!server.is_open(link));
}

#[test]
fn a_packet_identifier_is_noted_with_the_message_where_one_shard_keeps_both() {
    let mut server = server(1, 1);
    let reader = reader(&mut server, 0, "reader", 2);
    let writer = server.connect(kept("writer"));
    server.persist_all();
    heard(&mut server, writer);
    server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, 5));
    // Sent again before it is durable: one answer is enough.
    server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, 5));
    assert_eq!(server.persist_all(), ["keep once reader#1 of 5 by writer"]);
    assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
    assert_eq!(heard(&mut server, reader), ["once 0x8001"]);
    server.send(writer, &Packet::Pubrel(Ack { packet_id: 5, ..Ack::default() }));
    assert!(heard(&mut server, writer).is_empty());
    assert_eq!(server.persist_all(), ["writer: released 5"]);
    assert_eq!(heard(&mut server, writer), ["pubcomp 5"]);
}

#[test]
fn with_several_shards_the_origin_is_remembered_until_the_release() {
    let mut server = server(2, 3);
    let (one, other) = (reader(&mut server, 0, "r1", 2), reader(&mut server, 1, "r2", 2));
    let writer = server.connect(kept("w"));
    server.persist_all();
    heard(&mut server, writer);
    server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, 5));
    let mut texts = server.persist_all();
    texts.sort();
    assert_eq!(texts, ["keep once r1#1 of 5", "keep once r2#1 of 5", "w: unreleased 5"]);
    assert_eq!(heard(&mut server, one), ["once 0x8001"]);
    assert_eq!(heard(&mut server, other), ["once 0x8001"]);
    assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
    server.send(writer, &Packet::Pubrel(Ack { packet_id: 5, ..Ack::default() }));
    let mut texts = server.persist_all();
    texts.sort();
    assert_eq!(texts, ["forget 5 on 1", "w: released 5"], "r1 is kept on shard 1, r2 and w on shard 2");
    assert_eq!(heard(&mut server, writer), ["pubcomp 5"]);
}

#[test]
fn a_release_concerns_the_shards_that_were_asked_and_no_others() {
    let mut server = server(4, 16);
    // r1 on shard 3, w on shard 7.
    let reader = reader(&mut server, 3, "r1", 2);
    let writer = server.connect(kept("w"));
    server.persist_all();
    for packet_id in [5, 6] {
        server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, packet_id));
        server.persist_all();
        server.send(writer, &Packet::Pubrel(Ack { packet_id, ..Ack::default() }));
        let expected = [format!("w: released {packet_id}"), format!("forget {packet_id} on 3")];
        assert_eq!(server.persist_all(), expected);
    }
    // Released already: nobody has to be asked again.
    server.send(writer, &Packet::Pubrel(Ack { packet_id: 5, ..Ack::default() }));
    assert!(server.persist_all().is_empty());
    // A session that ends takes back what it has not released, where it was kept.
    server.send(writer, &publish("t", b"last", QoS::ExactlyOnce, 7));
    server.persist_all();
    server.cut(writer);
    server.persist_all();
    server.advance_ms(601_000);
    let mut texts = server.persist_all();
    texts.retain(|text| text.starts_with("forget"));
    assert_eq!(texts, ["forget 7 on 3"]);
    heard(&mut server, reader);
}

/// A session of `w` as a shard gives it back.
fn image(unreleased: Vec<u16>, queued_messages: Vec<RestoredMessage>, sent_below: u32) -> Restored<String> {
    Restored {
        client_id: "w".into(),
        identity: String::new(),
        incarnation: 77,
        version: Version::V5,
        expiry_s: 600,
        will: None,
        away: Some(Away { ends_at_ms: Some(601_000), will_at_ms: None, sent_below }),
        subscriptions: Vec::new(),
        unreleased,
        queued_messages,
    }
}

#[test]
fn after_a_restart_a_release_asks_every_shard_once() {
    let mut server = server(4, 3);
    assert!(server.brokers[0].restore(&mut server.host, image(vec![5], Vec::new(), 1)));
    server.brokers[0].restored(&mut server.host);
    let writer = server.connect(kept("w"));
    server.persist_all();
    heard(&mut server, writer);
    // 9 may have been released just before the server was killed.
    for packet_id in [5, 9] {
        server.send(writer, &Packet::Pubrel(Ack { packet_id, ..Ack::default() }));
        let texts = server.persist_all();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(heard(&mut server, writer), [format!("pubcomp {packet_id}")]);
    }
}

#[test]
fn after_a_restart_a_publish_that_is_sent_again_is_forgotten_by_every_shard() {
    for persisted in [Persisted::Done, Persisted::Full] {
        let mut server = server(4, 3);
        let reader = reader(&mut server, 0, "r2", 2);
        assert!(server.brokers[0].restore(&mut server.host, image(Vec::new(), Vec::new(), 1)));
        server.brokers[0].restored(&mut server.host);
        let writer = server.connect(kept("w"));
        server.persist_all();
        heard(&mut server, writer);
        // Before the crash a shard took the publish for a session that has unsubscribed since: nobody asks that shard now.
        server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
        assert!(server.persist_one(persisted).is_some_and(|text| text.starts_with("keep news r2")));
        let mut texts = server.persist_all();
        if persisted == Persisted::Done {
            server.send(writer, &Packet::Pubrel(Ack { packet_id: 5, ..Ack::default() }));
            texts.extend(server.persist_all());
        }
        // It is refused only if no shard has it: then there is nothing to forget.
        let verb = if persisted == Persisted::Done { "forget 5" } else { "ask for 5" };
        texts.retain(|text| text.starts_with(verb));
        texts.sort();
        // The session's own shard may do so as it notes the release.
        let shards = texts.len() + usize::from(persisted == Persisted::Done);
        assert!(shards >= 3, "{persisted:?}: {texts:?}");
        heard(&mut server, reader);
    }
}

#[test]
fn a_repeated_publish_is_not_refused_where_a_shard_has_it_that_nobody_asks_now() {
    for answer in [Persisted::Known, Persisted::Busy, Persisted::Unknown, Persisted::Done] {
        let mut server = server(4, 3);
        reader(&mut server, 0, "r2", 2);
        assert!(server.brokers[0].restore(&mut server.host, image(Vec::new(), Vec::new(), 1)));
        server.brokers[0].restored(&mut server.host);
        let writer = server.connect(kept("w"));
        server.persist_all();
        heard(&mut server, writer);
        server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
        assert!(server.persist_one(Persisted::Full).is_some_and(|text| text.starts_with("keep news r2")));
        assert!(server.persist_one(answer).is_some_and(|text| text.starts_with("ask for 5")));
        assert!(heard(&mut server, writer).is_empty());
        server.persist_all();
        let texts = heard(&mut server, writer);
        if answer == Persisted::Done {
            assert_eq!(texts, ["pubrec 5 0x97"]);
            continue;
        }
        assert!(texts.len() == 1 && texts[0].starts_with("Disconnect"), "{texts:?}");
        // It is in doubt until it is taken.
        let again = server.connect(kept("w"));
        server.persist_all();
        server.send(again, &publish("t", b"news", QoS::ExactlyOnce, 5));
        server.persist_all();
        assert_eq!(heard(&mut server, again), ["connack true", "pubrec 5 0x00"]);
    }
}

#[test]
fn what_a_restored_session_is_owed_keeps_to_the_bound_of_a_client_that_is_away() {
    let mut server = server(1, 1);
    let messages_max = MailboxLimits::default().messages_max as u32;
    let queued_messages = |numbers: std::ops::Range<u32>| -> Vec<RestoredMessage> {
        let message = Message { topic: "t", properties: &[], payload: b"x", head: Head::default() };
        let publication = Arc::new(Publication::new(&message));
        let queued_message = |number| RestoredMessage {
            number,
            publication: Some(Arc::clone(&publication)),
            qos: QoS::AtLeastOnce,
            retain: false,
            shared: SharedId::NONE,
            ids: Box::default(),
        };
        numbers.map(queued_message).collect()
    };
    // Two may have been sent, and are in flight.
    let all = queued_messages(1..messages_max + 13);
    assert!(server.brokers[0].restore(&mut server.host, image(Vec::new(), all, 3)));
    server.brokers[0].restored(&mut server.host);
    let gone: Vec<String> = (3..13).map(|number| format!("w: done #{number}")).collect();
    assert_eq!(server.persist_all(), gone);
    let writer = server.connect(kept("w"));
    server.persist_all();
    assert_eq!(heard(&mut server, writer).len() as u32, 1 + 2 + messages_max);
}

#[test]
fn a_message_that_some_know_already_reaches_the_others() {
    let mut server = server(1, 1);
    let readers = ["a", "b", "c"].map(|client_id| reader(&mut server, 0, client_id, 2));
    let writer = server.connect(kept("writer"));
    server.persist_all();
    heard(&mut server, writer);
    server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, 5));
    server.persist_partly(&[0, 2]);
    assert_eq!(readers.map(|reader| heard(&mut server, reader).len()), [0, 1, 0]);
    assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
}

#[test]
fn what_is_known_already_reaches_nobody_a_second_time() {
    let mut server = server(1, 1);
    let reader = reader(&mut server, 0, "reader", 2);
    let writer = server.connect(kept("writer"));
    server.persist_all();
    heard(&mut server, writer);
    server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, 5));
    server.persist_one(Persisted::Known);
    assert!(heard(&mut server, reader).is_empty());
    assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
}

#[test]
fn a_release_to_a_reader_waits_until_its_receipt_is_durable() {
    let mut server = server(1, 1);
    let reader = reader(&mut server, 0, "reader", 2);
    let writer = writer(&mut server);
    server.send(writer, &publish("t", b"once", QoS::ExactlyOnce, 5));
    server.persist_all();
    assert_eq!(heard(&mut server, reader), ["once 0x8001"]);
    server.send(reader, &Packet::Pubrec(Ack { packet_id: 0x8001, ..Ack::default() }));
    assert!(heard(&mut server, reader).is_empty());
    assert_eq!(server.persist_all(), ["reader: received #1"]);
    assert_eq!(heard(&mut server, reader), ["pubrel 0x8001"]);
    server.send(reader, &Packet::Pubcomp(Ack { packet_id: 0x8001, ..Ack::default() }));
    assert_eq!(server.persist_all(), ["reader: done #1"]);
}

#[test]
fn a_device_that_is_away_gets_what_was_kept_and_its_presence_is_reported() {
    let mut server = server(1, 1);
    let reader = reader(&mut server, 0, "reader", 1);
    server.cut(reader);
    assert_eq!(server.persist_all(), ["reader: away until Some(601000)"]);
    let writer = writer(&mut server);
    server.send(writer, &publish("t", b"missed", QoS::AtLeastOnce, 5));
    server.persist_all();
    let back = server.connect(kept("reader"));
    assert!(heard(&mut server, back).is_empty());
    server.persist_all();
    assert_eq!(heard(&mut server, back), ["connack true", "missed 0x8001"]);
    // A connection that is gone before it was let in leaves the session as it was.
    server.cut(back);
    server.persist_all();
    let third = server.connect(kept("reader"));
    server.cut(third);
    server.persist_all();
    let fourth = server.connect(kept("reader"));
    server.persist_all();
    assert_eq!(heard(&mut server, fourth), ["connack true", "missed 0x8001 again"]);
}

#[test]
fn a_session_that_ends_is_ended_for_good_before_its_successor_is_let_in() {
    let mut server = server(1, 1);
    let reader = reader(&mut server, 0, "reader", 1);
    server.cut(reader);
    server.persist_all();
    let clean = server.connect(Connect::new(Version::V5, "reader"));
    assert!(heard(&mut server, clean).is_empty());
    assert!(server.persist_all().iter().all(|change| change == "reader: end"));
    assert_eq!(heard(&mut server, clean), ["connack false"]);
}

#[test]
fn a_will_is_gone_when_whoever_is_owed_it_is_owed_it_durably() {
    for (qos, origin) in [(QoS::AtLeastOnce, ""), (QoS::ExactlyOnce, " of 0")] {
        // The reader is kept on shard 1, the writer on shard 2.
        let mut server = server(2, 3);
        let reader = reader(&mut server, 1, "r1", 2);
        let writer = server.connect(with_a_will("w", qos));
        server.persist_all();
        server.cut(writer);
        let handed: Vec<_> = server.host.changes.iter().map(|change| change.text.as_str()).collect();
        // Killed now, the server publishes it when it starts.
        let away = "w: away until Some(601000), will at 1000";
        assert_eq!(handed, [away, &format!("keep gone r1#1{origin} for certain")]);
        server.persist_one(Persisted::Done);
        server.persist_one(Persisted::Done);
        assert_eq!(heard(&mut server, reader), ["gone 0x8001"]);
        let mut last = vec!["w: will gone".to_owned()];
        if qos == QoS::ExactlyOnce {
            last.push("forget 0 on 1".into());
        }
        assert_eq!(server.persist_all(), last);
    }
}

#[test]
fn the_will_of_a_session_that_does_not_persist_is_handed_over_until_it_is_taken() {
    for (qos, origin) in [(QoS::AtLeastOnce, ""), (QoS::ExactlyOnce, " of 0")] {
        let mut server = server(2, 3);
        let reader = reader(&mut server, 1, "r1", 2);
        let writer =
            server.connect(Connect { will: with_a_will("w", qos).will, ..Connect::new(Version::V5, "w") });
        server.persist_all();
        server.cut(writer);
        // At QoS 2 it has an origin: handed over again, a session that has it is not owed it twice.
        assert_eq!(
            server.persist_one(Persisted::Done).as_deref(),
            Some(format!("keep gone r1#1{origin} for certain").as_str())
        );
        assert_eq!(heard(&mut server, reader), ["gone 0x8001"]);
        // Nothing of it stays behind.
        let last: &[&str] = if qos == QoS::ExactlyOnce { &["forget 0 on 1"] } else { &[] };
        assert_eq!(server.persist_all(), last);
    }
}

#[test]
fn a_session_whose_will_is_on_its_way_ends_after_it() {
    let mut server = server(2, 3);
    reader(&mut server, 1, "r1", 1);
    let writer = server.connect(with_a_will("w", QoS::AtLeastOnce));
    server.persist_all();
    server.cut(writer);
    // The shards are slow.
    server.advance_ms(601_000);
    let texts = server.persist_all();
    let at = |text: &str| {
        texts.iter().position(|other| other == text).unwrap_or_else(|| panic!("{text}: {texts:?}"))
    };
    assert!(
        at("keep gone r1#1 for certain") < at("w: will gone") && at("w: will gone") < at("w: end"),
        "{texts:?}"
    );
}

/// Members of a group with kept sessions, of which the first has a message that it has not acknowledged.
fn members(server: &mut Server) -> [Link; 2] {
    members_with(server, QoS::AtLeastOnce)
}

/// The same, and the message was published so.
fn members_with(server: &mut Server, qos: QoS) -> [Link; 2] {
    let members = [(0, "m1"), (1, "m2")].map(|(at, client_id)| {
        let link = server.connect_on(at, kept(client_id));
        server.persist_all();
        subscribe(server, link, "$share/g/t", 1);
        server.persist_all();
        heard(server, link);
        link
    });
    let writer = writer(server);
    server.send(writer, &publish("t", b"work", qos, 5));
    server.persist_all();
    let mut with = members;
    if heard(server, with[0]).is_empty() {
        with.reverse();
        heard(server, with[0]);
    }
    with
}

#[test]
fn a_session_ends_for_good_when_what_it_leaves_to_its_group_is_durable() {
    for shards in [1, 3] {
        let mut server = server(2, shards);
        let [with, other] = members(&mut server);
        let disconnect = Disconnect { session_expiry_s: Some(0), ..Disconnect::default() };
        server.send(with, &Packet::Disconnect(disconnect));
        let first = server.persist_one(Persisted::Done).expect("the message is handed on");
        assert!(first.starts_with("keep work m") && first.ends_with(" for certain"), "{first}");
        assert_eq!(heard(&mut server, other).len(), 1);
        let last = server.persist_all();
        assert!(last.len() == 1 && last[0].ends_with(": end"), "{last:?}");
    }
}

#[test]
fn what_a_session_leaves_to_its_group_is_known_if_it_is_left_again() {
    let mut server = server(2, 3);
    let [with, _] = members_with(&mut server, QoS::ExactlyOnce);
    let disconnect = Disconnect { session_expiry_s: Some(0), ..Disconnect::default() };
    server.send(with, &Packet::Disconnect(disconnect));
    let changes = server.persist_all();
    assert!(changes[0].starts_with("keep work m"), "{changes:?}");
    // Its origin is forgotten only once the end is durable: until then the session may end once
    // more.
    assert!(changes[0].ends_with(" of 0 for certain"), "{changes:?}");
    assert!(changes[1].ends_with(": end") && changes[2].starts_with("forget 0 on "), "{changes:?}");
}

#[test]
fn a_message_of_a_group_that_was_left_is_handed_to_no_other_group() {
    let mut server = server(2, 3);
    let [with, other] = members(&mut server);
    let mut filters = FilterNamesBuffer::default();
    filters.push("$share/g/t").expect("a short filter");
    let (packet_id, filters) = (9, filters.filters());
    let user_properties = stadium_mqtt::property::UserProperties::NONE;
    server.send(with, &Packet::Unsubscribe(Unsubscribe { packet_id, user_properties, filters }));
    for member in [with, other] {
        subscribe(&mut server, member, "$share/h/elsewhere", 1);
    }
    server.persist_all();
    heard(&mut server, other);
    let disconnect = Disconnect { session_expiry_s: Some(0), ..Disconnect::default() };
    server.send(with, &Packet::Disconnect(disconnect));
    server.persist_all();
    assert!(
        heard(&mut server, other).is_empty(),
        "it is a member of the other group, whose topics are others"
    );
}

#[test]
fn a_clean_start_waits_until_what_the_session_before_leaves_is_durable() {
    for expiry in [None, Some(600)] {
        let mut server = server(2, 3);
        let [with, other] = members(&mut server);
        let client_id = if with.at == 0 { "m1" } else { "m2" };
        let connect = Connect { clean_start: true, session_expiry_s: expiry, ..kept(client_id) };
        let successor = server.connect_on(with.at, connect);
        let handed: Vec<_> = server.host.changes.iter().map(|change| change.text.clone()).collect();
        assert!(handed.len() == 1 && handed[0].starts_with("keep work m"), "{handed:?}");
        assert!(heard(&mut server, successor).is_empty());
        let texts = server.persist_all();
        let end = format!("{client_id}: end");
        let last = if expiry.is_some() { format!("{client_id}: connect for 600 s") } else { end.clone() };
        assert_eq!(texts[1..], [end, last]);
        assert_eq!(heard(&mut server, successor), ["connack false"]);
        assert_eq!(heard(&mut server, other).len(), 1);
    }
}

#[test]
fn a_successor_that_leaves_before_its_turn_leaves_nothing() {
    let mut server = server(2, 3);
    let [with, _] = members(&mut server);
    let client_id = if with.at == 0 { "m1" } else { "m2" };
    let successor =
        server.connect_on(with.at, Connect { clean_start: true, ..with_a_will(client_id, QoS::AtLeastOnce) });
    server.cut(successor);
    let texts = server.persist_all();
    assert!(!texts.iter().any(|text| text.contains("connect") || text.contains("gone")), "{texts:?}");
    assert_eq!(server.brokers[usize::from(with.at)].totals().sessions, usize::from(with.at == 0));
    let again = server.connect_on(with.at, kept(client_id));
    server.persist_all();
    assert_eq!(heard(&mut server, again), ["connack false"]);
}

#[test]
fn a_retained_message_is_acknowledged_when_it_is_durable() {
    let mut server = server(1, 1);
    let writer = writer(&mut server);
    let mut retained = publish("t", b"state", QoS::AtLeastOnce, 5);
    if let Packet::Publish(publish) = &mut retained {
        publish.retain = true;
    }
    server.send(writer, &retained);
    assert!(heard(&mut server, writer).is_empty());
    assert_eq!(server.persist_all(), ["retain t"]);
    assert_eq!(heard(&mut server, writer), ["puback 5 0x10"]);
    // The host hears whether there was anything to remove: what never was need not be remembered as removed.
    for expected in ["clear t", "clear nothing of t"] {
        let mut empty = publish("t", b"", QoS::AtLeastOnce, 6);
        if let Packet::Publish(publish) = &mut empty {
            publish.retain = true;
        }
        server.send(writer, &empty);
        assert_eq!(server.persist_all(), [expected]);
        assert_eq!(heard(&mut server, writer), ["puback 6 0x10"]);
    }
}

#[test]
fn a_publish_that_came_again_on_a_new_connection_is_answered_there() {
    let cases = [
        (Version::V5, Persisted::Done, Some("pubrec 5 0x00")),
        (Version::V5, Persisted::Full, Some("pubrec 5 0x97")),
        // 3.1.1 has no way to say no.
        (Version::V311, Persisted::Busy, None),
    ];
    for (version, persisted, answer) in cases {
        let mut server = server(1, 3);
        // The reader is kept on shard 1, which is slow, the writer on shard 2.
        let reader = reader(&mut server, 0, "r1", 2);
        let first = server.connect(Connect { version, ..kept("w") });
        server.persist_all();
        server.send(first, &publish("t", b"news", QoS::ExactlyOnce, 5));
        let slow = server.host.changes.pop_front().expect("the reader is to be owed it");
        server.cut(first);
        let second = server.connect(Connect { version, ..kept("w") });
        server.persist_all();
        for _ in 0..2 {
            server.send(second, &publish("t", b"news", QoS::ExactlyOnce, 5));
        }
        assert_eq!(heard(&mut server, second), ["connack true"]);
        server.host.changes.push_front(slow);
        server.persist_one(persisted);
        server.persist_all();
        assert_eq!(heard(&mut server, second), Vec::from_iter(answer), "{version:?} {persisted:?}");
        assert_eq!(server.is_open(second), answer.is_some());
        let arrived = usize::from(persisted == Persisted::Done);
        assert_eq!(heard(&mut server, reader).len(), arrived, "{version:?} {persisted:?}");
    }
}

#[test]
fn a_release_that_came_again_on_a_new_connection_waits_for_all_shards() {
    let mut server = server(1, 3);
    // The reader is kept on shard 1, which is slow, the writer on shard 2.
    let reader = reader(&mut server, 0, "r1", 2);
    let first = server.connect(kept("w"));
    server.persist_all();
    server.send(first, &publish("t", b"news", QoS::ExactlyOnce, 5));
    server.persist_all();
    assert_eq!(heard(&mut server, reader), ["news 0x8001"]);
    let release = Packet::Pubrel(Ack { packet_id: 5, ..Ack::default() });
    server.send(first, &release);
    assert_eq!(server.persist_one(Persisted::Done).as_deref(), Some("w: released 5"));
    let slow = server.host.changes.pop_front().expect("shard 1 is to forget it");
    server.cut(first);
    let second = server.connect(kept("w"));
    server.persist_all();
    server.send(second, &release);
    // Else the next message with this identifier would be taken for this one after a crash.
    assert_eq!(heard(&mut server, second), ["connack true"]);
    server.host.changes.push_front(slow);
    assert_eq!(server.persist_all(), ["forget 5 on 1"]);
    assert_eq!(heard(&mut server, second), ["pubcomp 5"]);
    server.send(second, &release);
    assert_eq!(heard(&mut server, second), ["pubcomp 5"]);
}

#[test]
fn a_message_between_loops_is_not_kept_for_a_session_that_subscribes_meanwhile() {
    let mut server = server(2, 1);
    let writer = server.connect(kept("w"));
    let late = server.connect_on(1, kept("late"));
    let there = server.connect_on(1, Connect::new(Version::V5, "there"));
    server.persist_all();
    subscribe(&mut server, there, "t", 2);
    server.holds_messages = true;
    server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
    subscribe(&mut server, late, "t", 2);
    server.persist_all();
    server.holds_messages = false;
    server.advance_ms(1);
    // Nobody would wait until it is kept. Sent again after a crash it would be owed a second time.
    assert!(server.persist_all().is_empty());
    assert_eq!(heard(&mut server, late), ["connack false", "suback [2]"]);
    assert_eq!(heard(&mut server, there), ["connack false", "suback [2]", "news 0x1"]);
}

#[test]
fn a_shared_message_whose_session_ends_before_it_is_durable_goes_to_another_member() {
    for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
        let mut server = server(2, 1);
        let [one, other] = [(0, "one"), (1, "other")].map(|(at, client_id)| {
            let link = server.connect_on(at, kept(client_id));
            server.persist_all();
            subscribe(&mut server, link, "$share/g/t", qos as u8);
            server.persist_all();
            heard(&mut server, link);
            link
        });
        let writer = server.connect(kept("writer"));
        server.persist_all();
        heard(&mut server, writer);
        server.send(writer, &publish("t", b"job", qos, 5));
        // It is the turn of the first; its session ends before the message is durable.
        server.cut(one);
        let again = server.connect(Connect { clean_start: true, ..kept("one") });
        let texts = server.persist_all();
        let of = if qos == QoS::ExactlyOnce { " of 5" } else { "" };
        assert_eq!(texts[0], format!("keep job one#1{of}"));
        assert!(texts.contains(&format!("keep job other#1{of}")), "{texts:?}");
        assert_eq!(heard(&mut server, other), ["job 0x8001"]);
        assert_eq!(heard(&mut server, again), ["connack false"]);
        assert_eq!(heard(&mut server, writer).len(), 1);
    }
}

#[test]
fn a_publish_of_a_connection_that_ended_is_answered_where_it_is_sent_again() {
    let mut server = server(1, 1);
    reader(&mut server, 0, "reader", 2);
    let first = server.connect(kept("writer"));
    server.persist_all();
    server.send(first, &publish("t", b"once", QoS::ExactlyOnce, 5));
    server.cut(first);
    let second = server.connect(kept("writer"));
    let keep = server.host.changes.pop_front().expect("the publish is under way");
    server.persist_all();
    assert_eq!(heard(&mut server, second), ["connack true"]);
    // Durable before it is sent again: the new connection hears nothing of it, then one PUBREC.
    server.host.changes.push_back(keep);
    server.persist_all();
    assert!(heard(&mut server, second).is_empty());
    server.send(second, &publish("t", b"once", QoS::ExactlyOnce, 5));
    assert_eq!(heard(&mut server, second), ["pubrec 5 0x00"]);
    // The other way round: one PUBREC too, in front of the answer to what was sent behind it.
    server.send(second, &publish("t", b"twice", QoS::ExactlyOnce, 6));
    server.cut(second);
    let third = server.connect(kept("writer"));
    let keep = server.host.changes.pop_front().expect("the publish is under way");
    server.persist_all();
    assert_eq!(heard(&mut server, third), ["connack true"]);
    server.host.changes.push_back(keep);
    server.send(third, &publish("t", b"twice", QoS::ExactlyOnce, 6));
    server.send(third, &publish("nobody", b"", QoS::AtLeastOnce, 7));
    assert!(heard(&mut server, third).is_empty());
    server.persist_all();
    assert_eq!(heard(&mut server, third), ["pubrec 6 0x00", "puback 7 0x10"]);
}
