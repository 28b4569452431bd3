//! Numbers, timestamps and texts as bytes, for events and checkpoints.
//!
//! docs/formats/record.md describes each encoding. Reading checks everything and allocates nothing.

use crate::{Corrupt, Time};

/// Appends a number, seven bits a byte.
#[inline]
pub fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a timestamp as its distance from another.
#[inline]
pub fn timestamp(out: &mut Vec<u8>, from: Time, at: Time) {
    let distance = at.0.wrapping_sub(from.0) as i64;
    number(out, (distance << 1 ^ distance >> 63) as u64);
}

/// Appends a text with its length.
pub fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Bytes to be read from the front.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The bytes that were read cannot have been written.
pub fn corrupt(reason: impl Into<String>) -> Corrupt {
    Corrupt { reason: reason.into() }
}

impl<'a> Reader<'a> {
    /// From the first byte on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// One byte.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Corrupt> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| corrupt("it ends within an event"))?;
        self.at += 1;
        Ok(byte)
    }

    /// So many bytes.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Corrupt> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..bytes).ok_or_else(|| corrupt("it ends within an event"))?;
        self.at += bytes;
        Ok(taken)
    }

    /// So many bytes, as an array.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    pub fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Corrupt> {
        let (taken, _) =
            self.bytes[self.at..].split_first_chunk().ok_or_else(|| corrupt("it ends within an event"))?;
        self.at += BYTES;
        Ok(*taken)
    }

    /// A number, seven bits a byte.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Corrupt> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(corrupt("a number of more than 64 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(corrupt("a number that does not end"))
    }

    /// A number that fits a smaller type.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Corrupt> {
        T::try_from(self.number()?).map_err(|_| corrupt("a number out of its bounds"))
    }

    /// A timestamp, by its distance from another.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    #[inline]
    pub fn timestamp(&mut self, from: Time) -> Result<Time, Corrupt> {
        let raw = self.number()?;
        let distance = (raw >> 1) as i64 ^ -((raw & 1) as i64);
        Ok(Time(from.0.wrapping_add(distance as u64)))
    }

    /// A text, by its length.
    ///
    /// # Errors
    ///
    /// Bytes that end before it does, or have another content.
    pub fn text(&mut self) -> Result<&'a str, Corrupt> {
        let bytes = self.small::<usize>()?;
        std::str::from_utf8(self.take(bytes)?).map_err(|_| corrupt("a text that is not UTF-8"))
    }
}
