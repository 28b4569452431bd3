//! Reads the data types of MQTT 5.0 section 1.5 off the front of a packet's body.
//!
//! A read either takes all its bytes or fails; nothing is ever read past the end.

use memchr::{memchr, memchr3};

use super::DecodeError;

/// What is still to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    #[inline]
    pub(super) fn two_bytes(&mut self) -> Result<u16, DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(u16::from_be_bytes(*bytes))
    }

    #[inline]
    pub(super) fn four_bytes(&mut self) -> Result<u32, DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    /// A variable byte integer, of no more bytes than it needs [MQTT-1.5.5-1].
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u32, DecodeError> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u32::from(first));
        }
        let mut value = u32::from(first & 0x7F);
        for shift in [7, 14, 21] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return if byte == 0 { Err(DecodeError::LengthEncoding) } else { Ok(value) };
            }
        }
        Err(DecodeError::LengthEncoding)
    }

    /// Binary data, section 1.5.6.
    #[inline]
    pub(super) fn binary(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.two_bytes()?;
        self.take(usize::from(len))
    }

    /// A UTF-8 encoded string, section 1.5.4. U+FEFF is kept [MQTT-1.5.4-3].
    #[inline]
    pub(super) fn string(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.binary()?;
        let string = std::str::from_utf8(bytes).map_err(|_| DecodeError::Utf8)?;
        if memchr(0, bytes).is_some() {
            return Err(DecodeError::NulInString);
        }
        Ok(string)
    }

    /// A topic name, which may be empty here; `wildcard` is what one in it means.
    #[inline]
    pub(super) fn topic(&mut self, wildcard: DecodeError) -> Result<&'a str, DecodeError> {
        let bytes = self.binary()?;
        let topic = std::str::from_utf8(bytes).map_err(|_| DecodeError::Utf8)?;
        match memchr3(0, b'+', b'#', bytes).map(|at| bytes[at]) {
            None => {}
            Some(0) => return Err(DecodeError::NulInString),
            // A null character may still follow, and is the worse fault.
            Some(_) if memchr(0, bytes).is_some() => return Err(DecodeError::NulInString),
            Some(_) => return Err(wildcard),
        }
        Ok(topic)
    }

    /// A packet identifier, never 0 [MQTT-2.2.1-3].
    #[inline]
    pub(super) fn packet_id(&mut self) -> Result<u16, DecodeError> {
        match self.two_bytes()? {
            0 => Err(DecodeError::PacketIdZero),
            id => Ok(id),
        }
    }

    /// That nothing is left.
    #[inline]
    pub(super) const fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::TrailingBytes) }
    }
}
