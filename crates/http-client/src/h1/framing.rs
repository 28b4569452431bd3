//! How long a body is and whether the connection outlives it, as a head states. RFC 9112, 6.3 and
//! 9.3.

use crate::{Head, Malformed, Version, has_token};

/// What the header lines of a head decide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framing {
    pub(super) length: Length,
    /// Whether the server means to take another request.
    pub(super) keep_alive: bool,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Counted(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    pub(super) fn of(head: &Head<'_>) -> Result<Framing, Malformed> {
        let (mut counted, mut coding) = (None, None);
        let (mut close, mut keep_alive) = (false, false);
        for header in head.headers {
            // The length distinguishes nearly all other names.
            match header.name.len() {
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    close |= has_token(header.value, "close");
                    keep_alive |= has_token(header.value, "keep-alive");
                }
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    counted = Some(content_length(header.value, counted)?);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    coding = Some(transfer_encoding(header.value, coding)?);
                }
                _ => {}
            }
        }
        let length = match (counted, coding) {
            (Some(_), Some(_)) => return Err(Malformed::BothLengths),
            (None, Some(_)) if head.version == Version::Http10 => return Err(Malformed::TransferEncoding),
            (None, Some(length)) => length,
            (Some(length), None) => Length::Counted(length),
            (None, None) => Length::UntilClose,
        };
        let keep_alive = !close && (keep_alive || head.version != Version::Http10);
        Ok(Framing { length, keep_alive })
    }
}

/// A length, or the same one several times: as a list, or in lines of their own. RFC 9110, 8.6.
fn content_length(value: &[u8], mut before: Option<u64>) -> Result<u64, Malformed> {
    for member in value.split(|&byte| byte == b',') {
        let length = digits(member.trim_ascii()).ok_or(Malformed::ContentLength)?;
        if before.is_some_and(|before| before != length) {
            return Err(Malformed::ContentLengthDiffers);
        }
        before = Some(length);
    }
    before.ok_or(Malformed::ContentLength)
}

/// A number of digits alone, if it fits.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// What the codings of one line, after those of the lines before, leave of the length. RFC 9112, 6.1: `chunked` comes
/// last and once; without it the body ends with the connection.
fn transfer_encoding(value: &[u8], mut before: Option<Length>) -> Result<Length, Malformed> {
    for coding in
        value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty())
    {
        if before == Some(Length::Chunked) {
            return Err(Malformed::TransferEncoding);
        }
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        before = Some(if chunked { Length::Chunked } else { Length::UntilClose });
    }
    before.ok_or(Malformed::TransferEncoding)
}
