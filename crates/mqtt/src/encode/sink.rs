//! Where encoded bytes go: a buffer, or only a count of them.
//!
//! A packet's layout is written once, against [`Sink`]; running it against [`Length`] computes the
//! lengths that stand before what they measure.

use crate::property::{SubscriptionIds, UserProperties, id};

/// Takes bytes in order.
pub(crate) trait Sink {
    fn bytes(&mut self, bytes: &[u8]);

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    #[inline]
    fn two_bytes(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// A variable byte integer; `value` is at most 268,435,455.
    #[inline]
    fn varint(&mut self, value: usize) {
        debug_assert!(value < 1 << 28);
        let low = (value & 0x7F) as u8;
        if value < 0x80 {
            self.byte(low);
        } else {
            let digit = |shift: u32| (value >> shift & 0x7F) as u8 | 0x80;
            let encoded = [low | 0x80, digit(7), digit(14), digit(21)];
            let len = varint_len(value);
            self.bytes(&encoded[..len - 1]);
            self.byte(encoded[len - 1] & 0x7F);
        }
    }

    fn string(&mut self, string: &str) {
        let string = cut(string);
        self.two_bytes(string.len() as u16);
        self.bytes(string.as_bytes());
    }

    fn binary(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(usize::from(u16::MAX))];
        self.two_bytes(bytes.len() as u16);
        self.bytes(bytes);
    }

    fn optional_byte(&mut self, id: u8, value: Option<u8>) {
        if let Some(value) = value {
            self.bytes(&[id, value]);
        }
    }

    fn optional_flag(&mut self, id: u8, value: Option<bool>) {
        self.optional_byte(id, value.map(u8::from));
    }

    fn optional_two_bytes(&mut self, id: u8, value: Option<u16>) {
        if let Some(value) = value {
            self.byte(id);
            self.two_bytes(value);
        }
    }

    fn optional_four_bytes(&mut self, id: u8, value: Option<u32>) {
        if let Some(value) = value {
            self.byte(id);
            self.bytes(&value.to_be_bytes());
        }
    }

    fn optional_string(&mut self, id: u8, value: Option<&str>) {
        if let Some(value) = value {
            self.byte(id);
            self.string(value);
        }
    }

    fn optional_binary(&mut self, id: u8, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.byte(id);
            self.binary(value);
        }
    }

    fn user_properties(&mut self, properties: &UserProperties<'_>) {
        for (name, value) in properties.iter() {
            self.byte(id::USER_PROPERTY);
            self.string(name);
            self.string(value);
        }
    }

    fn subscription_ids(&mut self, ids: &SubscriptionIds<'_>) {
        for subscription in ids.iter() {
            self.byte(id::SUBSCRIPTION_IDENTIFIER);
            self.varint(subscription as usize);
        }
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.push(byte);
    }
}

/// Counts bytes and keeps none.
pub(crate) struct Length(pub(crate) usize);

impl Sink for Length {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Bytes of a variable byte integer (MQTT 5.0 section 1.5.5).
#[inline]
pub(super) const fn varint_len(value: usize) -> usize {
    match value {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        _ => 4,
    }
}

/// What of a string fits its two bytes of length.
#[inline]
pub(super) fn cut(string: &str) -> &str {
    if string.len() <= usize::from(u16::MAX) {
        string
    } else {
        &string[..string.floor_char_boundary(usize::from(u16::MAX))]
    }
}
