//! Reads one answer from the beginning of what was received.
//!
//! An answer that is not whole yet is `None`: the caller reads more and asks again. Nothing is
//! allocated, and no length of the server's is believed beyond the caller's limits.

use memchr::memchr;

use super::error::ProtocolError;
use super::flags::{Flags, number};

/// Bytes of a line at most, with its end.
///
/// The longest line has a key, five numbers and an opaque token; an error's text is short too.
pub const LINE_BYTES_MAX: usize = 2_048;

/// Bytes of one answer to `stats` at most. A server with all its slab classes sends some 40 kB.
pub const STATISTIC_BYTES_MAX: usize = 4 << 20;

/// The limits of a reader.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a value at most.
    pub value_bytes_max: usize,
}

/// One answer of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response<'a> {
    /// `VA`: a value, by the meta protocol.
    Value {
        /// Its bytes.
        data: &'a [u8],
        /// Flags that were asked for.
        flags: Flags<'a>,
    },
    /// `HD`: done, or a hit whose value was not asked for.
    Done(Flags<'a>),
    /// `EN`: a miss.
    Miss(Flags<'a>),
    /// `NS`: not stored, and not because of an error.
    NotStored(Flags<'a>),
    /// `EX`: the item changed since its CAS number was read.
    Exists(Flags<'a>),
    /// `NF`: no such item.
    NotFound(Flags<'a>),
    /// `MN`: the answer to `mn`.
    Noop,
    /// `VALUE`: one hit of `get` or `gets`.
    ClassicValue {
        /// Its key.
        key: &'a [u8],
        /// Its bytes.
        data: &'a [u8],
        /// The client's flags.
        client_flags: u32,
        /// The item's unique number, from `gets`.
        cas: Option<u64>,
    },
    /// `END` of `get`, `gets` and `stats`.
    End,
    /// `STORED`.
    ClassicStored,
    /// `NOT_STORED`.
    ClassicNotStored,
    /// `EXISTS`.
    ClassicExists,
    /// `NOT_FOUND`.
    ClassicNotFound,
    /// `DELETED`.
    ClassicDeleted,
    /// `TOUCHED`.
    ClassicTouched,
    /// A number: the value after `incr` or `decr`.
    ClassicNumber(u64),
    /// `STAT`: one statistic.
    Statistic {
        /// Its name.
        name: &'a [u8],
        /// Its value, which may have spaces.
        value: &'a [u8],
    },
    /// `VERSION`, with the version.
    Version(&'a [u8]),
    /// `OK` or `RESET`.
    Ok,
    /// `ERROR`: the server does not know the command.
    UnknownCommand(&'a [u8]),
    /// `CLIENT_ERROR`, with its text: the server refused the command.
    ClientError(&'a [u8]),
    /// `SERVER_ERROR`, with its text: the server could not carry it out.
    ServerError(&'a [u8]),
}

/// Reads the first answer of `received`: it and the bytes that it takes, or `None` where it is not
/// whole yet.
///
/// # Errors
///
/// The bytes are no answer of a memcached server, or exceed the limits.
pub fn decode(received: &[u8], limits: Limits) -> Result<Option<(Response<'_>, usize)>, ProtocolError> {
    let head = &received[..received.len().min(LINE_BYTES_MAX)];
    let Some(end) = memchr(b'\n', head) else {
        return if head.len() == LINE_BYTES_MAX { Err(ProtocolError::LineTooLong) } else { Ok(None) };
    };
    let line = head[..end].strip_suffix(b"\r").ok_or(ProtocolError::BadLineEnd)?;
    let behind = end + 1;
    let (word, rest) = match memchr(b' ', line) {
        Some(space) => (&line[..space], &line[space + 1..]),
        None => (line, &[][..]),
    };
    let mut words = rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let response = match word {
        b"VA" => {
            let bytes = number(words.next().ok_or(ProtocolError::BadField)?)?;
            let flags = Flags::read(words)?;
            let Some((data, end)) = block(received, behind, bytes, limits)? else { return Ok(None) };
            return Ok(Some((Response::Value { data, flags }, end)));
        }
        b"VALUE" => {
            let mut field = || words.next().ok_or(ProtocolError::BadField);
            let key = field()?;
            let client_flags = u32::try_from(number(field()?)?).map_err(|_| ProtocolError::BadField)?;
            let bytes = number(field()?)?;
            let cas = words.next().map(number).transpose()?;
            let Some((data, end)) = block(received, behind, bytes, limits)? else { return Ok(None) };
            return Ok(Some((Response::ClassicValue { key, data, client_flags, cas }, end)));
        }
        b"HD" => Response::Done(Flags::read(words)?),
        b"EN" => Response::Miss(Flags::read(words)?),
        b"NS" => Response::NotStored(Flags::read(words)?),
        b"EX" => Response::Exists(Flags::read(words)?),
        b"NF" => Response::NotFound(Flags::read(words)?),
        b"MN" => Response::Noop,
        b"END" => Response::End,
        b"STORED" => Response::ClassicStored,
        b"NOT_STORED" => Response::ClassicNotStored,
        b"EXISTS" => Response::ClassicExists,
        b"NOT_FOUND" => Response::ClassicNotFound,
        b"DELETED" => Response::ClassicDeleted,
        b"TOUCHED" => Response::ClassicTouched,
        b"STAT" => {
            let name = words.next().ok_or(ProtocolError::BadField)?;
            Response::Statistic { name, value: rest.get(name.len() + 1..).unwrap_or_default() }
        }
        b"VERSION" => Response::Version(rest),
        b"OK" | b"RESET" => Response::Ok,
        b"ERROR" => Response::UnknownCommand(rest),
        b"CLIENT_ERROR" => Response::ClientError(rest),
        b"SERVER_ERROR" => Response::ServerError(rest),
        digits if digits.first().is_some_and(u8::is_ascii_digit) => Response::ClassicNumber(number(digits)?),
        _ => return Err(ProtocolError::UnknownAnswer),
    };
    Ok(Some((response, behind)))
}

/// The data block of `bytes` at `at`, and the place behind its line end.
fn block(
    received: &[u8],
    at: usize,
    bytes: u64,
    limits: Limits,
) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let bytes_max = limits.value_bytes_max;
    let length = usize::try_from(bytes)
        .ok()
        .filter(|length| *length <= bytes_max)
        .ok_or(ProtocolError::ValueTooLong { bytes, bytes_max })?;
    let rest = &received[at..];
    let Some(data) = rest.get(..length + 2) else { return Ok(None) };
    let data = data.strip_suffix(b"\r\n").ok_or(ProtocolError::BadLineEnd)?;
    Ok(Some((data, at + length + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { value_bytes_max: 1 << 20 };

    fn whole(text: &str) -> Response<'_> {
        let (response, taken) = decode(text.as_bytes(), LIMITS).unwrap().expect("it is whole");
        assert_eq!(taken, text.len());
        response
    }

    #[test]
    fn answers_of_the_meta_protocol_are_read() {
        let Response::Value { data, flags } = whole("VA 2 f7 c99 t-1 kYWI= b O3 W X Z s2 h1 l5\r\nhi\r\n")
        else {
            panic!("a value")
        };
        assert_eq!(data, b"hi");
        let expected = Flags {
            cas: Some(99),
            client_flags: Some(7),
            ttl_s: Some(-1),
            size: Some(2),
            idle_s: Some(5),
            was_hit: Some(true),
            opaque: Some(b"3"),
            key: Some(b"YWI="),
            is_base64: true,
            won: true,
            is_stale: true,
            is_taken: true,
        };
        assert_eq!(flags, expected);
        assert_eq!(whole("EN\r\n"), Response::Miss(Flags::default()));
        assert!(matches!(whole("NF O4\r\n"), Response::NotFound(flags) if flags.opaque == Some(b"4")));
        assert_eq!(whole("MN\r\n"), Response::Noop);
    }

    #[test]
    fn answers_of_the_classic_protocol_are_read() {
        let value = Response::ClassicValue { key: b"a", data: b"\r\n", client_flags: 5, cas: Some(8) };
        assert_eq!(whole("VALUE a 5 2 8\r\n\r\n\r\n"), value);
        assert_eq!(whole("18446744073709551615\r\n"), Response::ClassicNumber(u64::MAX));
        // `decr` pads with spaces where the number became shorter.
        assert_eq!(whole("9  \r\n"), Response::ClassicNumber(9));
        assert_eq!(whole("STAT a b c\r\n"), Response::Statistic { name: b"a", value: b"b c" });
        assert_eq!(whole("SERVER_ERROR out of memory\r\n"), Response::ServerError(b"out of memory"));
    }

    #[test]
    fn hostile_answers_are_typed_errors() {
        use ProtocolError as E;
        let long = "X".repeat(LINE_BYTES_MAX);
        let cases: &[(&str, E)] = &[
            (&long, E::LineTooLong),
            ("HD\n", E::BadLineEnd),
            ("VA 2\r\nhix\n", E::BadLineEnd),
            ("HTTP/1.1 400\r\n", E::UnknownAnswer),
            ("\r\n", E::UnknownAnswer),
            ("VA\r\n", E::BadField),
            ("VA -1\r\n", E::BadField),
            ("VA 2 cx\r\nhi\r\n", E::BadField),
            ("VALUE a 4294967296 1\r\nx\r\n", E::BadField),
            ("VALUE a 0\r\n", E::BadField),
            ("18446744073709551616\r\n", E::BadField),
            ("VA 1048577\r\n", E::ValueTooLong { bytes: 1_048_577, bytes_max: 1 << 20 }),
            ("VA 18446744073709551615\r\n", E::ValueTooLong { bytes: u64::MAX, bytes_max: 1 << 20 }),
            ("HD t-9223372036854775809\r\n", E::BadField),
        ];
        for (text, error) in cases {
            assert_eq!(decode(text.as_bytes(), LIMITS), Err(*error), "{text}");
        }
    }

    #[test]
    fn every_cut_of_an_answer_is_not_whole() {
        let text = b"VALUE key 7 5 12\r\nab\r\nc\r\n";
        for cut in 0..text.len() {
            assert_eq!(decode(&text[..cut], LIMITS), Ok(None), "{cut}");
        }
    }
}
