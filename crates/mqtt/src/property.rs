//! Properties (MQTT 5.0 section 2.2.2) that repeat or travel on: user properties, subscription identifiers,
//! and the part of a PUBLISH's properties that a server forwards unaltered.
//!
//! What was decoded stays in wire form and is walked when asked for; what is to be encoded is built in wire
//! form. Either way two values are equal when their contents are.

use crate::encode::{Length, Sink};
use crate::packet::PublishProperties;

/// Property identifiers (MQTT 5.0 table 2-4) and the types of their values.
pub(crate) mod id {
    pub(crate) const PAYLOAD_FORMAT_INDICATOR: u8 = 0x01;
    pub(crate) const MESSAGE_EXPIRY_INTERVAL: u8 = 0x02;
    pub(crate) const CONTENT_TYPE: u8 = 0x03;
    pub(crate) const RESPONSE_TOPIC: u8 = 0x08;
    pub(crate) const CORRELATION_DATA: u8 = 0x09;
    pub(crate) const SUBSCRIPTION_IDENTIFIER: u8 = 0x0B;
    pub(crate) const SESSION_EXPIRY_INTERVAL: u8 = 0x11;
    pub(crate) const ASSIGNED_CLIENT_IDENTIFIER: u8 = 0x12;
    pub(crate) const SERVER_KEEP_ALIVE: u8 = 0x13;
    pub(crate) const AUTHENTICATION_METHOD: u8 = 0x15;
    pub(crate) const AUTHENTICATION_DATA: u8 = 0x16;
    pub(crate) const REQUEST_PROBLEM_INFORMATION: u8 = 0x17;
    pub(crate) const WILL_DELAY_INTERVAL: u8 = 0x18;
    pub(crate) const REQUEST_RESPONSE_INFORMATION: u8 = 0x19;
    pub(crate) const RESPONSE_INFORMATION: u8 = 0x1A;
    pub(crate) const SERVER_REFERENCE: u8 = 0x1C;
    pub(crate) const REASON_STRING: u8 = 0x1F;
    pub(crate) const RECEIVE_MAXIMUM: u8 = 0x21;
    pub(crate) const TOPIC_ALIAS_MAXIMUM: u8 = 0x22;
    pub(crate) const TOPIC_ALIAS: u8 = 0x23;
    pub(crate) const MAXIMUM_QOS: u8 = 0x24;
    pub(crate) const RETAIN_AVAILABLE: u8 = 0x25;
    pub(crate) const USER_PROPERTY: u8 = 0x26;
    pub(crate) const MAXIMUM_PACKET_SIZE: u8 = 0x27;
    pub(crate) const WILDCARD_SUBSCRIPTION_AVAILABLE: u8 = 0x28;
    pub(crate) const SUBSCRIPTION_IDENTIFIER_AVAILABLE: u8 = 0x29;
    /// The highest there is.
    pub(crate) const SHARED_SUBSCRIPTION_AVAILABLE: u8 = 0x2A;

    /// How a value is laid out.
    #[derive(Clone, Copy)]
    pub(crate) enum Kind {
        Byte,
        TwoBytes,
        FourBytes,
        Varint,
        /// A string or binary data: two bytes of length before it.
        Prefixed,
        Pair,
    }

    /// `None` where the identifier is not defined.
    pub(crate) const fn kind(id: u8) -> Option<Kind> {
        Some(match id {
            0x01 | 0x17 | 0x19 | 0x24 | 0x25 | 0x28 | 0x29 | 0x2A => Kind::Byte,
            0x13 | 0x21 | 0x22 | 0x23 => Kind::TwoBytes,
            0x02 | 0x11 | 0x18 | 0x27 => Kind::FourBytes,
            0x0B => Kind::Varint,
            0x03 | 0x08 | 0x09 | 0x12 | 0x15 | 0x16 | 0x1A | 0x1C | 0x1F => Kind::Prefixed,
            0x26 => Kind::Pair,
            _ => return None,
        })
    }
}

/// Takes the first property off a validated run: its identifier and its value in wire form.
fn split_property<'a>(run: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&id, rest) = run.split_first()?;
    let len = match id::kind(id)? {
        id::Kind::Byte => 1,
        id::Kind::TwoBytes => 2,
        id::Kind::FourBytes => 4,
        id::Kind::Varint => 1 + rest.iter().position(|byte| byte & 0x80 == 0)?,
        id::Kind::Prefixed => prefixed_len(rest)?,
        id::Kind::Pair => {
            let name = prefixed_len(rest)?;
            name + prefixed_len(rest.get(name..)?)?
        }
    };
    let (value, rest) = rest.split_at_checked(len)?;
    *run = rest;
    Some((id, value))
}

fn prefixed_len(bytes: &[u8]) -> Option<usize> {
    Some(2 + usize::from(u16::from_be_bytes(*bytes.first_chunk()?)))
}

/// Takes a string with its length before it off validated bytes.
pub(crate) fn split_string<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let (string, rest) = bytes.split_at_checked(prefixed_len(bytes)?)?;
    *bytes = rest;
    std::str::from_utf8(&string[2..]).ok()
}

/// User Properties (0x26) of one packet, in the order received. Default is none.
#[derive(Clone, Copy, Default)]
pub struct UserProperties<'a> {
    /// A validated run of properties; those that are no user properties are stepped over.
    pub(crate) raw: &'a [u8],
}

impl<'a> UserProperties<'a> {
    /// No user property.
    pub const NONE: Self = Self { raw: &[] };

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Names and values in order; a name may repeat.
    pub fn iter(&self) -> UserPropertiesIter<'a> {
        UserPropertiesIter { rest: self.raw }
    }
}

/// See [`UserProperties::iter`].
#[derive(Debug, Clone)]
pub struct UserPropertiesIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for UserPropertiesIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let (id::USER_PROPERTY, mut value) = split_property(&mut self.rest)? {
                return Some((split_string(&mut value)?, split_string(&mut value)?));
            }
        }
    }
}

impl PartialEq for UserProperties<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for UserProperties<'_> {}

impl std::fmt::Debug for UserProperties<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Owns user properties that are to be encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserPropertiesBuffer {
    raw: Vec<u8>,
}

impl UserPropertiesBuffer {
    /// Adds one. Each string is cut at the last character that ends within 65,535 bytes.
    pub fn push(&mut self, name: &str, value: &str) {
        self.raw.byte(id::USER_PROPERTY);
        self.raw.string(name);
        self.raw.string(value);
    }

    /// What a packet carries.
    pub fn properties(&self) -> UserProperties<'_> {
        UserProperties { raw: &self.raw }
    }
}

/// Subscription Identifiers (0x0B) of a PUBLISH. Default is none.
#[derive(Clone, Copy, Default)]
pub struct SubscriptionIds<'a>(Ids<'a>);

#[derive(Clone, Copy)]
enum Ids<'a> {
    Raw(&'a [u8]),
    List(&'a [u32]),
}

impl Default for Ids<'_> {
    fn default() -> Self {
        Self::List(&[])
    }
}

impl<'a> SubscriptionIds<'a> {
    /// A validated run of properties; those that are no subscription identifiers are stepped over.
    pub(crate) const fn raw(run: &'a [u8]) -> Self {
        Self(Ids::Raw(run))
    }

    /// For encoding; each from 1 to 268,435,455.
    pub const fn list(ids: &'a [u32]) -> Self {
        Self(Ids::List(ids))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The identifiers in order.
    pub fn iter(&self) -> SubscriptionIdsIter<'a> {
        SubscriptionIdsIter(self.0)
    }
}

/// See [`SubscriptionIds::iter`].
#[derive(Clone)]
pub struct SubscriptionIdsIter<'a>(Ids<'a>);

impl Iterator for SubscriptionIdsIter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match &mut self.0 {
            Ids::Raw(raw) => loop {
                if let (id::SUBSCRIPTION_IDENTIFIER, value) = split_property(raw)? {
                    let digits = value.iter().rev();
                    return Some(digits.fold(0, |id, byte| id << 7 | u32::from(byte & 0x7F)));
                }
            },
            Ids::List(list) => {
                let (first, rest) = list.split_first()?;
                *list = rest;
                Some(*first)
            }
        }
    }
}

impl PartialEq for SubscriptionIds<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for SubscriptionIds<'_> {}

impl std::fmt::Debug for SubscriptionIds<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The properties to pass on, where they stood side by side in the packet they were decoded from.
///
/// A copy of the other fields of [`PublishProperties`], kept so that forwarding them is one copy of
/// bytes. Default is "not kept". Code that changes another field of decoded properties resets this
/// one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kept<'a>(pub(crate) Option<&'a [u8]>);

impl PartialEq for Kept<'_> {
    /// Always: what is kept repeats the other fields.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl PublishProperties<'_> {
    /// Bytes that [`encode_forwardable`](Self::encode_forwardable) appends.
    pub fn forwardable_len(&self) -> usize {
        match self.kept.0 {
            Some(kept) => kept.len(),
            None => {
                let mut len = Length(0);
                self.write_forwardable(&mut len);
                len.0
            }
        }
    }

    /// Appends what a server must pass on unaltered, without a length before it: Payload Format Indicator,
    /// Response Topic, Correlation Data, Content Type and the User Properties in their order
    /// [MQTT-3.3.2-4, MQTT-3.3.2-15, MQTT-3.3.2-16, MQTT-3.3.2-17, MQTT-3.3.2-18, MQTT-3.3.2-20].
    pub fn encode_forwardable(&self, buf: &mut Vec<u8>) {
        match self.kept.0 {
            Some(kept) => buf.extend_from_slice(kept),
            None => self.write_forwardable(buf),
        }
    }

    pub(crate) fn write_forwardable(&self, sink: &mut impl Sink) {
        sink.optional_byte(id::PAYLOAD_FORMAT_INDICATOR, self.payload_format);
        sink.optional_string(id::RESPONSE_TOPIC, self.response_topic);
        sink.optional_binary(id::CORRELATION_DATA, self.correlation_data);
        sink.optional_string(id::CONTENT_TYPE, self.content_type);
        sink.user_properties(&self.user_properties);
    }
}
