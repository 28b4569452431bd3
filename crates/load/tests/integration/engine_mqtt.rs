//! MQTT sessions of the engine against a real broker: mosquitto, in both versions, over every transport.
//!
//! Where a broker must do what mosquitto would not, a listener of the test plays it.

use crate::broker;
use crate::users;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use broker::Broker;
use broker::relay::Relay;
use stadium_report::RunResult;
use stadium_scenario::program::{Action, Mqtt, Scheme, Version};
use users::{Do, Users, assert_clean, errors, step, template};

fn connect_as(client_id: &str, keep_alive_s: u16) -> Action {
    Action::Mqtt(Mqtt::Connect {
        client_id: template(client_id),
        credentials: None,
        clean_start: true,
        keep_alive_s,
        session_expiry_s: 0,
    })
}

fn connect() -> Do {
    Do::Step("connect", connect_as("user-${user()}", 60))
}

fn connect_with(username: &str, password: &str) -> Do {
    let credentials = Some((template(username), template(password)));
    Do::Step(
        "connect",
        Action::Mqtt(Mqtt::Connect {
            client_id: template("user-${user()}"),
            credentials,
            clean_start: true,
            keep_alive_s: 60,
            session_expiry_s: 0,
        }),
    )
}

fn subscribe(filter: &str, qos: u8) -> Do {
    Do::Step("subscribe", Action::Mqtt(Mqtt::Subscribe { filters: vec![template(filter)], qos }))
}

fn publish(topic: &str, qos: u8, stamped: bool) -> Do {
    let (topic, payload) = (template(topic), template(" hello of ${user()}"));
    Do::Step("publish", Action::Mqtt(Mqtt::Publish { topic, payload, qos, retain: false, stamped }))
}

fn receive(count: u32) -> Action {
    Action::Mqtt(Mqtt::Receive { count })
}

fn disconnect() -> Do {
    Do::Step("disconnect", Action::Mqtt(Mqtt::Disconnect))
}

fn statuses(result: &RunResult, name: &str) -> Vec<(String, u64)> {
    step(result, name).requests.statuses.clone().into_iter().collect()
}

#[test]
fn publishes_end_with_their_acknowledgement_at_each_qos() {
    let broker = Broker::start();
    for (version, qos, acknowledged) in [
        (Version::Mqtt311, 0, None),
        (Version::Mqtt311, 1, Some("0x00")),
        (Version::Mqtt311, 2, Some("0x00")),
        (Version::Mqtt5, 0, None),
        // Nobody has subscribed, and MQTT 5.0 reports it; at QoS 2 PUBCOMP has the last word.
        (Version::Mqtt5, 1, Some("0x10")),
        (Version::Mqtt5, 2, Some("0x00")),
    ] {
        let result = Users::at(Scheme::Mqtt, version, broker.address)
            .users(5, vec![connect(), publish("a/${user()}", qos, false), disconnect()])
            .run();
        assert_clean(&result);
        assert_eq!((result.total.started, result.total.answered), (15, 15), "{version:?} QoS {qos}");
        assert_eq!(statuses(&result, "connect"), [("0x00".to_owned(), 5)]);
        let expected: Vec<_> = acknowledged.map(|status| (status.to_owned(), 5)).into_iter().collect();
        assert_eq!(statuses(&result, "publish"), expected, "{version:?} QoS {qos}");
        let service = step(&result, "connect").requests.service.summary();
        assert!(service.count == 5 && service.max_ms < 5_000.0, "{service:?}");
    }
}

/// Three users subscribe, and think while four others publish: what came meanwhile waits for them.
fn talk(users: Users, subscribed: u8, published: u8) -> RunResult {
    let listen = vec![
        connect(),
        subscribe("news/#", subscribed),
        Do::Think(700),
        Do::Checked("some", receive(3), "hello of "),
        Do::Checked("rest", receive(9), "hello of "),
        disconnect(),
    ];
    let say: Vec<Do> = [connect()]
        .into_iter()
        .chain((0..3).map(|_| publish("news/${user()}", published, true)))
        .chain([disconnect()])
        .collect();
    let result = users.users(3, listen).users(4, say).run();
    assert_clean(&result);
    let messages = &result.messages;
    assert_eq!((messages.sent, messages.received), (12, 36), "{messages:?}");
    assert_eq!((messages.lost, messages.duplicates, messages.reordered), (0, 0, 0), "{messages:?}");
    assert_eq!(messages.latency.summary().count, 36);
    assert_eq!(step(&result, "some").checks[0].passed, 3);
    assert!(step(&result, "some").requests.bytes_in >= 3 * 12 * 40, "what came for it is counted with it");
    result
}

#[test]
fn stamped_messages_reach_every_subscriber_once() {
    let broker = Broker::start();
    let result = talk(Users::at(Scheme::Mqtt, Version::Mqtt5, broker.address), 2, 2);
    assert_eq!(statuses(&result, "subscribe"), [("0x02".to_owned(), 3)], "QoS 2 was granted");
    talk(Users::at(Scheme::Mqtt, Version::Mqtt311, broker.address), 1, 1);
    talk(Users::at(Scheme::Mqtt, Version::Mqtt5, broker.address), 0, 1);
}

#[test]
fn sessions_come_over_tls_and_websocket() {
    let (secured, authority) = Broker::with_tls();
    talk(Users::at(Scheme::Mqtts, Version::Mqtt5, secured.address).believing(Some(&authority)), 1, 1);
    let broker = Broker::start();
    let relay = Relay::to(broker.address);
    talk(Users::at(Scheme::MqttWs, Version::Mqtt5, relay.address), 1, 1);
}

#[test]
fn wrong_passwords_are_reported_in_words() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let file = directory.path().join("passwords");
    let made = std::process::Command::new("mosquitto_passwd")
        .args(["-b", "-c", &file.display().to_string(), "alice", "right"])
        .output()
        .expect("mosquitto_passwd comes with mosquitto");
    assert!(made.status.success(), "{made:?}");
    let broker = Broker::with(&format!("allow_anonymous false\npassword_file {}\n", file.display()));
    for version in [Version::Mqtt311, Version::Mqtt5] {
        let at = || Users::at(Scheme::Mqtt, version, broker.address);
        let result = at().users(4, vec![connect_with("alice", "wrong"), disconnect()]).run();
        assert_eq!(errors(&result, "connect"), [("mqtt: not authorized".to_owned(), 4)], "{version:?}");
        assert_eq!((result.total.started, result.total.answered, result.sessions[0].failed), (4, 0, 4));
        assert_clean(&at().users(4, vec![connect_with("alice", "right"), disconnect()]).run());
    }
}

#[test]
fn impossible_steps_are_reported_and_the_connection_lives() {
    let broker = Broker::start();
    let early = Users::at(Scheme::Mqtt, Version::Mqtt5, broker.address)
        .users(2, vec![publish("a", 1, false), disconnect()])
        .run();
    assert_eq!(errors(&early, "publish"), [("mqtt: not connected".to_owned(), 2)]);
    let twice = Users::at(Scheme::Mqtt, Version::Mqtt5, broker.address)
        .users(2, vec![connect(), Do::Step("again", connect_as("other", 60)), disconnect()])
        .run();
    assert_eq!(errors(&twice, "again"), [("mqtt: connected already".to_owned(), 2)]);
    let wild = Users::at(Scheme::Mqtt, Version::Mqtt5, broker.address)
        .users(2, vec![connect(), publish("a/#", 1, true), disconnect()])
        .run();
    assert_eq!(errors(&wild, "publish"), [("not sent: a topic name holds + or #".to_owned(), 2)]);
    assert_eq!(wild.messages.sent, 0, "what was not sent is not counted");
}

#[test]
fn a_broker_that_dies_fails_what_waits() {
    let mut broker = Broker::start();
    let mut killed = false;
    let result = Users::at(Scheme::Mqtt, Version::Mqtt5, broker.address)
        .users(6, vec![connect(), subscribe("a", 1), Do::Step("receive", receive(1)), disconnect()])
        .run_with(|progress| {
            if progress.elapsed_s > 0.6 && !std::mem::replace(&mut killed, true) {
                broker.kill();
            }
        });
    let lost: u64 = errors(&result, "receive").iter().map(|(_, count)| count).sum();
    assert_eq!((lost, result.sessions[0].failed), (6, 6), "{:?}", result.total.errors);
    for (kind, _) in errors(&result, "receive") {
        assert!(
            ["closed by the target", "reset", "mqtt: disconnected: server shutting down"].contains(&&*kind),
            "{kind}"
        );
    }
}

#[test]
fn keep_alive_is_kept_while_nothing_is_sent() {
    let broker = Broker::start();
    let quiet = Do::Step("connect", connect_as("quiet", 1));
    let result = Users::at(Scheme::Mqtt, Version::Mqtt311, broker.address)
        .users(1, vec![quiet, Do::Think(2_600), publish("a", 1, false), disconnect()])
        .run();
    assert_clean(&result);
}

/// A broker that sends this to every client that connects, and then nothing.
fn saying(words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client: TcpStream = client.expect("a client");
            std::thread::spawn(move || {
                let mut bytes = [0; 256];
                let _ = client.read(&mut bytes);
                let _ = client.write_all(words);
                while client.read(&mut bytes).is_ok_and(|count| count > 0) {}
            });
        }
    });
    address
}

#[test]
fn a_silent_broker_is_noticed_by_keep_alive() {
    let address = saying(b"\x20\x03\x00\x00\x00");
    let result = Users::at(Scheme::Mqtt, Version::Mqtt5, address)
        .users(2, vec![Do::Step("connect", connect_as("a", 1)), Do::Step("receive", receive(1))])
        .run();
    assert_eq!(errors(&result, "receive"), [("mqtt: no PINGRESP".to_owned(), 2)]);
    assert!(result.duration_s < 6.0, "well before the step's time is over: {}", result.duration_s);
}

#[test]
fn a_disconnect_of_the_broker_ends_what_waits_with_its_reason() {
    // CONNACK, and DISCONNECT with 0x8E. Mosquitto 2.0.11 closes without it.
    let address = saying(b"\x20\x03\x00\x00\x00\xe0\x02\x8e\x00");
    let result = Users::at(Scheme::Mqtt, Version::Mqtt5, address)
        .users(3, vec![connect(), Do::Step("receive", receive(1))])
        .run();
    assert_eq!(step(&result, "connect").requests.answered, 3);
    assert_eq!(errors(&result, "receive"), [("mqtt: disconnected: session taken over".to_owned(), 3)]);
}

#[test]
fn garbage_is_malformed_and_silence_a_timeout() {
    for (garbage, kind) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), "malformed: "),
        // A PUBLISH before CONNACK, and a CONNACK that ends in the middle of its properties.
        (b"\x30\x04\x00\x01a\x00", "malformed: "),
        (b"\x20\x03\x00\x00\x05", "malformed: "),
        (b"\x20\x03\x00\x00", "timeout"),
    ] {
        let result = Users::at(Scheme::Mqtt, Version::Mqtt5, saying(garbage))
            .users(2, vec![connect(), disconnect()])
            .within("connect", 300)
            .run();
        let failed = errors(&result, "connect");
        assert!(failed.len() == 1 && failed[0].1 == 2 && failed[0].0.starts_with(kind), "{kind}: {failed:?}");
    }
    let refused = Users::at(Scheme::Mqtt, Version::Mqtt5, broker::free_address())
        .users(2, vec![connect(), disconnect()])
        .run();
    assert_eq!(errors(&refused, "connect"), [("connect: refused".to_owned(), 2)]);
}
