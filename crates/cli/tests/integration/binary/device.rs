//! A device of a few bytes: enough MQTT 5.0 to connect, subscribe, receive and acknowledge.
//!
//! Written out by hand, so that the suites depend on the protocol and not on our own codec.

#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::TcpStream;

use super::PATIENCE;

/// A connected device.
pub struct Device {
    stream: TcpStream,
}

/// A packet: its first byte and what follows its length.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet {
    pub first: u8,
    pub body: Vec<u8>,
}

impl Device {
    /// Connects and is accepted.
    pub fn connect(address: &str, id: &str) -> Self {
        let (device, reason) = Self::try_connect(address, id, None);
        assert_eq!(reason, 0, "CONNECT of {id} was refused");
        device
    }

    /// Connects, and returns the reason code of the CONNACK.
    pub fn try_connect(address: &str, id: &str, login: Option<(&str, &str)>) -> (Self, u8) {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("the socket is open");
        let mut device = Self { stream };
        let flags = if login.is_some() { 0b1100_0010 } else { 0b0000_0010 };
        let mut body = vec![0, 4, b'M', b'Q', b'T', b'T', 5, flags, 0, 60, 0];
        text(&mut body, id);
        if let Some((user, password)) = login {
            text(&mut body, user);
            text(&mut body, password);
        }
        device.send(0x10, &body);
        let connack = device.receive().expect("the server answers CONNECT");
        assert_eq!(connack.first, 0x20, "{connack:?}");
        let reason = connack.body[1];
        (device, reason)
    }

    /// Subscribes at QoS 1 and is granted it.
    pub fn subscribe(&mut self, filter: &str) {
        let mut body = vec![0, 1, 0];
        text(&mut body, filter);
        body.push(1);
        self.send(0x82, &body);
        let suback = self.receive().expect("the server answers SUBSCRIBE");
        assert_eq!((suback.first, suback.body.last()), (0x90, Some(&1)), "{suback:?}");
    }

    /// Sends a request at QoS 1, and waits until it is accepted.
    pub fn request(&mut self, topic: &str, response_topic: &str, payload: &[u8]) {
        let mut body = Vec::new();
        text(&mut body, topic);
        body.extend([0, 7]);
        let mut properties = vec![8];
        text(&mut properties, response_topic);
        body.push(u8::try_from(properties.len()).expect("short properties"));
        body.extend(properties);
        body.extend(payload);
        self.send(0x32, &body);
        let puback = self.receive().expect("the server answers PUBLISH");
        let reason = puback.body.get(2).copied().unwrap_or(0);
        assert_eq!((puback.first, reason), (0x40, 0), "{puback:?}");
    }

    /// Publishes a retained message at QoS 1, and waits until it is accepted.
    pub fn retain(&mut self, topic: &str, payload: &[u8]) {
        let mut body = Vec::new();
        text(&mut body, topic);
        body.extend([0, 7, 0]);
        body.extend(payload);
        self.send(0x33, &body);
        let puback = self.receive().expect("the server answers PUBLISH");
        let reason = puback.body.get(2).copied().unwrap_or(0);
        assert!(puback.first == 0x40 && reason < 0x80, "{puback:?}");
    }

    /// Waits for a message at QoS 1, acknowledges it, and returns its topic and payload.
    pub fn message(&mut self) -> (String, String) {
        let publish = self.receive().expect("a message comes");
        assert_eq!(publish.first & 0xf6, 0x32, "{publish:?}");
        let body = &publish.body;
        let topic_end = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
        let id = [body[topic_end], body[topic_end + 1]];
        let properties = usize::from(body[topic_end + 2]);
        assert!(properties < 128, "short properties");
        let payload = &body[topic_end + 3 + properties..];
        let message = (string(&body[2..topic_end]), string(payload));
        self.send(0x40, &id);
        message
    }

    /// The next packet; `None` when the server has closed the connection.
    pub fn receive(&mut self) -> Option<Packet> {
        let mut byte = [0];
        if self.stream.read_exact(&mut byte).is_err() {
            return None;
        }
        let first = byte[0];
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            self.stream.read_exact(&mut byte).ok()?;
            length |= usize::from(byte[0] & 0x7f) << shift;
            shift += 7;
            if byte[0] < 0x80 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some(Packet { first, body })
    }

    fn send(&mut self, first: u8, body: &[u8]) {
        let mut packet = vec![first, u8::try_from(body.len()).expect("a short packet")];
        assert!(body.len() < 128, "a short packet");
        packet.extend(body);
        self.stream.write_all(&packet).expect("the server reads");
    }
}

fn text(body: &mut Vec<u8>, text: &str) {
    body.extend(u16::try_from(text.len()).expect("a short text").to_be_bytes());
    body.extend(text.as_bytes());
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is text")
}
