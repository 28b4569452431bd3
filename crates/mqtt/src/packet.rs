//! The control packets of MQTT 3.1.1 and 5.0, as types.
//!
//! A decoded packet borrows from the bytes it was read from, so that decoding allocates nothing. Both
//! versions share these types: what only MQTT 5.0 carries is absent or empty in 3.1.1. Wire layout is in
//! [`crate::decode`] and [`crate::encode`].

use crate::property::{Kept, SubscriptionIds, UserProperties, split_string};
use crate::reason::ReasonCode;
use crate::topic::TopicError;

/// The protocol level a connection speaks (CONNECT, MQTT 5.0 section 3.1.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Version {
    /// MQTT 3.1.1, protocol level 4.
    V311 = 4,
    /// MQTT 5.0, protocol level 5.
    V5 = 5,
}

impl Version {
    /// `3.1.1` or `5.0`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V311 => "3.1.1",
            Self::V5 => "5.0",
        }
    }
}

/// Quality of service (MQTT 5.0 section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QoS {
    /// Fire and forget.
    AtMostOnce = 0,
    /// Acknowledged by PUBACK.
    AtLeastOnce = 1,
    /// Acknowledged by PUBREC, PUBREL, PUBCOMP.
    ExactlyOnce = 2,
}

/// Who sends: some packets and properties belong to one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that sends CONNECT.
    Client,
    /// The side that sends CONNACK.
    Server,
}

/// Control packet types (MQTT 5.0 table 2-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// CONNECT
    Connect = 1,
    /// CONNACK
    Connack = 2,
    /// PUBLISH
    Publish = 3,
    /// PUBACK
    Puback = 4,
    /// PUBREC
    Pubrec = 5,
    /// PUBREL
    Pubrel = 6,
    /// PUBCOMP
    Pubcomp = 7,
    /// SUBSCRIBE
    Subscribe = 8,
    /// SUBACK
    Suback = 9,
    /// UNSUBSCRIBE
    Unsubscribe = 10,
    /// UNSUBACK
    Unsuback = 11,
    /// PINGREQ
    Pingreq = 12,
    /// PINGRESP
    Pingresp = 13,
    /// DISCONNECT
    Disconnect = 14,
    /// AUTH
    Auth = 15,
}

/// The four packets that share the layout of [`Ack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AckKind {
    /// PUBACK
    Puback = 4,
    /// PUBREC
    Pubrec = 5,
    /// PUBREL
    Pubrel = 6,
    /// PUBCOMP
    Pubcomp = 7,
}

/// Any control packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Packet<'a> {
    /// Client requests a connection.
    Connect(Connect<'a>),
    /// Server answers it.
    Connack(Connack<'a>),
    /// An application message.
    Publish(Publish<'a>),
    /// QoS 1 acknowledgement.
    Puback(Ack<'a>),
    /// QoS 2, first answer.
    Pubrec(Ack<'a>),
    /// QoS 2, release.
    Pubrel(Ack<'a>),
    /// QoS 2, done.
    Pubcomp(Ack<'a>),
    /// Subscribe request.
    Subscribe(Subscribe<'a>),
    /// Its answer.
    Suback(Suback<'a>),
    /// Unsubscribe request.
    Unsubscribe(Unsubscribe<'a>),
    /// Its answer (reason codes are empty in 3.1.1).
    Unsuback(Suback<'a>),
    /// Keep-alive.
    Pingreq,
    /// Keep-alive answer.
    Pingresp,
    /// End of the connection.
    Disconnect(Disconnect<'a>),
    /// Enhanced authentication, MQTT 5.0 only.
    Auth(Auth<'a>),
}

/// CONNECT, section 3.1.
#[derive(Debug, Clone, PartialEq)]
pub struct Connect<'a> {
    /// Protocol level.
    pub version: Version,
    /// Clean Start (5.0) or Clean Session (3.1.1).
    pub clean_start: bool,
    /// Keep Alive in seconds, 0 for none.
    pub keep_alive_s: u16,
    /// Empty where the server must assign one.
    pub client_id: &'a str,
    /// The will, where there is one.
    pub will: Option<Will<'a>>,
    /// User Name.
    pub username: Option<&'a str>,
    /// Password.
    pub password: Option<&'a [u8]>,
    /// Session Expiry Interval; absent is 0. `u32::MAX` never expires.
    pub session_expiry_s: Option<u32>,
    /// Receive Maximum; absent is 65,535. Never 0.
    pub receive_maximum: Option<u16>,
    /// Maximum Packet Size; absent is no limit. Never 0.
    pub maximum_packet_size: Option<u32>,
    /// Topic Alias Maximum; absent is 0.
    pub topic_alias_maximum: Option<u16>,
    /// Request Response Information.
    pub request_response_information: bool,
    /// Request Problem Information; absent is true.
    pub request_problem_information: bool,
    /// Authentication Method.
    pub authentication_method: Option<&'a str>,
    /// Authentication Data.
    pub authentication_data: Option<&'a [u8]>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
}

impl<'a> Connect<'a> {
    /// A clean start with nothing but a client id; keep alive is 60 seconds.
    pub const fn new(version: Version, client_id: &'a str) -> Self {
        Self {
            version,
            clean_start: true,
            keep_alive_s: 60,
            client_id,
            will: None,
            username: None,
            password: None,
            session_expiry_s: None,
            receive_maximum: None,
            maximum_packet_size: None,
            topic_alias_maximum: None,
            request_response_information: false,
            request_problem_information: true,
            authentication_method: None,
            authentication_data: None,
            user_properties: UserProperties::NONE,
        }
    }
}

/// The will of a CONNECT, sections 3.1.2.5 and 3.1.3.2.
#[derive(Debug, Clone, PartialEq)]
pub struct Will<'a> {
    /// Will Topic.
    pub topic: &'a str,
    /// Will Payload.
    pub payload: &'a [u8],
    /// Will QoS.
    pub qos: QoS,
    /// Will Retain.
    pub retain: bool,
    /// Will Delay Interval in seconds.
    pub delay_s: u32,
    /// What travels with the message.
    pub properties: PublishProperties<'a>,
}

/// CONNACK, section 3.2.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Connack<'a> {
    /// Session Present.
    pub session_present: bool,
    /// In 3.1.1 this is written as the return code of its table 3.1.
    pub reason: ReasonCode,
    /// Session Expiry Interval.
    pub session_expiry_s: Option<u32>,
    /// Receive Maximum.
    pub receive_maximum: Option<u16>,
    /// Maximum QoS, where below 2.
    pub maximum_qos: Option<u8>,
    /// Retain Available.
    pub retain_available: Option<bool>,
    /// Maximum Packet Size.
    pub maximum_packet_size: Option<u32>,
    /// Assigned Client Identifier.
    pub assigned_client_id: Option<&'a str>,
    /// Topic Alias Maximum.
    pub topic_alias_maximum: Option<u16>,
    /// Reason String.
    pub reason_string: Option<&'a str>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
    /// Wildcard Subscription Available.
    pub wildcard_subscription_available: Option<bool>,
    /// Subscription Identifiers Available.
    pub subscription_ids_available: Option<bool>,
    /// Shared Subscription Available.
    pub shared_subscription_available: Option<bool>,
    /// Server Keep Alive in seconds.
    pub server_keep_alive_s: Option<u16>,
    /// Response Information.
    pub response_information: Option<&'a str>,
    /// Server Reference.
    pub server_reference: Option<&'a str>,
    /// Authentication Method.
    pub authentication_method: Option<&'a str>,
    /// Authentication Data.
    pub authentication_data: Option<&'a [u8]>,
}

/// PUBLISH, section 3.3.
#[derive(Debug, Clone, PartialEq)]
pub struct Publish<'a> {
    /// DUP.
    pub dup: bool,
    /// QoS.
    pub qos: QoS,
    /// RETAIN.
    pub retain: bool,
    /// Topic Name; empty only in 5.0 with a topic alias.
    pub topic: &'a str,
    /// Packet Identifier: 0 when QoS is 0, never 0 otherwise.
    pub packet_id: u16,
    /// Properties, all absent in 3.1.1.
    pub properties: PublishProperties<'a>,
    /// The application's bytes.
    pub payload: &'a [u8],
}

/// What an application message carries beside topic and payload (section 3.3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PublishProperties<'a> {
    /// Payload Format Indicator: 0 bytes, 1 UTF-8.
    pub payload_format: Option<u8>,
    /// Message Expiry Interval.
    pub message_expiry_s: Option<u32>,
    /// Topic Alias, never 0.
    pub topic_alias: Option<u16>,
    /// Response Topic.
    pub response_topic: Option<&'a str>,
    /// Correlation Data.
    pub correlation_data: Option<&'a [u8]>,
    /// Content Type.
    pub content_type: Option<&'a str>,
    /// Subscription Identifiers (server to client only).
    pub subscription_ids: SubscriptionIds<'a>,
    /// User Properties, in the order received.
    pub user_properties: UserProperties<'a>,
    /// Leave at its default, or as decoded.
    pub kept: Kept<'a>,
}

/// PUBACK, PUBREC, PUBREL and PUBCOMP, sections 3.4 to 3.7.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ack<'a> {
    /// Packet Identifier.
    pub packet_id: u16,
    /// Reason Code; Success in 3.1.1.
    pub reason: ReasonCode,
    /// Reason String.
    pub reason_string: Option<&'a str>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
}

/// SUBSCRIBE, section 3.8.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscribe<'a> {
    /// Packet Identifier.
    pub packet_id: u16,
    /// Subscription Identifier, 1 to 268,435,455.
    pub subscription_id: Option<u32>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
    /// At least one; validated when decoded, read with [`Filters::iter`].
    pub filters: Filters<'a>,
}

/// The topic filters of a SUBSCRIBE, still in wire form: validated, iterated without allocating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filters<'a> {
    pub(crate) version: Version,
    pub(crate) raw: &'a [u8],
}

/// One row of a SUBSCRIBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription<'a> {
    /// Topic Filter as the client wrote it, `$share/...` included; UTF-8 checked, filter rules are not.
    pub filter: &'a str,
    /// Its options.
    pub options: SubscriptionOptions,
}

/// Subscription Options, section 3.8.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// Maximum QoS.
    pub qos: QoS,
    /// No Local.
    pub no_local: bool,
    /// Retain As Published.
    pub retain_as_published: bool,
    /// Retain Handling.
    pub retain_handling: RetainHandling,
}

/// Retain Handling, section 3.8.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RetainHandling {
    /// Send retained messages at the time of the subscribe.
    Send = 0,
    /// Send them only if the subscription does not exist.
    SendIfNew = 1,
    /// Do not send them.
    DontSend = 2,
}

/// SUBACK and UNSUBACK, sections 3.9 and 3.11.
#[derive(Debug, Clone, PartialEq)]
pub struct Suback<'a> {
    /// Packet Identifier.
    pub packet_id: u16,
    /// Reason String.
    pub reason_string: Option<&'a str>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
    /// One byte for each filter, in order; in a 3.1.1 SUBACK its return codes.
    pub reasons: &'a [u8],
}

/// UNSUBSCRIBE, section 3.10.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsubscribe<'a> {
    /// Packet Identifier.
    pub packet_id: u16,
    /// User Property.
    pub user_properties: UserProperties<'a>,
    /// At least one; read with [`FilterNames::iter`].
    pub filters: FilterNames<'a>,
}

/// The topic filters of an UNSUBSCRIBE, still in wire form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterNames<'a> {
    pub(crate) raw: &'a [u8],
}

/// DISCONNECT, section 3.14.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Disconnect<'a> {
    /// Reason Code; `Success` is Normal disconnection.
    pub reason: ReasonCode,
    /// Session Expiry Interval.
    pub session_expiry_s: Option<u32>,
    /// Reason String.
    pub reason_string: Option<&'a str>,
    /// Server Reference.
    pub server_reference: Option<&'a str>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
}

/// AUTH, section 3.15.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Auth<'a> {
    /// Success, ContinueAuthentication or ReAuthenticate.
    pub reason: ReasonCode,
    /// Authentication Method.
    pub method: Option<&'a str>,
    /// Authentication Data.
    pub data: Option<&'a [u8]>,
    /// Reason String.
    pub reason_string: Option<&'a str>,
    /// User Property.
    pub user_properties: UserProperties<'a>,
}

impl Publish<'_> {
    /// Whether the payload is well-formed UTF-8, which Payload Format Indicator 1 promises
    /// (section 3.3.2.3.2; a server may check it, and answers 0x99).
    pub fn payload_is_valid_utf8(&self) -> bool {
        std::str::from_utf8(self.payload).is_ok()
    }
}

impl QoS {
    /// `None` above 2.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::AtMostOnce),
            1 => Some(Self::AtLeastOnce),
            2 => Some(Self::ExactlyOnce),
            _ => None,
        }
    }
}

impl SubscriptionOptions {
    /// Reads an options byte; `None` for QoS 3, retain handling 3 and reserved bits.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        let Some(qos) = QoS::from_byte(byte & 0b11) else { return None };
        let retain_handling = match byte >> 4 {
            0 => RetainHandling::Send,
            1 => RetainHandling::SendIfNew,
            2 => RetainHandling::DontSend,
            _ => return None,
        };
        Some(Self {
            qos,
            no_local: byte & 0b100 != 0,
            retain_as_published: byte & 0b1000 != 0,
            retain_handling,
        })
    }

    /// The options byte of a SUBSCRIBE; 3.1.1 has the QoS alone.
    pub const fn to_byte(self, version: Version) -> u8 {
        match version {
            Version::V311 => self.qos as u8,
            Version::V5 => {
                self.qos as u8
                    | (self.no_local as u8) << 2
                    | (self.retain_as_published as u8) << 3
                    | (self.retain_handling as u8) << 4
            }
        }
    }
}

impl<'a> Filters<'a> {
    /// The rows in order.
    pub fn iter(&self) -> FiltersIter<'a> {
        FiltersIter { rest: self.raw }
    }

    /// How many rows.
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}

/// See [`Filters::iter`].
#[derive(Debug, Clone)]
pub struct FiltersIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for FiltersIter<'a> {
    type Item = Subscription<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let filter = split_string(&mut self.rest)?;
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(Subscription { filter, options: SubscriptionOptions::from_byte(byte)? })
    }
}

/// Owns the rows of a SUBSCRIBE that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiltersBuffer {
    version: Version,
    raw: Vec<u8>,
}

impl FiltersBuffer {
    /// Without rows, for a SUBSCRIBE of this version.
    pub const fn new(version: Version) -> Self {
        Self { version, raw: Vec::new() }
    }

    /// Adds a row; a filter of more than 65,535 bytes is refused.
    pub fn push(&mut self, filter: &str, options: SubscriptionOptions) -> Result<(), TopicError> {
        push_filter(&mut self.raw, filter)?;
        self.raw.push(options.to_byte(self.version));
        Ok(())
    }

    /// What the packet carries.
    pub fn filters(&self) -> Filters<'_> {
        Filters { version: self.version, raw: &self.raw }
    }
}

impl<'a> FilterNames<'a> {
    /// The filters in order.
    pub fn iter(&self) -> FilterNamesIter<'a> {
        FilterNamesIter { rest: self.raw }
    }

    /// How many filters.
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}

/// See [`FilterNames::iter`].
#[derive(Debug, Clone)]
pub struct FilterNamesIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for FilterNamesIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        split_string(&mut self.rest)
    }
}

fn push_filter(raw: &mut Vec<u8>, filter: &str) -> Result<(), TopicError> {
    let len = u16::try_from(filter.len()).map_err(|_| TopicError::TooLong)?;
    raw.extend_from_slice(&len.to_be_bytes());
    raw.extend_from_slice(filter.as_bytes());
    Ok(())
}

/// Owns the filters of an UNSUBSCRIBE that is to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterNamesBuffer {
    raw: Vec<u8>,
}

impl FilterNamesBuffer {
    /// Adds a filter; one of more than 65,535 bytes is refused.
    pub fn push(&mut self, filter: &str) -> Result<(), TopicError> {
        push_filter(&mut self.raw, filter)
    }

    /// What the packet carries.
    pub fn filters(&self) -> FilterNames<'_> {
        FilterNames { raw: &self.raw }
    }
}
