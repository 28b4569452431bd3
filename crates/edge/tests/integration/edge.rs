//! The edge on real sockets: devices come, are pushed to, move between loops, and go.
//!
//! The rules of MQTT are tested on the broker; here it is the way from a socket to the broker and
//! back.

use crate::support;

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stadium_edge::auth::{AnonymousAccess, AuthConfig, Authenticator};
use stadium_edge::{
    BeforeAuthentication, Config, ConnectBudget, Drain, Edge, Error, TRACES_MAX, Taken, TraceGuard,
    TraceLine, Traced,
};
use stadium_mqtt::packet::{Connect, Packet, Publish, PublishProperties, QoS, Version, Will};
use stadium_push::live::{Away, ChannelName, ClientId, LiveAudience, LivePush, Message, Qos, TopicPush};
use stadium_push::{AppName, PushId};
use support::{Client, Heard, connect, open_edge, open_edge_with, until};

fn push(to: LiveAudience, qos: Qos) -> TopicPush {
    TopicPush {
        push: LivePush { app: AppName::default(), id: PushId(7), to, qos, payload_bytes: 9, title: None },
        message: Message {
            payload: Bytes::from_static(b"lights on"),
            content_type: None,
            properties: Vec::new(),
        },
        away: Away::Queue(None),
    }
}

fn everybody() -> LiveAudience {
    LiveAudience::Channel(ChannelName::everybody())
}

#[test]
fn a_push_to_everybody_reaches_every_loop_and_is_reported() {
    for loops in [1, 2, 4] {
        let edge = open_edge(loops);
        let mut devices: Vec<Client> = (0..40)
            .map(|number| Client::device(&edge, &format!("phone{number}"), &["channels/everybody"]))
            .collect();
        let record = edge.handle().push(&push(everybody(), Qos::AtLeastOnce)).expect("accepted");
        for device in &mut devices {
            let Heard::Publish { topic, payload, packet_id, .. } = device.hear() else { panic!() };
            assert_eq!((topic.as_str(), &payload[..]), ("channels/everybody", &b"lights on"[..]));
            device.acknowledge(packet_id);
        }
        until("all acknowledged", || record.report().acknowledged == 40);
        let report = record.report();
        assert_eq!((report.targeted, report.sent, report.counting), (40, 40, false));
        assert_eq!(report.dropped + report.queued + report.expired, 0);
    }
}

#[test]
fn a_push_to_devices_counts_those_that_are_not_there() {
    let edge = open_edge(2);
    let mut here = Client::device(&edge, "here", &["inbox/here"]);
    let to = LiveAudience::Clients(["here", "nowhere"].map(|id| ClientId::new(id).expect("an id")).into());
    let record = edge.handle().push(&push(to, Qos::AtMostOnce)).expect("accepted");
    assert!(matches!(here.hear(), Heard::Publish { .. }));
    until("both loops had it", || !record.report().counting);
    assert_eq!((record.report().sent, record.report().not_connected), (1, 1));
}

#[test]
fn no_session_keeps_a_live_push_for_connections() {
    let edge = open_edge(2);
    let mut here = Client::device(&edge, "here", &["channels/news"]);
    let persistent = || {
        let kept = Connect { clean_start: false, session_expiry_s: Some(60), ..connect("gone", Version::V5) };
        Client::connect(&edge, kept).0
    };
    let mut gone = persistent();
    gone.subscribe("channels/news", 1);
    let news = || LiveAudience::Channel(ChannelName::new("news").expect("a name"));
    let live = |id| {
        let TopicPush { push, message, .. } = push(news(), Qos::AtLeastOnce);
        TopicPush { push: LivePush { id: PushId(id), ..push }, message, away: Away::Skip }
    };
    // One in flight to a connection that ends is given up, and not sent again.
    let first = edge.handle().push(&live(1)).expect("accepted");
    for device in [&mut here, &mut gone] {
        assert!(matches!(device.hear(), Heard::Publish { .. }));
    }
    drop(gone);
    until("the end of its connection is counted", || first.report().dropped == 1);
    // One made while the device is away is not for it.
    let second = edge.handle().push(&live(2)).expect("accepted");
    let Heard::Publish { .. } = here.hear() else { panic!("it is connected") };
    until("both loops had it", || !second.report().counting);
    let report = second.report();
    assert_eq!((report.targeted, report.sent, report.queued), (1, 1, 0), "{report:?}");
    let mut back = persistent();
    edge.handle().push(&live(3)).expect("accepted");
    let Heard::Publish { dup, .. } = back.hear() else { panic!("it is connected again") };
    assert!(!dup, "the first push was repeated");
    assert!(edge.handle().find_push(&second.report().push.app, PushId(2)).is_some());
}

#[test]
fn publishes_cross_loops_in_both_directions() {
    let edge = open_edge(4);
    let names: Vec<String> = (0..16).map(|number| format!("peer{number}")).collect();
    let mut peers: Vec<Client> =
        names.iter().map(|name| Client::device(&edge, name, &[&format!("to/{name}"), "all/+"])).collect();
    for from in 0..names.len() {
        let to = (from + 5) % names.len();
        peers[from].publish(&format!("to/{}", names[to]), b"hello", QoS::AtLeastOnce, 7);
        assert_eq!(peers[from].hear(), Heard::Puback(7));
        let Heard::Publish { payload, packet_id, .. } = peers[to].hear() else { panic!() };
        assert_eq!(payload, b"hello");
        peers[to].acknowledge(packet_id);
    }
    peers[0].publish("all/x", b"everyone", QoS::AtMostOnce, 0);
    for peer in &mut peers {
        assert!(matches!(peer.hear(), Heard::Publish { .. }));
    }
}

#[test]
fn a_takeover_is_found_whatever_loop_the_connections_came_in_on() {
    let edge = open_edge(4);
    for _ in 0..8 {
        let (mut first, _) = Client::connect(&edge, connect("phone", Version::V5));
        let (mut second, _) = Client::connect(&edge, connect("phone", Version::V5));
        assert_eq!(first.hear(), Heard::Disconnect(0x8E));
        assert_eq!(first.hear(), Heard::Closed);
        assert!(second.hear_within(Duration::from_millis(20)).is_none());
    }
}

#[test]
fn what_is_no_connect_is_cut_and_counted() {
    let edge = open_edge_with(1, |config| {
        config.before_authentication = BeforeAuthentication { bytes: 256, ms: 200, ..Default::default() };
    });
    let hopeless: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0xC0, 0], &[0x10, 0xFF, 0xFF, 0x7F], &[0x10, 0x20, 0]];
    for bytes in hopeless {
        let mut stream = Client::open(&edge);
        stream.write_all(bytes).expect("sent before it is cut");
        stream.set_read_timeout(Some(support::DEADLINE)).expect("a time");
        let mut answer = Vec::new();
        // A reset is as good as an end.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{bytes:?} was answered by {answer:?}");
    }
    until("all counted", || edge.handle().counts()[0].closes[6] == 4);
}

/// A CONNECT as large as one may be: every field of the longest, and a will.
fn large<'a>(client_id: &'a str, version: Version, payload: &'static [u8]) -> Connect<'a> {
    static LONGEST: [u8; 65_535] = [b'x'; 65_535];
    let text = std::str::from_utf8(&LONGEST).expect("it is ASCII");
    let will = Will {
        topic: "will",
        payload,
        qos: QoS::AtMostOnce,
        retain: false,
        delay_s: 0,
        properties: PublishProperties::default(),
    };
    Connect {
        will: Some(will),
        username: Some(text),
        password: Some(&LONGEST),
        ..connect(client_id, version)
    }
}

#[test]
fn the_largest_will_is_taken_whole_and_in_pieces() {
    static LONGEST: [u8; 65_535] = [b'w'; 65_535];
    for (loops, version) in [(1, Version::V5), (4, Version::V5), (1, Version::V311), (4, Version::V311)] {
        let edge = open_edge(loops);
        let mut watcher = Client::device(&edge, "watcher", &["will"]);
        for (name, piece) in [("whole", usize::MAX), ("pieces", 5_000)] {
            let mut bytes = Vec::new();
            Packet::Connect(large(name, version, &LONGEST)).encode(version, &mut bytes);
            let mut stream = Client::open(&edge);
            for part in bytes.chunks(piece.min(bytes.len())) {
                stream.write_all(part).expect("the edge reads");
            }
            let mut client = Client::of(stream, version);
            assert!(matches!(client.hear(), Heard::Connack { reason: 0, .. }), "{name} {version:?}");
            drop(client);
            let Heard::Publish { payload, .. } = watcher.hear() else { panic!("no will") };
            assert_eq!(payload.len(), LONGEST.len());
        }
    }
}

#[test]
fn a_connect_that_is_too_large_gets_the_reason() {
    static PAYLOAD: [u8; 5_000] = [b'w'; 5_000];
    let edge = open_edge_with(2, |config| config.before_authentication.bytes = 4_096);
    for (version, heard) in [
        (Version::V5, Heard::Connack { reason: 0x95, present: false, assigned: None }),
        (Version::V311, Heard::Closed),
    ] {
        for name in ["one", "two", "three"] {
            let (mut client, answer) = Client::connect(&edge, large(name, version, &PAYLOAD));
            assert_eq!(answer, heard);
            assert_eq!(client.hear(), Heard::Closed);
        }
    }
    let (_small, connack) = Client::connect(&edge, connect("small", Version::V5));
    assert!(matches!(connack, Heard::Connack { reason: 0, .. }));
}

#[test]
fn connects_that_do_not_come_whole_have_a_budget_together() {
    static PAYLOAD: [u8; 5_000] = [b'w'; 5_000];
    let edge = open_edge_with(2, |config| {
        config.before_authentication = BeforeAuthentication { held_bytes: 300_000, ..Default::default() };
    });
    // Two are held whole; all but their last byte is there.
    let mut bytes = Vec::new();
    Packet::Connect(large("slow", Version::V5, &PAYLOAD)).encode(Version::V5, &mut bytes);
    let (last, rest) = bytes.split_last().expect("a CONNECT");
    let slow: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = Client::open(&edge);
            stream.write_all(rest).expect("the edge reads");
            stream
        })
        .collect();
    let held = || edge.handle().loop_stats().iter().map(|stats| stats.carry_bytes.value()).sum::<u64>();
    until("both are held", || held() >= 2 * rest.len() as u64);
    let mut stream = Client::open(&edge);
    stream.write_all(&rest[..8_000]).expect("the edge reads");
    let refused = Client::of(stream, Version::V5).hear();
    assert!(
        matches!(refused, Heard::Connack { reason: 0x89, .. }),
        "there is no room for a third: {refused:?}"
    );
    let (_small, connack) = Client::connect(&edge, connect("small", Version::V5));
    assert!(matches!(connack, Heard::Connack { reason: 0, .. }), "a small one needs no room");
    for mut stream in slow {
        stream.write_all(&[*last]).expect("the edge reads");
        let mut client = Client::of(stream, Version::V5);
        assert!(matches!(client.hear(), Heard::Connack { reason: 0, .. }));
    }
    let (_third, connack) = Client::connect(&edge, large("third", Version::V5, &PAYLOAD));
    assert!(matches!(connack, Heard::Connack { reason: 0, .. }), "the room is free again: {connack:?}");
}

#[test]
fn what_follows_a_connect_at_once_is_not_lost_on_the_way_home() {
    let edge = open_edge(4);
    let mut watcher = Client::device(&edge, "watcher", &["t"]);
    for number in 0..8 {
        let mut bytes = Vec::new();
        Packet::Connect(connect(&format!("eager-{number}"), Version::V311)).encode(Version::V311, &mut bytes);
        for _ in 0..4 {
            let publish = Publish {
                dup: false,
                qos: QoS::AtMostOnce,
                retain: false,
                topic: "t",
                packet_id: 0,
                properties: PublishProperties::default(),
                payload: &[b'x'; 5_000],
            };
            Packet::Publish(publish).encode(Version::V311, &mut bytes);
        }
        let mut stream = Client::open(&edge);
        stream.write_all(&bytes).expect("the edge reads");
        for _ in 0..4 {
            assert!(matches!(watcher.hear(), Heard::Publish { .. }), "of client {number}");
        }
    }
}

#[test]
fn two_edges_do_not_share_a_port() {
    let one = open_edge(2);
    let port = one.bound()[0].address.port();
    for (ip, loops) in [([127, 0, 0, 1], 1), ([127, 0, 0, 1], 2), ([0, 0, 0, 0], 2)] {
        let auth = AuthConfig { anonymous: AnonymousAccess::Anyone, ..AuthConfig::default() };
        let authenticator = Arc::new(Authenticator::open(&auth).expect("nothing to read"));
        let config = Config { loops, ..Config::new(authenticator) }.listen_tcp((ip, port).into());
        let Err(Error::Listen { error, .. }) = Edge::start(config) else { panic!("they share {port}") };
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    }
    let (_client, connack) = Client::connect(&one, connect("d", Version::V5));
    assert!(matches!(connack, Heard::Connack { reason: 0, .. }));
}

#[test]
fn an_edge_listens_on_addresses_of_its_own_that_overlap() {
    let free = open_edge(1);
    let port = free.bound()[0].address.port();
    drop(free);
    let edge = open_edge_with(2, |config| {
        config.listeners.clear();
        for ip in [[127, 0, 0, 1], [0, 0, 0, 0]] {
            *config = std::mem::replace(config, Config::new(Arc::clone(&config.authenticator)))
                .listen_tcp((ip, port).into());
        }
    });
    let addresses: Vec<String> = edge.bound().iter().map(|bound| bound.address.to_string()).collect();
    assert_eq!(addresses, [format!("127.0.0.1:{port}"), format!("0.0.0.0:{port}")]);
}

#[test]
fn a_herd_over_the_budget_gets_a_time_to_reconnect() {
    let edge = open_edge_with(1, |config| {
        config.connect_budget = ConnectBudget { per_second: 5, retry_after_ms: 4_000 };
    });
    let mut busy = 0;
    for number in 0..10 {
        let (_client, connack) = Client::connect(&edge, connect(&format!("d{number}"), Version::V5));
        if let Heard::Connack { reason: 0x89, .. } = connack {
            busy += 1;
        }
    }
    assert!((4..=5).contains(&busy), "{busy} of 10 were asked to reconnect later");
}

#[test]
fn a_silent_device_is_cut_after_one_and_a_half_keep_alives() {
    let edge = open_edge(2);
    let brief = Connect { keep_alive_s: 1, ..connect("silent", Version::V5) };
    let began = std::time::Instant::now();
    let (mut client, _) = Client::connect(&edge, brief);
    assert_eq!(client.hear(), Heard::Disconnect(0x8D));
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1_450) && took < Duration::from_millis(2_500), "{took:?}");
}

#[test]
fn a_drain_notifies_everybody_and_lets_nobody_in() {
    let edge = open_edge(2);
    let mut devices: Vec<Client> =
        (0..20).map(|number| Client::device(&edge, &format!("d{number}"), &[])).collect();
    let drain = Drain { within: Duration::from_secs(2), server_reference: Some("other.example".into()) };
    let left = std::thread::scope(|scope| {
        let draining = scope.spawn(|| edge.drain(&drain));
        // A client that hangs up on request: one that does not is waited for, up to the linger.
        for mut device in devices.drain(..) {
            assert_eq!(device.hear(), Heard::Disconnect(0x9C));
            assert_eq!(device.hear(), Heard::Closed);
        }
        draining.join().expect("no panic")
    });
    assert_eq!(left, 0);
    assert!(edge.handle().push(&push(everybody(), Qos::AtMostOnce)).is_err());
}

#[test]
fn operators_list_show_and_kick() {
    let edge = open_edge(3);
    let mut devices: Vec<Client> =
        (0..30).map(|number| Client::device(&edge, &format!("d{number:02}"), &["inbox/x"])).collect();
    let query = stadium_edge::DevicesQuery { after: Some("d09".into()), limit: 5, ..Default::default() };
    let page = edge.handle().devices(&query);
    let ids: Vec<&str> = page.answers.iter().map(|device| device.client_id.as_str()).collect();
    assert_eq!(ids, ["d10", "d11", "d12", "d13", "d14"]);
    let view = edge.handle().device("d07").answers.expect("it is connected");
    assert_eq!(view.subscriptions, [("inbox/x".to_owned(), QoS::AtLeastOnce)]);
    let connection = view.connection.expect("it is connected");
    assert!(connection.address.is_some_and(|address| address.ip().is_loopback()));
    assert_eq!(edge.handle().kick("d07").answers, Some(stadium_edge::Kicked::Kicked));
    assert_eq!(devices[7].hear(), Heard::Disconnect(0x98));
    assert_eq!(edge.handle().kick("nobody").answers, Some(stadium_edge::Kicked::Unknown));
}

#[test]
fn many_sessions_are_listed_over_several_turns() {
    let edge = open_edge(1);
    // More than twice what a loop looks at in a turn.
    const SESSIONS: usize = 9_000;
    for number in 0..SESSIONS {
        let id = format!("Seat-{number:04}");
        let kept = Connect { session_expiry_s: Some(3_600), ..connect(&id, Version::V5) };
        let (_, connack) = Client::connect(&edge, kept);
        assert!(matches!(connack, Heard::Connack { reason: 0, .. }), "{connack:?}");
    }
    let listed = |query: stadium_edge::DevicesQuery| -> Vec<String> {
        let page = edge.handle().devices(&query);
        assert_eq!(page.missing, 0);
        page.answers.into_iter().map(|device| device.client_id).collect()
    };
    let ids = |numbers: &[usize]| numbers.iter().map(|n| format!("Seat-{n:04}")).collect::<Vec<_>>();
    let query = || stadium_edge::DevicesQuery { search: "seat-8".into(), limit: 3, ..Default::default() };
    assert_eq!(listed(query()), ids(&[8_000, 8_001, 8_002]));
    let rest = stadium_edge::DevicesQuery { after: Some("Seat-8997".into()), ..query() };
    assert_eq!(listed(rest), ids(&[8_998, 8_999]));
    let all = stadium_edge::DevicesQuery { limit: SESSIONS + 1, ..Default::default() };
    assert_eq!(listed(all), ids(&(0..SESSIONS).collect::<Vec<_>>()));
    let none = stadium_edge::DevicesQuery { search: "seat-9".into(), limit: 3, ..Default::default() };
    assert_eq!(listed(none), [""; 0]);
}

/// The lines of a trace up to the first that begins so.
fn lines_until(lines: &std::sync::mpsc::Receiver<TraceLine>, begin: &str) -> Vec<(&'static str, String)> {
    let mut seen = Vec::new();
    loop {
        let line = lines.recv_timeout(support::DEADLINE).expect("a line");
        seen.push((line.direction.name(), line.text));
        if seen.last().is_some_and(|(_, text)| text.starts_with(begin)) {
            return seen;
        }
    }
}

fn trace(edge: &Edge, traced: Traced) -> (TraceGuard, std::sync::mpsc::Receiver<TraceLine>) {
    let (to, lines) = std::sync::mpsc::sync_channel(1_000);
    let sink = move |line| if to.try_send(line).is_ok() { Taken::Yes } else { Taken::Full };
    let guard = edge.handle().trace(traced, Box::new(sink)).expect("there is room");
    assert_eq!(lines_until(&lines, "trace began").len(), 1);
    (guard, lines)
}

#[test]
fn a_trace_shows_the_packets_of_one_client_and_no_payload() {
    for loops in [1, 4] {
        let edge = open_edge(loops);
        let mut other = Client::device(&edge, "other", &[]);
        let (guard, lines) = trace(&edge, Traced::Client("watched".to_owned()));
        let mut watched = Client::device(&edge, "watched", &["t"]);
        other.publish("t", b"secret", QoS::AtLeastOnce, 5);
        let Heard::Publish { packet_id, .. } = watched.hear() else { panic!("no message") };
        watched.acknowledge(packet_id);
        watched.publish("elsewhere", b"secret", QoS::AtMostOnce, 0);
        drop(watched);
        let seen = lines_until(&lines, "disconnected");
        let words: Vec<String> = seen.iter().map(|(way, text)| format!("{way} {text}")).collect();
        let wanted = [
            "in CONNECT version=5.0",
            "out CONNACK reason=0x00 (Success)",
            "in SUBSCRIBE id=9 filter=t qos=1",
            "out SUBACK id=9 0x01",
            &format!("out PUBLISH topic=t qos=1 id={packet_id} payload=6 bytes"),
            &format!("in PUBACK id={packet_id}"),
            "in PUBLISH topic=elsewhere qos=0 payload=6 bytes",
            "none disconnected: peer_closed",
        ];
        assert_eq!(words.len(), wanted.len(), "{words:?}");
        for (line, wanted) in words.iter().zip(wanted) {
            assert!(line.starts_with(wanted), "{words:?}");
            assert!(!line.contains("secret"));
        }
        drop(guard);
        let gone = || matches!(lines.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
        until("every loop has let it go", gone);
    }
}

#[test]
fn a_trace_of_a_topic_shows_who_publishes_and_who_gets_it() {
    let edge = open_edge(2);
    let (mut sender, mut watcher) =
        (Client::device(&edge, "sender", &[]), Client::device(&edge, "watcher", &["t/#"]));
    let (_guard, lines) = trace(&edge, Traced::Topic("t/+".to_owned()));
    sender.publish("t/a/b", b"x", QoS::AtMostOnce, 0);
    sender.publish("t/a", b"x", QoS::AtMostOnce, 0);
    assert!(
        matches!(watcher.hear(), Heard::Publish { .. }) && matches!(watcher.hear(), Heard::Publish { .. })
    );
    let mut seen: Vec<_> = (0..2).map(|_| lines.recv_timeout(support::DEADLINE).expect("a line")).collect();
    seen.sort_by_key(|line| line.direction.name());
    let words: Vec<_> = seen.iter().map(|line| (line.client_id.as_str(), line.direction.name())).collect();
    assert_eq!(words, [("sender", "in"), ("watcher", "out")]);
    assert!(seen.iter().all(|line| line.text == "PUBLISH topic=t/a qos=0 payload=1 bytes"), "{seen:?}");
    let more: Vec<_> = std::iter::from_fn(|| {
        edge.handle().trace(Traced::Topic("x".to_owned()), Box::new(|_| Taken::Gone)).ok()
    })
    .take(TRACES_MAX * 2)
    .collect();
    assert_eq!(more.len(), TRACES_MAX - 1, "one goes on already");
}
