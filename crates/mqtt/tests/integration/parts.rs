//! A publish of several parts: the shards of all who are owed it take it, or it reaches nobody.
//!
//! Of the clients that the behaviours name, r1 is kept on shard 1 of 3, r2 and w on shard 2. The
//! test's host collects changes; a test makes them durable, or fails them, in the order that it
//! likes.

use crate::durable_support;

use durable_support::{heard, kept, publish, reader, server, subscribe, with_a_will, writer};
use stadium_mqtt::broker::Persisted;
use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::packet::*;

/// Two readers, kept on shard 1 and shard 2, on these loops.
fn readers(server: &mut Server, loops: [u16; 2]) -> [Link; 2] {
    [reader(server, loops[0], "r1", 2), reader(server, loops[1], "r2", 2)]
}

fn kept_writer(server: &mut Server) -> Link {
    let writer = server.connect(kept("w"));
    server.persist_all();
    heard(server, writer);
    writer
}

fn retained<'a>(payload: &'a [u8], qos: QoS, packet_id: u16) -> Packet<'a> {
    match publish("t", payload, qos, packet_id) {
        Packet::Publish(publish) => Packet::Publish(Publish { retain: true, ..publish }),
        other => other,
    }
}

/// The first change with this text is answered before all others.
fn answer(server: &mut Server, text: &str, persisted: Persisted) {
    let changes = &mut server.host.changes;
    let texts: Vec<_> = changes.iter().map(|change| change.text.clone()).collect();
    let at = texts.iter().position(|one| one == text).unwrap_or_else(|| panic!("{text}: {texts:?}"));
    let change = changes.remove(at).expect("it is there");
    changes.push_front(change);
    server.persist_one(persisted);
}

/// The changes that the host is to keep, sorted.
fn handed(server: &Server) -> Vec<String> {
    let mut texts: Vec<_> = server.host.changes.iter().map(|change| change.text.clone()).collect();
    texts.sort();
    texts
}

/// The messages that a new subscriber gets.
fn seen(server: &mut Server) -> Vec<String> {
    let link = server.connect(Connect::new(Version::V5, "probe"));
    subscribe(server, link, "t", 0);
    heard(server, link).split_off(2)
}

const NOBODY: [Vec<String>; 2] = [vec![], vec![]];

#[test]
fn a_publish_that_one_of_several_shards_refuses_reaches_nobody() {
    let (one, other) = ("keep first r1#1 of 5", "keep first r2#1 of 5");
    for loops in [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]] {
        for (first, second) in [(one, other), (other, one)] {
            for refused_first in [false, true] {
                let mut server = server(3, 3);
                let readers = readers(&mut server, loops);
                let writer = kept_writer(&mut server);
                server.send(writer, &publish("t", b"first", QoS::ExactlyOnce, 5));
                assert_eq!(handed(&server), [one, other]);
                let (taken, refused) = if refused_first { (second, first) } else { (first, second) };
                if refused_first {
                    answer(&mut server, refused, Persisted::Full);
                    answer(&mut server, taken, Persisted::Done);
                } else {
                    answer(&mut server, taken, Persisted::Done);
                    assert!(heard(&mut server, writer).is_empty(), "one shard has not answered yet");
                    answer(&mut server, refused, Persisted::Full);
                }
                // The parts that were taken are withdrawn before the publisher is answered.
                assert!(heard(&mut server, writer).is_empty(), "{loops:?}");
                let who = if taken == one { "r1" } else { "r2" };
                assert_eq!(server.persist_all(), [format!("withdraw {who}#1 of 5")]);
                assert_eq!(heard(&mut server, writer), ["pubrec 5 0x97"]);
                assert_eq!(readers.map(|reader| heard(&mut server, reader)), NOBODY, "{loops:?}");
                // The identifier is free again: the next publish with it reaches everybody once.
                server.send(writer, &publish("t", b"second", QoS::ExactlyOnce, 5));
                server.persist_all();
                assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
                assert_eq!(readers.map(|reader| heard(&mut server, reader)), [["second 0x8002"]; 2]);
            }
        }
    }
}

#[test]
fn a_publish_at_qos_1_is_taken_back_before_its_publisher_hears() {
    for version in [Version::V5, Version::V311] {
        let mut server = server(2, 3);
        let readers = readers(&mut server, [0, 1]);
        let writer = server.connect(Connect::new(version, "writer"));
        heard(&mut server, writer);
        server.send(writer, &publish("t", b"first", QoS::AtLeastOnce, 5));
        answer(&mut server, "keep first r2#1", Persisted::Done);
        answer(&mut server, "keep first r1#1", Persisted::Busy);
        assert!(server.is_open(writer) && heard(&mut server, writer).is_empty());
        assert_eq!(server.persist_all(), ["withdraw r2#1"]);
        // 3.1.1 has no way to say no.
        assert_eq!(server.is_open(writer), version == Version::V5);
        let answer = if version == Version::V5 { vec!["puback 5 0x97".to_owned()] } else { vec![] };
        assert_eq!(heard(&mut server, writer), answer);
        assert_eq!(readers.map(|reader| heard(&mut server, reader)), NOBODY);
    }
}

#[test]
fn parts_that_were_all_taken_leave_together() {
    for loops in [[0, 0], [0, 1], [1, 1], [1, 2]] {
        let mut server = server(3, 3);
        let readers = readers(&mut server, loops);
        let writer = writer(&mut server);
        server.send(writer, &publish("t", b"news", QoS::AtLeastOnce, 5));
        answer(&mut server, "keep news r2#1", Persisted::Done);
        assert_eq!(readers.map(|reader| heard(&mut server, reader)), NOBODY, "{loops:?}");
        answer(&mut server, "keep news r1#1", Persisted::Done);
        assert_eq!(readers.map(|reader| heard(&mut server, reader)), [["news 0x8001"]; 2], "{loops:?}");
        assert_eq!(heard(&mut server, writer), ["puback 5 0x00"]);
        assert!(server.host.changes.is_empty());
    }
}

#[test]
fn what_comes_behind_a_part_that_waits_is_sent_behind_it_or_when_it_is_taken_back() {
    for persisted in [Persisted::Done, Persisted::Full] {
        let mut server = server(2, 3);
        let [r1, _] = readers(&mut server, [1, 0]);
        subscribe(&mut server, r1, "alone", 2);
        server.persist_all();
        heard(&mut server, r1);
        let writer = writer(&mut server);
        server.send(writer, &publish("t", b"first", QoS::AtLeastOnce, 5));
        server.send(writer, &publish("alone", b"second", QoS::AtLeastOnce, 6));
        server.send(writer, &publish("t", b"third", QoS::AtLeastOnce, 7));
        answer(&mut server, "keep first r1#1", Persisted::Done);
        answer(&mut server, "keep second r1#2", Persisted::Done);
        answer(&mut server, "keep third r1#3", Persisted::Done);
        answer(&mut server, "keep third r2#2", Persisted::Done);
        assert!(heard(&mut server, r1).is_empty());
        answer(&mut server, "keep first r2#1", persisted);
        server.persist_all();
        let all = ["first 0x8001", "second 0x8002", "third 0x8003"];
        let skipped = usize::from(persisted == Persisted::Full);
        assert_eq!(heard(&mut server, r1), all[skipped..]);
    }
}

#[test]
fn a_part_waits_for_a_reader_that_is_away_too() {
    for persisted in [Persisted::Done, Persisted::Full] {
        let mut server = server(2, 3);
        let [r1, _] = readers(&mut server, [1, 0]);
        let writer = writer(&mut server);
        server.send(writer, &publish("t", b"news", QoS::AtLeastOnce, 5));
        answer(&mut server, "keep news r1#1", Persisted::Done);
        server.cut(r1);
        answer(&mut server, "r1: away until Some(601000)", Persisted::Done);
        answer(&mut server, "keep news r2#1", persisted);
        server.persist_all();
        let back = server.connect_on(1, kept("r1"));
        server.persist_all();
        let mut expected = vec!["connack true"];
        expected.extend((persisted == Persisted::Done).then_some("news 0x8001"));
        assert_eq!(heard(&mut server, back), expected);
    }
}

#[test]
fn a_publish_that_some_had_before_is_not_refused_but_asked_for_again() {
    let mut server = server(2, 3);
    let readers = readers(&mut server, [0, 1]);
    let writer = kept_writer(&mut server);
    // The server was killed when r1 had it, so the client has sent it again.
    server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
    answer(&mut server, "keep news r1#1 of 5", Persisted::Known);
    answer(&mut server, "keep news r2#1 of 5", Persisted::Busy);
    // An answer of any kind would end the exchange.
    let texts = heard(&mut server, writer);
    assert!(texts.len() == 1 && texts[0].starts_with("Disconnect"), "{texts:?}");
    assert!(!server.is_open(writer));
    assert!(server.persist_all().iter().all(|text| text.starts_with("w: ")), "nothing is forgotten");
    let writer = server.connect(kept("w"));
    server.persist_all();
    server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
    answer(&mut server, "keep news r1#2 of 5", Persisted::Known);
    answer(&mut server, "keep news r2#2 of 5", Persisted::Done);
    server.persist_all();
    assert_eq!(heard(&mut server, writer), ["connack true", "pubrec 5 0x00"]);
    assert_eq!(readers.map(|reader| heard(&mut server, reader)), [vec![], vec!["news 0x8002".to_owned()]]);
}

/// Whether an acknowledgement of a publish is among these packets.
fn is_acknowledged(packets: &[String]) -> bool {
    packets.iter().any(|packet| packet.starts_with("puback") || packet.starts_with("pubrec"))
}

#[test]
fn a_publish_of_which_a_shard_does_not_know_whether_it_took_it_is_neither_taken_nor_refused() {
    use Persisted::{Busy, Done, Full, Unknown};
    let texts = ["keep news r1#1 of 5", "keep news r2#1 of 5"];
    for loops in [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]] {
        for answers in [
            [Done, Unknown],
            [Unknown, Done],
            [Full, Unknown],
            [Unknown, Full],
            [Busy, Unknown],
            [Unknown, Busy],
            [Unknown, Unknown],
        ] {
            for order in [[0, 1], [1, 0]] {
                let case = format!("{loops:?} {answers:?} {order:?}");
                let mut server = server(3, 3);
                let readers = readers(&mut server, loops);
                let writer = kept_writer(&mut server);
                server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
                answer(&mut server, texts[order[0]], answers[order[0]]);
                assert!(server.is_open(writer) && heard(&mut server, writer).is_empty(), "{case}");
                answer(&mut server, texts[order[1]], answers[order[1]]);
                // Neither a yes nor a no: no acknowledgement, and the connection ends.
                assert!(!is_acknowledged(&heard(&mut server, writer)), "{case}");
                assert!(!server.is_open(writer), "{case}");
                // A part that was taken, or may have been, is delivered.
                let may_have = answers.map(|answer| answer <= Done || answer == Unknown);
                let counts = readers.map(|reader| heard(&mut server, reader).len());
                assert_eq!(counts, may_have.map(usize::from), "{case}");
                // Nothing is withdrawn, and no shard forgets the publish.
                let changes = server.persist_all();
                let takes_back =
                    |one: &String| one.contains("done") || one.contains("forget") || one.contains("released");
                assert!(!changes.iter().any(takes_back), "{case} {changes:?}");
                // The shards that have the message know its repeat; the others take it now.
                let writer = kept_writer(&mut server);
                server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
                for (at, name) in ["r1", "r2"].iter().enumerate() {
                    let repeat = handed(&server);
                    let repeat = repeat.iter().find(|text| text.contains(&format!(" {name}#")));
                    let persisted = if may_have[at] { Persisted::Known } else { Done };
                    answer(&mut server, repeat.expect("both are asked again"), persisted);
                }
                server.persist_all();
                assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"], "{case}");
                let counts = readers.map(|reader| heard(&mut server, reader).len());
                assert_eq!(counts, may_have.map(|had_it| usize::from(!had_it)), "{case}");
                // PUBREL has all of them forget it; w's own shard with the packet id.
                server.send(writer, &Packet::Pubrel(Ack { packet_id: 5, ..Ack::default() }));
                let mut changes = server.persist_all();
                changes.sort();
                assert_eq!(changes, ["forget 5 on 1", "w: released 5"], "{case}");
                assert_eq!(heard(&mut server, writer), ["pubcomp 5"], "{case}");
            }
        }
    }
}

#[test]
fn a_publish_at_qos_1_of_unknown_outcome_is_not_acknowledged() {
    for version in [Version::V5, Version::V311] {
        for answers in [
            [Persisted::Done, Persisted::Unknown],
            [Persisted::Full, Persisted::Unknown],
            [Persisted::Unknown, Persisted::Unknown],
        ] {
            let mut server = server(2, 3);
            let _readers = readers(&mut server, [0, 1]);
            let writer = server.connect(Connect::new(version, "writer"));
            heard(&mut server, writer);
            server.send(writer, &publish("t", b"news", QoS::AtLeastOnce, 5));
            answer(&mut server, "keep news r1#1", answers[0]);
            answer(&mut server, "keep news r2#1", answers[1]);
            assert!(!is_acknowledged(&heard(&mut server, writer)), "{version:?} {answers:?}");
            assert!(!server.is_open(writer), "{version:?} {answers:?}");
            assert!(server.persist_all().is_empty(), "nothing is withdrawn");
        }
    }
}

#[test]
fn the_repeat_of_a_publish_of_unknown_outcome_is_not_refused() {
    // A refusal would free the packet id, and the shard that has the message would take the next
    // one with that id for it.
    for loops in [[0, 0], [0, 1], [1, 2]] {
        let mut server = server(3, 3);
        let readers = readers(&mut server, loops);
        let writer = kept_writer(&mut server);
        server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
        answer(&mut server, "keep news r1#1 of 5", Persisted::Unknown);
        answer(&mut server, "keep news r2#1 of 5", Persisted::Busy);
        server.persist_all();
        heard(&mut server, writer);
        for _ in 0..2 {
            let writer = kept_writer(&mut server);
            server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
            for text in handed(&server) {
                answer(&mut server, &text, Persisted::Busy);
            }
            server.persist_all();
            assert!(!is_acknowledged(&heard(&mut server, writer)), "{loops:?}");
            assert!(!server.is_open(writer), "{loops:?}");
        }
        let writer = kept_writer(&mut server);
        server.send(writer, &publish("t", b"news", QoS::ExactlyOnce, 5));
        for text in handed(&server) {
            let persisted = if text.contains(" r1#") { Persisted::Known } else { Persisted::Done };
            answer(&mut server, &text, persisted);
        }
        server.persist_all();
        assert_eq!(heard(&mut server, writer), ["pubrec 5 0x00"]);
        assert_eq!(readers.map(|reader| heard(&mut server, reader).len()), [1, 1], "{loops:?}");
    }
}

#[test]
fn a_retained_message_of_unknown_outcome_stays_where_its_shard_may_have_it() {
    let mut server = server(2, 3);
    let _readers = readers(&mut server, [0, 1]);
    let before = writer(&mut server);
    server.send(before, &retained(b"old", QoS::AtLeastOnce, 4));
    server.persist_all();
    // The shard of the topic does not know.
    let writer = server.connect(Connect::new(Version::V5, "another"));
    heard(&mut server, writer);
    server.send(writer, &retained(b"new", QoS::AtLeastOnce, 5));
    answer(&mut server, "keep new r1#2", Persisted::Done);
    answer(&mut server, "keep new r2#2", Persisted::Done);
    answer(&mut server, "retain t", Persisted::Unknown);
    assert!(!is_acknowledged(&heard(&mut server, writer)) && !server.is_open(writer));
    assert_eq!(seen(&mut server), ["new 0x0"]);
    // The shard of a receiver does not know: the message was not handed over to that of the topic.
    let writer = server.connect(Connect::new(Version::V5, "a third"));
    heard(&mut server, writer);
    server.send(writer, &retained(b"last", QoS::AtLeastOnce, 5));
    answer(&mut server, "keep last r1#3", Persisted::Unknown);
    answer(&mut server, "keep last r2#3", Persisted::Done);
    assert!(!is_acknowledged(&heard(&mut server, writer)) && !server.is_open(writer));
    assert!(server.host.changes.is_empty());
    assert_eq!(seen(&mut server), ["new 0x0"]);
}

#[test]
fn a_packet_identifier_that_was_noted_with_the_message_is_released_where_it_is_taken_back() {
    let mut server = server(1, 3);
    let [r2, other] = ["r2", "r1"].map(|client_id| {
        let link = server.connect(kept(client_id));
        server.persist_all();
        link
    });
    subscribe(&mut server, r2, "t", 2);
    server.persist_all();
    heard(&mut server, r2);
    heard(&mut server, other);
    let writer = kept_writer(&mut server);
    // The message and w are on one shard, the retained message on another.
    server.send(writer, &retained(b"first", QoS::ExactlyOnce, 5));
    assert_eq!(server.persist_one(Persisted::Done).as_deref(), Some("keep first r2#1 of 5 by w"));
    assert_eq!(server.persist_one(Persisted::Full).as_deref(), Some("retain t"));
    assert!(heard(&mut server, writer).is_empty());
    assert_eq!(server.persist_all(), ["withdraw r2#1 of 5 by w"]);
    assert_eq!(heard(&mut server, writer), ["pubrec 5 0x97"]);
    assert!(heard(&mut server, r2).is_empty());
}

#[test]
fn a_retained_message_is_handed_over_when_its_other_parts_are_taken() {
    for loops in [[0, 0], [0, 1], [1, 2]] {
        let mut server = server(3, 3);
        let readers = readers(&mut server, loops);
        let writer = writer(&mut server);
        server.send(writer, &retained(b"old", QoS::AtLeastOnce, 5));
        assert_eq!(handed(&server), ["keep old r1#1", "keep old r2#1"]);
        assert_eq!(server.persist_all()[2..], ["retain t"]);
        assert_eq!(heard(&mut server, writer), ["puback 5 0x00"]);
        assert_eq!(readers.map(|reader| heard(&mut server, reader).len()), [1, 1]);
        // Refused by a receiver's shard, and by the shard of the topic.
        for refused in ["keep new r2#2", "retain t"] {
            server.send(writer, &retained(b"new", QoS::AtLeastOnce, 6));
            if refused == "retain t" {
                answer(&mut server, "keep new r1#3", Persisted::Done);
                answer(&mut server, "keep new r2#3", Persisted::Done);
            } else {
                answer(&mut server, "keep new r1#2", Persisted::Done);
            }
            assert_eq!(readers.map(|reader| heard(&mut server, reader)), NOBODY);
            answer(&mut server, refused, Persisted::Full);
            assert!(server.persist_all().iter().all(|text| text.starts_with("withdraw")));
            assert_eq!(heard(&mut server, writer), ["puback 6 0x97"]);
            assert_eq!(readers.map(|reader| heard(&mut server, reader)), NOBODY);
            assert_eq!(seen(&mut server), ["old 0x0"], "{refused}");
        }
    }
}

#[test]
fn of_retained_messages_that_are_under_way_the_last_that_was_taken_stays() {
    // By which of three in a row are refused, answered in any order: what stays.
    let cases = [
        ([Persisted::Full, Persisted::Done, Persisted::Done], "c"),
        ([Persisted::Done, Persisted::Full, Persisted::Done], "c"),
        ([Persisted::Done, Persisted::Done, Persisted::Full], "b"),
        ([Persisted::Done, Persisted::Full, Persisted::Full], "a"),
        ([Persisted::Full, Persisted::Done, Persisted::Full], "b"),
        ([Persisted::Full, Persisted::Full, Persisted::Full], "before"),
    ];
    for (persisted, stays) in cases {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut server = server(1, 3);
            let writer = writer(&mut server);
            server.send(writer, &retained(b"before", QoS::AtLeastOnce, 4));
            server.persist_all();
            for (packet_id, payload) in [(5, b"a"), (6, b"b"), (7, b"c")] {
                server.send(writer, &retained(payload, QoS::AtLeastOnce, packet_id));
            }
            let mut changes: Vec<_> = server.host.changes.drain(..).map(Some).collect();
            for at in order {
                server.host.changes.extend(changes[at].take());
                server.persist_one(persisted[at]);
            }
            assert_eq!(seen(&mut server), [format!("{stays} 0x0")], "{persisted:?} {order:?}");
        }
    }
}

#[test]
fn a_message_at_qos_0_that_its_shard_does_not_retain_leaves_the_one_before() {
    for payload in [&b"new"[..], b""] {
        for refused in [Persisted::Full, Persisted::Busy] {
            let mut server = server(2, 3);
            let writer = writer(&mut server);
            server.send(writer, &retained(b"old", QoS::AtLeastOnce, 5));
            server.persist_all();
            server.send(writer, &retained(payload, QoS::AtMostOnce, 0));
            let text = server.persist_one(refused).expect("it is handed over");
            assert!(text == "retain t" || text == "clear t", "{text}");
            // At the next start the topic has it again, so it has it now.
            assert_eq!(seen(&mut server), ["old 0x0"], "{refused:?}");
        }
    }
}

#[test]
fn a_message_at_qos_0_of_unknown_outcome_is_handed_over_again_for_certain() {
    let mut server = server(2, 3);
    let writer = writer(&mut server);
    server.send(writer, &retained(b"old", QoS::AtLeastOnce, 5));
    server.persist_all();
    server.send(writer, &retained(b"", QoS::AtMostOnce, 0));
    assert_eq!(server.persist_one(Persisted::Unknown).as_deref(), Some("clear t"));
    assert_eq!(server.persist_all(), ["clear t for certain"]);
    assert!(seen(&mut server).is_empty());
}

#[test]
fn the_retained_part_of_a_will_is_handed_over_for_certain() {
    let mut server = server(2, 3);
    let mut connect = with_a_will("w", QoS::AtLeastOnce);
    if let Some(will) = &mut connect.will {
        will.retain = true;
    }
    let writer = server.connect(connect);
    server.persist_all();
    server.cut(writer);
    let away = "w: away until Some(601000), will at 1000";
    assert_eq!(server.persist_all(), ["retain t for certain", away, "w: will gone"]);
    assert_eq!(seen(&mut server), ["gone 0x0"]);
}

/// Members of a group with kept sessions on loops 0 and 1, and whom the message goes to first.
fn members(server: &mut Server, payload: &[u8], qos: QoS) -> ([Link; 2], [&'static str; 2], String) {
    let links = [(0, "r1"), (1, "r2")].map(|(at, client_id)| {
        let link = server.connect_on(at, kept(client_id));
        server.persist_all();
        subscribe(server, link, "$share/g/t", 2);
        server.persist_all();
        heard(server, link);
        link
    });
    let writer = server.connect(Connect::new(Version::V5, "writer"));
    server.send(writer, &publish("t", payload, qos, 5));
    let keep =
        handed(server).into_iter().find(|text| text.starts_with("keep")).expect("one member is owed it");
    let names = ["r1", "r2"];
    if keep.contains(" r1#") { (links, names, keep) } else { ([links[1], links[0]], ["r2", "r1"], keep) }
}

fn end(server: &mut Server, link: Link) {
    let disconnect = Disconnect { session_expiry_s: Some(0), ..Disconnect::default() };
    server.send(link, &Packet::Disconnect(disconnect));
}

#[test]
fn a_message_of_a_group_goes_to_another_member_where_the_session_ends_before_it_is_durable() {
    for shards in [1, 3] {
        for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let mut server = server(2, shards);
            let ([with, other], [_, name], keep) = members(&mut server, b"work", qos);
            end(&mut server, with);
            answer(&mut server, &keep, Persisted::Done);
            // Its publisher waits for that: it is not answered before another member is owed it.
            let writer = Link { at: 0, number: 3 };
            assert_eq!(heard(&mut server, writer), ["connack false"]);
            answer(&mut server, &format!("keep work {name}#1"), Persisted::Done);
            assert_eq!(heard(&mut server, other), ["work 0x8001"]);
            assert_eq!(heard(&mut server, writer).len(), 1);
            server.persist_all();
        }
    }
}

#[test]
fn a_message_that_goes_to_another_member_reaches_nobody_where_that_one_is_refused() {
    for persisted in [Persisted::Done, Persisted::Full] {
        let mut server = server(1, 1);
        let members = ["m1", "m2"].map(|client_id| {
            let link = server.connect(kept(client_id));
            server.persist_all();
            subscribe(&mut server, link, "$share/g/t", 1);
            server.persist_all();
            heard(&mut server, link);
            link
        });
        let reader = reader(&mut server, 0, "r1", 1);
        let writer = writer(&mut server);
        // One part, for both: it waits for nothing but its shard.
        server.send(writer, &publish("t", b"work", QoS::AtLeastOnce, 5));
        let keep = handed(&server).pop().expect("it is handed over");
        end(&mut server, members[usize::from(keep.contains("m2#"))]);
        answer(&mut server, &keep, Persisted::Done);
        assert!(heard(&mut server, reader).is_empty(), "another member is to get it, and may be refused");
        let again = handed(&server).into_iter().find(|text| text.starts_with("keep")).expect("a part");
        answer(&mut server, &again, persisted);
        server.persist_all();
        let taken = persisted == Persisted::Done;
        assert_eq!(heard(&mut server, reader).len(), usize::from(taken));
        assert_eq!(heard(&mut server, writer), [format!("puback 5 {}", if taken { "0x00" } else { "0x97" })]);
    }
}

#[test]
fn a_message_of_a_group_goes_to_another_member_where_the_session_ends_before_the_verdict() {
    for persisted in [Persisted::Done, Persisted::Full] {
        let mut server = server(2, 3);
        let reader = reader(&mut server, 1, "x3", 1);
        let ([with, other], [name, next], keep) = members(&mut server, b"work", QoS::AtLeastOnce);
        answer(&mut server, &keep, Persisted::Done);
        end(&mut server, with);
        assert!(
            !handed(&server).contains(&format!("{name}: end")),
            "it is owed the message until another one is"
        );
        answer(&mut server, "keep work x3#1", persisted);
        let texts = server.persist_all();
        assert_eq!(texts.last(), Some(&format!("{name}: end")), "{texts:?}");
        let taken = persisted == Persisted::Done;
        assert_eq!(texts.contains(&format!("keep work {next}#1 for certain")), taken, "{texts:?}");
        assert_eq!(heard(&mut server, other).len(), usize::from(taken));
        assert_eq!(heard(&mut server, reader).len(), usize::from(taken));
    }
}

#[test]
fn what_waits_behind_a_part_goes_to_another_member_where_the_session_ends() {
    let mut server = server(2, 3);
    let _reader = reader(&mut server, 1, "x3", 1);
    let ([with, other], [name, next], keep) = members(&mut server, b"work", QoS::AtLeastOnce);
    answer(&mut server, &keep, Persisted::Done);
    for (link, name) in [(with, name), (other, next)] {
        subscribe(&mut server, link, "$share/h/alone", 1);
        answer(&mut server, &format!("{name}: subscribe $share/h/alone"), Persisted::Done);
        heard(&mut server, link);
    }
    let writer = Link { at: 0, number: 4 };
    server.send(writer, &publish("alone", b"one", QoS::AtLeastOnce, 6));
    server.send(writer, &publish("alone", b"two", QoS::AtLeastOnce, 7));
    let behind = handed(&server).into_iter().find(|text| text.ends_with(&format!("{name}#2")));
    let behind = behind.expect("the members take turns");
    answer(&mut server, &behind, Persisted::Done);
    assert!(heard(&mut server, with).is_empty());
    end(&mut server, with);
    let texts = server.persist_all();
    assert_eq!(texts.last(), Some(&format!("{name}: end")), "{texts:?}");
    let mut got = heard(&mut server, other);
    got.iter_mut().for_each(|text| text.truncate(4));
    got.sort();
    assert_eq!(got, ["one ", "two ", "work"]);
}

#[test]
fn a_member_of_a_group_on_another_loop_hears_when_the_group_has_it() {
    let mut server = server(2, 3);
    let members = [(0, "c1"), (1, "c2")].map(|(at, client_id)| {
        let link = server.connect_on(at, Connect::new(Version::V5, client_id));
        heard(&mut server, link);
        link
    });
    server.holds_messages = true;
    members.iter().for_each(|&member| subscribe(&mut server, member, "$share/g/t", 1));
    // A message that is published once SUBACK was heard must find the member.
    let mut before = members.map(|member| heard(&mut server, member).len());
    before.sort_unstable();
    assert_eq!(before, [0, 1], "the group's home is one of the loops");
    server.holds_messages = false;
    server.advance_ms(1);
    assert_eq!(members.iter().map(|&member| heard(&mut server, member).len()).sum::<usize>(), 1);
}

#[test]
fn a_member_that_unsubscribed_gets_nothing_new_from_a_group_on_another_loop() {
    for at in 0..2 {
        let mut server = server(2, 3);
        let member = server.connect_on(at, Connect::new(Version::V5, "member"));
        subscribe(&mut server, member, "$share/g/t", 1);
        let writer = server.connect_on(1 - at, Connect::new(Version::V5, "writer"));
        heard(&mut server, member);
        server.holds_messages = true;
        let mut filters = FilterNamesBuffer::default();
        filters.push("$share/g/t").expect("a short filter");
        let (packet_id, filters) = (9, filters.filters());
        let user_properties = stadium_mqtt::property::UserProperties::NONE;
        server.send(member, &Packet::Unsubscribe(Unsubscribe { packet_id, user_properties, filters }));
        assert_eq!(heard(&mut server, member).len(), 1, "it has UNSUBACK");
        server.send(writer, &publish("t", b"late", QoS::AtLeastOnce, 5));
        server.holds_messages = false;
        server.advance_ms(1);
        assert!(heard(&mut server, member).is_empty(), "loop {at}");
    }
}

#[test]
fn a_message_that_a_member_passes_on_is_waited_for_where_the_next_ones_session_is_kept() {
    let mut server = server(2, 3);
    // The group's home is the loop of neither or one of them: both orders are tried.
    for at in 0..2 {
        let kept_member = server.connect_on(at, kept(&format!("r{at}")));
        server.persist_all();
        subscribe(&mut server, kept_member, "$share/g/t", 1);
        server.persist_all();
        let gone = server.connect_on(1 - at, Connect::new(Version::V5, "gone"));
        subscribe(&mut server, gone, "$share/g/t", 1);
        let writer = server.connect_on(at, Connect::new(Version::V5, "writer"));
        [kept_member, gone, writer].into_iter().for_each(|link| drop(heard(&mut server, link)));
        // One of two turns is that of the member whose session ends before the message comes.
        server.holds_messages = true;
        server.send(writer, &publish("t", b"one", QoS::AtLeastOnce, 5));
        server.send(writer, &publish("t", b"two", QoS::AtLeastOnce, 6));
        server.cut(gone);
        server.holds_messages = false;
        server.advance_ms(1);
        assert!(heard(&mut server, writer).is_empty(), "loop {at}: both are owed to the kept session");
        server.persist_all();
        assert_eq!(heard(&mut server, writer).len(), 2, "loop {at}");
        assert_eq!(heard(&mut server, kept_member).len(), 2, "loop {at}");
        end(&mut server, kept_member);
        server.persist_all();
    }
}

#[test]
fn a_part_of_a_group_on_another_loop_waits_for_the_verdict() {
    for persisted in [Persisted::Done, Persisted::Full] {
        let mut server = server(2, 3);
        let reader = reader(&mut server, 0, "x3", 1);
        let ([with, _], [name, _], keep) = members(&mut server, b"work", QoS::AtLeastOnce);
        answer(&mut server, &keep, Persisted::Done);
        assert!(heard(&mut server, with).is_empty());
        answer(&mut server, "keep work x3#1", persisted);
        let texts = server.persist_all();
        let taken = persisted == Persisted::Done;
        assert_eq!(texts.contains(&format!("withdraw {name}#1")), !taken, "{texts:?}");
        assert_eq!(heard(&mut server, with).len(), usize::from(taken));
        assert_eq!(heard(&mut server, reader).len(), usize::from(taken));
    }
}
