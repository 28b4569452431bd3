//! Protocol Buffers' wire format, as little of it as a client of the product's services needs.

use anyhow::{Context as _, Result, bail};

/// Appends a varint.
pub(crate) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// How many bytes a varint takes.
pub(crate) fn varint_bytes(number: u64) -> usize {
    (70 - (number | 1).leading_zeros() as usize) / 7
}

/// Appends a number's field.
pub(crate) fn number(field: u32, number: u64, out: &mut Vec<u8>) {
    varint(u64::from(field) << 3, out);
    varint(number, out);
}

/// Appends a 64-bit number of fixed size.
pub(crate) fn fixed64(field: u32, number: u64, out: &mut Vec<u8>) {
    varint(u64::from(field) << 3 | 1, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends the head of a field of so many bytes: a string, bytes, a message.
pub(crate) fn head(field: u32, bytes: usize, out: &mut Vec<u8>) {
    varint(u64::from(field) << 3 | 2, out);
    varint(bytes as u64, out);
}

/// Appends bytes or a string.
pub(crate) fn bytes(field: u32, content: &[u8], out: &mut Vec<u8>) {
    head(field, content.len(), out);
    out.extend_from_slice(content);
}

/// A field's value.
#[derive(Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A varint, or a fixed number.
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A number.
    pub(crate) fn number(self) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => bail!("a field of another type than the contract states"),
        }
    }

    /// A string, bytes or message.
    pub(crate) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => bail!("a field of another type than the contract states"),
        }
    }
}

/// Calls `each` with every field of a message.
pub(crate) fn fields<'a>(
    message: &'a [u8],
    mut each: impl FnMut(u32, Value<'a>) -> Result<()>,
) -> Result<()> {
    let mut rest = message;
    while !rest.is_empty() {
        let key = take_varint(&mut rest)?;
        let value = match key & 7 {
            0 => Value::Number(take_varint(&mut rest)?),
            1 => {
                Value::Number(u64::from_le_bytes(*take(&mut rest, 8)?.first_chunk().context("eight bytes")?))
            }
            2 => {
                let length = usize::try_from(take_varint(&mut rest)?)?;
                Value::Bytes(take(&mut rest, length)?)
            }
            5 => {
                let four = *take(&mut rest, 4)?.first_chunk().context("four bytes")?;
                Value::Number(u32::from_le_bytes(four).into())
            }
            other => bail!("wire type {other}"),
        };
        each(u32::try_from(key >> 3)?, value)?;
    }
    Ok(())
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length).context("a message that is cut")?;
    *rest = left;
    Ok(taken)
}

fn take_varint(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    bail!("a varint of more than 64 bits")
}

#[cfg(test)]
mod tests {
    use super::{Value, bytes, fields, fixed64, number, varint, varint_bytes};

    #[test]
    fn fields_are_read_back() {
        let mut out = Vec::new();
        number(1, 300, &mut out);
        bytes(2, b"hi", &mut out);
        fixed64(15, u64::MAX - 1, &mut out);
        let mut read = Vec::new();
        fields(&out, |field, value| {
            read.push((field, value));
            Ok(())
        })
        .expect("just written");
        let expected = [(1, Value::Number(300)), (2, Value::Bytes(b"hi")), (15, Value::Number(u64::MAX - 1))];
        assert_eq!(read, expected);
        assert!(fields(&out[..out.len() - 1], |_, _| Ok(())).is_err());
    }

    #[test]
    fn a_varint_takes_its_own_length() {
        for value in [0, 127, 128, 16_383, 16_384, u64::MAX] {
            let mut out = Vec::new();
            varint(value, &mut out);
            assert_eq!(out.len(), varint_bytes(value));
        }
    }
}
