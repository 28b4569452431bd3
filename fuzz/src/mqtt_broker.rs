//! Fuzz body: a few clients follow the bytes as a script at a server without sockets.
//!
//! Whatever they do, the server answers in whole packets, none larger than its client takes, and once all
//! clients are gone and the longest session has expired it holds nothing: no session, no subscription, no
//! message. An ordinary function, so that the stable test `broker_fuzz` of crates/mqtt runs it as well.

use std::collections::HashMap;

use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::broker::{Config, Totals};
use stadium_mqtt::decode;
use stadium_mqtt::packet::*;
use stadium_mqtt::property::{SubscriptionIds, UserPropertiesBuffer};
use stadium_mqtt::reason::ReasonCode;

const IDS: [&str; 5] = ["", "a", "b", "c", "d"];
const TOPICS: [&str; 6] = ["t", "t/u", "t/u/v", "/", "$x/y", ""];
const FILTERS: [&str; 9] =
    ["t", "t/#", "+/u", "#", "$x/+", "$share/g/t/#", "$share/g/#", "$share/h/t", "t/#/bad"];

/// The input, read from the front; once it is used up everything is 0.
struct Tape<'a>(&'a [u8]);

impl<'a> Tape<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn qos(&mut self) -> QoS {
        self.one_of(&[QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce])
    }
}

/// What the clients know of their connections.
struct Known {
    version: Version,
    packet_bytes_max: u32,
}

/// Plays the script that `data` is. Panics on a broken promise; returns how many packets the server
/// sent.
pub fn mqtt_broker(data: &[u8]) -> usize {
    let mut tape = Tape(data);
    let loops = 1 + tape.below(2) as u16;
    let config = Config {
        receive_maximum: 3,
        topic_alias_maximum: 2,
        in_flight_max: 4,
        queued_max: 3,
        subscriptions_max: 4,
        sessions_max: 4,
        retained_per_subscription_max: 3,
        session_expiry_s_max: 1_000,
        packet_bytes_max: 300,
        ..Config::default()
    };
    let mut server = Server::with(config, loops);
    let mut links: HashMap<Link, Known> = HashMap::new();
    let mut open: Vec<Link> = Vec::new();
    let mut heard = 0;
    while !tape.0.is_empty() {
        match tape.byte() % 16 {
            0..=2 => {
                let link = arrive(&mut tape, &mut server, &mut links, loops);
                open.push(link);
            }
            3 => server.advance_ms(1_000 * [0, 1, 4, 11, 2_000][tape.below(5)]),
            4 => {
                if let Some(link) = pick(&mut tape, &open) {
                    server.cut(link);
                }
            }
            5 => {
                if let Some(link) = pick(&mut tape, &open)
                    && !server.host.congested.remove(&link)
                {
                    server.host.congested.insert(link);
                }
            }
            6 => {
                let len = tape.below(24);
                let bytes = tape.take(len);
                if let Some(link) = pick(&mut tape, &open) {
                    server.send_bytes(link, bytes);
                }
            }
            7 => {
                let topic = tape.one_of(&TOPICS);
                let entry = (tape.flag(), topic.to_owned());
                if !server.host.denied.remove(&entry) {
                    server.host.denied.insert(entry);
                    for broker in &mut server.brokers {
                        broker.reauthorise(&mut server.host);
                    }
                }
            }
            _ => {
                if let Some(link) = pick(&mut tape, &open) {
                    send_packet(&mut tape, &mut server, link, links[&link].version);
                }
            }
        }
        for (&link, known) in &links {
            heard += listen(&mut server, link, known);
        }
        open.retain(|&link| server.is_open(link));
    }
    for link in open {
        server.cut(link);
    }
    for _ in 0..2 {
        server.advance_ms(3_600_000);
    }
    for broker in &server.brokers {
        let Totals { sessions, subscriptions, deliveries, queued_messages, .. } = broker.totals();
        assert_eq!((sessions, subscriptions, deliveries, queued_messages), (0, 0, 0, 0), "left behind");
        assert_eq!(broker.next_deadline_ms(), None);
    }
    heard
}

fn pick(tape: &mut Tape<'_>, open: &[Link]) -> Option<Link> {
    let at = tape.below(open.len().max(1));
    open.get(at).copied()
}

/// A client connects, on the loop that its name belongs to.
fn arrive(tape: &mut Tape<'_>, server: &mut Server, links: &mut HashMap<Link, Known>, loops: u16) -> Link {
    let version = tape.one_of(&[Version::V311, Version::V5]);
    let v5 = version == Version::V5;
    let name = tape.below(IDS.len());
    let packet_bytes_max = tape.one_of(&[u32::MAX, 20, 40, 60]);
    let will = Will {
        topic: tape.one_of(&TOPICS[..5]),
        payload: b"will",
        qos: tape.qos(),
        retain: tape.flag(),
        delay_s: if v5 { tape.one_of(&[0, 2, 5_000]) } else { 0 },
        properties: PublishProperties::default(),
    };
    let connect = Connect {
        version,
        clean_start: tape.flag(),
        keep_alive_s: 60,
        client_id: IDS[name],
        will: tape.flag().then_some(will),
        username: tape.flag().then_some("user"),
        password: None,
        session_expiry_s: tape.one_of(&[None, Some(0), Some(10), Some(u32::MAX)]).filter(|_| v5),
        receive_maximum: tape.one_of(&[None, Some(1), Some(2)]).filter(|_| v5),
        maximum_packet_size: Some(packet_bytes_max).filter(|&max| v5 && max != u32::MAX),
        topic_alias_maximum: None,
        request_response_information: v5 && tape.flag(),
        request_problem_information: true,
        authentication_method: None,
        authentication_data: None,
        user_properties: Default::default(),
    };
    let link = server.open_on(name as u16 % loops);
    links.insert(link, Known { version, packet_bytes_max: if v5 { packet_bytes_max } else { u32::MAX } });
    let mut bytes = Vec::new();
    Packet::Connect(connect).encode(version, &mut bytes);
    server.send_bytes(link, &bytes);
    link
}

/// A client sends a packet, well formed but not always right.
fn send_packet(tape: &mut Tape<'_>, server: &mut Server, link: Link, version: Version) {
    let v5 = version == Version::V5;
    let packet_id = 1 + tape.below(6) as u16;
    let reason = if v5 && tape.below(8) == 0 { ReasonCode::UnspecifiedError } else { ReasonCode::Success };
    let ack = Ack { packet_id, reason, ..Ack::default() };
    let mut words = UserPropertiesBuffer::default();
    words.push("k", "v");
    let mut filters = FiltersBuffer::new(version);
    let mut names = FilterNamesBuffer::default();
    let packet = match tape.byte() % 12 {
        0..=2 => {
            let qos = tape.qos();
            let properties = PublishProperties {
                message_expiry_s: tape.one_of(&[None, Some(0), Some(3)]).filter(|_| v5),
                topic_alias: tape.one_of(&[None, None, Some(1), Some(2)]).filter(|_| v5),
                user_properties: if v5 && tape.flag() { words.properties() } else { Default::default() },
                subscription_ids: SubscriptionIds::list(if v5 && tape.byte() == 9 { &[5] } else { &[] }),
                ..PublishProperties::default()
            };
            let payload = [b'x'; 64];
            let mut bytes = Vec::new();
            let publish = Publish {
                dup: qos != QoS::AtMostOnce && tape.flag(),
                qos,
                retain: tape.flag(),
                topic: tape.one_of(&TOPICS),
                packet_id: if qos == QoS::AtMostOnce { 0 } else { packet_id },
                properties,
                payload: &payload[..tape.one_of(&[0, 1, 30, 64])],
            };
            Packet::Publish(publish).encode(version, &mut bytes);
            server.send_bytes(link, &bytes);
            return;
        }
        3 | 4 => {
            for _ in 0..1 + tape.below(2) {
                let filter = tape.one_of(&FILTERS);
                let options = SubscriptionOptions {
                    qos: tape.qos(),
                    no_local: v5 && tape.flag() && !filter.starts_with("$share/"),
                    retain_as_published: v5 && tape.flag(),
                    retain_handling: RetainHandling::Send,
                };
                filters.push(filter, options).expect("short");
            }
            Packet::Subscribe(Subscribe {
                packet_id,
                subscription_id: tape.one_of(&[None, Some(1), Some(300)]).filter(|_| v5),
                user_properties: Default::default(),
                filters: filters.filters(),
            })
        }
        5 => {
            names.push(tape.one_of(&FILTERS)).expect("short");
            Packet::Unsubscribe(Unsubscribe {
                packet_id,
                user_properties: Default::default(),
                filters: names.filters(),
            })
        }
        6 => Packet::Puback(ack),
        7 => Packet::Pubrec(ack),
        8 => Packet::Pubrel(Ack { reason: ReasonCode::Success, ..ack }),
        9 => Packet::Pubcomp(Ack { reason: ReasonCode::Success, ..ack }),
        10 => Packet::Pingreq,
        _ => Packet::Disconnect(Disconnect {
            session_expiry_s: tape.one_of(&[None, Some(0), Some(5)]).filter(|_| v5),
            reason: if v5 && tape.flag() { ReasonCode::DisconnectWithWill } else { ReasonCode::Success },
            ..Disconnect::default()
        }),
    };
    let mut bytes = Vec::new();
    packet.encode(version, &mut bytes);
    server.send_bytes(link, &bytes);
}

/// Reads what the server sent; every packet must be one, whole, and small enough.
fn listen(server: &mut Server, link: Link, known: &Known) -> usize {
    let bytes = server.take_bytes(link);
    let mut rest = &bytes[..];
    let mut heard = 0;
    while !rest.is_empty() {
        let frame = decode::frame(rest, u32::MAX).expect("a packet").expect("a whole one");
        let packet = decode::packet_from(&frame, known.version, Role::Server);
        // A CONNECT that random bytes formed may have been answered in the other version.
        assert!(packet.is_ok() || frame.packet_type() == PacketType::Connack, "{packet:?}: {rest:02x?}");
        assert!(frame.total <= known.packet_bytes_max as usize, "{} bytes: {rest:02x?}", frame.total);
        rest = &rest[frame.total..];
        heard += 1;
    }
    heard
}
