//! Short behaviours about the broker: what clients see of each other.
//!
//! They run on the broker's own fixture with virtual time. The specification's statements have
//! tests of their own; here is what those take for granted.

use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::broker::{Close, Config, Drop, Head, Message, Progress, TRANSIENT_RECEIPT};
use stadium_mqtt::decode;
use stadium_mqtt::packet::*;
use stadium_mqtt::reason::ReasonCode;

fn connect<'a>(client_id: &'a str, version: Version) -> Connect<'a> {
    Connect::new(version, client_id)
}

fn publish<'a>(topic: &'a str, payload: &'a [u8], qos: QoS, packet_id: u16) -> Packet<'a> {
    Packet::Publish(Publish {
        dup: false,
        qos,
        retain: false,
        topic,
        packet_id,
        properties: Default::default(),
        payload,
    })
}

/// SUBSCRIBE bytes for one filter, in either version.
fn subscribe(server: &mut Server, link: Link, version: Version, filter: &str, options: u8) {
    let properties = if version == Version::V5 { 1 } else { 0 };
    let mut bytes = vec![0x82, (2 + properties + 2 + filter.len() + 1) as u8, 0, 9];
    if version == Version::V5 {
        bytes.push(0);
    }
    bytes.extend((filter.len() as u16).to_be_bytes());
    bytes.extend(filter.as_bytes());
    bytes.push(options);
    server.send_bytes(link, &bytes);
}

fn heard(server: &mut Server, link: Link) -> Vec<(String, Vec<u8>, QoS, bool, u16)> {
    let mut heard = Vec::new();
    server.take(link, |packet| {
        if let Packet::Publish(publish) = packet {
            let Publish { topic, payload, qos, dup, packet_id, .. } = publish;
            heard.push((topic.to_owned(), payload.to_vec(), qos, dup, packet_id));
        }
    });
    heard
}

#[test]
fn a_push_reaches_both_versions() {
    for loops in [1, 2] {
        let mut server = Server::with(Config::default(), loops);
        let old = server.connect(connect("old", Version::V311));
        let new = server.connect_on(loops - 1, connect("new", Version::V5));
        subscribe(&mut server, old, Version::V311, "channels/+", 0);
        subscribe(&mut server, new, Version::V5, "channels/everybody", 1);
        let sender = server.connect(connect("sender", Version::V5));
        server.send(sender, &publish("channels/everybody", b"lights", QoS::AtLeastOnce, 5));
        assert_eq!(
            heard(&mut server, old),
            [("channels/everybody".into(), b"lights".to_vec(), QoS::AtMostOnce, false, 0)]
        );
        assert_eq!(
            heard(&mut server, new),
            [("channels/everybody".into(), b"lights".to_vec(), QoS::AtLeastOnce, false, 1)]
        );
        let mut acknowledged = false;
        server.take(sender, |packet| {
            if let Packet::Puback(ack) = packet {
                acknowledged = ack.packet_id == 5 && ack.reason == ReasonCode::Success;
            }
        });
        assert!(acknowledged);
    }
}

#[test]
fn a_device_that_was_away_gets_what_it_missed_in_order() {
    let mut server = Server::new();
    let stays = Connect { clean_start: false, session_expiry_s: Some(600), ..connect("phone", Version::V5) };
    let phone = server.connect(stays.clone());
    subscribe(&mut server, phone, Version::V5, "inbox/phone", 1);
    server.cut(phone);
    let sender = server.connect(connect("sender", Version::V5));
    for number in 0..5_u8 {
        server.send(sender, &publish("inbox/phone", &[number], QoS::AtLeastOnce, 1));
    }
    server.advance_ms(599_000);
    let phone = server.connect(stays);
    let payloads: Vec<u8> = heard(&mut server, phone).iter().map(|(_, payload, ..)| payload[0]).collect();
    assert_eq!(payloads, [0, 1, 2, 3, 4]);
}

#[test]
fn a_session_ends_when_its_time_is_over() {
    let mut server = Server::new();
    let stays = Connect { clean_start: false, session_expiry_s: Some(600), ..connect("phone", Version::V5) };
    let phone = server.connect(stays);
    subscribe(&mut server, phone, Version::V5, "inbox/phone", 1);
    for _ in 0..100 {
        // Coming and going does not pile up deadlines, and each visit starts the time anew.
        server.cut(phone);
        server.advance_ms(10_000);
        let again =
            Connect { clean_start: false, session_expiry_s: Some(600), ..connect("phone", Version::V5) };
        let back = server.connect(again);
        server.cut(back);
    }
    assert_eq!(server.brokers[0].totals().sessions, 1);
    server.advance_ms(599_000);
    assert_eq!(server.brokers[0].totals().sessions, 1);
    server.advance_ms(1_000);
    assert_eq!(server.brokers[0].totals().sessions, 0);
    assert_eq!(server.brokers[0].totals().subscriptions, 0);
    assert_eq!(server.brokers[0].next_deadline_ms(), None);
}

#[test]
fn the_newer_connection_has_the_session_and_the_older_one_is_notified() {
    let mut server = Server::new();
    let first = server.connect(connect("phone", Version::V5));
    server.take_bytes(first);
    let second = server.connect(connect("phone", Version::V5));
    assert_eq!(server.close_reason(first), Some(Close::TakenOver));
    let mut reason = None;
    server.take(first, |packet| {
        if let Packet::Disconnect(disconnect) = packet {
            reason = Some(disconnect.reason);
        }
    });
    assert_eq!(reason, Some(ReasonCode::SessionTakenOver));
    assert!(server.is_open(second));
    assert_eq!(server.brokers[0].totals().sessions, 1);
}

#[test]
fn a_full_window_holds_messages_back_until_they_are_acknowledged() {
    let mut server = Server::new();
    let narrow = Connect { receive_maximum: Some(2), ..connect("phone", Version::V5) };
    let phone = server.connect(narrow);
    subscribe(&mut server, phone, Version::V5, "news", 1);
    let sender = server.connect(connect("sender", Version::V5));
    for number in 0..5_u8 {
        server.send(sender, &publish("news", &[number], QoS::AtLeastOnce, 1));
    }
    let first = heard(&mut server, phone);
    assert_eq!(first.len(), 2);
    server.send(phone, &Packet::Puback(Ack { packet_id: first[0].4, ..Ack::default() }));
    let next = heard(&mut server, phone);
    assert_eq!(next.iter().map(|(_, payload, ..)| payload[0]).collect::<Vec<_>>(), [2]);
    assert_ne!(next[0].4, first[1].4);
}

#[test]
fn unacknowledged_messages_come_again_with_their_ids_and_dup() {
    let mut server = Server::new();
    let stays = Connect { clean_start: false, session_expiry_s: Some(600), ..connect("phone", Version::V5) };
    let phone = server.connect(stays.clone());
    subscribe(&mut server, phone, Version::V5, "news", 2);
    let sender = server.connect(connect("sender", Version::V5));
    server.send(sender, &publish("news", b"one", QoS::AtLeastOnce, 1));
    server.send(sender, &publish("news", b"two", QoS::ExactlyOnce, 2));
    let before = heard(&mut server, phone);
    server.send(phone, &Packet::Pubrec(Ack { packet_id: before[1].4, ..Ack::default() }));
    server.cut(phone);
    let phone = server.connect(stays);
    let mut again = Vec::new();
    let mut released = Vec::new();
    server.take(phone, |packet| match packet {
        Packet::Publish(publish) => again.push((publish.packet_id, publish.dup)),
        Packet::Pubrel(ack) => released.push(ack.packet_id),
        _ => {}
    });
    assert_eq!(again, [(before[0].4, true)]);
    assert_eq!(released, [before[1].4]);
}

#[test]
fn members_of_a_group_share_the_work_across_loops() {
    let mut server = Server::with(Config::default(), 2);
    let members: Vec<Link> = (0..4_u16)
        .map(|number| {
            let id = format!("worker{number}");
            let link = server.connect_on(number % 2, connect(&id, Version::V5));
            subscribe(&mut server, link, Version::V5, "$share/pool/jobs/+", 1);
            link
        })
        .collect();
    let sender = server.connect(connect("sender", Version::V5));
    for number in 0..8_u16 {
        server.send(sender, &publish("jobs/a", b"x", QoS::AtLeastOnce, number + 1));
    }
    for &member in &members {
        assert_eq!(heard(&mut server, member).len(), 2);
    }
    server.cut(members[0]);
    for number in 0..6_u16 {
        server.send(sender, &publish("jobs/a", b"x", QoS::AtLeastOnce, number + 20));
    }
    let after: Vec<usize> = members[1..].iter().map(|&member| heard(&mut server, member).len()).collect();
    // Six new ones, and the two that the member who left had not acknowledged.
    assert_eq!(after.iter().sum::<usize>(), 8);
    assert!(after.iter().all(|&count| count >= 2), "{after:?}");
}

#[test]
fn a_byte_at_a_time_is_as_good_as_all_at_once() {
    let mut server = Server::new();
    let mut bytes = Vec::new();
    Packet::Connect(connect("slow", Version::V5)).encode(Version::V5, &mut bytes);
    publish("a/b", b"payload", QoS::ExactlyOnce, 3).encode(Version::V5, &mut bytes);
    let link = server.open();
    for byte in bytes {
        server.send_bytes(link, &[byte]);
    }
    let mut packets = 0;
    server.take(link, |_| packets += 1);
    assert_eq!(packets, 2);
    assert!(decode::frame(&[0xC0, 0], 10).is_ok());
}

#[test]
fn a_session_of_somebody_else_is_not_handed_out() {
    let mut server = Server::new();
    let owner =
        Connect { username: Some("ann"), session_expiry_s: Some(600), ..connect("phone", Version::V5) };
    let phone = server.connect(owner);
    let thief = Connect { username: Some("bob"), clean_start: false, ..connect("phone", Version::V5) };
    let other = server.connect(thief);
    assert_eq!(server.close_reason(other), Some(Close::Refused(ReasonCode::NotAuthorized)));
    assert!(server.is_open(phone));
}

/// A message of the push platform, which keeps it until it is acknowledged.
fn pushed(server: &mut Server, topic: &str, payload: &[u8], qos: QoS, token: u64) {
    let head = Head { qos, receipt: TRANSIENT_RECEIPT | token, ..Head::default() };
    let message = Message { topic, properties: &[], payload, head };
    server.brokers[0].accept(&mut server.host, &message).expect("nothing is retained");
}

#[test]
fn what_the_platform_keeps_is_kept_by_no_session() {
    let mut server = Server::new();
    let stays = || Connect {
        clean_start: false,
        session_expiry_s: Some(600),
        receive_maximum: Some(2),
        ..connect("phone", Version::V5)
    };
    let phone = server.connect(stays());
    subscribe(&mut server, phone, Version::V5, "inbox/phone", 2);
    let sender = server.connect(connect("sender", Version::V5));
    // One of each in flight, and one of each waiting behind them.
    for payload in [b"1", b"2"] {
        pushed(&mut server, "inbox/phone", payload, QoS::AtLeastOnce, u64::from(payload[0]));
        server.send(sender, &publish("inbox/phone", payload, QoS::AtLeastOnce, 1));
    }
    assert_eq!(heard(&mut server, phone).len(), 2);
    let reports = server.host.receipts.len();
    server.cut(phone);
    // And one that finds it away.
    pushed(&mut server, "inbox/phone", b"3", QoS::AtLeastOnce, 3);
    let given_up = |token: u64| (TRANSIENT_RECEIPT | token, Progress::Dropped(Drop::SessionEnded));
    assert_eq!(server.host.receipts[reports..], [given_up(b'1'.into()), given_up(b'2'.into())]);
    let totals = server.brokers[0].totals();
    assert_eq!((totals.deliveries, totals.queued_messages), (2, 0));

    let phone = server.connect(stays());
    let payloads: Vec<u8> = heard(&mut server, phone).iter().map(|(_, payload, ..)| payload[0]).collect();
    assert_eq!(payloads, *b"12", "the sender's own");
    // A takeover is the end of a connection as well.
    server.advance_ms(1);
    pushed(&mut server, "inbox/phone", b"4", QoS::AtLeastOnce, 4);
    let again = server.connect(stays());
    assert!(!server.is_open(phone));
    let payloads: Vec<u8> = heard(&mut server, again).iter().map(|(_, payload, ..)| payload[0]).collect();
    assert_eq!(payloads, *b"12");
}

#[test]
fn a_released_delivery_of_the_platform_is_finished_on_return() {
    let mut server = Server::new();
    let stays =
        || Connect { clean_start: false, session_expiry_s: Some(600), ..connect("phone", Version::V5) };
    let phone = server.connect(stays());
    subscribe(&mut server, phone, Version::V5, "inbox/phone", 2);
    pushed(&mut server, "inbox/phone", b"once", QoS::ExactlyOnce, 9);
    let packet_id = heard(&mut server, phone)[0].4;
    server.send(phone, &Packet::Pubrec(Ack { packet_id, ..Ack::default() }));
    server.cut(phone);
    let phone = server.connect(stays());
    let mut released = Vec::new();
    server.take(phone, |packet| {
        if let Packet::Pubrel(ack) = packet {
            released.push(ack.packet_id);
        }
    });
    assert_eq!(released, [packet_id]);
    assert_eq!(server.host.receipts.last(), Some(&(TRANSIENT_RECEIPT | 9, Progress::Acknowledged)));
}

/// What a rule denies to everybody, as `Server` has it: to subscribe to these topics.
fn deny(server: &mut Server, topics: &[&str]) {
    server.host.denied.extend(topics.iter().map(|topic| (false, (*topic).to_owned())));
}

fn topics(server: &mut Server, link: Link) -> Vec<String> {
    heard(server, link).into_iter().map(|(topic, ..)| topic).collect()
}

#[test]
fn a_filter_that_is_denied_in_part_gets_the_rest() {
    for loops in [1, 2] {
        let mut server = Server::with(Config::default(), loops);
        deny(&mut server, &["secret/x"]);
        let sender = server.connect(connect("sender", Version::V5));
        for topic in ["open/kept", "secret/x"] {
            let kept = Publish {
                dup: false,
                qos: QoS::AtMostOnce,
                retain: true,
                topic,
                packet_id: 0,
                properties: Default::default(),
                payload: b"kept",
            };
            server.send(sender, &Packet::Publish(kept));
        }
        let watcher = server.connect_on(loops - 1, connect("watcher", Version::V5));
        subscribe(&mut server, watcher, Version::V5, "#", 1);
        assert_eq!(topics(&mut server, watcher), ["open/kept"], "of what is retained");
        for topic in ["secret/x", "secret/y"] {
            server.send(sender, &publish(topic, b"now", QoS::AtLeastOnce, 4));
        }
        assert_eq!(topics(&mut server, watcher), ["secret/y"]);
        // A second filter that overlaps gives it no more.
        subscribe(&mut server, watcher, Version::V5, "secret/+", 0x21);
        subscribe(&mut server, watcher, Version::V5, "secret/x", 0x21);
        server.take_bytes(watcher);
        for topic in ["secret/x", "secret/y"] {
            server.send(sender, &publish(topic, b"again", QoS::AtMostOnce, 0));
        }
        assert_eq!(topics(&mut server, watcher), ["secret/y"]);
    }
}

#[test]
fn a_subscription_is_held_to_rules_that_came_later() {
    let mut server = Server::new();
    let sender = server.connect(connect("sender", Version::V5));
    let watcher = server.connect(connect("watcher", Version::V5));
    subscribe(&mut server, watcher, Version::V5, "a/#", 0);
    subscribe(&mut server, watcher, Version::V5, "$share/g/b/#", 0);
    server.take_bytes(watcher);
    let published = |server: &mut Server| {
        for topic in ["a/x", "a/y", "b/x", "b/y"] {
            server.send(sender, &publish(topic, b"now", QoS::AtMostOnce, 0));
        }
        topics(server, watcher)
    };
    assert_eq!(published(&mut server), ["a/x", "a/y", "b/x", "b/y"]);
    deny(&mut server, &["a/x", "b/x"]);
    assert_eq!(server.brokers[0].reauthorise(&mut server.host), 0, "none is denied as a whole");
    assert_eq!(published(&mut server), ["a/y", "b/y"]);
    server.host.denied.clear();
    server.brokers[0].reauthorise(&mut server.host);
    assert_eq!(published(&mut server), ["a/x", "a/y", "b/x", "b/y"]);
}

#[test]
fn a_message_that_no_member_may_have_ends_with_its_group() {
    for loops in [1, 2] {
        let mut server = Server::with(Config::default(), loops);
        deny(&mut server, &["t/x"]);
        let sender = server.connect(connect("sender", Version::V5));
        let members: Vec<Link> = (0..3)
            .map(|number| {
                let at = number % loops;
                let member = server.connect_on(at, connect(&format!("m{number}"), Version::V5));
                subscribe(&mut server, member, Version::V5, "$share/g/t/#", 1);
                server.take_bytes(member);
                member
            })
            .collect();
        for _ in 0..3 {
            server.send(sender, &publish("t/x", b"secret", QoS::AtLeastOnce, 4));
            server.send(sender, &publish("t/y", b"open", QoS::AtLeastOnce, 5));
        }
        let got: Vec<Vec<String>> = members.iter().map(|&member| topics(&mut server, member)).collect();
        let all: Vec<&String> = got.iter().flatten().collect();
        assert_eq!(all, ["t/y", "t/y", "t/y"], "{loops} loops: {got:?}");
    }
}

#[test]
fn an_inbox_that_is_denied_is_not_read_through_a_wider_filter() {
    let mut server = Server::new();
    deny(&mut server, &["inbox/phone"]);
    let phone = server.connect(connect("phone", Version::V5));
    subscribe(&mut server, phone, Version::V5, "inbox/#", 1);
    server.take_bytes(phone);
    let key = server.session(phone).expect("it was let in");
    let message = Message {
        topic: "inbox/phone",
        properties: &[],
        payload: b"x",
        head: Head { qos: QoS::AtLeastOnce, ..Head::default() },
    };
    assert!(!server.brokers[0].reads(&mut server.host, key, "inbox/phone"));
    assert!(!server.brokers[0].deliver_to(&mut server.host, key, &message));
    assert!(server.brokers[0].reads(&mut server.host, key, "inbox/other"));
    server.host.denied.clear();
    assert!(server.brokers[0].deliver_to(&mut server.host, key, &message));
}

#[test]
fn topics_have_as_many_levels_as_the_setting_allows() {
    for (levels_max, version) in [(4, Version::V5), (4, Version::V311), (10_000, Version::V5)] {
        let config = Config { topic_levels_max: levels_max, ..Config::default() };
        let fits = vec!["a"; levels_max].join("/");
        let deep = format!("{fits}/a");
        let filter = |text: &str| format!("+{}", &text[1..]);
        let subscribe = |server: &mut Server, link, filter: &str| {
            let mut rows = FiltersBuffer::new(version);
            let options = SubscriptionOptions {
                qos: QoS::AtMostOnce,
                no_local: false,
                retain_as_published: false,
                retain_handling: RetainHandling::Send,
            };
            rows.push(filter, options).expect("short enough");
            let subscribe = Subscribe {
                packet_id: 9,
                subscription_id: None,
                user_properties: Default::default(),
                filters: rows.filters(),
            };
            server.send(link, &Packet::Subscribe(subscribe));
            let mut reasons = Vec::new();
            server.take(link, |packet| {
                if let Packet::Suback(suback) = packet {
                    reasons.extend_from_slice(suback.reasons);
                }
            });
            reasons
        };
        let mut server = Server::with(config, 1);
        let reader = server.connect(connect("reader", version));
        // The name of a group is no level.
        assert_eq!(subscribe(&mut server, reader, &format!("$share/group/{}", filter(&fits))), [0]);
        assert_eq!(subscribe(&mut server, reader, &filter(&fits)), [0]);
        let writer = server.connect(connect("writer", version));
        server.send(writer, &publish(&fits, b"x", QoS::AtMostOnce, 0));
        assert_eq!(heard(&mut server, reader).len(), 2);
        server.send(writer, &publish(&deep, b"x", QoS::AtMostOnce, 0));
        assert_eq!(server.close_reason(writer), Some(Close::Refused(ReasonCode::TopicNameInvalid)));
        let refused = subscribe(&mut server, reader, &filter(&deep));
        match version {
            Version::V5 => assert_eq!(refused, [ReasonCode::TopicFilterInvalid as u8]),
            Version::V311 => assert!(!server.is_open(reader), "it has no code for it"),
        }
        let will = Will {
            topic: &deep,
            payload: b"x",
            qos: QoS::AtMostOnce,
            retain: false,
            delay_s: 0,
            properties: Default::default(),
        };
        let link = server.connect(Connect { will: Some(will), ..connect("dies", version) });
        assert!(!server.is_open(link), "its will is as deep");
    }
}
