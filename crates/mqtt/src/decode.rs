//! Bytes into packets: framing, then one function for each packet type (MQTT 5.0 chapters 2 and 3).
//!
//! Nothing here allocates or copies: a packet borrows from the bytes it was read from. Whatever comes out
//! has been validated as far as one packet alone allows; rules that need the session (an identifier in
//! use, an unknown topic alias) belong to [`crate::broker`]. The way back is [`crate::encode`].

use crate::packet::{Ack, Connect, Packet, PacketType, Publish, Role, Subscribe, Unsubscribe, Version};
use crate::reason::ReasonCode;

/// One whole control packet, not looked into yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// First byte: packet type and flags, already checked.
    pub first: u8,
    /// Everything after the fixed header.
    pub body: &'a [u8],
    /// Bytes of the packet with its fixed header.
    pub total: usize,
}

impl<'a> Frame<'a> {
    /// The packet's type.
    pub fn packet_type(&self) -> PacketType {
        todo!()
    }
}

/// Why bytes are not a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// The packet has more bytes than the receiver allows.
    PacketTooLarge,
    /// The protocol name is not `MQTT`.
    ProtocolName,
    /// The protocol level is neither 4 nor 5.
    ProtocolLevel(u8),
    /// More follow.
    Truncated,
}

impl DecodeError {
    /// What a DISCONNECT or CONNACK says about it.
    pub const fn reason_code(self) -> ReasonCode {
        todo!()
    }

    /// The statement of the MQTT 5.0 specification that was broken, e.g. `MQTT-2.2.1-3`.
    pub const fn normative(self) -> &'static str {
        todo!()
    }
}

/// Finds the first packet in `bytes`; `None` while it is incomplete. A packet of more than
/// `packet_bytes_max` bytes in all is refused as soon as its length shows, and a first byte that starts no
/// packet at once.
pub fn frame(bytes: &[u8], packet_bytes_max: u32) -> Result<Option<Frame<'_>>, DecodeError> {
    todo!("{bytes:?} {packet_bytes_max}")
}

/// Decodes any packet. CONNECT decides its version itself and ignores `version`.
pub fn packet<'a>(frame: &Frame<'a>, version: Version) -> Result<Packet<'a>, DecodeError> {
    todo!("{frame:?} {version:?}")
}

/// As [`packet`], and refuses what `sender` may never send: a SUBACK from a client, a subscription
/// identifier in a client's PUBLISH.
pub fn packet_from<'a>(frame: &Frame<'a>, version: Version, sender: Role) -> Result<Packet<'a>, DecodeError> {
    todo!("{frame:?} {version:?} {sender:?}")
}

/// The version a CONNECT names, where it names one we speak: which format to answer a broken CONNECT in.
pub fn connect_version(frame: &Frame<'_>) -> Option<Version> {
    todo!("{frame:?}")
}

/// Decodes a CONNECT.
pub fn connect<'a>(frame: &Frame<'a>) -> Result<Connect<'a>, DecodeError> {
    todo!("{frame:?}")
}

/// Decodes a PUBLISH.
pub fn publish<'a>(frame: &Frame<'a>, version: Version) -> Result<Publish<'a>, DecodeError> {
    todo!("{frame:?} {version:?}")
}

/// Decodes a PUBACK, PUBREC, PUBREL or PUBCOMP, as the frame's first byte says.
pub fn ack<'a>(frame: &Frame<'a>, version: Version) -> Result<Ack<'a>, DecodeError> {
    todo!("{frame:?} {version:?}")
}

/// Decodes a SUBSCRIBE.
pub fn subscribe<'a>(frame: &Frame<'a>, version: Version) -> Result<Subscribe<'a>, DecodeError> {
    todo!("{frame:?} {version:?}")
}

/// Decodes an UNSUBSCRIBE.
pub fn unsubscribe<'a>(frame: &Frame<'a>, version: Version) -> Result<Unsubscribe<'a>, DecodeError> {
    todo!("{frame:?} {version:?}")
}
