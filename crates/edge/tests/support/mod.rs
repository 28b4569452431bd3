//! A blocking MQTT client for tests of the edge, on the codec of stadium-mqtt.
//!
//! It reads with a deadline and never sleeps.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_edge::auth::{AnonymousAccess, AuthConfig, Authenticator, RulesConfig};
use stadium_edge::{Config, Edge};
use stadium_mqtt::decode;
use stadium_mqtt::packet::*;

/// How long anything may take.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// An edge that lets anyone do anything, on a free loopback port.
pub fn open_edge(loops: usize) -> Edge {
    open_edge_with(loops, |_| {})
}

/// The same, with its configuration changed.
pub fn open_edge_with(loops: usize, change: impl FnOnce(&mut Config)) -> Edge {
    let auth = AuthConfig {
        anonymous: AnonymousAccess::Anyone,
        rules: RulesConfig::Everything,
        ..AuthConfig::default()
    };
    let authenticator = Arc::new(Authenticator::open(&auth).expect("nothing to read"));
    let mut config = Config { loops, ..Config::new(authenticator) };
    config = config.listen_tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    change(&mut config);
    Edge::start(config).expect("a free port")
}

/// A CONNECT with the usual fields.
pub fn connect(client_id: &str, version: Version) -> Connect<'_> {
    Connect::new(version, client_id)
}

/// What a client was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Connack { reason: u8, present: bool, assigned: Option<String> },
    Publish { topic: String, payload: Vec<u8>, qos: QoS, packet_id: u16, dup: bool, retain: bool },
    Puback(u16),
    Suback(Vec<u8>),
    Disconnect(u8),
    Other(String),
    Closed,
}

pub struct Client {
    stream: TcpStream,
    version: Version,
    buffer: Vec<u8>,
}

impl Client {
    pub fn open(edge: &Edge) -> TcpStream {
        let stream = TcpStream::connect(edge.bound()[0].address).expect("the edge listens");
        stream.set_nodelay(true).expect("a TCP socket");
        stream
    }

    /// Connects and waits for the CONNACK.
    pub fn connect(edge: &Edge, connect: Connect<'_>) -> (Self, Heard) {
        let mut client = Self { stream: Self::open(edge), version: connect.version, buffer: Vec::new() };
        client.send(&Packet::Connect(connect));
        let connack = client.hear();
        (client, connack)
    }

    /// One that has sent nothing yet.
    pub fn of(stream: TcpStream, version: Version) -> Self {
        Self { stream, version, buffer: Vec::new() }
    }

    pub fn device(edge: &Edge, id: &str, filters: &[&str]) -> Self {
        let (mut client, connack) = Self::connect(edge, connect(id, Version::V5));
        assert!(matches!(connack, Heard::Connack { reason: 0, .. }), "{connack:?}");
        for filter in filters {
            client.subscribe(filter, 1);
        }
        client
    }

    pub fn send(&mut self, packet: &Packet<'_>) {
        let mut bytes = Vec::new();
        packet.encode(self.version, &mut bytes);
        self.stream.write_all(&bytes).expect("the edge reads");
    }

    pub fn subscribe(&mut self, filter: &str, options: u8) -> Heard {
        let mut body = vec![0, 9];
        if self.version == Version::V5 {
            body.push(0);
        }
        body.extend((filter.len() as u16).to_be_bytes());
        body.extend(filter.as_bytes());
        body.push(options);
        let mut bytes = vec![0x82, body.len() as u8];
        bytes.extend(body);
        self.stream.write_all(&bytes).expect("the edge reads");
        self.hear()
    }

    pub fn publish(&mut self, topic: &str, payload: &[u8], qos: QoS, packet_id: u16) {
        self.send(&Packet::Publish(Publish {
            dup: false,
            qos,
            retain: false,
            topic,
            packet_id,
            properties: Default::default(),
            payload,
        }));
    }

    pub fn acknowledge(&mut self, packet_id: u16) {
        self.send(&Packet::Puback(Ack { packet_id, ..Ack::default() }));
    }

    /// The next packet, or the end of the connection.
    pub fn hear(&mut self) -> Heard {
        self.hear_within(DEADLINE).expect("a packet within the deadline")
    }

    /// The next packet, or nothing within this time.
    pub fn hear_within(&mut self, within: Duration) -> Option<Heard> {
        let until = Instant::now() + within;
        loop {
            if let Some(frame) = decode::frame(&self.buffer, u32::MAX).expect("the edge sends packets") {
                let heard = heard(&decode::packet(&frame, self.version).expect("well formed"));
                let total = frame.total;
                self.buffer.drain(..total);
                return Some(heard);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.stream.set_read_timeout(Some(left)).expect("a positive time");
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Some(Heard::Closed),
                Ok(count) => self.buffer.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Heard::Closed),
            }
        }
    }
}

fn heard(packet: &Packet<'_>) -> Heard {
    match packet {
        Packet::Connack(connack) => Heard::Connack {
            reason: connack.reason as u8,
            present: connack.session_present,
            assigned: connack.assigned_client_id.map(str::to_owned),
        },
        Packet::Publish(publish) => Heard::Publish {
            topic: publish.topic.to_owned(),
            payload: publish.payload.to_vec(),
            qos: publish.qos,
            packet_id: publish.packet_id,
            dup: publish.dup,
            retain: publish.retain,
        },
        Packet::Puback(ack) => Heard::Puback(ack.packet_id),
        Packet::Suback(suback) => Heard::Suback(suback.reasons.to_vec()),
        Packet::Disconnect(disconnect) => Heard::Disconnect(disconnect.reason as u8),
        other => Heard::Other(format!("{other:?}")),
    }
}

/// Waits until it is so.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !so() {
        assert!(Instant::now() < until, "{what} within {DEADLINE:?}");
        std::thread::yield_now();
    }
}
