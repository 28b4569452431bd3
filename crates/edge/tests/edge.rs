//! The edge on real sockets: devices come, are pushed to, move between loops, and go.
//!
//! What MQTT says is tested on the broker; here it is the way from a socket to the broker and back.

mod support;

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use stadium_edge::{Audience, BeforeAuthentication, ConnectBudget, Drain, NewPush};
use stadium_mqtt::packet::{Connect, QoS, Version};
use support::{Client, Heard, connect, open_edge, open_edge_with, until};

fn push(to: Audience, qos: QoS) -> NewPush {
    NewPush {
        to,
        payload: Arc::from(&b"lights on"[..]),
        qos,
        expiry: None,
        content_type: None,
        user_properties: Vec::new(),
    }
}

#[test]
fn a_push_to_everybody_reaches_every_loop_and_is_reported() {
    for loops in [1, 2, 4] {
        let edge = open_edge(loops);
        let mut devices: Vec<Client> = (0..40)
            .map(|number| Client::device(&edge, &format!("phone{number}"), &["channels/everybody"]))
            .collect();
        let record = edge.handle().push(&push(Audience::Everybody, QoS::AtLeastOnce)).expect("accepted");
        for device in &mut devices {
            let Heard::Publish { topic, payload, packet_id, .. } = device.hear() else { panic!() };
            assert_eq!((topic.as_str(), &payload[..]), ("channels/everybody", &b"lights on"[..]));
            device.acknowledge(packet_id);
        }
        until("all acknowledged", || record.progress().acknowledged == 40);
        let progress = record.progress();
        assert_eq!((progress.targeted, progress.sent, progress.loops_left), (40, 40, 0));
        assert_eq!(progress.dropped + progress.queued + progress.expired, 0);
    }
}

#[test]
fn a_push_to_devices_counts_those_that_are_not_there() {
    let edge = open_edge(2);
    let mut here = Client::device(&edge, "here", &["inbox/here"]);
    let to = Audience::Devices(vec!["here".into(), "nowhere".into()]);
    let record = edge.handle().push(&push(to, QoS::AtMostOnce)).expect("accepted");
    assert!(matches!(here.hear(), Heard::Publish { .. }));
    until("both loops had it", || record.progress().loops_left == 0);
    assert_eq!((record.progress().sent, record.progress().not_connected), (1, 1));
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
        config.before_authentication = BeforeAuthentication { bytes: 256, ms: 200 };
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

#[test]
fn a_herd_over_the_budget_is_told_when_to_come_back() {
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
    assert!((4..=5).contains(&busy), "{busy} of 10 were told to come back");
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
fn a_drain_tells_everybody_and_lets_nobody_in() {
    let edge = open_edge(2);
    let mut devices: Vec<Client> =
        (0..20).map(|number| Client::device(&edge, &format!("d{number}"), &[])).collect();
    let drain = Drain { within: Duration::from_secs(2), server_reference: Some("other.example".into()) };
    let left = std::thread::scope(|scope| {
        let draining = scope.spawn(|| edge.drain(&drain));
        // A client that hangs up when it is told to: one that does not is waited for, up to the linger.
        for mut device in devices.drain(..) {
            assert_eq!(device.hear(), Heard::Disconnect(0x9C));
            assert_eq!(device.hear(), Heard::Closed);
        }
        draining.join().expect("no panic")
    });
    assert_eq!(left, 0);
    assert!(edge.handle().push(&push(Audience::Everybody, QoS::AtMostOnce)).is_err());
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
