//! Redis' protocol (RESP2): commands as arrays of bulk strings, answers as a tree of borrowed values.

use anyhow::{Context as _, Result, bail};

/// An answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    Bulk(&'a [u8]),
    Nil,
    Array(Vec<Value<'a>>),
}

impl<'a> Value<'a> {
    /// The elements of an array; none of nil.
    pub(crate) fn items(self) -> Result<Vec<Self>> {
        match self {
            Self::Array(items) => Ok(items),
            Self::Nil => Ok(Vec::new()),
            other => bail!("redis answered {other:?} instead of an array"),
        }
    }

    /// A string.
    pub(crate) fn bytes(&self) -> Result<&'a [u8]> {
        match self {
            Self::Bulk(bytes) | Self::Simple(bytes) => Ok(bytes),
            other => bail!("redis answered {other:?} instead of a string"),
        }
    }

    /// An error of the server's as an error here.
    pub(crate) fn good(self) -> Result<Self> {
        match self {
            Self::Error(text) => bail!("redis: {}", String::from_utf8_lossy(text)),
            good => Ok(good),
        }
    }
}

/// Begins a command of so many words.
pub(crate) fn command(words: usize, out: &mut Vec<u8>) {
    head(b'*', words, out);
}

/// Adds a word to it.
pub(crate) fn word(word: &[u8], out: &mut Vec<u8>) {
    head(b'$', word.len(), out);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

/// A whole command.
pub(crate) fn words(words: &[&[u8]], out: &mut Vec<u8>) {
    command(words.len(), out);
    for each in words {
        word(each, out);
    }
}

fn head(kind: u8, number: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(number.to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The first answer in `bytes` and its length; `None` when there is no whole one yet.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Value<'_>, usize)>> {
    let mut at = 0;
    Ok(value(bytes, &mut at)?.map(|value| (value, at)))
}

fn value<'a>(bytes: &'a [u8], at: &mut usize) -> Result<Option<Value<'a>>> {
    let Some(end) = bytes[*at..].windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
    let line = &bytes[*at..*at + end];
    *at += end + 2;
    let (kind, rest) = line.split_first().context("an empty answer")?;
    let number = || -> Result<i64> { Ok(std::str::from_utf8(rest)?.parse()?) };
    Ok(Some(match kind {
        b'+' => Value::Simple(rest),
        b'-' => Value::Error(rest),
        b':' => Value::Integer(number()?),
        b'$' => match usize::try_from(number()?) {
            Err(_) => Value::Nil,
            Ok(length) => {
                let Some(text) = bytes.get(*at..*at + length) else { return Ok(None) };
                if bytes.len() < *at + length + 2 {
                    return Ok(None);
                }
                *at += length + 2;
                Value::Bulk(text)
            }
        },
        b'*' => match usize::try_from(number()?) {
            Err(_) => Value::Nil,
            Ok(count) => {
                let mut items = Vec::with_capacity(count.min(1_024));
                for _ in 0..count {
                    let Some(item) = value(bytes, at)? else { return Ok(None) };
                    items.push(item);
                }
                Value::Array(items)
            }
        },
        other => bail!("not an answer of redis: {other}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::{Value, parse, words};

    #[test]
    fn answers_are_read_once_they_are_whole() {
        let bytes = b"*2\r\n$2\r\nhi\r\n:7\r\n+OK\r\n";
        let whole = Value::Array(vec![Value::Bulk(b"hi"), Value::Integer(7)]);
        assert_eq!(parse(bytes).expect("good"), Some((whole, 16)));
        for cut in 0..16 {
            assert_eq!(parse(&bytes[..cut]).expect("good so far"), None);
        }
        assert_eq!(parse(b"*-1\r\n").expect("good"), Some((Value::Nil, 5)));
    }

    #[test]
    fn commands_are_bulk_strings() {
        let mut out = Vec::new();
        words(&[b"XLEN", b"q"], &mut out);
        assert_eq!(out, b"*2\r\n$4\r\nXLEN\r\n$1\r\nq\r\n");
    }
}
