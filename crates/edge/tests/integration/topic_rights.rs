//! The table of the rights over topics, walked on a running edge: every use of a topic is let
//! through where the rules grant its right, and stopped where they deny that right alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stadium_edge::Edge;
use stadium_edge::auth::{
    AnonymousAccess, AuthConfig, Authenticator, Policy, RulesConfig, TOPIC_RIGHTS, TopicRule,
};
use stadium_edge::requests::{Answer, DeviceRequest, Refused, Reply, RequestLimits, Requests, Services};
use stadium_grants::topics::{Principal, Via};
use stadium_grants::{Right, Verb};
use stadium_mqtt::packet::*;

use crate::support::{Client, Heard, connect, open_edge_with};

/// The topic whose right is in question.
const TOPIC: &str = "plant/x";

/// A message that comes after all others.
const FENCE: &str = "plant/fence";

/// Answers every request, and counts them.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Requests for Counting {
    fn request(&self, _: &DeviceRequest<'_>, reply: Reply) -> Result<(), Refused> {
        self.0.fetch_add(1, Ordering::Relaxed);
        reply.send(Answer::Ok(Vec::new()));
        Ok(())
    }
}

/// Rules that allow everything; or all but this verb on this topic.
fn rules(denied: Option<(Verb, &str)>) -> Vec<TopicRule> {
    let all = TopicRule {
        allow: vec!["publish".to_owned(), "subscribe".to_owned()],
        topics: vec!["#".to_owned()],
        ..TopicRule::default()
    };
    let deny = denied.map(|(verb, topic)| {
        let (action, retain) = match verb {
            Verb::StreamPublish => ("publish", Some(false)),
            Verb::StreamRetain => ("publish", Some(true)),
            _ => ("subscribe", None),
        };
        TopicRule {
            deny: vec![action.to_owned()],
            topics: vec![topic.to_owned()],
            retain,
            ..TopicRule::default()
        }
    });
    deny.into_iter().chain([all]).collect()
}

struct Fixture {
    edge: Edge,
    services: Arc<Counting>,
}

impl Fixture {
    fn new(denied: Option<(Verb, &str)>) -> Self {
        let auth = AuthConfig {
            anonymous: AnonymousAccess::Anyone,
            rules: RulesConfig::Inline(rules(denied)),
            ..AuthConfig::default()
        };
        let authenticator = Arc::new(Authenticator::open(&auth).expect("rules"));
        let services = Arc::new(Counting::default());
        let requests = Arc::clone(&services) as Arc<dyn Requests>;
        let edge = open_edge_with(1, |config| {
            config.authenticator = authenticator;
            config.services = Some(Services { requests, limits: RequestLimits::default() });
        });
        Self { edge, services }
    }

    fn device(&self, id: &str, filters: &[&str]) -> Client {
        Client::device(&self.edge, id, filters)
    }

    /// Whether a client hears of the topic before the fence, which a third client publishes.
    fn hears(&self, client: &mut Client) -> bool {
        send(&mut self.device("fence", &[]), FENCE, false);
        loop {
            match client.hear() {
                Heard::Publish { topic, .. } if topic == TOPIC => return true,
                Heard::Publish { topic, .. } if topic == FENCE => return false,
                Heard::Closed => panic!("the connection ended"),
                _ => {}
            }
        }
    }

    /// Whether a client may connect with a will.
    fn will(&self, retain: bool) -> bool {
        let will = Will {
            qos: QoS::AtMostOnce,
            retain,
            topic: TOPIC,
            payload: b"gone",
            delay_s: 0,
            properties: Default::default(),
        };
        let (_client, connack) =
            Client::connect(&self.edge, Connect { will: Some(will), ..connect("d1", Version::V5) });
        matches!(connack, Heard::Connack { reason: 0, .. })
    }

    fn published(&self, retain: bool) -> bool {
        let mut witness = self.device("witness", &["plant/#"]);
        send(&mut self.device("d1", &[]), TOPIC, retain);
        self.hears(&mut witness)
    }

    fn subscribed(&self, filter: &str) -> bool {
        match self.device("d1", &[]).subscribe(filter, 1) {
            Heard::Suback(reasons) => reasons[0] < 0x80,
            other => panic!("a SUBACK and not {other:?}"),
        }
    }

    fn asks(&self) -> bool {
        let mut device = self.device("d1", &[]);
        device.send(&Packet::Publish(Publish {
            dup: false,
            qos: QoS::AtLeastOnce,
            retain: false,
            topic: "rpc/numbers/Double",
            packet_id: 7,
            properties: PublishProperties { response_topic: Some(TOPIC), ..PublishProperties::default() },
            payload: b"2",
        }));
        assert_eq!(device.hear(), Heard::Puback(7));
        self.services.0.load(Ordering::Relaxed) == 1
    }
}

/// Publishes with QoS 1, and waits for the PUBACK, whatever it says.
fn send(client: &mut Client, topic: &str, retain: bool) {
    client.send(&Packet::Publish(Publish {
        dup: false,
        qos: QoS::AtLeastOnce,
        retain,
        topic,
        packet_id: 1,
        properties: Default::default(),
        payload: b"x",
    }));
    assert_eq!(client.hear(), Heard::Puback(1));
}

/// Makes the use of a topic that a row of the table is about; whether it had its effect.
fn happens(what: &str, fixture: &Fixture) -> bool {
    match what {
        "PUBLISH without RETAIN" => fixture.published(false),
        "PUBLISH with RETAIN" => fixture.published(true),
        "Will without Will Retain" => fixture.will(false),
        "Will with Will Retain" => fixture.will(true),
        "SUBSCRIBE" => fixture.subscribed(TOPIC),
        "SUBSCRIBE to `$share/GROUP/FILTER`" => fixture.subscribed(&format!("$share/g/{TOPIC}")),
        "delivery of a message" => {
            let mut device = fixture.device("d1", &["plant/#"]);
            send(&mut fixture.device("d2", &[]), TOPIC, false);
            fixture.hears(&mut device)
        }
        "delivery of a retained message" => {
            send(&mut fixture.device("d2", &[]), TOPIC, true);
            let mut device = fixture.device("d1", &["plant/#"]);
            fixture.hears(&mut device)
        }
        "delivery of a message that a session kept" => {
            let kept =
                || Connect { clean_start: false, session_expiry_s: Some(600), ..connect("d1", Version::V5) };
            let (mut device, _) = Client::connect(&fixture.edge, kept());
            device.subscribe("plant/#", 1);
            drop(device);
            send(&mut fixture.device("d2", &[]), TOPIC, false);
            let (mut device, connack) = Client::connect(&fixture.edge, kept());
            assert!(matches!(connack, Heard::Connack { reason: 0, present: true, .. }), "{connack:?}");
            fixture.hears(&mut device)
        }
        "PUBLISH to `rpc/SERVICE/METHOD`" | "answer to a request" => fixture.asks(),
        _ => panic!("no step makes this use of a topic: {what}"),
    }
}

#[test]
fn every_use_of_a_topic_asks_for_the_right_of_its_row() {
    for &(what, right) in TOPIC_RIGHTS {
        let right: Right = right.parse().expect(what);
        let mut topic = String::new();
        let known = right.resource(&mut topic, |part| match part {
            "service" => Some("numbers"),
            "method" => Some("Double"),
            "request" => Some("opened"),
            _ => Some(TOPIC),
        });
        assert!(known, "{what}");
        let denied = Some((right.verb(), topic.as_str()));
        if what.starts_with("PUBLISH to `me/") {
            // Without shards there is no registry that could carry it out; the rules are asked alone.
            let who = Principal { user: "d1", client_id: "d1", groups: &[], via: Via::Registry };
            for (denied, allowed) in [(None, true), (denied, false)] {
                let policy = Policy::open(RulesConfig::Inline(rules(denied))).expect("rules");
                assert_eq!(policy.allows(&who, right.verb(), &topic), allowed, "{what}, denied: {denied:?}");
            }
            continue;
        }
        assert!(happens(what, &Fixture::new(None)), "{what}: the rules allow everything");
        assert!(!happens(what, &Fixture::new(denied)), "{what}: {denied:?} is denied");
        // The other verbs on the same topic decide nothing.
        for verb in [Verb::StreamPublish, Verb::StreamRetain] {
            let is_needed = verb == right.verb() || what.starts_with("delivery") || what.contains("rpc/");
            if !is_needed {
                assert!(happens(what, &Fixture::new(Some((verb, TOPIC)))), "{what}: {verb} is denied");
            }
        }
    }
}
