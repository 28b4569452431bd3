//! Messages of applications: they have no session, and their host hears what became of each.

use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::broker::{Config, Head, Message, Persisted, PublishId, Published, RetainedLimits};
use stadium_mqtt::packet::*;
use stadium_mqtt::reason::ReasonCode;

use crate::durable_support::{heard, reader, server};

fn message<'a>(payload: &'a [u8], qos: QoS, retain: bool) -> Message<'a> {
    Message { topic: "t", properties: &[], payload, head: Head { qos, retain, ..Head::default() } }
}

fn publish(server: &mut Server, message: &Message<'_>) -> Result<Published, ReasonCode> {
    server.brokers[0].publish_for(&mut server.host, message, PublishId(7))
}

/// A client that subscribes, and what it heard then.
fn at_most_once(server: &mut Server) -> (Link, Vec<String>) {
    let link = server.connect(Connect::new(Version::V5, "passing"));
    let options = SubscriptionOptions {
        qos: QoS::AtMostOnce,
        no_local: false,
        retain_as_published: false,
        retain_handling: RetainHandling::Send,
    };
    let mut filters = FiltersBuffer::new(Version::V5);
    filters.push("t", options).expect("short enough");
    let subscribe = Subscribe {
        packet_id: 1,
        subscription_id: None,
        user_properties: Default::default(),
        filters: filters.filters(),
    };
    server.send(link, &Packet::Subscribe(subscribe));
    server.persist_all();
    let heard = heard(server, link);
    (link, heard)
}

#[test]
fn a_message_that_nobody_is_owed_is_settled_at_once() {
    let mut server = server(1, 1);
    let settled = Published { anybody: false, waits: false };
    assert_eq!(publish(&mut server, &message(b"x", QoS::AtLeastOnce, false)), Ok(settled));
    let (link, _) = at_most_once(&mut server);
    let settled = Published { anybody: true, waits: false };
    assert_eq!(publish(&mut server, &message(b"x", QoS::AtLeastOnce, false)), Ok(settled));
    assert_eq!(heard(&mut server, link).len(), 1);
    assert_eq!(server.host.observed, ["t", "t"], "each is shown to observers once");
}

#[test]
fn the_host_hears_when_a_message_is_durable_or_refused() {
    for (persisted, delivered) in [
        (Persisted::Done, true),
        (Persisted::Busy, false),
        (Persisted::Full, false),
        (Persisted::Unknown, true),
    ] {
        let mut server = server(1, 1);
        let link = reader(&mut server, 0, "reader", 1);
        let waits = Published { anybody: true, waits: true };
        assert_eq!(publish(&mut server, &message(b"x", QoS::AtLeastOnce, false)), Ok(waits));
        assert!(heard(&mut server, link).is_empty() && server.host.published.is_empty());
        server.persist_one(persisted).expect("a shard is asked");
        assert_eq!(server.host.published, [(PublishId(7), persisted)]);
        assert_eq!(!heard(&mut server, link).is_empty(), delivered, "{persisted:?}");
    }
}

#[test]
fn a_refused_retained_message_leaves_the_one_before() {
    let mut server = server(1, 1);
    for (payload, persisted) in [(&b"first"[..], Persisted::Done), (b"second", Persisted::Busy)] {
        let published = publish(&mut server, &message(payload, QoS::AtMostOnce, true));
        assert_eq!(published, Ok(Published { anybody: false, waits: true }));
        server.persist_one(persisted).expect("a shard is asked");
        assert_eq!(server.host.published.pop(), Some((PublishId(7), persisted)));
    }
    let (_, heard) = at_most_once(&mut server);
    assert!(heard.iter().any(|one| one.starts_with("first")), "{heard:?}");
    assert!(!heard.iter().any(|one| one.starts_with("second")), "{heard:?}");
}

#[test]
fn a_full_store_refuses_a_message_that_is_to_be_retained() {
    let limits = RetainedLimits { messages_max: 0, ..RetainedLimits::default() };
    let mut server = Server::with_retained(Config::default(), 1, limits);
    let refused = publish(&mut server, &message(b"x", QoS::AtMostOnce, true));
    assert_eq!(refused, Err(ReasonCode::QuotaExceeded));
    let taken = publish(&mut server, &message(b"x", QoS::AtMostOnce, false));
    assert_eq!(taken, Ok(Published { anybody: false, waits: false }));
}
