//! Packets into bytes: the way back from [`crate::decode`], and the direct writers of the delivery path.
//!
//! Everything appends to the caller's buffer, reserving once. In 3.1.1 properties and reasons vanish. A
//! packet that the version cannot say (AUTH in 3.1.1) writes nothing.

use crate::packet::{AckKind, Packet, QoS, Version};
use crate::reason::ReasonCode;

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
    /// Bytes of the whole packet, payload included (also where only the head was written).
    pub len: u32,
}

/// Appends a whole PUBLISH.
pub fn publish(buf: &mut Vec<u8>, version: Version, head: &PublishHead<'_>, payload: &[u8]) -> PublishLayout {
    todo!("{buf:?} {version:?} {head:?} {payload:?}")
}

/// Appends a PUBLISH up to its payload of `payload_len` bytes, which the caller sends from elsewhere.
pub fn publish_head(
    buf: &mut Vec<u8>,
    version: Version,
    head: &PublishHead<'_>,
    payload_len: usize,
) -> PublishLayout {
    todo!("{buf:?} {version:?} {head:?} {payload_len:?}")
}

/// Bytes of the PUBLISH that [`publish`] would write.
pub fn publish_len(version: Version, head: &PublishHead<'_>, payload_len: usize) -> usize {
    todo!("{version:?} {head:?} {payload_len:?}")
}

/// Appends a PUBACK, PUBREC, PUBREL or PUBCOMP without properties, in its shortest form.
pub fn ack(buf: &mut Vec<u8>, kind: AckKind, version: Version, packet_id: u16, reason: ReasonCode) {
    todo!("{buf:?} {kind:?} {version:?} {packet_id:?} {reason:?}")
}

/// Appends a PINGREQ.
pub fn pingreq(buf: &mut Vec<u8>) {
    buf.extend_from_slice(&[0xC0, 0]);
}

/// Appends a PINGRESP.
pub fn pingresp(buf: &mut Vec<u8>) {
    buf.extend_from_slice(&[0xD0, 0]);
}

impl Packet<'_> {
    /// Appends the packet.
    pub fn encode(&self, version: Version, buf: &mut Vec<u8>) {
        todo!("{version:?} {buf:?}")
    }

    /// Bytes that [`encode`](Self::encode) would append.
    pub fn encoded_len(&self, version: Version) -> usize {
        todo!("{version:?}")
    }

    /// Appends the packet if `limit` bytes allow it, first leaving out its user properties and then its
    /// reason string where that helps (never those of a PUBLISH). Tells whether it was written.
    pub fn encode_within(&self, version: Version, limit: u32, buf: &mut Vec<u8>) -> bool {
        todo!("{version:?} {limit} {buf:?}")
    }
}
