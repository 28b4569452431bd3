//! Answers: the head of one from a header block, and the checks that RFC 9113, 8.1 to 8.3, asks
//! for.

use super::{Phase, Stream};
use crate::event::Header;
use crate::hpack::Fields;
use crate::request::is_value;
use crate::{HEADERS_MAX, Malformed};

/// What a block is to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// 1xx: the answer proper is still to come.
    Informational,
    /// The head. `missing` is how long the body must be, if that is known.
    Head {
        status: u16,
        missing: Option<u64>,
    },
    Trailers,
}

/// Reads a block as what the stream awaits.
pub(super) fn read(fields: &Fields, stream: &Stream, ends_stream: bool) -> Result<Block, Malformed> {
    let (mut status, mut length) = (None, None);
    let mut regular = 0;
    for (name, value) in fields.iter() {
        if name.first() == Some(&b':') {
            // `:status`, once, and before all others; none in trailers.
            if name != b":status" || status.is_some() || regular > 0 || stream.phase == Phase::Body {
                return Err(Malformed::StatusLine);
            }
            status = Some(status_code(value).ok_or(Malformed::StatusLine)?);
            continue;
        }
        regular += 1;
        if !is_lower_token(name) || !is_value(value) || is_of_connection(name) {
            return Err(Malformed::HeaderLine);
        }
        if name == b"content-length" && stream.phase == Phase::Head {
            length = Some(content_length(value, length)?);
        }
    }
    if regular > HEADERS_MAX {
        return Err(Malformed::TooManyHeaders);
    }
    match (stream.phase, status) {
        (Phase::Body, _) if ends_stream => Ok(Block::Trailers),
        (Phase::Body, _) => Err(Malformed::Frame),
        (Phase::Head, None) => Err(Malformed::StatusLine),
        // There is no switching of protocols, 8.6; and an answer must follow.
        (Phase::Head, Some(101)) => Err(Malformed::UnaskedUpgrade),
        (Phase::Head, Some(100..=199)) if ends_stream => Err(Malformed::StatusLine),
        (Phase::Head, Some(100..=199)) => Ok(Block::Informational),
        (Phase::Head, Some(status)) => {
            let bodiless = stream.head || matches!(status, 204 | 304);
            Ok(Block::Head { status, missing: if bodiless { Some(0) } else { length } })
        }
    }
}

/// Hands `sink` the regular fields as header lines. They were checked by [`read`].
pub(super) fn with_headers(fields: &Fields, sink: impl FnOnce(&[Header<'_>])) {
    // Few answers have more than the first: there is less to clear.
    if fields.len() <= 24 {
        headers_on_stack::<24>(fields, sink);
    } else {
        headers_on_stack::<{ HEADERS_MAX + 1 }>(fields, sink);
    }
}

fn headers_on_stack<const N: usize>(fields: &Fields, sink: impl FnOnce(&[Header<'_>])) {
    let mut headers = [httparse::EMPTY_HEADER; N];
    let regular = fields.iter().filter(|(name, _)| name.first() != Some(&b':'));
    let mut count = 0;
    for (header, (name, value)) in headers.iter_mut().zip(regular) {
        *header = Header { name: str::from_utf8(name).expect("a token is ASCII"), value };
        count += 1;
    }
    sink(&headers[..count]);
}

/// Three digits, 100 and above.
fn status_code(value: &[u8]) -> Option<u16> {
    let &[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
}

fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, Malformed> {
    let length = crate::h1::digits(value).ok_or(Malformed::ContentLength)?;
    match before {
        Some(before) if before != length => Err(Malformed::ContentLengthDiffers),
        _ => Ok(length),
    }
}

/// A name as HTTP/2 wants it: a token without capitals, 8.2.1.
fn is_lower_token(name: &[u8]) -> bool {
    const LOWER: [bool; 256] = {
        let mut lower = [false; 256];
        let allowed = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
        let mut at = 0;
        while at < allowed.len() {
            lower[allowed[at] as usize] = true;
            at += 1;
        }
        lower
    };
    !name.is_empty() && name.iter().all(|&byte| LOWER[usize::from(byte)])
}

/// 8.2.2.
fn is_of_connection(name: &[u8]) -> bool {
    matches!(name, b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade")
}
