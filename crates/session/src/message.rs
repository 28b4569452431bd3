//! A message that is kept: topic, properties and payload in one buffer, shared by all who are owed it.

use bytes::Bytes;
use stadium_state_machine::encoding::{Reader, corrupt, number};

use crate::{Corrupt, Time};

/// An application message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    bytes: Bytes,
    topic_bytes: u16,
    properties_bytes: u32,
    /// QoS that it was published with: 0, 1 or 2.
    pub qos: u8,
    /// RETAIN as it was published.
    pub retain: bool,
    /// When it may no longer be delivered.
    pub expires_at: Option<Time>,
}

/// All that a [`Message`] consists of, for whoever sends one to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageParts {
    /// Topic, properties and payload, in this order.
    pub bytes: Bytes,
    /// Bytes of the topic.
    pub topic_bytes: u16,
    /// Bytes of the properties.
    pub properties_bytes: u32,
    /// As [`Message::qos`].
    pub qos: u8,
    /// As [`Message::retain`].
    pub retain: bool,
    /// As [`Message::expires_at`].
    pub expires_at: Option<Time>,
}

impl Message {
    /// A message of one buffer: so many bytes of topic, which are UTF-8, so many of properties, and the payload. `None` where the lengths
    /// do not fit the buffer or the topic is no text.
    pub fn new(bytes: Bytes, topic_bytes: u16, properties_bytes: u32) -> Option<Self> {
        let before_payload = usize::from(topic_bytes) + properties_bytes as usize;
        let topic = bytes.get(..usize::from(topic_bytes))?;
        if before_payload > bytes.len() || std::str::from_utf8(topic).is_err() {
            return None;
        }
        Some(Self { bytes, topic_bytes, properties_bytes, qos: 0, retain: false, expires_at: None })
    }

    /// All that it consists of. Its bytes are shared.
    pub fn to_parts(&self) -> MessageParts {
        let Self { ref bytes, topic_bytes, properties_bytes, qos, retain, expires_at } = *self;
        MessageParts { bytes: bytes.clone(), topic_bytes, properties_bytes, qos, retain, expires_at }
    }

    /// The message of these parts; `None` as [`Self::new`], and for a QoS above 2.
    pub fn of_parts(parts: MessageParts) -> Option<Self> {
        let MessageParts { bytes, topic_bytes, properties_bytes, qos, retain, expires_at } = parts;
        let message = Self::new(bytes, topic_bytes, properties_bytes)?;
        (qos <= 2).then_some(Self { qos, retain, expires_at, ..message })
    }

    /// A message of parts, copied.
    pub fn from_parts(topic: &str, properties: &[u8], payload: &[u8]) -> Option<Self> {
        let bytes = [topic.as_bytes(), properties, payload].concat();
        Self::new(bytes.into(), u16::try_from(topic.len()).ok()?, u32::try_from(properties.len()).ok()?)
    }

    /// Topic Name.
    pub fn topic(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.topic_bytes)])
            .expect("it was checked when the message was made")
    }

    /// Property bytes to pass on unaltered.
    pub fn properties(&self) -> &[u8] {
        &self.bytes[usize::from(self.topic_bytes)..self.payload_at()]
    }

    /// The application's bytes.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.payload_at()..]
    }

    /// Bytes of topic, properties and payload.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no byte at all, not even of a topic.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn payload_at(&self) -> usize {
        usize::from(self.topic_bytes) + self.properties_bytes as usize
    }

    pub(crate) fn encoded_max(&self) -> usize {
        40 + self.bytes.len()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.qos | u8::from(self.retain) << 2);
        number(out, self.expires_at.map_or(0, |at| at.0.saturating_add(1)));
        number(out, u64::from(self.topic_bytes));
        number(out, u64::from(self.properties_bytes));
        number(out, self.bytes.len() as u64);
        out.extend_from_slice(&self.bytes);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let flags = input.byte()?;
        if flags & 0b11 == 3 || flags > 0b111 {
            return Err(corrupt("the flags of a message"));
        }
        let expires_at = match input.number()? {
            0 => None,
            at => Some(Time(at - 1)),
        };
        let (topic_bytes, properties_bytes) = (input.small()?, input.small()?);
        let bytes = input.small::<usize>()?;
        let bytes = Bytes::copy_from_slice(input.take(bytes)?);
        let message = Self::new(bytes, topic_bytes, properties_bytes)
            .ok_or_else(|| corrupt("the parts of a message"))?;
        Ok(Self { qos: flags & 0b11, retain: flags & 0b100 != 0, expires_at, ..message })
    }
}
