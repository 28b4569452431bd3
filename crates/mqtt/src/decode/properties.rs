//! Walks a property block (MQTT 5.0 section 2.2.2): which property stands next, and its value checked.
//!
//! A property that may stand once is refused the second time. Which properties a packet may carry is
//! decided by that packet's decoder, which answers the others with [`Block::misplaced`].

use super::DecodeError;
use super::cursor::Cursor;
use crate::packet::PublishProperties;
use crate::property::{Kept, SubscriptionIds, UserProperties, id};

/// A property block being read.
pub(super) struct Block<'a> {
    whole: &'a [u8],
    cursor: Cursor<'a>,
    /// Bit n: property n has been seen. Every defined identifier is below 64.
    seen: u64,
    user: Run,
    subscription_ids: Run,
}

/// From the first to the last of the repeated property that it is about, as offsets in the block.
#[derive(Default)]
struct Run {
    start: usize,
    end: usize,
}

impl Run {
    fn extend(&mut self, start: usize, end: usize) {
        if self.end == 0 {
            self.start = start;
        }
        self.end = end;
    }
}

impl<'a> Block<'a> {
    /// Takes the block, its length first, off `cursor`.
    #[inline]
    pub(super) fn take(cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let len = cursor.varint()?;
        Ok(Self::of(cursor.take(len as usize)?))
    }

    /// A block without its length.
    pub(super) fn of(whole: &'a [u8]) -> Self {
        Self {
            whole,
            cursor: Cursor::new(whole),
            seen: 0,
            user: Run::default(),
            subscription_ids: Run::default(),
        }
    }

    /// The identifier of the next property; its value is to be read next.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<u8>, DecodeError> {
        if self.cursor.rest.is_empty() {
            return Ok(None);
        }
        // Formally a variable byte integer; every defined one fits a byte.
        let property = self.cursor.byte()?;
        if property > id::SHARED_SUBSCRIPTION_AVAILABLE {
            return Err(DecodeError::PropertyUnknown);
        }
        let bit = 1u64 << property;
        if self.seen & bit != 0 && property != id::USER_PROPERTY && property != id::SUBSCRIPTION_IDENTIFIER {
            return Err(DecodeError::PropertyRepeated);
        }
        self.seen |= bit;
        Ok(Some(property))
    }

    fn at(&self) -> usize {
        self.whole.len() - self.cursor.rest.len()
    }

    /// The error for a property that the packet does not list.
    pub(super) const fn misplaced(property: u8) -> DecodeError {
        match id::kind(property) {
            Some(_) => DecodeError::PropertyMisplaced,
            None => DecodeError::PropertyUnknown,
        }
    }

    /// A byte that is 0 or 1.
    pub(super) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.cursor.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::PropertyValue),
        }
    }

    pub(super) fn two_bytes(&mut self) -> Result<u16, DecodeError> {
        self.cursor.two_bytes()
    }

    pub(super) fn two_bytes_not_zero(&mut self) -> Result<u16, DecodeError> {
        match self.cursor.two_bytes()? {
            0 => Err(DecodeError::PropertyValue),
            value => Ok(value),
        }
    }

    pub(super) fn four_bytes(&mut self) -> Result<u32, DecodeError> {
        self.cursor.four_bytes()
    }

    pub(super) fn four_bytes_not_zero(&mut self) -> Result<u32, DecodeError> {
        match self.cursor.four_bytes()? {
            0 => Err(DecodeError::PropertyValue),
            value => Ok(value),
        }
    }

    pub(super) fn string(&mut self) -> Result<&'a str, DecodeError> {
        self.cursor.string()
    }

    pub(super) fn binary(&mut self) -> Result<&'a [u8], DecodeError> {
        self.cursor.binary()
    }

    /// A user property, remembered for [`Self::user_properties`].
    pub(super) fn user_property(&mut self) -> Result<(), DecodeError> {
        let start = self.at() - 1;
        self.cursor.string()?;
        self.cursor.string()?;
        let end = self.at();
        self.user.extend(start, end);
        Ok(())
    }

    /// A subscription identifier, remembered for [`Self::subscription_ids`].
    pub(super) fn subscription_id(&mut self) -> Result<u32, DecodeError> {
        let start = self.at() - 1;
        let value = self.cursor.varint()?;
        if value == 0 {
            return Err(DecodeError::PropertyValue);
        }
        let end = self.at();
        self.subscription_ids.extend(start, end);
        Ok(value)
    }

    pub(super) fn user_properties(&self) -> UserProperties<'a> {
        UserProperties { raw: &self.whole[self.user.start..self.user.end] }
    }

    /// The properties of an application message: of a PUBLISH (sections 3.3.2.3.2 to 3.3.2.3.9), or of a
    /// will (3.1.3.2.3 to 3.1.3.2.8), whose delay is read too and returned.
    #[inline]
    pub(super) fn message(mut self, of: MessageOf) -> Result<(PublishProperties<'a>, u32), DecodeError> {
        let mut properties = PublishProperties::default();
        let mut delay_s = 0;
        if self.whole.is_empty() {
            properties.kept = Kept(Some(&[]));
            return Ok((properties, delay_s));
        }
        let mut forwardable = Run::default();
        let mut side_by_side = true;
        while let Some(property) = self.next()? {
            let start = self.at() - 1;
            match (property, of) {
                (id::PAYLOAD_FORMAT_INDICATOR, _) => {
                    properties.payload_format = Some(u8::from(self.flag()?));
                }
                (id::MESSAGE_EXPIRY_INTERVAL, _) => {
                    properties.message_expiry_s = Some(self.four_bytes()?);
                    continue;
                }
                (id::CONTENT_TYPE, _) => properties.content_type = Some(self.string()?),
                (id::RESPONSE_TOPIC, _) => {
                    let topic = self.cursor.topic(DecodeError::ResponseTopicWildcard)?;
                    if topic.is_empty() {
                        return Err(DecodeError::TopicEmpty);
                    }
                    properties.response_topic = Some(topic);
                }
                (id::CORRELATION_DATA, _) => properties.correlation_data = Some(self.binary()?),
                (id::USER_PROPERTY, _) => self.user_property()?,
                (id::TOPIC_ALIAS, MessageOf::Publish) => {
                    let alias = self.two_bytes()?;
                    if alias == 0 {
                        return Err(DecodeError::TopicAliasZero);
                    }
                    properties.topic_alias = Some(alias);
                    continue;
                }
                (id::SUBSCRIPTION_IDENTIFIER, MessageOf::Publish) => {
                    self.subscription_id()?;
                    continue;
                }
                (id::WILL_DELAY_INTERVAL, MessageOf::Will) => {
                    delay_s = self.four_bytes()?;
                    continue;
                }
                (other, _) => return Err(Self::misplaced(other)),
            }
            side_by_side &= forwardable.end == 0 || forwardable.end == start;
            let end = self.at();
            forwardable.extend(start, end);
        }
        properties.user_properties = self.user_properties();
        properties.subscription_ids =
            SubscriptionIds::raw(&self.whole[self.subscription_ids.start..self.subscription_ids.end]);
        if side_by_side {
            properties.kept = Kept(Some(&self.whole[forwardable.start..forwardable.end]));
        }
        Ok((properties, delay_s))
    }
}

/// Which packet the message stands in.
#[derive(Clone, Copy)]
pub(super) enum MessageOf {
    Publish,
    Will,
}
