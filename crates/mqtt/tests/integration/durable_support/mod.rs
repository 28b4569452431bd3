//! Sessions that persist, for tests: a server whose host keeps changes until a test makes them
//! durable, and clients in words.

use stadium_mqtt::broker::Config;
use stadium_mqtt::broker::testing::{Link, Server};
use stadium_mqtt::packet::*;

pub fn server(loops: u16, shards: u16) -> Server {
    let mut server = Server::with(Config { durable: true, ..Config::default() }, loops);
    server.host.shards = shards;
    server
}

pub fn kept(client_id: &str) -> Connect<'_> {
    Connect { clean_start: false, session_expiry_s: Some(600), ..Connect::new(Version::V5, client_id) }
}

pub fn publish<'a>(topic: &'a str, payload: &'a [u8], qos: QoS, packet_id: u16) -> Packet<'a> {
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

/// SUBSCRIBE of MQTT 5.0 for one filter.
pub fn subscribe(server: &mut Server, link: Link, filter: &str, qos: u8) {
    let mut bytes = vec![0x82, (3 + 2 + filter.len() + 1) as u8, 0, 9, 0];
    bytes.extend((filter.len() as u16).to_be_bytes());
    bytes.extend(filter.as_bytes());
    bytes.push(qos);
    server.send_bytes(link, &bytes);
}

/// The packets that a client received, in words.
pub fn heard(server: &mut Server, link: Link) -> Vec<String> {
    let mut heard = Vec::new();
    server.take(link, |packet| {
        heard.push(match packet {
            Packet::Connack(connack) => format!("connack {}", connack.session_present),
            Packet::Suback(suback) => format!("suback {:?}", suback.reasons),
            Packet::Puback(ack) => format!("puback {} {:#04x}", ack.packet_id, ack.reason as u8),
            Packet::Pubrec(ack) => format!("pubrec {} {:#04x}", ack.packet_id, ack.reason as u8),
            Packet::Pubrel(ack) => format!("pubrel {:#x}", ack.packet_id),
            Packet::Pubcomp(ack) => format!("pubcomp {}", ack.packet_id),
            Packet::Publish(publish) => {
                let dup = if publish.dup { " again" } else { "" };
                format!("{} {:#x}{dup}", String::from_utf8_lossy(publish.payload), publish.packet_id)
            }
            other => format!("{other:?}"),
        });
    });
    heard
}

/// A reader whose session is kept, subscribed at this QoS.
pub fn reader(server: &mut Server, at: u16, client_id: &str, qos: u8) -> Link {
    let link = server.connect_on(at, kept(client_id));
    server.persist_all();
    subscribe(server, link, "t", qos);
    server.persist_all();
    heard(server, link);
    link
}

pub fn writer(server: &mut Server) -> Link {
    let link = server.connect(Connect::new(Version::V5, "writer"));
    heard(server, link);
    link
}

pub fn with_a_will<'a>(client_id: &'a str, qos: QoS) -> Connect<'a> {
    let will =
        Will { topic: "t", payload: b"gone", qos, retain: false, delay_s: 0, properties: Default::default() };
    Connect { will: Some(will), ..kept(client_id) }
}
