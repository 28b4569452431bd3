//! Packets into bytes: the way back from [`crate::decode`], and the direct writers of the delivery path.
//!
//! Everything appends to the caller's buffer, reserving once. In 3.1.1 properties and reasons vanish. A
//! packet that cannot be encoded writes nothing: AUTH in 3.1.1, a CONNACK whose reason 3.1.1 has no
//! word for, one of more than 268,435,455 bytes after its header. A string or binary field holds
//! 65,535 bytes at most: a longer one is cut there, at a character's end.

mod layout;
mod sink;

pub(crate) use sink::{Length, Sink};

use crate::packet::{AckKind, Packet, QoS, Version};
use crate::property::id;
use crate::reason::ReasonCode;
use layout::Leave;
use sink::{cut, varint_len};

/// The largest Remaining Length (MQTT 5.0 section 2.1.4).
const REMAINING_BYTES_MAX: usize = 268_435_455;

/// A PUBLISH about to be written, without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishHead<'a> {
    /// DUP.
    pub dup: bool,
    /// QoS.
    pub qos: QoS,
    /// RETAIN.
    pub retain: bool,
    /// Topic Name, at most 65,535 bytes.
    pub topic: &'a str,
    /// Packet Identifier; not written at QoS 0.
    pub packet_id: u16,
    /// Encoded properties that travel unaltered, see
    /// [`PublishProperties::encode_forwardable`](crate::packet::PublishProperties::encode_forwardable).
    pub forwardable: &'a [u8],
    /// Message Expiry Interval that is left.
    pub message_expiry_s: Option<u32>,
    /// Topic Alias, never 0.
    pub topic_alias: Option<u16>,
    /// Subscription Identifiers of the matching subscriptions.
    pub subscription_ids: &'a [u32],
}

/// Where things lie in a PUBLISH just written, so that one encoding serves many receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishLayout {
    /// Offset of the two packet identifier bytes from the packet's first byte; 0 at QoS 0, which has none.
    pub packet_id_at: u32,
    /// Bytes of the whole packet, payload included (also where only the head was written). 0 if it is too
    /// large to be encoded; then nothing was written.
    pub len: u32,
}

/// The lengths of a PUBLISH, worked out before the first byte is written.
struct PublishLengths<'a> {
    topic: &'a [u8],
    properties: usize,
    remaining: usize,
}

impl<'a> PublishLengths<'a> {
    #[inline]
    fn of(version: Version, head: &PublishHead<'a>, payload_len: usize) -> Self {
        let topic = cut(head.topic).as_bytes();
        let packet_id = if head.qos == QoS::AtMostOnce { 0 } else { 2 };
        let (properties, block) = match version {
            Version::V311 => (0, 0),
            Version::V5 => {
                let properties = head.forwardable.len()
                    + head.message_expiry_s.map_or(0, |_| 5)
                    + head.topic_alias.map_or(0, |_| 3)
                    + head.subscription_ids.iter().map(|&id| 1 + varint_len(id as usize)).sum::<usize>();
                (properties, varint_len(properties) + properties)
            }
        };
        Self { topic, properties, remaining: 2 + topic.len() + packet_id + block + payload_len }
    }

    const fn total(&self) -> usize {
        if self.remaining > REMAINING_BYTES_MAX { 0 } else { 1 + varint_len(self.remaining) + self.remaining }
    }
}

/// Appends a whole PUBLISH.
#[inline]
pub fn publish(buf: &mut Vec<u8>, version: Version, head: &PublishHead<'_>, payload: &[u8]) -> PublishLayout {
    let lengths = PublishLengths::of(version, head, payload.len());
    buf.reserve(lengths.total());
    let layout = write_publish_head(buf, version, head, &lengths);
    if layout.len != 0 {
        buf.extend_from_slice(payload);
    }
    layout
}

/// Appends a PUBLISH up to its payload of `payload_len` bytes, which the caller sends from elsewhere.
#[inline]
pub fn publish_head(
    buf: &mut Vec<u8>,
    version: Version,
    head: &PublishHead<'_>,
    payload_len: usize,
) -> PublishLayout {
    let lengths = PublishLengths::of(version, head, payload_len);
    buf.reserve(lengths.total().saturating_sub(payload_len));
    write_publish_head(buf, version, head, &lengths)
}

/// Bytes of the PUBLISH that [`publish`] would write; 0 if it is too large to be encoded.
#[inline]
pub fn publish_len(version: Version, head: &PublishHead<'_>, payload_len: usize) -> usize {
    PublishLengths::of(version, head, payload_len).total()
}

#[inline]
fn write_publish_head(
    buf: &mut Vec<u8>,
    version: Version,
    head: &PublishHead<'_>,
    lengths: &PublishLengths<'_>,
) -> PublishLayout {
    let total = lengths.total();
    if total == 0 {
        return PublishLayout { packet_id_at: 0, len: 0 };
    }
    let start = buf.len();
    let first = 0x30 | u8::from(head.dup) << 3 | (head.qos as u8) << 1 | u8::from(head.retain);
    buf.byte(first);
    buf.varint(lengths.remaining);
    buf.two_bytes(lengths.topic.len() as u16);
    buf.bytes(lengths.topic);
    let mut packet_id_at = 0;
    if head.qos != QoS::AtMostOnce {
        packet_id_at = (buf.len() - start) as u32;
        buf.two_bytes(head.packet_id);
    }
    if version == Version::V5 {
        buf.varint(lengths.properties);
        if let Some(expiry) = head.message_expiry_s {
            buf.byte(id::MESSAGE_EXPIRY_INTERVAL);
            buf.bytes(&expiry.to_be_bytes());
        }
        if let Some(alias) = head.topic_alias {
            buf.byte(id::TOPIC_ALIAS);
            buf.two_bytes(alias);
        }
        for &subscription in head.subscription_ids {
            buf.byte(id::SUBSCRIPTION_IDENTIFIER);
            buf.varint(subscription as usize);
        }
        buf.bytes(head.forwardable);
    }
    // Both fit: a packet has at most 268,435,460 bytes.
    PublishLayout { packet_id_at, len: total as u32 }
}

/// Appends a PUBACK, PUBREC, PUBREL or PUBCOMP without properties, in its shortest form.
#[inline]
pub fn ack(buf: &mut Vec<u8>, kind: AckKind, version: Version, packet_id: u16, reason: ReasonCode) {
    let first = match kind {
        AckKind::Pubrel => 0x62,
        AckKind::Puback | AckKind::Pubrec | AckKind::Pubcomp => (kind as u8) << 4,
    };
    let [high, low] = packet_id.to_be_bytes();
    match (version, reason) {
        (Version::V311, _) | (Version::V5, ReasonCode::Success) => buf.bytes(&[first, 2, high, low]),
        (Version::V5, reason) => buf.bytes(&[first, 3, high, low, reason as u8]),
    }
}

/// Appends a PINGREQ.
#[inline]
pub fn pingreq(buf: &mut Vec<u8>) {
    buf.bytes(&[0xC0, 0]);
}

/// Appends a PINGRESP.
#[inline]
pub fn pingresp(buf: &mut Vec<u8>) {
    buf.bytes(&[0xD0, 0]);
}

impl Packet<'_> {
    /// Appends the packet.
    pub fn encode(&self, version: Version, buf: &mut Vec<u8>) {
        self.write(version, Leave::Nothing, self.remaining_len(version, Leave::Nothing), buf);
    }

    /// Bytes that [`encode`](Self::encode) would append.
    pub fn encoded_len(&self, version: Version) -> usize {
        total_len(self.remaining_len(version, Leave::Nothing))
    }

    /// Appends the packet if `limit` bytes allow it, first leaving out its user properties and then its
    /// reason string too where that helps [MQTT-3.2.2-19, MQTT-3.4.2-2 and their like]; a PUBLISH, CONNECT,
    /// SUBSCRIBE or UNSUBSCRIBE is never shortened. Returns whether it was written.
    pub fn encode_within(&self, version: Version, limit: u32, buf: &mut Vec<u8>) -> bool {
        for leave in [Leave::Nothing, Leave::UserProperties, Leave::UserPropertiesAndReason] {
            let remaining = self.remaining_len(version, leave);
            if remaining.is_some() && total_len(remaining) <= limit as usize {
                self.write(version, leave, remaining, buf);
                return true;
            }
        }
        false
    }

    /// `None` if the packet cannot be encoded.
    fn remaining_len(&self, version: Version, leave: Leave) -> Option<usize> {
        let mut length = Length(0);
        self.lay_out(version, leave, &mut length)?;
        (length.0 <= REMAINING_BYTES_MAX).then_some(length.0)
    }

    fn write(&self, version: Version, leave: Leave, remaining: Option<usize>, buf: &mut Vec<u8>) {
        let Some(remaining) = remaining else { return };
        buf.reserve(total_len(Some(remaining)));
        buf.byte(self.first_byte());
        buf.varint(remaining);
        let body = buf.len();
        self.lay_out(version, leave, buf);
        debug_assert_eq!(buf.len() - body, remaining);
    }

    const fn first_byte(&self) -> u8 {
        match self {
            Self::Connect(_) => 0x10,
            Self::Connack(_) => 0x20,
            Self::Publish(publish) => {
                0x30 | (publish.dup as u8) << 3 | (publish.qos as u8) << 1 | publish.retain as u8
            }
            Self::Puback(_) => 0x40,
            Self::Pubrec(_) => 0x50,
            Self::Pubrel(_) => 0x62,
            Self::Pubcomp(_) => 0x70,
            Self::Subscribe(_) => 0x82,
            Self::Suback(_) => 0x90,
            Self::Unsubscribe(_) => 0xA2,
            Self::Unsuback(_) => 0xB0,
            Self::Pingreq => 0xC0,
            Self::Pingresp => 0xD0,
            Self::Disconnect(_) => 0xE0,
            Self::Auth(_) => 0xF0,
        }
    }
}

const fn total_len(remaining: Option<usize>) -> usize {
    match remaining {
        Some(remaining) => 1 + varint_len(remaining) + remaining,
        None => 0,
    }
}
