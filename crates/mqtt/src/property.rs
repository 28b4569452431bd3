//! Properties (MQTT 5.0 section 2.2.2) that repeat or travel on: user properties, subscription identifiers,
//! and the part of a PUBLISH's properties that a server passes on unaltered.
//!
//! What was decoded stays in wire form and is walked when asked for; what is to be encoded is built in wire
//! form. Either way two values are equal when their contents are.

use crate::packet::PublishProperties;

/// User Properties (0x26) of one packet, in the order received. Default is none.
#[derive(Clone, Copy, Default)]
pub struct UserProperties<'a> {
    /// A validated run of properties; those that are no user properties are stepped over.
    pub(crate) raw: &'a [u8],
}

impl<'a> UserProperties<'a> {
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
        todo!("{:?}", self.rest)
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
        todo!("{name} {value}")
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
            Ids::Raw(raw) => todo!("{raw:?}"),
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
/// A copy of what the other fields of [`PublishProperties`] say, kept so that passing them on is one copy
/// of bytes. Default is "not kept". Whoever changes another field of decoded properties resets this one.
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
        todo!()
    }

    /// Appends what a server must pass on unaltered, without a length before it: Payload Format Indicator,
    /// Response Topic, Correlation Data, Content Type and the User Properties in their order
    /// [MQTT-3.3.2-4, MQTT-3.3.2-15, MQTT-3.3.2-16, MQTT-3.3.2-17, MQTT-3.3.2-18, MQTT-3.3.2-20].
    pub fn encode_forwardable(&self, buf: &mut Vec<u8>) {
        todo!("{buf:?}")
    }
}
