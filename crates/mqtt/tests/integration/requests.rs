//! Requests of clients to services, as the broker sees them: what reaches the host, the reason of
//! PUBACK, and whom an answer reaches. Without services the topics are like any other.

use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::broker::{Answered, Config, Head, Message, NotTaken, Persisted, SessionKey};
use stadium_mqtt::packet::*;
use stadium_mqtt::reason::ReasonCode;
use std::time::Duration;

fn server() -> Server {
    let prefixes =
        Config { request_prefix: Some("rpc".into()), own_prefix: Some("me".into()), ..Config::default() };
    Server::with(prefixes, 1)
}

fn connect(server: &mut Server, client_id: &str, version: Version) -> Link {
    let link = server.connect(Connect::new(version, client_id));
    server.take_bytes(link);
    link
}

fn subscribe(server: &mut Server, link: Link, filter: &str, qos: u8) {
    let mut bytes = vec![0x82, (2 + 1 + 2 + filter.len() + 1) as u8, 0, 9, 0];
    bytes.extend((filter.len() as u16).to_be_bytes());
    bytes.extend(filter.as_bytes());
    bytes.push(qos);
    server.send_bytes(link, &bytes);
    server.take_bytes(link);
}

/// A request at QoS 1 with packet id 5.
fn request<'a>(topic: &'a str, answer_to: Option<&'a str>) -> Publish<'a> {
    Publish {
        dup: false,
        qos: QoS::AtLeastOnce,
        retain: false,
        topic,
        packet_id: 5,
        properties: PublishProperties {
            response_topic: answer_to,
            correlation_data: answer_to.map(|_| &b"c-1"[..]),
            ..PublishProperties::default()
        },
        payload: b"where",
    }
}

/// The answer of PUBACK to a request: its reason and its `retry-after-ms`.
fn answer_to(server: &mut Server, link: Link, publish: Publish<'_>) -> (ReasonCode, Option<String>) {
    server.send(link, &Packet::Publish(publish));
    let mut answer = None;
    server.take(link, |packet| {
        if let Packet::Puback(ack) = packet {
            let mut properties = ack.user_properties.iter();
            let retry = properties.find(|(name, _)| *name == "retry-after-ms");
            answer = Some((ack.reason, retry.map(|(_, value)| value.to_owned())));
        }
    });
    answer.expect("a PUBACK")
}

fn answer(server: &mut Server, key: SessionKey, topic: &str, qos: QoS) -> Answered {
    let head = Head { qos, ..Head::default() };
    let message = Message { topic, properties: &[], payload: b"here", head };
    let Server { brokers, host, .. } = server;
    brokers[0].answer(host, key, &message)
}

fn heard(server: &mut Server, link: Link) -> Vec<(String, QoS)> {
    let mut heard = Vec::new();
    server.take(link, |packet| {
        if let Packet::Publish(publish) = packet {
            heard.push((publish.topic.to_owned(), publish.qos));
        }
    });
    heard
}

#[test]
fn a_request_reaches_the_host_and_no_subscriber() {
    let mut server = server();
    let curious = connect(&mut server, "curious", Version::V5);
    subscribe(&mut server, curious, "rpc/#", 1);
    let device = connect(&mut server, "d1", Version::V5);
    let answer = answer_to(&mut server, device, request("rpc/geo/Near", Some("inbox/d1")));
    assert_eq!(answer, (ReasonCode::Success, None));
    let [taken] = &server.host.requests[..] else { panic!("one request: {:?}", server.host.requests) };
    assert_eq!((&*taken.client_id, &*taken.route, &*taken.payload), ("d1", "geo/Near", &b"where"[..]));
    assert_eq!(taken.answer_to, Some(("inbox/d1".into(), Some(b"c-1".to_vec()))));
    assert_eq!(heard(&mut server, curious), []);
}

#[test]
fn without_services_the_topic_is_like_any_other() {
    let mut server = Server::new();
    let curious = connect(&mut server, "curious", Version::V5);
    subscribe(&mut server, curious, "rpc/#", 1);
    let device = connect(&mut server, "d1", Version::V5);
    answer_to(&mut server, device, request("rpc/geo/Near", None));
    assert_eq!(heard(&mut server, curious), [("rpc/geo/Near".into(), QoS::AtLeastOnce)]);
}

#[test]
fn puback_says_why_a_request_was_not_taken() {
    let ok = Some("inbox/d1");
    let busy = NotTaken { reason: ReasonCode::QuotaExceeded, retry_after: Some(Duration::from_millis(120)) };
    let long = format!("rpc/geo/{}", "x".repeat(252));
    let table = [
        ("rpc/geo/Near", ok, None, ReasonCode::Success, None),
        ("rpc/geo", ok, None, ReasonCode::TopicNameInvalid, None),
        ("rpc/", ok, None, ReasonCode::TopicNameInvalid, None),
        ("rpc/geo/", ok, None, ReasonCode::TopicNameInvalid, None),
        ("rpc//Near", ok, None, ReasonCode::TopicNameInvalid, None),
        ("rpc/geo/Near/by", ok, None, ReasonCode::TopicNameInvalid, None),
        (&long, ok, None, ReasonCode::TopicNameInvalid, None),
        ("rpc/secret/Near", ok, None, ReasonCode::NotAuthorized, None),
        ("rpc/geo/Near", Some("inbox/d2"), None, ReasonCode::NotAuthorized, None),
        ("rpc/geo/Near", ok, Some(busy), ReasonCode::QuotaExceeded, Some("120")),
        ("rpc/geo/Near", ok, Some(ReasonCode::TopicNameInvalid.into()), ReasonCode::TopicNameInvalid, None),
    ];
    for (topic, to, refuses, reason, retry) in table {
        let mut server = server();
        server.host.denied.insert((true, "rpc/secret/Near".into()));
        server.host.denied.insert((false, "inbox/d2".into()));
        server.host.refuses = refuses;
        let device = connect(&mut server, "d1", Version::V5);
        let answer = answer_to(&mut server, device, request(topic, to));
        assert_eq!(answer, (reason, retry.map(str::to_owned)), "{topic} {to:?}");
        assert_eq!(server.host.requests.len(), usize::from(reason == ReasonCode::Success), "{topic}");
    }
}

#[test]
fn a_retained_request_and_a_will_to_a_service_are_refused() {
    let mut server = server();
    let device = connect(&mut server, "d1", Version::V5);
    let retained = Publish { retain: true, ..request("rpc/geo/Near", None) };
    assert_eq!(answer_to(&mut server, device, retained).0, ReasonCode::ImplementationSpecificError);
    for topic in ["rpc/geo/Near", "me/opened"] {
        let will = Will {
            topic,
            payload: b"",
            qos: QoS::AtMostOnce,
            retain: false,
            delay_s: 0,
            properties: PublishProperties::default(),
        };
        let link = server.connect(Connect { will: Some(will), ..Connect::new(Version::V5, "d2") });
        let mut reason = None;
        server.take(link, |packet| {
            if let Packet::Connack(connack) = packet {
                reason = Some(connack.reason);
            }
        });
        assert_eq!(reason, Some(ReasonCode::TopicNameInvalid), "{topic}");
    }
}

#[test]
fn an_older_client_asks_without_an_answer() {
    let mut server = server();
    let device = connect(&mut server, "d1", Version::V311);
    assert_eq!(answer_to(&mut server, device, request("rpc/geo/Near", None)).0, ReasonCode::Success);
    assert_eq!(server.host.requests[0].answer_to, None);
    // It cannot get a refusal: 3.1.1 has no word for it.
    server.host.refuses = Some(ReasonCode::QuotaExceeded.into());
    assert_eq!(answer_to(&mut server, device, request("rpc/geo/Near", None)).0, ReasonCode::Success);
}

#[test]
fn an_answer_reaches_only_who_asked() {
    let mut server = server();
    let device = connect(&mut server, "d1", Version::V5);
    subscribe(&mut server, device, "channels/+", 1);
    let neighbour = connect(&mut server, "d2", Version::V5);
    subscribe(&mut server, neighbour, "channels/everybody", 1);
    answer_to(&mut server, device, request("rpc/geo/Near", Some("channels/everybody")));
    let key = server.host.requests[0].session;
    assert_eq!(answer(&mut server, key, "channels/everybody", QoS::AtLeastOnce), Answered::Yes);
    assert_eq!(heard(&mut server, device), [("channels/everybody".into(), QoS::AtLeastOnce)]);
    assert_eq!(heard(&mut server, neighbour), []);
}

#[test]
fn an_answer_has_the_lower_quality_of_request_and_subscription() {
    for (subscribed, asked, given) in [
        (2, QoS::AtMostOnce, QoS::AtMostOnce),
        (1, QoS::ExactlyOnce, QoS::AtLeastOnce),
        (2, QoS::ExactlyOnce, QoS::ExactlyOnce),
        (0, QoS::AtLeastOnce, QoS::AtMostOnce),
    ] {
        let mut server = server();
        let device = connect(&mut server, "d1", Version::V5);
        subscribe(&mut server, device, "inbox/d1", subscribed);
        let key = server.session(device).expect("let in");
        assert_eq!(answer(&mut server, key, "inbox/d1", asked), Answered::Yes);
        assert_eq!(heard(&mut server, device), [("inbox/d1".into(), given)]);
    }
}

#[test]
fn an_answer_that_nobody_can_have_is_reported() {
    let mut server = server();
    let device = connect(&mut server, "d1", Version::V5);
    let key = server.session(device).expect("let in");
    assert_eq!(answer(&mut server, key, "inbox/d1", QoS::AtLeastOnce), Answered::NotSubscribed);
    subscribe(&mut server, device, "inbox/d1", 1);
    server.cut(device);
    assert_eq!(answer(&mut server, key, "inbox/d1", QoS::AtLeastOnce), Answered::Gone);
}

#[test]
fn an_answer_waits_for_a_client_that_is_away() {
    let mut server = server();
    let staying =
        Connect { clean_start: false, session_expiry_s: Some(600), ..Connect::new(Version::V5, "d1") };
    let device = server.connect(staying.clone());
    subscribe(&mut server, device, "inbox/d1", 1);
    let key = server.session(device).expect("let in");
    server.cut(device);
    assert_eq!(answer(&mut server, key, "inbox/d1", QoS::AtMostOnce), Answered::Gone);
    assert_eq!(answer(&mut server, key, "inbox/d1", QoS::AtLeastOnce), Answered::Yes);
    let back = server.connect(staying);
    assert_eq!(heard(&mut server, back), [("inbox/d1".into(), QoS::AtLeastOnce)]);
}

/// PUBACK and PUBREC that a client was sent, each with its reason.
fn acknowledged(server: &mut Server, link: Link) -> Vec<(u16, ReasonCode)> {
    let mut all = Vec::new();
    server.take(link, |packet| match packet {
        Packet::Puback(ack) | Packet::Pubrec(ack) => all.push((ack.packet_id, ack.reason)),
        _ => {}
    });
    all
}

/// Lets the oldest request of a client for itself have its outcome: durable, or refused.
fn settle(server: &mut Server, outcome: Result<Persisted, ReasonCode>) {
    let (_, then) = server.host.own_requests.remove(0);
    let Server { brokers, host, .. } = server;
    match outcome {
        Ok(persisted) => brokers[0].persisted(host, then, persisted),
        Err(reason) => brokers[0].own_refused(host, then, reason),
    }
}

#[test]
fn a_request_for_itself_is_acknowledged_with_its_outcome_and_in_order() {
    let mut server = server();
    let device = connect(&mut server, "d1", Version::V5);
    for (packet_id, topic) in [(5, "me/opened"), (6, "me/device"), (7, "uplink/d1")] {
        server.send(device, &Packet::Publish(Publish { packet_id, ..request(topic, None) }));
    }
    assert_eq!(acknowledged(&mut server, device), []);
    let (taken, _) = &server.host.own_requests[0];
    assert_eq!((&*taken.client_id, &*taken.route, &*taken.payload), ("d1", "opened", &b"where"[..]));
    settle(&mut server, Err(ReasonCode::NotAuthorized));
    assert_eq!(acknowledged(&mut server, device), [(5, ReasonCode::NotAuthorized)]);
    settle(&mut server, Ok(Persisted::Done));
    let behind = [(6, ReasonCode::Success), (7, ReasonCode::NoMatchingSubscribers)];
    assert_eq!(acknowledged(&mut server, device), behind);
}

#[test]
fn a_request_for_itself_at_qos_2_happens_once() {
    for (outcome, reason, again) in [
        (Ok(Persisted::Done), ReasonCode::Success, 0),
        (Ok(Persisted::Busy), ReasonCode::QuotaExceeded, 1),
        (Err(ReasonCode::PayloadFormatInvalid), ReasonCode::PayloadFormatInvalid, 1),
    ] {
        let mut server = server();
        let device = connect(&mut server, "d1", Version::V5);
        let publish = Publish { qos: QoS::ExactlyOnce, ..request("me/opened", None) };
        for _ in 0..2 {
            server.send(device, &Packet::Publish(publish.clone()));
        }
        assert_eq!(server.host.own_requests.len(), 1);
        settle(&mut server, outcome);
        assert_eq!(acknowledged(&mut server, device), [(5, reason)]);
        // A packet id that was refused is free; one that was received waits for its PUBREL.
        server.send(device, &Packet::Publish(publish));
        assert_eq!(server.host.own_requests.len(), again, "{reason:?}");
    }
}

#[test]
fn an_older_client_that_asks_for_itself_is_acknowledged() {
    for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
        let mut server = server();
        let device = connect(&mut server, "d1", Version::V311);
        server.send(device, &Packet::Publish(Publish { qos, ..request("me/opened", None) }));
        settle(&mut server, Err(ReasonCode::NotAuthorized));
        assert_eq!(acknowledged(&mut server, device), [(5, ReasonCode::Success)]);
    }
}

#[test]
fn a_request_for_itself_at_qos_0_and_one_that_is_not_taken_leave_nothing_behind() {
    let mut server = server();
    let device = connect(&mut server, "d1", Version::V5);
    server.send(
        device,
        &Packet::Publish(Publish { qos: QoS::AtMostOnce, packet_id: 0, ..request("me/opened", None) }),
    );
    settle(&mut server, Err(ReasonCode::NotAuthorized));
    server.host.refuses = Some(ReasonCode::QuotaExceeded.into());
    assert_eq!(answer_to(&mut server, device, request("me/opened", None)).0, ReasonCode::QuotaExceeded);
    server.host.refuses = None;
    for topic in ["me/", "me/opened/x"] {
        assert_eq!(answer_to(&mut server, device, request(topic, None)).0, ReasonCode::TopicNameInvalid);
    }
    let retained = Publish { retain: true, ..request("me/opened", None) };
    assert_eq!(answer_to(&mut server, device, retained).0, ReasonCode::ImplementationSpecificError);
    assert!(server.host.own_requests.is_empty());
    // The next publish waits for nothing of those before it.
    assert_eq!(
        answer_to(&mut server, device, request("uplink/d1", None)).0,
        ReasonCode::NoMatchingSubscribers
    );
}
