//! Bytes into packets: framing, then one function for each packet type (MQTT 5.0 chapters 2 and 3).
//!
//! Nothing here allocates or copies: a packet borrows from the bytes it was read from. Whatever
//! comes out has been validated as far as one packet alone allows; rules that need the session (an
//! identifier in use, an unknown topic alias) belong to [`crate::broker`]. The way back is
//! [`crate::encode`].

mod connection;
mod cursor;
mod error;
mod properties;

pub use connection::{auth, begun_connect_version, connack, connect, connect_version, disconnect};
pub use error::DecodeError;

use cursor::Cursor;
use properties::{Block, MessageOf};

use crate::packet::{
    Ack, AckKind, Auth, FilterNames, Filters, Packet, PacketType, Publish, PublishProperties, QoS, Role,
    Suback, Subscribe, Unsubscribe, Version,
};
use crate::property::{Kept, UserProperties, id};
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

impl Frame<'_> {
    /// The packet's type.
    #[inline]
    pub const fn packet_type(&self) -> PacketType {
        match self.first >> 4 {
            1 => PacketType::Connect,
            2 => PacketType::Connack,
            3 => PacketType::Publish,
            4 => PacketType::Puback,
            5 => PacketType::Pubrec,
            6 => PacketType::Pubrel,
            7 => PacketType::Pubcomp,
            8 => PacketType::Subscribe,
            9 => PacketType::Suback,
            10 => PacketType::Unsubscribe,
            11 => PacketType::Unsuback,
            12 => PacketType::Pingreq,
            13 => PacketType::Pingresp,
            14 => PacketType::Disconnect,
            _ => PacketType::Auth,
        }
    }

    /// That `version` has this packet, and that `sender` may send it. Properties are not looked at.
    #[inline]
    pub const fn check_sender(&self, version: Version, sender: Role) -> Result<(), DecodeError> {
        match (self.packet_type(), version, sender) {
            (PacketType::Auth, Version::V311, _) => Err(DecodeError::NotInVersion),
            (
                PacketType::Connect | PacketType::Subscribe | PacketType::Unsubscribe | PacketType::Pingreq,
                _,
                Role::Server,
            )
            | (PacketType::Disconnect, Version::V311, Role::Server)
            | (
                PacketType::Connack | PacketType::Suback | PacketType::Unsuback | PacketType::Pingresp,
                _,
                Role::Client,
            ) => Err(DecodeError::WrongSender),
            _ => Ok(()),
        }
    }

    /// A remaining length takes no more bytes than it needs [MQTT-1.5.5-1]. MQTT 3.1.1 has no such
    /// rule, and clients of its time do write padded ones.
    #[inline]
    const fn check_length(&self, version: Version) -> Result<(), DecodeError> {
        let needed = match self.body.len() {
            0..0x80 => 1,
            0x80..0x4000 => 2,
            0x4000..0x20_0000 => 3,
            _ => 4,
        };
        match version {
            Version::V5 if self.total - self.body.len() - 1 != needed => Err(DecodeError::LengthEncoding),
            _ => Ok(()),
        }
    }
}

/// Bytes of the first packet in `bytes`, with its fixed header, once its length is there; no limit
/// is held.
pub fn frame_len(bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
    check_first(first)?;
    Ok(remaining_length(rest)?.map(|(remaining, header)| header + remaining))
}

/// The remaining length, and the bytes of the fixed header; `None` while the length is incomplete.
#[inline]
fn remaining_length(rest: &[u8]) -> Result<Option<(usize, usize)>, DecodeError> {
    let mut remaining = 0usize;
    for (at, shift) in [0, 7, 14, 21].into_iter().enumerate() {
        let Some(&byte) = rest.get(at) else { return Ok(None) };
        remaining |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(Some((remaining, 2 + at)));
        }
    }
    Err(DecodeError::LengthEncoding)
}

/// Finds the first packet in `bytes`; `None` while it is incomplete.
///
/// A packet of more than `packet_bytes_max` bytes in all is refused as soon as its length shows, and a
/// first byte that starts no packet at once: nobody waits for the rest of what will never be valid.
#[inline]
pub fn frame(bytes: &[u8], packet_bytes_max: u32) -> Result<Option<Frame<'_>>, DecodeError> {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
    check_first(first)?;
    let Some((remaining, header)) = remaining_length(rest)? else { return Ok(None) };
    let total = header + remaining;
    if total > packet_bytes_max as usize {
        return Err(DecodeError::PacketTooLarge);
    }
    Ok(bytes.get(header..total).map(|body| Frame { first, body, total }))
}

/// The flags that MQTT 5.0 table 2-2 gives each packet type [MQTT-2.1.3-1].
#[inline]
const fn check_first(first: u8) -> Result<(), DecodeError> {
    let flags = first & 0x0F;
    match first >> 4 {
        0 => Err(DecodeError::PacketType),
        3 => match flags {
            0b0110 | 0b0111 | 0b1110 | 0b1111 => Err(DecodeError::QosThree),
            0b1000 | 0b1001 => Err(DecodeError::DupAtQosZero),
            _ => Ok(()),
        },
        6 | 8 | 10 if flags == 0b0010 => Ok(()),
        6 | 8 | 10 => Err(DecodeError::FixedHeaderFlags),
        _ if flags == 0 => Ok(()),
        _ => Err(DecodeError::FixedHeaderFlags),
    }
}

/// Decodes any packet. CONNECT decides its version itself and ignores `version`.
pub fn packet<'a>(frame: &Frame<'a>, version: Version) -> Result<Packet<'a>, DecodeError> {
    Ok(match frame.packet_type() {
        PacketType::Connect => Packet::Connect(connect(frame)?),
        PacketType::Connack => Packet::Connack(connack(frame, version)?),
        PacketType::Publish => Packet::Publish(publish(frame, version)?),
        PacketType::Puback => Packet::Puback(ack(frame, version)?),
        PacketType::Pubrec => Packet::Pubrec(ack(frame, version)?),
        PacketType::Pubrel => Packet::Pubrel(ack(frame, version)?),
        PacketType::Pubcomp => Packet::Pubcomp(ack(frame, version)?),
        PacketType::Subscribe => Packet::Subscribe(subscribe(frame, version)?),
        PacketType::Suback => Packet::Suback(suback(frame, version)?),
        PacketType::Unsubscribe => Packet::Unsubscribe(unsubscribe(frame, version)?),
        PacketType::Unsuback => Packet::Unsuback(unsuback(frame, version)?),
        PacketType::Pingreq => empty(frame, version, Packet::Pingreq)?,
        PacketType::Pingresp => empty(frame, version, Packet::Pingresp)?,
        PacketType::Disconnect => Packet::Disconnect(disconnect(frame, version)?),
        PacketType::Auth => Packet::Auth(auth(frame, version)?),
    })
}

/// As [`packet`], and refuses what `sender` may never send: a SUBACK from a client, a subscription
/// identifier in a client's PUBLISH [MQTT-3.3.4-6], a session expiry in a server's DISCONNECT
/// [MQTT-3.14.2-2].
pub fn packet_from<'a>(frame: &Frame<'a>, version: Version, sender: Role) -> Result<Packet<'a>, DecodeError> {
    frame.check_sender(version, sender)?;
    let packet = packet(frame, version)?;
    match (&packet, sender) {
        (Packet::Publish(publish), Role::Client) if !publish.properties.subscription_ids.is_empty() => {
            Err(DecodeError::SubscriptionIdFromClient)
        }
        (Packet::Disconnect(disconnect), Role::Server)
            if disconnect.session_expiry_s.is_some()
                || disconnect.reason == ReasonCode::DisconnectWithWill =>
        {
            Err(DecodeError::WrongSender)
        }
        (Packet::Auth(Auth { reason: ReasonCode::Success, .. }), Role::Client)
        | (Packet::Auth(Auth { reason: ReasonCode::ReAuthenticate, .. }), Role::Server) => {
            Err(DecodeError::WrongSender)
        }
        _ => Ok(packet),
    }
}

const NO_PROPERTIES: PublishProperties<'static> = PublishProperties {
    payload_format: None,
    message_expiry_s: None,
    topic_alias: None,
    response_topic: None,
    correlation_data: None,
    content_type: None,
    subscription_ids: crate::property::SubscriptionIds::list(&[]),
    user_properties: UserProperties { raw: &[] },
    kept: Kept(Some(&[])),
};

/// Decodes a PUBLISH (section 3.3). The topic is a valid topic name, or empty where an alias stands
/// for it.
#[inline]
pub fn publish<'a>(frame: &Frame<'a>, version: Version) -> Result<Publish<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let qos = QoS::from_byte(frame.first >> 1 & 0b11).ok_or(DecodeError::QosThree)?;
    let topic = cursor.topic(DecodeError::TopicWildcard)?;
    let packet_id = match qos {
        QoS::AtMostOnce => 0,
        QoS::AtLeastOnce | QoS::ExactlyOnce => cursor.packet_id()?,
    };
    let properties = match version {
        Version::V311 => NO_PROPERTIES,
        Version::V5 => Block::take(&mut cursor)?.message(MessageOf::Publish)?.0,
    };
    if topic.is_empty() && properties.topic_alias.is_none() {
        return Err(DecodeError::TopicEmpty);
    }
    Ok(Publish {
        dup: frame.first & 0b1000 != 0,
        qos,
        retain: frame.first & 0b1 != 0,
        topic,
        packet_id,
        properties,
        payload: cursor.rest,
    })
}

/// Decodes the properties that a message passes on, as
/// [`PublishProperties::encode_forwardable`] wrote them.
pub fn forwarded(properties: &[u8]) -> Result<PublishProperties<'_>, DecodeError> {
    Ok(Block::of(properties).message(MessageOf::Publish)?.0)
}

/// Decodes a PUBACK, PUBREC, PUBREL or PUBCOMP, by the frame's first byte (sections 3.4 to 3.7).
#[inline]
pub fn ack<'a>(frame: &Frame<'a>, version: Version) -> Result<Ack<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let mut ack = Ack { packet_id: cursor.packet_id()?, ..Ack::default() };
    if cursor.rest.is_empty() {
        return Ok(ack);
    }
    if version == Version::V311 {
        return Err(DecodeError::TrailingBytes);
    }
    let kind = match frame.packet_type() {
        PacketType::Puback => AckKind::Puback,
        PacketType::Pubrec => AckKind::Pubrec,
        PacketType::Pubrel => AckKind::Pubrel,
        _ => AckKind::Pubcomp,
    };
    ack.reason = reason(cursor.byte()?, |reason| ack_says(kind, reason))?;
    if cursor.rest.is_empty() {
        return Ok(ack);
    }
    let mut block = Block::take(&mut cursor)?;
    while let Some(property) = block.next()? {
        match property {
            id::REASON_STRING => ack.reason_string = Some(block.string()?),
            id::USER_PROPERTY => block.user_property()?,
            other => return Err(Block::misplaced(other)),
        }
    }
    ack.user_properties = block.user_properties();
    cursor.end()?;
    Ok(ack)
}

const fn ack_says(kind: AckKind, reason: ReasonCode) -> bool {
    match kind {
        AckKind::Puback | AckKind::Pubrec => matches!(
            reason,
            ReasonCode::Success
                | ReasonCode::NoMatchingSubscribers
                | ReasonCode::UnspecifiedError
                | ReasonCode::ImplementationSpecificError
                | ReasonCode::NotAuthorized
                | ReasonCode::TopicNameInvalid
                | ReasonCode::PacketIdentifierInUse
                | ReasonCode::QuotaExceeded
                | ReasonCode::PayloadFormatInvalid
        ),
        AckKind::Pubrel | AckKind::Pubcomp => {
            matches!(reason, ReasonCode::Success | ReasonCode::PacketIdentifierNotFound)
        }
    }
}

/// Decodes a SUBSCRIBE (section 3.8). Each filter is a string and its options are checked; the
/// rules of filters are [`Subscribed::parse`](crate::topic::Subscribed::parse)'s, for a bad one has
/// its own answer.
pub fn subscribe<'a>(frame: &Frame<'a>, version: Version) -> Result<Subscribe<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let packet_id = cursor.packet_id()?;
    let mut subscription_id = None;
    let mut user_properties = UserProperties::default();
    if version == Version::V5 {
        let mut block = Block::take(&mut cursor)?;
        while let Some(property) = block.next()? {
            match property {
                id::SUBSCRIPTION_IDENTIFIER if subscription_id.is_some() => {
                    return Err(DecodeError::PropertyRepeated);
                }
                id::SUBSCRIPTION_IDENTIFIER => subscription_id = Some(block.subscription_id()?),
                id::USER_PROPERTY => block.user_property()?,
                other => return Err(Block::misplaced(other)),
            }
        }
        user_properties = block.user_properties();
    }
    let raw = cursor.rest;
    if raw.is_empty() {
        return Err(DecodeError::SubscribeWithoutFilter);
    }
    while !cursor.rest.is_empty() {
        let filter = cursor.string()?;
        let options = cursor.byte()?;
        check_options(version, options, filter)?;
    }
    Ok(Subscribe { packet_id, subscription_id, user_properties, filters: Filters { version, raw } })
}

fn check_options(version: Version, options: u8, filter: &str) -> Result<(), DecodeError> {
    let reserved = match version {
        Version::V311 => 0b1111_1100,
        Version::V5 => 0b1100_0000,
    };
    if options & reserved != 0 {
        Err(DecodeError::SubscriptionOptions)
    } else if options & 0b11 == 0b11 {
        Err(DecodeError::SubscriptionQosThree)
    } else if options & 0b11_0000 == 0b11_0000 {
        Err(DecodeError::RetainHandling)
    } else if options & 0b100 != 0 && filter.starts_with("$share/") {
        Err(DecodeError::NoLocalOnShared)
    } else {
        Ok(())
    }
}

/// Decodes an UNSUBSCRIBE (section 3.10).
pub fn unsubscribe<'a>(frame: &Frame<'a>, version: Version) -> Result<Unsubscribe<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let packet_id = cursor.packet_id()?;
    let mut user_properties = UserProperties::default();
    if version == Version::V5 {
        let mut block = Block::take(&mut cursor)?;
        while let Some(property) = block.next()? {
            match property {
                id::USER_PROPERTY => block.user_property()?,
                other => return Err(Block::misplaced(other)),
            }
        }
        user_properties = block.user_properties();
    }
    let raw = cursor.rest;
    if raw.is_empty() {
        return Err(DecodeError::UnsubscribeWithoutFilter);
    }
    while !cursor.rest.is_empty() {
        cursor.string()?;
    }
    Ok(Unsubscribe { packet_id, user_properties, filters: FilterNames { raw } })
}

/// Decodes a SUBACK (section 3.9).
pub fn suback<'a>(frame: &Frame<'a>, version: Version) -> Result<Suback<'a>, DecodeError> {
    let suback = reasons_packet(frame, version)?;
    for &code in suback.reasons {
        match version {
            Version::V311 if !matches!(code, 0..=2 | 0x80) => return Err(DecodeError::ReasonCodeUnknown),
            Version::V311 => {}
            Version::V5 => {
                reason(code, |reason| {
                    matches!(
                        reason,
                        ReasonCode::Success
                            | ReasonCode::GrantedQos1
                            | ReasonCode::GrantedQos2
                            | ReasonCode::UnspecifiedError
                            | ReasonCode::ImplementationSpecificError
                            | ReasonCode::NotAuthorized
                            | ReasonCode::TopicFilterInvalid
                            | ReasonCode::PacketIdentifierInUse
                            | ReasonCode::QuotaExceeded
                            | ReasonCode::SharedSubscriptionsNotSupported
                            | ReasonCode::SubscriptionIdentifiersNotSupported
                            | ReasonCode::WildcardSubscriptionsNotSupported
                    )
                })?;
            }
        }
    }
    Ok(suback)
}

/// Decodes an UNSUBACK (section 3.11).
pub fn unsuback<'a>(frame: &Frame<'a>, version: Version) -> Result<Suback<'a>, DecodeError> {
    let unsuback = reasons_packet(frame, version)?;
    if version == Version::V311 && !unsuback.reasons.is_empty() {
        return Err(DecodeError::TrailingBytes);
    }
    for &code in unsuback.reasons {
        reason(code, |reason| {
            matches!(
                reason,
                ReasonCode::Success
                    | ReasonCode::NoSubscriptionExisted
                    | ReasonCode::UnspecifiedError
                    | ReasonCode::ImplementationSpecificError
                    | ReasonCode::NotAuthorized
                    | ReasonCode::TopicFilterInvalid
                    | ReasonCode::PacketIdentifierInUse
            )
        })?;
    }
    Ok(unsuback)
}

fn reasons_packet<'a>(frame: &Frame<'a>, version: Version) -> Result<Suback<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let packet_id = cursor.packet_id()?;
    let mut reason_string = None;
    let mut user_properties = UserProperties::default();
    if version == Version::V5 {
        let mut block = Block::take(&mut cursor)?;
        while let Some(property) = block.next()? {
            match property {
                id::REASON_STRING => reason_string = Some(block.string()?),
                id::USER_PROPERTY => block.user_property()?,
                other => return Err(Block::misplaced(other)),
            }
        }
        user_properties = block.user_properties();
    }
    Ok(Suback { packet_id, reason_string, user_properties, reasons: cursor.rest })
}

fn empty<'a>(frame: &Frame<'_>, version: Version, packet: Packet<'a>) -> Result<Packet<'a>, DecodeError> {
    frame.check_length(version)?;
    Cursor::new(frame.body).end()?;
    Ok(packet)
}

fn reason(code: u8, belongs: impl FnOnce(ReasonCode) -> bool) -> Result<ReasonCode, DecodeError> {
    let reason = ReasonCode::from_byte(code).ok_or(DecodeError::ReasonCodeUnknown)?;
    if belongs(reason) { Ok(reason) } else { Err(DecodeError::ReasonCodeMisplaced) }
}
