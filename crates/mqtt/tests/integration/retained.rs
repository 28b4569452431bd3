//! Retained messages on their way to new subscriptions: in pieces, one client beside another.
//!
//! A test lets a loop turn by [`Server::replay`], which returns how many steps the turn took. The
//! statements of the specification about retained messages have tests of their own.

use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::broker::{Close, Config, Event, Persisted, PurgeId, RetainedLimits};
use stadium_mqtt::packet::*;
use stadium_mqtt::reason::ReasonCode;

/// As much as a loop is to take for retained messages in one turn, see `TURN_STEPS` of the broker.
const TURN_STEPS_MAX: u32 = 4_096;

fn server() -> Server {
    let mut server = with_quota(usize::MAX, 1);
    server.replays_by_hand = true;
    server
}

fn client(server: &mut Server, client_id: &str) -> Link {
    let link = server.connect(Connect::new(Version::V5, client_id));
    server.take_bytes(link);
    link
}

fn retain(server: &mut Server, link: Link, topic: &str, payload: &str, qos: QoS) {
    let packet_id = if qos == QoS::AtMostOnce { 0 } else { 7 };
    let publish = Publish {
        dup: false,
        qos,
        retain: true,
        topic,
        packet_id,
        properties: Default::default(),
        payload: payload.as_bytes(),
    };
    server.send(link, &Packet::Publish(publish));
    if qos == QoS::ExactlyOnce {
        server.send(link, &Packet::Pubrel(Ack { packet_id, ..Ack::default() }));
    }
    server.take_bytes(link);
}

fn subscribe(server: &mut Server, link: Link, filters: &[&str], qos: QoS, id: Option<u32>) {
    let options = SubscriptionOptions {
        qos,
        no_local: false,
        retain_as_published: false,
        retain_handling: RetainHandling::Send,
    };
    let mut rows = FiltersBuffer::new(Version::V5);
    for filter in filters {
        rows.push(filter, options).expect("short enough");
    }
    let subscribe = Subscribe {
        packet_id: 9,
        subscription_id: id,
        user_properties: Default::default(),
        filters: rows.filters(),
    };
    server.send(link, &Packet::Subscribe(subscribe));
}

fn unsubscribe(server: &mut Server, link: Link, filter: &str) {
    let mut names = FilterNamesBuffer::default();
    names.push(filter).expect("short enough");
    let user_properties = Default::default();
    let unsubscribe = Unsubscribe { packet_id: 10, user_properties, filters: names.filters() };
    server.send(link, &Packet::Unsubscribe(unsubscribe));
}

/// What a client has heard, in words.
fn heard(server: &mut Server, link: Link) -> Vec<String> {
    let mut heard = Vec::new();
    server.take(link, |packet| {
        heard.push(match packet {
            Packet::Publish(publish) => {
                let retained = if publish.retain { "" } else { " live" };
                format!("{}={}{retained}", publish.topic, String::from_utf8_lossy(publish.payload))
            }
            Packet::Suback(_) => "suback".into(),
            Packet::Unsuback(_) => "unsuback".into(),
            Packet::Pingresp => "pingresp".into(),
            other => format!("{other:?}"),
        });
    });
    heard
}

/// Messages a client has heard, acknowledged as they come.
fn acknowledge(server: &mut Server, link: Link) -> Vec<String> {
    let mut ids = Vec::new();
    let mut topics = Vec::new();
    server.take(link, |packet| {
        if let Packet::Publish(publish) = packet {
            assert!(publish.retain);
            topics.push(publish.topic.to_owned());
            ids.extend((publish.qos == QoS::AtLeastOnce).then_some(publish.packet_id));
        }
    });
    for packet_id in ids {
        server.send(link, &Packet::Puback(Ack { packet_id, ..Ack::default() }));
    }
    topics
}

fn devices(server: &mut Server, count: usize, qos: QoS) -> Vec<String> {
    let writer = client(server, "writer");
    let topics: Vec<String> = (0..count).map(|number| format!("dev{number:06}/status")).collect();
    topics.iter().for_each(|topic| retain(server, writer, topic, "on", qos));
    topics
}

/// Turns until nothing is left to do. Returns how many there were.
fn turn_on(server: &mut Server) -> usize {
    let mut turns = 0;
    loop {
        match server.replay() {
            0 => return turns,
            steps => assert!(steps <= TURN_STEPS_MAX, "{steps}"),
        }
        turns += 1;
    }
}

#[test]
fn a_packet_of_wide_filters_leaves_its_loop_to_others() {
    let mut server = server();
    devices(&mut server, 20_000, QoS::AtMostOnce);
    let (wild, other) = (client(&mut server, "wild"), client(&mut server, "other"));
    let filters: Vec<String> = (0..100).map(|number| format!("+/nothing{number}")).collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    subscribe(&mut server, wild, &filters, QoS::AtMostOnce, None);
    // Nothing was looked at yet: the SUBACK left, and so does all that comes later.
    assert_eq!(heard(&mut server, wild), ["suback"]);
    let mut turns = 0;
    loop {
        let steps = server.replay();
        if steps == 0 {
            break;
        }
        assert!(steps <= TURN_STEPS_MAX, "{steps}");
        server.send(other, &Packet::Pingreq);
        assert_eq!(heard(&mut server, other), ["pingresp"]);
        turns += 1;
    }
    assert!(turns >= 100 * 20_000 / TURN_STEPS_MAX, "{turns}");
    assert_eq!(heard(&mut server, wild), Vec::<String>::new());
}

#[test]
fn many_replays_take_turns() {
    let mut server = server();
    devices(&mut server, 5_000, QoS::AtMostOnce);
    let wide = client(&mut server, "wide");
    subscribe(&mut server, wide, &["+/nothing", "+/nothing/more", "#"], QoS::AtMostOnce, None);
    let narrow = client(&mut server, "narrow");
    subscribe(&mut server, narrow, &["dev000007/+"], QoS::AtMostOnce, None);
    assert!(server.replay() > 0);
    assert_eq!(heard(&mut server, narrow), ["suback", "dev000007/status=on"]);
    turn_on(&mut server);
    assert_eq!(heard(&mut server, wide).len(), 1 + 5_000);
}

#[test]
fn all_that_match_are_sent_however_many() {
    let mut server = server();
    let topics = devices(&mut server, 25_000, QoS::AtMostOnce);
    let link = client(&mut server, "c");
    subscribe(&mut server, link, &["#"], QoS::AtLeastOnce, None);
    turn_on(&mut server);
    server.take_bytes(link);
    subscribe(&mut server, link, &["+/status"], QoS::AtMostOnce, None);
    let mut found = Vec::new();
    while server.replay() > 0 {
        found.extend(acknowledge(&mut server, link));
    }
    assert_eq!(found, topics);
    assert!(!server.host.events.contains(&Event::ReplayCut));
}

#[test]
fn a_bound_of_a_replay_is_kept_and_counted() {
    let config = Config { retained_per_subscription_max: 3, ..Config::default() };
    let mut server = Server::with(config, 1);
    devices(&mut server, 5, QoS::AtMostOnce);
    let link = client(&mut server, "c");
    subscribe(&mut server, link, &["#"], QoS::AtMostOnce, None);
    assert_eq!(heard(&mut server, link).len(), 1 + 3);
    assert_eq!(server.host.events.iter().filter(|&&event| event == Event::ReplayCut).count(), 1);
    subscribe(&mut server, link, &["dev000000/+"], QoS::AtMostOnce, None);
    assert_eq!(server.host.events.iter().filter(|&&event| event == Event::ReplayCut).count(), 1);
}

#[test]
fn a_replay_waits_for_the_clients_window() {
    let mut server = server();
    let topics = devices(&mut server, 500, QoS::AtLeastOnce);
    let narrow = Connect { receive_maximum: Some(10), ..Connect::new(Version::V5, "narrow") };
    let link = server.connect(narrow);
    subscribe(&mut server, link, &["#"], QoS::AtLeastOnce, None);
    turn_on(&mut server);
    let mut found = acknowledge(&mut server, link);
    assert_eq!(found.len(), 10);
    while found.len() < topics.len() {
        turn_on(&mut server);
        let more = acknowledge(&mut server, link);
        assert!((1..=10).contains(&more.len()), "{more:?}");
        // Nothing of it stands in a queue, where it would cost memory or be dropped.
        assert_eq!(server.brokers[0].view(server.session(link).unwrap()).unwrap().queued, 0);
        found.extend(more);
    }
    assert_eq!(found, topics);
    assert!(!server.host.events.iter().any(|event| matches!(event, Event::Dropped(_))));
}

#[test]
fn a_replay_waits_for_a_slow_reader_and_drops_nothing() {
    let mut server = server();
    devices(&mut server, 300, QoS::AtMostOnce);
    let link = client(&mut server, "slow");
    server.host.congested.insert(link);
    subscribe(&mut server, link, &["#"], QoS::AtMostOnce, None);
    turn_on(&mut server);
    assert_eq!(heard(&mut server, link), ["suback"]);
    server.drained(link);
    assert!(server.replay() > 0);
    let first = heard(&mut server, link).len();
    assert!((1..300).contains(&first), "a turn writes no more than a queue has room for: {first}");
    server.host.congested.insert(link);
    turn_on(&mut server);
    assert_eq!(heard(&mut server, link), Vec::<String>::new());
    server.drained(link);
    turn_on(&mut server);
    assert_eq!(heard(&mut server, link).len(), 300 - first);
    assert!(!server.host.events.iter().any(|event| matches!(event, Event::Dropped(_))));
}

#[test]
fn a_turn_writes_a_bounded_number_of_bytes_to_a_connection() {
    let mut server = server();
    let writer = client(&mut server, "writer");
    let payload = "x".repeat(60_000);
    for number in 0..50 {
        retain(&mut server, writer, &format!("large/{number:02}"), &payload, QoS::AtMostOnce);
    }
    let link = client(&mut server, "c");
    subscribe(&mut server, link, &["large/#"], QoS::AtMostOnce, None);
    let mut messages = 0;
    while server.replay() > 0 {
        let bytes = server.take_bytes(link).len();
        assert!(bytes <= (256 << 10) + 60_100, "{bytes}");
        messages += bytes / 60_000;
    }
    assert_eq!(messages, 50);
}

#[test]
fn unsubscribing_ends_a_replay() {
    let mut server = server();
    devices(&mut server, 1_000, QoS::AtMostOnce);
    let link = client(&mut server, "c");
    subscribe(&mut server, link, &["+/status", "dev000999/#"], QoS::AtMostOnce, None);
    assert!(server.replay() > 0);
    let first = heard(&mut server, link).len();
    assert!((2..1_000).contains(&first), "{first}");
    unsubscribe(&mut server, link, "+/status");
    turn_on(&mut server);
    assert_eq!(heard(&mut server, link), ["unsuback", "dev000999/status=on"]);
}

#[test]
fn the_same_filter_again_begins_anew_with_its_own_options() {
    let mut server = server();
    let topics = devices(&mut server, 1_000, QoS::AtLeastOnce);
    let link = client(&mut server, "c");
    subscribe(&mut server, link, &["#"], QoS::AtMostOnce, Some(1));
    assert!(server.replay() > 0);
    assert!(heard(&mut server, link).len() < 1_000);
    subscribe(&mut server, link, &["#"], QoS::AtLeastOnce, Some(2));
    turn_on(&mut server);
    let mut found = Vec::new();
    server.take(link, |packet| {
        if let Packet::Publish(publish) = packet {
            let ids: Vec<u32> = publish.properties.subscription_ids.iter().collect();
            assert_eq!((publish.qos, ids), (QoS::AtLeastOnce, vec![2]));
            found.push(publish.topic.to_owned());
        }
    });
    assert_eq!(found, topics);
}

#[test]
fn what_is_replaced_or_removed_meanwhile_is_sent_as_it_is_then() {
    let mut server = server();
    let topics = devices(&mut server, 1_000, QoS::AtMostOnce);
    let link = client(&mut server, "c");
    subscribe(&mut server, link, &["+/status"], QoS::AtMostOnce, None);
    assert!(server.replay() > 0);
    assert!(heard(&mut server, link).len() < 900);
    let writer = client(&mut server, "changes");
    retain(&mut server, writer, &topics[998], "off", QoS::AtMostOnce);
    retain(&mut server, writer, &topics[999], "", QoS::AtMostOnce);
    retain(&mut server, writer, "adev/status", "behind", QoS::AtMostOnce);
    turn_on(&mut server);
    let heard = heard(&mut server, link);
    let of = |topic: &str| -> Vec<&str> {
        heard.iter().filter_map(|text| text.strip_prefix(&format!("{topic}="))).collect()
    };
    // As it was published, and as the retained one; never the old one behind the new one.
    assert_eq!(of(&topics[998]), ["off live", "off"]);
    assert_eq!(of(&topics[999]), [" live"]);
    assert_eq!(of("adev/status"), ["behind live"]);
    assert_eq!(of(&topics[997]), ["on"]);
}

#[test]
fn a_replay_ends_with_a_clean_session_and_goes_on_with_one_that_is_kept() {
    let mut server = server();
    let topics = devices(&mut server, 1_000, QoS::AtMostOnce);
    let clean = client(&mut server, "clean");
    subscribe(&mut server, clean, &["#"], QoS::AtMostOnce, None);
    assert!(server.replay() > 0);
    server.cut(clean);
    assert_eq!(turn_on(&mut server), 1);
    let kept =
        || Connect { clean_start: false, session_expiry_s: Some(600), ..Connect::new(Version::V5, "kept") };
    let link = server.connect(kept());
    subscribe(&mut server, link, &["#"], QoS::AtMostOnce, None);
    assert!(server.replay() > 0);
    let mut found = acknowledge(&mut server, link);
    server.cut(link);
    turn_on(&mut server);
    let link = server.connect(kept());
    turn_on(&mut server);
    found.extend(acknowledge(&mut server, link));
    assert_eq!(found, topics);
}

#[test]
fn topics_of_the_servers_own_are_not_for_wildcards_in_front() {
    let mut server = server();
    let writer = client(&mut server, "writer");
    for topic in ["$internal/a", "a/b", "z"] {
        retain(&mut server, writer, topic, "x", QoS::AtMostOnce);
    }
    let link = client(&mut server, "c");
    for (filter, expected) in [
        ("#", vec!["suback", "a/b=x", "z=x"]),
        ("+/a", vec!["suback"]),
        ("$internal/+", vec!["suback", "$internal/a=x"]),
    ] {
        subscribe(&mut server, link, &[filter], QoS::AtMostOnce, None);
        turn_on(&mut server);
        assert_eq!(heard(&mut server, link), expected, "{filter}");
    }
}

fn durable() -> (Server, Vec<String>, Link) {
    let mut server = Server::with(Config { durable: true, ..Config::default() }, 1);
    let topics = devices(&mut server, 30, QoS::AtLeastOnce);
    server.persist_all();
    let link = server.connect(kept());
    server.persist_all();
    server.take_bytes(link);
    (server, topics, link)
}

fn kept() -> Connect<'static> {
    Connect {
        clean_start: false,
        session_expiry_s: Some(600),
        receive_maximum: Some(10),
        ..Connect::new(Version::V5, "kept")
    }
}

#[test]
fn a_session_that_is_kept_is_owed_no_more_at_once_than_its_client_takes() {
    let (mut server, topics, link) = durable();
    subscribe(&mut server, link, &["#"], QoS::AtLeastOnce, None);
    // Retained messages follow the SUBACK, which waits until the subscription is durable.
    assert_eq!(server.persist_one(Persisted::Done).as_deref(), Some("kept: subscribe #"));
    assert_eq!(server.host.changes.len(), 10);
    let mut found = Vec::new();
    while found.len() < topics.len() {
        server.persist_all();
        let more = acknowledge(&mut server, link);
        assert!((1..=10).contains(&more.len()), "{more:?}");
        found.extend(more);
    }
    assert_eq!(found, topics);
}

#[test]
fn a_replay_that_cannot_be_kept_goes_on_where_it_failed() {
    let (mut server, topics, link) = durable();
    subscribe(&mut server, link, &["#"], QoS::AtLeastOnce, None);
    server.persist_one(Persisted::Done);
    for _ in 0..4 {
        server.persist_one(Persisted::Done);
    }
    let mut found = acknowledge(&mut server, link);
    assert_eq!(found, topics[..4]);
    server.persist_one(Persisted::Full);
    assert_eq!(server.close_reason(link), Some(Close::Refused(ReasonCode::QuotaExceeded)));
    server.persist_all();
    let link = server.connect(kept());
    while found.len() < 40 {
        server.persist_all();
        let more = acknowledge(&mut server, link);
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.sort();
    found.dedup();
    assert_eq!(found, topics);
}

fn full(messages_max: usize) -> Server {
    let limits = RetainedLimits { messages_max, ..RetainedLimits::default() };
    Server::with_retained(Config::default(), 1, limits)
}

/// A server of so many loops that keeps so many messages of a user.
fn with_quota(owner_messages_max: usize, loops: u16) -> Server {
    let limits = RetainedLimits { owner_messages_max, ..RetainedLimits::default() };
    Server::with_retained(Config::default(), loops, limits)
}

fn user<'a>(version: Version, name: &'a str) -> Connect<'a> {
    Connect { username: Some(name), ..Connect::new(version, name) }
}

fn to_retain(topic: &str, qos: QoS, expiry_s: Option<u32>) -> Packet<'_> {
    let packet_id = if qos == QoS::AtMostOnce { 0 } else { 7 };
    let properties = PublishProperties { message_expiry_s: expiry_s, ..Default::default() };
    Packet::Publish(Publish { dup: false, qos, retain: true, topic, packet_id, properties, payload: b"x" })
}

#[test]
fn a_retained_message_beyond_a_bound_is_not_acknowledged_as_kept() {
    for (is_quota, version) in
        [(false, Version::V311), (false, Version::V5), (true, Version::V311), (true, Version::V5)]
    {
        for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let mut server = if is_quota { with_quota(1, 1) } else { full(1) };
            let counted = if is_quota { Event::RetainOverQuota } else { Event::RetainRefused };
            let reader = client(&mut server, "reader");
            subscribe(&mut server, reader, &["#"], QoS::AtLeastOnce, None);
            let writer = server.connect(user(version, "writer"));
            server.send(writer, &to_retain("first", QoS::AtMostOnce, None));
            server.take_bytes(writer);
            heard(&mut server, reader);
            server.send(writer, &to_retain("second", qos, None));
            let mut answers = Vec::new();
            server.take(writer, |packet| match packet {
                Packet::Puback(ack) | Packet::Pubrec(ack) => answers.push(ack.reason),
                other => panic!("{other:?}"),
            });
            let refused = Some(Close::Refused(ReasonCode::QuotaExceeded));
            let case = format!("{version:?} {qos:?} {counted:?}");
            match (version, qos) {
                // No refusal is sent: connected subscribers get it.
                (_, QoS::AtMostOnce) => {
                    assert_eq!(heard(&mut server, reader), ["second=x live"], "{case}");
                    assert!(server.is_open(writer), "{case}");
                }
                // It has no word for it, and does not acknowledge what it has not stored [3.1.1 MQTT-3.3.1-5].
                (Version::V311, _) => {
                    assert_eq!((answers, server.close_reason(writer)), (vec![], refused), "{case}");
                    assert_eq!(heard(&mut server, reader), Vec::<String>::new(), "{case}");
                }
                (Version::V5, _) => {
                    assert_eq!(answers, [ReasonCode::QuotaExceeded], "{case}");
                    assert_eq!(heard(&mut server, reader), Vec::<String>::new(), "{case}");
                    // Its packet id is free: the next message with it is taken.
                    server.send(writer, &to_retain("first", qos, None));
                    assert_eq!(heard(&mut server, reader), ["first=x live"], "{case}");
                }
            }
            let refused: Vec<_> = (server.host.events.iter())
                .filter(|event| matches!(event, Event::RetainRefused | Event::RetainOverQuota))
                .collect();
            assert_eq!(refused, [&counted], "{case}");
        }
    }
}

/// The topics of all retained messages.
fn all(server: &mut Server) -> Vec<String> {
    let link = client(server, "all");
    subscribe(server, link, &["#"], QoS::AtMostOnce, None);
    let found = heard(server, link);
    server.cut(link);
    found.into_iter().filter(|one| one != "suback").collect()
}

#[test]
fn an_operator_removes_messages_and_nobody_is_sent_anything() {
    for durable in [false, true] {
        let config = Config { durable, ..Config::default() };
        let mut server = Server::with(config, 1);
        let writers = ["anna", "bert"].map(|name| server.connect(user(Version::V5, name)));
        for (writer, topic) in
            [(0, "a/1"), (0, "a/2"), (1, "b/1"), (0, "b/2")].map(|(at, topic)| (writers[at], topic))
        {
            server.send(writer, &to_retain(topic, QoS::AtMostOnce, None));
            server.persist_all();
        }
        let reader = client(&mut server, "reader");
        subscribe(&mut server, reader, &["none", "a/#", "b/#"], QoS::AtMostOnce, None);
        heard(&mut server, reader);
        let topics = ["a/1", "b/1", "b/2", "never"].map(str::to_owned);
        let purging = server.brokers[0].purge_retained(&mut server.host, &topics, Some("anna"), PurgeId(5));
        let expected = if durable { (0, 2) } else { (2, 0) };
        assert_eq!((purging.removed, purging.waits), expected);
        assert_eq!(all(&mut server), ["a/2=x", "b/1=x"], "that of Bert stays");
        if durable {
            // The shard refuses one: the message is there again, and its owner's quota with it.
            server.persist_one(Persisted::Done);
            server.persist_one(Persisted::Full);
            assert_eq!(server.host.purged, [(PurgeId(5), Persisted::Done), (PurgeId(5), Persisted::Full)]);
            assert_eq!(all(&mut server), ["a/2=x", "b/1=x", "b/2=x"]);
        }
        assert_eq!(heard(&mut server, reader), Vec::<String>::new());
    }
}

#[test]
fn a_client_that_may_not_retain_is_refused_and_its_message_reaches_nobody() {
    for version in [Version::V311, Version::V5] {
        for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let mut server = full(9);
            server.host.retains_denied.insert("topic".into());
            let reader = client(&mut server, "reader");
            subscribe(&mut server, reader, &["#"], QoS::AtMostOnce, None);
            heard(&mut server, reader);
            let writer = server.connect(Connect::new(version, "writer"));
            server.take_bytes(writer);
            let mut publish = |retain, payload: &[u8]| {
                let packet_id = if qos == QoS::AtMostOnce { 0 } else { 7 };
                let publish = Publish {
                    dup: false,
                    qos,
                    retain,
                    topic: "topic",
                    packet_id,
                    properties: Default::default(),
                    payload,
                };
                server.send(writer, &Packet::Publish(publish));
                let mut reasons = Vec::new();
                server.take(writer, |packet| match packet {
                    Packet::Puback(ack) | Packet::Pubrec(ack) => reasons.push(ack.reason),
                    other => panic!("{other:?}"),
                });
                if qos == QoS::ExactlyOnce {
                    server.send(writer, &Packet::Pubrel(Ack { packet_id, ..Ack::default() }));
                    server.take_bytes(writer);
                }
                assert!(server.is_open(writer));
                (reasons, heard(&mut server, reader))
            };
            // 3.1.1 has no code for it: such a message is acknowledged and dropped.
            let refused = match (qos, version) {
                (QoS::AtMostOnce, _) => vec![],
                (_, Version::V5) => vec![ReasonCode::NotAuthorized],
                (_, Version::V311) => vec![ReasonCode::Success],
            };
            let case = format!("{version:?} {qos:?}");
            assert_eq!(publish(true, b"x"), (refused.clone(), vec![]), "{case}");
            assert_eq!(publish(true, b""), (refused, vec![]), "a removal needs the right too, {case}");
            assert_eq!(publish(false, b"x").1, ["topic=x live"], "{case}");
            assert!(server.host.events.contains(&Event::PublishDenied), "{case}");
            // A will is asked for when the client comes, and again when it is published.
            let will = || Will {
                topic: "topic",
                payload: b"x",
                qos: QoS::AtLeastOnce,
                retain: true,
                delay_s: 0,
                properties: Default::default(),
            };
            let denied = server.connect(Connect { will: Some(will()), ..Connect::new(version, "dies") });
            assert!(!server.is_open(denied), "{case}");
            server.host.retains_denied.clear();
            let link = server.connect(Connect { will: Some(will()), ..Connect::new(version, "dies") });
            assert!(server.is_open(link), "{case}");
            server.host.retains_denied.insert("topic".into());
            server.cut(link);
            assert_eq!(heard(&mut server, reader), Vec::<String>::new(), "{case}");
        }
    }
}

/// Whether a message is retained, or refused with Quota exceeded.
fn is_retained(server: &mut Server, link: Link, topic: &str) -> bool {
    server.send(link, &to_retain(topic, QoS::AtLeastOnce, None));
    let mut reason = None;
    server.take(link, |packet| match packet {
        Packet::Puback(ack) => reason = Some(ack.reason),
        other => panic!("{other:?}"),
    });
    match reason.expect("it is answered") {
        ReasonCode::QuotaExceeded => false,
        reason => !reason.is_error() || panic!("{reason:?}"),
    }
}

#[test]
fn a_users_quota_holds_for_all_its_clients_on_all_loops_and_for_nobody_else() {
    let mut server = with_quota(2, 2);
    let connect = |server: &mut Server, at: u16, client_id: &str, username: Option<&str>| {
        let link = server.connect_on(at, Connect { username, ..Connect::new(Version::V5, client_id) });
        server.take_bytes(link);
        link
    };
    let anna_0 = connect(&mut server, 0, "a0", Some("anna"));
    let anna_1 = connect(&mut server, 1, "a1", Some("anna"));
    let bert = connect(&mut server, 1, "b", Some("bert"));
    let nobodies = [connect(&mut server, 0, "n0", None), connect(&mut server, 1, "n1", None)];
    assert!(is_retained(&mut server, anna_0, "a/1"));
    assert!(is_retained(&mut server, anna_1, "a/2"));
    assert!(!is_retained(&mut server, anna_0, "a/3"));
    assert!(!is_retained(&mut server, anna_1, "a/3"));
    assert!(is_retained(&mut server, anna_1, "a/1"));
    assert!(is_retained(&mut server, bert, "b/1"));
    // Anonymous clients have one quota together: they choose their client ids.
    assert!(is_retained(&mut server, nobodies[0], "n/1"));
    assert!(is_retained(&mut server, nobodies[1], "n/2"));
    assert!(!is_retained(&mut server, nobodies[1], "n/3"));
    // Another's message in the place of one of Anna's makes room for her.
    assert!(is_retained(&mut server, bert, "a/2"));
    assert!(is_retained(&mut server, anna_0, "a/3"));
}

#[test]
fn a_retained_will_counts_for_its_clients_user() {
    let mut server = with_quota(1, 1);
    let will = |topic| Will {
        topic,
        payload: b"x",
        qos: QoS::AtLeastOnce,
        retain: true,
        delay_s: 0,
        properties: Default::default(),
    };
    for topic in ["gone/1", "gone/2"] {
        let connect = Connect { will: Some(will(topic)), ..user(Version::V5, "anna") };
        let link = server.connect(connect);
        server.cut(link);
    }
    assert!(server.host.events.contains(&Event::RetainOverQuota));
    let reader = client(&mut server, "reader");
    subscribe(&mut server, reader, &["#"], QoS::AtMostOnce, None);
    assert_eq!(heard(&mut server, reader), ["suback", "gone/1=x"]);
}

#[test]
fn a_will_beyond_the_bound_is_delivered_and_counted() {
    let mut server = full(0);
    let reader = client(&mut server, "reader");
    subscribe(&mut server, reader, &["#"], QoS::AtMostOnce, None);
    heard(&mut server, reader);
    let will = Will {
        topic: "gone",
        payload: b"x",
        qos: QoS::AtLeastOnce,
        retain: true,
        delay_s: 0,
        properties: Default::default(),
    };
    let link = server.connect(Connect { will: Some(will), ..Connect::new(Version::V5, "dies") });
    server.cut(link);
    assert_eq!(heard(&mut server, reader), ["gone=x live"]);
    assert!(server.host.events.contains(&Event::RetainRefused));
}

#[test]
fn what_expires_makes_room_though_nobody_subscribes() {
    let mut server = full(1);
    let writer = client(&mut server, "writer");
    server.send(writer, &to_retain("first", QoS::AtMostOnce, Some(5)));
    assert_eq!(server.brokers[0].next_deadline_ms(), Some(6_000));
    server.send(writer, &to_retain("second", QoS::AtLeastOnce, None));
    let mut reasons = Vec::new();
    let mut look = |server: &mut Server| {
        server.take(writer, |packet| match packet {
            Packet::Puback(ack) => reasons.push(ack.reason),
            other => panic!("{other:?}"),
        });
    };
    look(&mut server);
    server.advance_ms(5_000);
    assert_eq!(server.brokers[0].next_deadline_ms(), None);
    server.send(writer, &to_retain("second", QoS::AtLeastOnce, None));
    look(&mut server);
    assert_eq!(reasons, [ReasonCode::QuotaExceeded, ReasonCode::NoMatchingSubscribers]);
}

#[test]
fn a_thousand_shared_subscriptions_in_a_packet_are_all_made_and_all_end() {
    let mut server = server();
    let link = client(&mut server, "c");
    let filters: Vec<String> = (0..1_000).map(|number| format!("$share/group{number}/t")).collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    subscribe(&mut server, link, &filters, QoS::AtMostOnce, None);
    let mut reasons = Vec::new();
    server.take(link, |packet| {
        if let Packet::Suback(suback) = packet {
            reasons.extend_from_slice(suback.reasons);
        }
    });
    assert_eq!(reasons, [0; 1_000]);
    let writer = client(&mut server, "writer");
    let publish = Publish {
        dup: false,
        qos: QoS::AtMostOnce,
        retain: false,
        topic: "t",
        packet_id: 0,
        properties: Default::default(),
        payload: b"x",
    };
    server.send(writer, &Packet::Publish(publish.clone()));
    assert_eq!(heard(&mut server, link).len(), 1_000, "each group has a member");
    filters.iter().for_each(|filter| unsubscribe(&mut server, link, filter));
    server.take_bytes(link);
    server.send(writer, &Packet::Publish(publish));
    assert_eq!(heard(&mut server, link), Vec::<String>::new());
}
