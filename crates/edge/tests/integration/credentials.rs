//! The registry of devices at the door of a running edge: what a CONNECT is answered, and that no verdict outlives a revocation.
//!
//! The registry and the platform are the test's own; it answers when the test lets it.

use crate::support;

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_edge::auth::{
    AnonymousAccess, AuthConfig, Authenticator, ClientIdBinding, DeviceRegistry, PasswordConfig, Question,
    RulesConfig, Standing, password_line,
};
use stadium_edge::{Behind, Config, Edge, PushShards};
use stadium_mqtt::packet::{Connect, Packet, Version};
use stadium_push::{AppName, Command, DeviceId, TransportCommand};
use support::{Client, DEADLINE, Heard, connect};

type Reply = Box<dyn FnOnce(Result<Standing, Duration>) + Send>;

/// Hands what it is asked to the test.
struct Asked(Mutex<Sender<(Question, Reply)>>);

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

impl DeviceRegistry for Asked {
    fn ask(&self, question: Question, answer: Reply) {
        self.0.lock().expect("no panic").send((question, answer)).expect("the test waits");
    }
}

#[derive(Debug)]
struct Nobody;

impl PushShards for Nobody {
    fn shard_of(&self, _: &AppName, _: &DeviceId) -> u16 {
        0
    }

    fn notify(&self, _: u16, _: Command) {}
}

fn open() -> (Edge, Receiver<(Question, Reply)>) {
    open_with(AuthConfig {
        anonymous: AnonymousAccess::Anyone,
        rules: RulesConfig::Everything,
        ..AuthConfig::default()
    })
}

fn open_with(auth: AuthConfig) -> (Edge, Receiver<(Question, Reply)>) {
    let authenticator = Arc::new(Authenticator::open(&auth).expect("nothing to read"));
    let config = Config { loops: 1, ..Config::new(authenticator) };
    let mut edge = Edge::bind(config.listen_tcp(([127, 0, 0, 1], 0).into())).expect("a free port");
    let (asked, questions) = mpsc::channel();
    let behind = Behind {
        platform: Some(Arc::new(Nobody)),
        registry: Some(Arc::new(Asked(Mutex::new(asked)))),
        ..Behind::default()
    };
    edge.run(&behind).expect("threads");
    (edge, questions)
}

fn knock(edge: &Edge, id: &str) -> Client {
    let mut client = Client::of(Client::open(edge), Version::V5);
    client.send(&Packet::Connect(connect(id, Version::V5)));
    client
}

#[test]
fn what_the_registry_says_is_what_the_device_hears() {
    let (edge, questions) = open();
    let table = [
        (Ok(Standing::Proved), 0),
        (Ok(Standing::Unknown), 0),
        (Ok(Standing::Unproved), 0x87),
        (Ok(Standing::Revoked { proved: true }), 0x8A),
        (Ok(Standing::Revoked { proved: false }), 0x87),
        (Ok(Standing::NamedAsApp), 0x87),
        (Err(Duration::from_millis(500)), 0x89),
    ];
    for (says, expected) in table {
        let mut device = knock(&edge, "shop/phone");
        let (question, reply) = questions.recv_timeout(DEADLINE).expect("it is asked");
        assert_eq!((question.app.as_str(), question.device.as_str()), ("shop", "phone"));
        assert_eq!(
            device.hear_within(Duration::from_millis(20)),
            None,
            "nobody is answered before the registry"
        );
        reply(says);
        let heard = device.hear();
        assert!(matches!(heard, Heard::Connack { reason, .. } if reason == expected), "{says:?}: {heard:?}");
    }
}

/// A command of a shard that revoked `phone`.
fn cut_phone() -> Vec<TransportCommand> {
    let device = DeviceId::new("phone").expect("a name");
    vec![TransportCommand::Disconnect { app: AppName::default(), device }]
}

#[test]
fn a_revoked_principal_is_cut_under_each_client_id_and_does_not_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users");
    let line = password_line("phone", b"secret", &[]).expect("a line");
    std::fs::write(&file, line).expect("written");
    let password = PasswordConfig { client_id: ClientIdBinding::Any, ..PasswordConfig::new(file) };
    let rules = RulesConfig::Everything;
    let (edge, questions) =
        open_with(AuthConfig { password: Some(password), rules, ..AuthConfig::default() });
    // One question about the client id, where it names a device, then one about the principal.
    let come = |id: &str, asked: &[&str], last: Standing| {
        let mut client = Client::of(Client::open(&edge), Version::V5);
        let packet =
            Connect { username: Some("phone"), password: Some(b"secret"), ..connect(id, Version::V5) };
        client.send(&Packet::Connect(packet));
        for (at, device) in asked.iter().enumerate() {
            let (question, reply) = questions.recv_timeout(DEADLINE).expect("it is asked");
            assert_eq!(question.device.as_str(), *device);
            reply(Ok(if at + 1 == asked.len() { last } else { Standing::Unknown }));
        }
        let heard = client.hear();
        (client, heard)
    };
    let (mut other, heard) = come("other", &["other", "phone"], Standing::Unknown);
    assert!(matches!(heard, Heard::Connack { reason: 0, .. }), "{heard:?}");
    let (mut assigned, heard) = come("", &["phone"], Standing::Unknown);
    assert!(matches!(heard, Heard::Connack { reason: 0, .. }), "{heard:?}");
    edge.handle().transport(0, cut_phone());
    for client in [&mut other, &mut assigned] {
        let heard = client.hear();
        assert!(matches!(heard, Heard::Disconnect(0x98, ..)), "{heard:?}");
    }
    for (id, asked) in [("other", &["other", "phone"][..]), ("", &["phone"])] {
        let (_, heard) = come(id, asked, Standing::Revoked { proved: false });
        assert!(matches!(heard, Heard::Connack { reason: 0x8A, .. }), "{heard:?}");
    }
}

#[test]
fn a_device_that_is_revoked_while_it_is_on_its_way_in_does_not_come_in() {
    let (edge, questions) = open();
    let mut phone = knock(&edge, "phone");
    let mut other = knock(&edge, "other");
    let (first, second) = (questions.recv_timeout(DEADLINE), questions.recv_timeout(DEADLINE));
    let (first, second) = (first.expect("it is asked"), second.expect("it is asked"));
    edge.handle().transport(0, cut_phone());
    for (_, reply) in [first, second] {
        // The answer of the shard before it revoked the device.
        reply(Ok(Standing::Proved));
    }
    assert!(matches!(phone.hear(), Heard::Connack { reason: 0x89, .. }), "it is asked to reconnect later");
    assert!(matches!(other.hear(), Heard::Connack { reason: 0, .. }), "others come in");
}
