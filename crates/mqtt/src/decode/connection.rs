//! The packets about a connection: CONNECT, CONNACK, DISCONNECT and AUTH (MQTT 5.0 sections 3.1, 3.2, 3.14
//! and 3.15).
//!
//! CONNECT alone states its version; the others are read in the version it named.

use super::cursor::Cursor;
use super::properties::{Block, MessageOf};
use super::{DecodeError, Frame, NO_PROPERTIES, reason};
use crate::packet::{Auth, Connack, Connect, Disconnect, QoS, Version, Will};
use crate::property::id;
use crate::reason::ReasonCode;

/// The version a CONNECT names, where it names one we speak: which form to answer a broken CONNECT in. One
/// that names no version of ours is answered in the form of 3.1.1, which demands it [MQTT-3.1.2-2 of 3.1.1].
pub fn connect_version(frame: &Frame<'_>) -> Option<Version> {
    protocol(&mut Cursor::new(frame.body)).ok()
}

/// The same for a CONNECT of which only the beginning is there: `Ok(None)` while that is too little
/// to decide. For one that will not be taken because of its length alone.
pub fn begun_connect_version(bytes: &[u8]) -> Result<Option<Version>, DecodeError> {
    /// Length and name of the protocol, and its level.
    const NAMED_BYTES: usize = 2 + 4 + 1;
    let Some((_, rest)) = bytes.split_first() else { return Ok(None) };
    let Some((_, header)) = super::remaining_length(rest)? else { return Ok(None) };
    let body = &bytes[header..];
    match protocol(&mut Cursor::new(body)) {
        Err(DecodeError::Truncated) if body.len() < NAMED_BYTES => Ok(None),
        Err(DecodeError::Truncated) => Err(DecodeError::ProtocolName),
        named => named.map(Some),
    }
}

fn protocol(cursor: &mut Cursor<'_>) -> Result<Version, DecodeError> {
    if cursor.binary()? != b"MQTT" {
        return Err(DecodeError::ProtocolName);
    }
    match cursor.byte()? {
        4 => Ok(Version::V311),
        5 => Ok(Version::V5),
        other => Err(DecodeError::ProtocolLevel(other)),
    }
}

/// Decodes a CONNECT (section 3.1).
pub fn connect<'a>(frame: &Frame<'a>) -> Result<Connect<'a>, DecodeError> {
    let mut cursor = Cursor::new(frame.body);
    let version = protocol(&mut cursor)?;
    frame.check_length(version)?;
    let flags = cursor.byte()?;
    if flags & 0b1 != 0 {
        return Err(DecodeError::ConnectFlagReserved);
    }
    let has_will = flags & 0b100 != 0;
    let will_qos = QoS::from_byte(flags >> 3 & 0b11).ok_or(DecodeError::WillQosThree)?;
    let will_retain = flags & 0b10_0000 != 0;
    if !has_will && (will_retain || will_qos != QoS::AtMostOnce) {
        return Err(DecodeError::WillFlags);
    }
    let has_password = flags & 0b100_0000 != 0;
    let has_username = flags & 0b1000_0000 != 0;
    if has_password && !has_username && version == Version::V311 {
        return Err(DecodeError::PasswordWithoutUserName);
    }
    // The client id stands behind the properties.
    let mut connect = Connect {
        clean_start: flags & 0b10 != 0,
        keep_alive_s: cursor.two_bytes()?,
        ..Connect::new(version, "")
    };
    if version == Version::V5 {
        connect_properties(&mut connect, Block::take(&mut cursor)?)?;
    }
    connect.client_id = cursor.string()?;
    if has_will {
        let (properties, delay_s) = match version {
            Version::V311 => (NO_PROPERTIES, 0),
            Version::V5 => Block::take(&mut cursor)?.message(MessageOf::Will)?,
        };
        let topic = cursor.topic(DecodeError::TopicWildcard)?;
        if topic.is_empty() {
            return Err(DecodeError::TopicEmpty);
        }
        let payload = cursor.binary()?;
        connect.will = Some(Will { topic, payload, qos: will_qos, retain: will_retain, delay_s, properties });
    }
    if has_username {
        connect.username = Some(cursor.string()?);
    }
    if has_password {
        connect.password = Some(cursor.binary()?);
    }
    cursor.end()?;
    Ok(connect)
}

fn connect_properties<'a>(connect: &mut Connect<'a>, mut block: Block<'a>) -> Result<(), DecodeError> {
    while let Some(property) = block.next()? {
        match property {
            id::SESSION_EXPIRY_INTERVAL => connect.session_expiry_s = Some(block.four_bytes()?),
            id::RECEIVE_MAXIMUM => connect.receive_maximum = Some(block.two_bytes_not_zero()?),
            id::MAXIMUM_PACKET_SIZE => connect.maximum_packet_size = Some(block.four_bytes_not_zero()?),
            id::TOPIC_ALIAS_MAXIMUM => connect.topic_alias_maximum = Some(block.two_bytes()?),
            id::REQUEST_RESPONSE_INFORMATION => connect.request_response_information = block.flag()?,
            id::REQUEST_PROBLEM_INFORMATION => connect.request_problem_information = block.flag()?,
            id::AUTHENTICATION_METHOD => connect.authentication_method = Some(block.string()?),
            id::AUTHENTICATION_DATA => connect.authentication_data = Some(block.binary()?),
            id::USER_PROPERTY => block.user_property()?,
            other => return Err(Block::misplaced(other)),
        }
    }
    connect.user_properties = block.user_properties();
    if connect.authentication_data.is_some() && connect.authentication_method.is_none() {
        return Err(DecodeError::AuthenticationMethodMissing);
    }
    Ok(())
}

/// Decodes a CONNACK (section 3.2); a return code of 3.1.1 becomes the reason code that means the
/// same.
pub fn connack<'a>(frame: &Frame<'a>, version: Version) -> Result<Connack<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let session_present = match cursor.byte()? {
        0 => false,
        1 => true,
        _ => return Err(DecodeError::ConnackFlags),
    };
    let code = cursor.byte()?;
    let mut connack = Connack { session_present, ..Connack::default() };
    match version {
        Version::V311 => {
            connack.reason = ReasonCode::from_v311_return_code(code).ok_or(DecodeError::ReasonCodeUnknown)?;
        }
        Version::V5 => {
            connack.reason = reason(code, |reason| {
                reason == ReasonCode::Success
                    || reason.is_error()
                        && !matches!(
                            reason,
                            ReasonCode::KeepAliveTimeout
                                | ReasonCode::SessionTakenOver
                                | ReasonCode::TopicFilterInvalid
                                | ReasonCode::PacketIdentifierInUse
                                | ReasonCode::PacketIdentifierNotFound
                                | ReasonCode::ReceiveMaximumExceeded
                                | ReasonCode::TopicAliasInvalid
                                | ReasonCode::MessageRateTooHigh
                                | ReasonCode::AdministrativeAction
                                | ReasonCode::SharedSubscriptionsNotSupported
                                | ReasonCode::MaximumConnectTime
                                | ReasonCode::SubscriptionIdentifiersNotSupported
                                | ReasonCode::WildcardSubscriptionsNotSupported
                        )
            })?;
            connack_properties(&mut connack, Block::take(&mut cursor)?)?;
        }
    }
    cursor.end()?;
    Ok(connack)
}

fn connack_properties<'a>(connack: &mut Connack<'a>, mut block: Block<'a>) -> Result<(), DecodeError> {
    while let Some(property) = block.next()? {
        match property {
            id::SESSION_EXPIRY_INTERVAL => connack.session_expiry_s = Some(block.four_bytes()?),
            id::RECEIVE_MAXIMUM => connack.receive_maximum = Some(block.two_bytes_not_zero()?),
            id::MAXIMUM_QOS => connack.maximum_qos = Some(u8::from(block.flag()?)),
            id::RETAIN_AVAILABLE => connack.retain_available = Some(block.flag()?),
            id::MAXIMUM_PACKET_SIZE => connack.maximum_packet_size = Some(block.four_bytes_not_zero()?),
            id::ASSIGNED_CLIENT_IDENTIFIER => connack.assigned_client_id = Some(block.string()?),
            id::TOPIC_ALIAS_MAXIMUM => connack.topic_alias_maximum = Some(block.two_bytes()?),
            id::REASON_STRING => connack.reason_string = Some(block.string()?),
            id::USER_PROPERTY => block.user_property()?,
            id::WILDCARD_SUBSCRIPTION_AVAILABLE => {
                connack.wildcard_subscription_available = Some(block.flag()?);
            }
            id::SUBSCRIPTION_IDENTIFIER_AVAILABLE => {
                connack.subscription_ids_available = Some(block.flag()?);
            }
            id::SHARED_SUBSCRIPTION_AVAILABLE => {
                connack.shared_subscription_available = Some(block.flag()?);
            }
            id::SERVER_KEEP_ALIVE => connack.server_keep_alive_s = Some(block.two_bytes()?),
            id::RESPONSE_INFORMATION => connack.response_information = Some(block.string()?),
            id::SERVER_REFERENCE => connack.server_reference = Some(block.string()?),
            id::AUTHENTICATION_METHOD => connack.authentication_method = Some(block.string()?),
            id::AUTHENTICATION_DATA => connack.authentication_data = Some(block.binary()?),
            other => return Err(Block::misplaced(other)),
        }
    }
    connack.user_properties = block.user_properties();
    Ok(())
}

/// Decodes a DISCONNECT (section 3.14).
pub fn disconnect<'a>(frame: &Frame<'a>, version: Version) -> Result<Disconnect<'a>, DecodeError> {
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let mut disconnect = Disconnect::default();
    if cursor.rest.is_empty() {
        return Ok(disconnect);
    }
    if version == Version::V311 {
        return Err(DecodeError::TrailingBytes);
    }
    disconnect.reason = reason(cursor.byte()?, |reason| {
        matches!(reason, ReasonCode::Success | ReasonCode::DisconnectWithWill)
            || reason.is_error()
                && !matches!(
                    reason,
                    ReasonCode::UnsupportedProtocolVersion
                        | ReasonCode::ClientIdentifierNotValid
                        | ReasonCode::BadUserNameOrPassword
                        | ReasonCode::ServerUnavailable
                        | ReasonCode::Banned
                        | ReasonCode::PacketIdentifierInUse
                        | ReasonCode::PacketIdentifierNotFound
                )
    })?;
    // With a remaining length of 1 the property length is left out (section 3.14.2.2.1).
    if cursor.rest.is_empty() {
        return Ok(disconnect);
    }
    let mut block = Block::take(&mut cursor)?;
    while let Some(property) = block.next()? {
        match property {
            id::SESSION_EXPIRY_INTERVAL => disconnect.session_expiry_s = Some(block.four_bytes()?),
            id::REASON_STRING => disconnect.reason_string = Some(block.string()?),
            id::SERVER_REFERENCE => disconnect.server_reference = Some(block.string()?),
            id::USER_PROPERTY => block.user_property()?,
            other => return Err(Block::misplaced(other)),
        }
    }
    disconnect.user_properties = block.user_properties();
    cursor.end()?;
    Ok(disconnect)
}

/// Decodes an AUTH (section 3.15).
pub fn auth<'a>(frame: &Frame<'a>, version: Version) -> Result<Auth<'a>, DecodeError> {
    if version == Version::V311 {
        return Err(DecodeError::NotInVersion);
    }
    frame.check_length(version)?;
    let mut cursor = Cursor::new(frame.body);
    let mut auth = Auth::default();
    if cursor.rest.is_empty() {
        return Ok(auth);
    }
    auth.reason = reason(cursor.byte()?, |reason| {
        matches!(
            reason,
            ReasonCode::Success | ReasonCode::ContinueAuthentication | ReasonCode::ReAuthenticate
        )
    })?;
    let mut block = Block::take(&mut cursor)?;
    while let Some(property) = block.next()? {
        match property {
            id::AUTHENTICATION_METHOD => auth.method = Some(block.string()?),
            id::AUTHENTICATION_DATA => auth.data = Some(block.binary()?),
            id::REASON_STRING => auth.reason_string = Some(block.string()?),
            id::USER_PROPERTY => block.user_property()?,
            other => return Err(Block::misplaced(other)),
        }
    }
    auth.user_properties = block.user_properties();
    cursor.end()?;
    if auth.method.is_none() && auth != Auth::default() {
        return Err(DecodeError::AuthenticationMethodMissing);
    }
    Ok(auth)
}
