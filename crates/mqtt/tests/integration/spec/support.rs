//! The stage of the behaviours: a server without sockets, clients that say and hear whole packets.
//!
//! Everything a client hears is leaked, so that a test can hold packets for as long as it likes.

use std::collections::HashMap;

pub(crate) use stadium_mqtt::broker::testing::{Link, Server};
pub(crate) use stadium_mqtt::broker::{Close, Config};
pub(crate) use stadium_mqtt::decode;
pub(crate) use stadium_mqtt::packet::QoS::{AtLeastOnce, AtMostOnce, ExactlyOnce};
pub(crate) use stadium_mqtt::packet::Version::{V5, V311};
pub(crate) use stadium_mqtt::packet::*;
pub(crate) use stadium_mqtt::property::{SubscriptionIds, UserPropertiesBuffer};
pub(crate) use stadium_mqtt::reason::ReasonCode;

pub(crate) const BOTH: [Version; 2] = [V311, V5];

/// A clean CONNECT without anything special.
pub(crate) fn clean<'a>(client_id: &'a str, version: Version) -> Connect<'a> {
    Connect::new(version, client_id)
}

/// A CONNECT of a client whose session stays for ten minutes after it (in 3.1.1: as long as the server keeps it).
pub(crate) fn staying<'a>(client_id: &'a str, version: Version) -> Connect<'a> {
    Connect {
        clean_start: false,
        session_expiry_s: (version == V5).then_some(600),
        ..clean(client_id, version)
    }
}

/// A will at QoS 0, not retained, not delayed.
pub(crate) fn will<'a>(topic: &'a str, payload: &'a [u8]) -> Will<'a> {
    Will {
        topic,
        payload,
        qos: AtMostOnce,
        retain: false,
        delay_s: 0,
        properties: PublishProperties::default(),
    }
}

/// A PUBLISH; the packet identifier counts only above QoS 0.
pub(crate) fn message<'a>(topic: &'a str, payload: &'a [u8], qos: QoS, packet_id: u16) -> Publish<'a> {
    Publish {
        dup: false,
        qos,
        retain: false,
        topic,
        packet_id: if qos == AtMostOnce { 0 } else { packet_id },
        properties: PublishProperties::default(),
        payload,
    }
}

pub(crate) fn options(qos: QoS) -> SubscriptionOptions {
    SubscriptionOptions {
        qos,
        no_local: false,
        retain_as_published: false,
        retain_handling: RetainHandling::Send,
    }
}

pub(crate) fn ack(packet_id: u16) -> Ack<'static> {
    Ack { packet_id, ..Ack::default() }
}

/// A server and its clients.
pub(crate) struct Stage {
    pub(crate) server: Server,
    versions: HashMap<Link, Version>,
    unheard: HashMap<Link, Vec<Packet<'static>>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        Self { server: Server::with(config, 1), versions: HashMap::new(), unheard: HashMap::new() }
    }

    /// A connection on which nothing was sent yet; what comes back is read in this version.
    pub(crate) fn open(&mut self, version: Version) -> Link {
        let link = self.server.open();
        self.versions.insert(link, version);
        link
    }

    /// Sends CONNECT and returns the connection with what was answered.
    pub(crate) fn arrive(&mut self, connect: Connect<'_>) -> (Link, Vec<Packet<'static>>) {
        let link = self.open(connect.version);
        self.say(link, Packet::Connect(connect));
        let heard = self.hear(link);
        (link, heard)
    }

    /// Connects a client that must be let in, and takes its CONNACK.
    pub(crate) fn connect(&mut self, connect: Connect<'_>) -> Link {
        let (link, heard) = self.arrive(connect);
        match heard.first() {
            Some(Packet::Connack(connack)) => assert_eq!(connack.reason, ReasonCode::Success),
            other => panic!("not let in: {other:?}"),
        }
        link
    }

    /// Connects a client that must be let in; what follows its CONNACK stays to be heard.
    #[track_caller]
    pub(crate) fn connect_and_keep(&mut self, connect: Connect<'_>) -> Link {
        let (link, mut heard) = self.arrive(connect);
        assert!(matches!(heard[0], Packet::Connack(Connack { reason: ReasonCode::Success, .. })));
        self.unheard.insert(link, heard.split_off(1));
        link
    }

    /// Connects a client and returns its CONNACK.
    pub(crate) fn connack(&mut self, connect: Connect<'_>) -> (Link, Connack<'static>) {
        let (link, heard) = self.arrive(connect);
        match heard.into_iter().next() {
            Some(Packet::Connack(connack)) => (link, connack),
            other => panic!("no CONNACK: {other:?}"),
        }
    }

    pub(crate) fn client(&mut self, client_id: &str, version: Version) -> Link {
        self.connect(clean(client_id, version))
    }

    pub(crate) fn say(&mut self, link: Link, packet: Packet<'_>) {
        self.server.send(link, &packet);
    }

    pub(crate) fn say_bytes(&mut self, link: Link, bytes: &[u8]) {
        self.server.send_bytes(link, bytes);
    }

    /// All that the server has sent to this client since it last listened.
    pub(crate) fn hear(&mut self, link: Link) -> Vec<Packet<'static>> {
        let version = self.versions[&link];
        let mut rest: &'static [u8] = self.server.take_bytes(link).leak();
        let mut heard = self.unheard.remove(&link).unwrap_or_default();
        while !rest.is_empty() {
            let frame = decode::frame(rest, u32::MAX).expect("a packet").expect("a whole one");
            heard.push(decode::packet_from(&frame, version, Role::Server).expect("a server's packet"));
            rest = &rest[frame.total..];
        }
        heard
    }

    /// The one packet that the server has sent.
    #[track_caller]
    pub(crate) fn hear_one(&mut self, link: Link) -> Packet<'static> {
        let mut heard = self.hear(link);
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }

    /// The messages among what the server has sent.
    pub(crate) fn messages(&mut self, link: Link) -> Vec<Publish<'static>> {
        self.hear(link)
            .into_iter()
            .filter_map(|packet| match packet {
                Packet::Publish(publish) => Some(publish),
                _ => None,
            })
            .collect()
    }

    /// Their payloads as text.
    pub(crate) fn payloads(&mut self, link: Link) -> Vec<String> {
        self.messages(link).iter().map(|m| String::from_utf8_lossy(m.payload).into_owned()).collect()
    }

    /// Subscribes to one filter and returns the reason of the SUBACK; messages that came with it stay unheard.
    #[track_caller]
    pub(crate) fn subscribe(&mut self, link: Link, filter: &str, qos: QoS) -> u8 {
        let (reason, _) = self.subscribe_as(link, filter, options(qos), None);
        reason
    }

    /// Subscribes and returns the reason, and the retained messages that followed.
    #[track_caller]
    pub(crate) fn subscribe_as(
        &mut self,
        link: Link,
        filter: &str,
        options: SubscriptionOptions,
        subscription_id: Option<u32>,
    ) -> (u8, Vec<Publish<'static>>) {
        self.say_subscribe(link, 77, &[(filter, options)], subscription_id);
        let mut heard = self.hear(link).into_iter();
        let Some(Packet::Suback(suback)) = heard.next() else { panic!("no SUBACK first") };
        assert_eq!((suback.packet_id, suback.reasons.len()), (77, 1));
        let retained = heard.map(|packet| match packet {
            Packet::Publish(publish) => publish,
            other => panic!("after the SUBACK: {other:?}"),
        });
        (suback.reasons[0], retained.collect())
    }

    pub(crate) fn say_subscribe(
        &mut self,
        link: Link,
        packet_id: u16,
        rows: &[(&str, SubscriptionOptions)],
        subscription_id: Option<u32>,
    ) {
        let mut filters = FiltersBuffer::new(self.versions[&link]);
        for &(filter, options) in rows {
            filters.push(filter, options).expect("short enough");
        }
        self.say(
            link,
            Packet::Subscribe(Subscribe {
                packet_id,
                subscription_id,
                user_properties: Default::default(),
                filters: filters.filters(),
            }),
        );
    }

    /// Unsubscribes and returns the UNSUBACK.
    pub(crate) fn unsubscribe(&mut self, link: Link, packet_id: u16, names: &[&str]) -> Suback<'static> {
        let mut filters = FilterNamesBuffer::default();
        for name in names {
            filters.push(name).expect("short enough");
        }
        self.say(
            link,
            Packet::Unsubscribe(Unsubscribe {
                packet_id,
                user_properties: Default::default(),
                filters: filters.filters(),
            }),
        );
        match self.hear_one(link) {
            Packet::Unsuback(unsuback) => unsuback,
            other => panic!("no UNSUBACK: {other:?}"),
        }
    }

    /// Publishes at QoS 0 without RETAIN.
    pub(crate) fn publish(&mut self, link: Link, topic: &str, payload: &str) {
        self.say(link, Packet::Publish(message(topic, payload.as_bytes(), AtMostOnce, 0)));
    }

    /// Publishes at QoS 0 with RETAIN.
    pub(crate) fn retain(&mut self, link: Link, topic: &str, payload: &str) {
        let publish = Publish { retain: true, ..message(topic, payload.as_bytes(), AtMostOnce, 0) };
        self.say(link, Packet::Publish(publish));
    }

    /// Publishes at any QoS and goes through with the handshake.
    #[track_caller]
    pub(crate) fn deliver(&mut self, link: Link, topic: &str, payload: &str, qos: QoS) {
        self.say(link, Packet::Publish(message(topic, payload.as_bytes(), qos, 900)));
        match qos {
            AtMostOnce => {}
            AtLeastOnce => assert!(matches!(self.hear_one(link), Packet::Puback(Ack { packet_id: 900, .. }))),
            ExactlyOnce => {
                assert!(matches!(self.hear_one(link), Packet::Pubrec(Ack { packet_id: 900, .. })));
                self.say(link, Packet::Pubrel(ack(900)));
                assert!(matches!(self.hear_one(link), Packet::Pubcomp(Ack { packet_id: 900, .. })));
            }
        }
    }

    /// Another client publishes something; fresh each time, so that its name does not matter.
    #[track_caller]
    pub(crate) fn somebody_publishes(&mut self, topic: &str, payload: &str, qos: QoS) {
        let link = self.client("", V5);
        self.deliver(link, topic, payload, qos);
        self.say(link, Packet::Disconnect(Disconnect::default()));
    }

    /// That the server cut the connection for breaking the protocol with this reason, and in 5.0
    /// sent the reason.
    #[track_caller]
    pub(crate) fn assert_refused(&mut self, link: Link, reason: ReasonCode) {
        assert_eq!(self.server.close_reason(link), Some(Close::Refused(reason)));
        let heard = self.hear(link);
        if self.versions[&link] == V5 {
            assert!(
                matches!(heard.last(), Some(Packet::Disconnect(d)) if d.reason == reason),
                "{reason:?}: {heard:?}"
            );
        } else {
            assert_eq!(heard, [], "3.1.1 lets a server only close");
        }
    }
}

/// An acknowledgement without words.
pub(crate) fn acked(packet: &Packet<'_>) -> Option<(u16, ReasonCode)> {
    match packet {
        Packet::Puback(ack) | Packet::Pubrec(ack) | Packet::Pubrel(ack) | Packet::Pubcomp(ack) => {
            Some((ack.packet_id, ack.reason))
        }
        _ => None,
    }
}
