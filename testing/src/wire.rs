//! MQTT packets as bytes, written from the specification and independent of the product's codec.
//!
//! Builders make one packet each; [`Frame`] is one packet that was read. Only what the suites need
//! is here, and properties are raw bytes, so that a suite can also write wrong ones. Sections are
//! of MQTT 5.0.

use anyhow::{Context as _, Result, ensure};

/// The protocol level of CONNECT (3.1.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// MQTT 3.1.1.
    V311,
    /// MQTT 5.0.
    V5,
}

/// Both versions, for suites that hold for both.
pub const VERSIONS: [Version; 2] = [Version::V311, Version::V5];

/// Control packet types (2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Connect = 1,
    Connack,
    Publish,
    Puback,
    Pubrec,
    Pubrel,
    Pubcomp,
    Subscribe,
    Suback,
    Unsubscribe,
    Unsuback,
    Pingreq,
    Pingresp,
    Disconnect,
    Auth,
}

/// One packet as it came: the first byte, and what follows the remaining length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Type and flags.
    pub first: u8,
    /// Variable header and payload.
    pub body: Vec<u8>,
}

impl Frame {
    /// Whether it is of this type.
    pub fn is(&self, kind: Kind) -> bool {
        self.first >> 4 == kind as u8
    }

    /// Takes one whole packet off the front of `bytes`; `None` when it is not all there yet.
    pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Self>> {
        let mut length = 0_usize;
        for index in 0..4 {
            let Some(&byte) = bytes.get(1 + index) else { return Ok(None) };
            length |= usize::from(byte & 0x7F) << (7 * index);
            if byte & 0x80 == 0 {
                let start = 2 + index;
                if bytes.len() < start + length {
                    return Ok(None);
                }
                let frame = Self { first: bytes[0], body: bytes[start..start + length].to_vec() };
                bytes.drain(..start + length);
                return Ok(Some(frame));
            }
        }
        anyhow::bail!("the server sent a remaining length of more than four bytes: {:02x?}", &bytes[..5])
    }

    /// The reason code of CONNACK, or of another packet whose first two bytes are an identifier.
    pub fn reason(&self, version: Version) -> u8 {
        match self.first >> 4 {
            2 => self.body.get(1).copied().unwrap_or(0xFF),
            14 => self.body.first().copied().unwrap_or(0),
            9 | 11 if version == Version::V5 => {
                self.after_properties(2).and_then(|rest| rest.first().copied()).unwrap_or(0xFF)
            }
            _ => self.body.get(2).copied().unwrap_or(0),
        }
    }

    /// The packet identifier that the body begins with: acknowledgements, SUBACK, UNSUBACK.
    pub fn id(&self) -> Option<u16> {
        self.body.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Session Present of CONNACK (3.2.2.1.1).
    pub fn session_present(&self) -> bool {
        self.body.first().is_some_and(|flags| flags & 1 == 1)
    }

    /// What follows the properties that start at `at`.
    pub fn after_properties(&self, at: usize) -> Option<&[u8]> {
        let (length, used) = variable(self.body.get(at..)?)?;
        self.body.get(at + used + length..)
    }

    /// The properties that start at `at`.
    pub fn properties(&self, at: usize) -> Option<&[u8]> {
        let (length, used) = variable(self.body.get(at..)?)?;
        self.body.get(at + used..at + used + length)
    }

    /// Reads it as PUBLISH.
    pub fn publish(&self, version: Version) -> Result<Received> {
        ensure!(self.is(Kind::Publish), "expected PUBLISH, got {:02x?}", self.first);
        let length = usize::from(u16::from_be_bytes([self.body[0], self.body[1]]));
        let topic = String::from_utf8(self.body[2..2 + length].to_vec()).context("topic is no UTF-8")?;
        let qos = (self.first >> 1) & 3;
        let mut at = 2 + length;
        let mut id = 0;
        if qos > 0 {
            id = u16::from_be_bytes([self.body[at], self.body[at + 1]]);
            at += 2;
        }
        let (properties, payload) = match version {
            Version::V311 => (&[][..], &self.body[at..]),
            Version::V5 => {
                let properties = self.properties(at).context("properties are cut short")?;
                (properties, self.after_properties(at).context("properties are cut short")?)
            }
        };
        let (properties, payload) = (properties.to_vec(), payload.to_vec());
        let (retain, duplicate) = (self.first & 1 == 1, self.first & 8 == 8);
        Ok(Received { topic, qos, id, retain, duplicate, properties, payload })
    }
}

/// A message that the server delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Topic name.
    pub topic: String,
    /// Quality of service.
    pub qos: u8,
    /// Packet identifier; 0 at QoS 0.
    pub id: u16,
    /// RETAIN.
    pub retain: bool,
    /// DUP.
    pub duplicate: bool,
    /// Properties of MQTT 5.0, without their length.
    pub properties: Vec<u8>,
    /// Application message.
    pub payload: Vec<u8>,
}

impl Received {
    /// The value of the first user property of this name.
    pub fn user_property(&self, name: &str) -> Option<String> {
        let mut left = &self.properties[..];
        while let Some((&identifier, rest)) = left.split_first() {
            // The properties of PUBLISH (3.3.2.3).
            let after = match identifier {
                0x01 => rest.get(1..)?,
                0x23 => rest.get(2..)?,
                0x02 => rest.get(4..)?,
                0x0B => rest.get(variable(rest)?.1..)?,
                0x26 => {
                    let (key, rest) = take_text(rest)?;
                    let (value, rest) = take_text(rest)?;
                    if key == name.as_bytes() {
                        return String::from_utf8(value.to_vec()).ok();
                    }
                    rest
                }
                _ => take_text(rest)?.1,
            };
            left = after;
        }
        None
    }
}

/// A string or binary with its two-byte length, and what follows it.
fn take_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}

/// A whole packet: first byte, remaining length, body.
pub fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    bytes.extend(remaining_length(body.len()));
    bytes.extend_from_slice(body);
    bytes
}

/// A variable byte integer (1.5.5).
pub fn remaining_length(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let more = length > 127;
        bytes.push((length & 0x7F) as u8 | if more { 0x80 } else { 0 });
        length >>= 7;
        if !more {
            return bytes;
        }
    }
}

fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for index in 0..4 {
        let byte = *bytes.get(index)?;
        value |= usize::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// A string or binary with its two-byte length (1.5.4, 1.5.6).
pub fn text(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let length = u16::try_from(bytes.len()).expect("suites write short strings");
    [&length.to_be_bytes()[..], bytes].concat()
}

/// A user property (3.3.2.3.7).
pub fn user_property(name: &str, value: &str) -> Vec<u8> {
    [&[0x26][..], &text(name), &text(value)].concat()
}

/// The CONNECT of a device.
#[derive(Clone, Debug)]
pub struct Connect {
    /// Protocol version.
    pub version: Version,
    /// Client identifier.
    pub id: String,
    /// Clean Start.
    pub clean: bool,
    /// Keep Alive in seconds.
    pub keep_alive_s: u16,
    /// Properties of MQTT 5.0, without their length.
    pub properties: Vec<u8>,
    /// User name and password.
    pub login: Option<(String, String)>,
    /// The topic and the payload of its will, at QoS 0.
    pub will: Option<(String, String)>,
}

impl Connect {
    /// A device with a clean session and no keep-alive.
    pub fn new(version: Version, id: impl Into<String>) -> Self {
        Self {
            version,
            id: id.into(),
            clean: true,
            keep_alive_s: 0,
            properties: Vec::new(),
            login: None,
            will: None,
        }
    }

    /// Keeps its session: an hour in MQTT 5.0 (3.1.2.11.2), without a clean session in 3.1.1.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.clean = false;
        if self.version == Version::V5 {
            self.properties.extend([0x11, 0, 0, 0x0E, 0x10]);
        }
        self
    }

    /// With this keep-alive.
    #[must_use]
    pub fn keep_alive(mut self, seconds: u16) -> Self {
        self.keep_alive_s = seconds;
        self
    }

    /// The packet.
    pub fn encode(&self) -> Vec<u8> {
        let login = if self.login.is_some() { 0xC0 } else { 0 };
        let will = if self.will.is_some() { 4 } else { 0 };
        let flags = login | will | if self.clean { 2 } else { 0 };
        let mut body = text("MQTT");
        body.push(if self.version == Version::V5 { 5 } else { 4 });
        body.push(flags);
        body.extend(self.keep_alive_s.to_be_bytes());
        body.extend(properties(self.version, &self.properties));
        body.extend(text(&self.id));
        if let Some((topic, payload)) = &self.will {
            body.extend(properties(self.version, &[]));
            body.extend(text(topic));
            body.extend(text(payload));
        }
        if let Some((user, password)) = &self.login {
            body.extend(text(user));
            body.extend(text(password));
        }
        packet(0x10, &body)
    }
}

/// What a device publishes.
#[derive(Clone, Debug)]
pub struct Publish<'a> {
    /// Topic name.
    pub topic: &'a str,
    /// Application message.
    pub payload: &'a [u8],
    /// Quality of service.
    pub qos: u8,
    /// Packet identifier, written when `qos` is not 0.
    pub id: u16,
    /// RETAIN.
    pub retain: bool,
    /// DUP: it may have been sent before.
    pub duplicate: bool,
    /// Properties of MQTT 5.0, without their length.
    pub properties: &'a [u8],
}

impl<'a> Publish<'a> {
    /// At QoS 0, not retained.
    pub fn new(topic: &'a str, payload: &'a [u8]) -> Self {
        Self { topic, payload, qos: 0, id: 0, retain: false, duplicate: false, properties: &[] }
    }

    /// At QoS 1 or 2 with this packet identifier.
    #[must_use]
    pub fn qos(mut self, qos: u8, id: u16) -> Self {
        (self.qos, self.id) = (qos, id);
        self
    }

    /// Retained.
    #[must_use]
    pub fn retained(mut self) -> Self {
        self.retain = true;
        self
    }

    /// With DUP set.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.duplicate = true;
        self
    }

    /// The packet.
    pub fn encode(&self, version: Version) -> Vec<u8> {
        let mut body = text(self.topic);
        if self.qos > 0 {
            body.extend(self.id.to_be_bytes());
        }
        body.extend(properties(version, self.properties));
        body.extend_from_slice(self.payload);
        let duplicate = if self.duplicate { 8 } else { 0 };
        packet(0x30 | duplicate | (self.qos << 1) | u8::from(self.retain), &body)
    }
}

fn properties(version: Version, raw: &[u8]) -> Vec<u8> {
    match version {
        Version::V311 => Vec::new(),
        Version::V5 => [remaining_length(raw.len()), raw.to_vec()].concat(),
    }
}

/// SUBSCRIBE with one QoS for all filters.
pub fn subscribe(version: Version, id: u16, filters: &[&str], qos: u8) -> Vec<u8> {
    let mut body = id.to_be_bytes().to_vec();
    body.extend(properties(version, &[]));
    for filter in filters {
        body.extend(text(filter));
        body.push(qos);
    }
    packet(0x82, &body)
}

/// PUBACK, PUBREC, PUBREL or PUBCOMP without a reason code, which means success (3.4.2.1).
pub fn acknowledge(kind: Kind, id: u16) -> Vec<u8> {
    let flags = if kind == Kind::Pubrel { 2 } else { 0 };
    packet(((kind as u8) << 4) | flags, &id.to_be_bytes())
}

/// PINGREQ.
pub const PINGREQ: [u8; 2] = [0xC0, 0];

/// DISCONNECT without a reason code: a normal goodbye.
pub const DISCONNECT: [u8; 2] = [0xE0, 0];
