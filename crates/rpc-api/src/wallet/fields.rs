//! Fields of a Protocol Buffers message, read from its bytes without making anything.
//!
//! For the methods that carry transfers: a message of prost's would allocate for each name, which costs more than the
//! transfer does. Unknown fields are ignored, as everywhere; groups, which nobody writes any more,
//! are refused.

use stadium_rpc::Refusal;

use crate::request::wrong;

/// What is left of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

/// What a field holds, by its form on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number, a truth value, an enumeration.
    Number(u64),
    /// A text, bytes, or a message.
    Bytes(&'a [u8]),
    /// Four or eight bytes, which none of our fields has.
    Fixed,
}

impl<'a> Fields<'a> {
    /// The next field's number and value; `None` at the end.
    ///
    /// # Errors
    /// Bytes that are no message.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, Refusal> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let bytes = self.number()?;
                Value::Bytes(self.take(bytes)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            form => return Err(wrong(format!("the request cannot be read: a field has wire type {form}"))),
        };
        Ok(Some((key >> 3, value)))
    }

    fn take(&mut self, bytes: u64) -> Result<&'a [u8], Refusal> {
        let bytes = usize::try_from(bytes).map_err(|_| cut())?;
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, Refusal> {
        let mut value = 0_u64;
        for (place, &byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.0 = &self.0[place + 1..];
                return Ok(value);
            }
        }
        Err(cut())
    }
}

fn cut() -> Refusal {
    wrong("the request cannot be read: it ends within a field".to_owned())
}

/// A field that has another form than it should.
pub(crate) fn misshapen(field: &str) -> Refusal {
    wrong(format!("the request cannot be read: {field} has another type than the contract says"))
}

/// A field's text.
pub(crate) fn text<'a>(field: &str, value: Value<'a>) -> Result<&'a str, Refusal> {
    let Value::Bytes(bytes) = value else { return Err(misshapen(field)) };
    std::str::from_utf8(bytes).map_err(|_| wrong(format!("{field} is not UTF-8")))
}

/// A field's bytes.
pub(crate) fn bytes<'a>(field: &str, value: Value<'a>) -> Result<&'a [u8], Refusal> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(misshapen(field)),
    }
}

/// A field's number.
pub(crate) fn number(field: &str, value: Value<'_>) -> Result<u64, Refusal> {
    match value {
        Value::Number(number) => Ok(number),
        _ => Err(misshapen(field)),
    }
}
