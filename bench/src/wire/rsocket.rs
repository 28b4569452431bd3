//! RSocket 1.0 over TCP, client side, as little of it as unary calls need: SETUP, REQUEST_RESPONSE, and what comes back.
//!
//! A frame is three bytes of length, four of stream id, six bits of type and ten of flags, and the content. Written for the bench
//! alone, so that a mistake of the product's own client cannot hide one of its server
//! (docs/decisions/0006-bench-has-its-own-client.md).

use anyhow::{Context as _, Result, bail};

const SETUP: u16 = 0x01;
const LEASE: u16 = 0x02;
const KEEPALIVE: u16 = 0x03;
const REQUEST_RESPONSE: u16 = 0x04;
const PAYLOAD: u16 = 0x0a;
const ERROR: u16 = 0x0b;
const METADATA_PUSH: u16 = 0x0c;
/// The frame has metadata.
const METADATA: u16 = 0x100;
/// The rest of the payload follows in another frame.
const FOLLOWS: u16 = 0x80;
/// A KEEPALIVE wants an answer.
const RESPOND: u16 = 0x80;
/// Longer than any run: nobody pings while something is measured, and nobody is missed.
const KEEPALIVE_MS: u32 = 600_000;
/// Come back later; nothing happened.
const REJECTED: u32 = 0x202;
/// Entries of composite metadata, by their well-known ids with the high bit.
const ROUTING: u8 = 0x7e | 0x80;
const AUTHENTICATION: u8 = 0x7c | 0x80;
const BEARER: u8 = 0x01 | 0x80;

/// Sends SETUP.
pub(crate) fn setup(out: &mut Vec<u8>) {
    let start = begin(0, SETUP, 0, out);
    out.extend_from_slice(&[0, 1, 0, 0]);
    out.extend_from_slice(&KEEPALIVE_MS.to_be_bytes());
    out.extend_from_slice(&KEEPALIVE_MS.to_be_bytes());
    for mime in ["message/x.rsocket.composite-metadata.v0", "application/vnd.google.protobuf"] {
        out.push(u8::try_from(mime.len()).expect("a short name"));
        out.extend_from_slice(mime.as_bytes());
    }
    end(start, out);
}

/// The metadata of calls to a route, with an API key: the same for all of them.
pub(crate) fn metadata(route: &str, key: &str) -> Vec<u8> {
    let mut out = routed(route);
    entry(AUTHENTICATION, &[&[BEARER], key.as_bytes()], &mut out);
    out
}

/// The metadata of calls to a route, without a key.
pub(crate) fn routed(route: &str) -> Vec<u8> {
    let mut out = Vec::new();
    entry(ROUTING, &[&[u8::try_from(route.len()).expect("a short route")], route.as_bytes()], &mut out);
    out
}

/// Gives a request another stream.
pub(crate) fn renumber(request: &mut [u8], stream: u32) {
    request[3..7].copy_from_slice(&stream.to_be_bytes());
}

fn entry(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    out.push(kind);
    three(parts.iter().map(|part| part.len()).sum(), out);
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// One call; `data` writes its message.
pub(crate) fn request(stream: u32, metadata: &[u8], out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(stream, REQUEST_RESPONSE, METADATA, out);
    three(metadata.len(), out);
    out.extend_from_slice(metadata);
    data(out);
    end(start, out);
}

/// Answers a KEEPALIVE.
pub(crate) fn alive(data: &[u8], out: &mut Vec<u8>) {
    let start = begin(0, KEEPALIVE, 0, out);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(data);
    end(start, out);
}

fn begin(stream: u32, kind: u16, flags: u16, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 3]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(&(kind << 10 | flags).to_be_bytes());
    start
}

fn end(start: usize, out: &mut [u8]) {
    let length = u32::try_from(out.len() - start - 3).expect("a frame of less than 16 MB");
    out[start..start + 3].copy_from_slice(&length.to_be_bytes()[1..]);
}

fn three(number: usize, out: &mut Vec<u8>) {
    let number = u32::try_from(number).expect("less than 16 MB");
    out.extend_from_slice(&number.to_be_bytes()[1..]);
}

/// A frame of the server.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame<'a> {
    /// An answer, or a part of one.
    Payload { stream: u32, data: &'a [u8], follows: bool },
    /// Nothing happened; come back after so long.
    Busy { stream: u32, retry_after_ms: u64 },
    /// It will never work.
    Refused { text: String },
    /// Wants an answer with the same content.
    Ping(&'a [u8]),
    /// Nothing to do.
    Other,
}

/// The first frame in `bytes` and its length; `None` when there is no whole one yet.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>> {
    let Some(head) = bytes.first_chunk::<3>() else { return Ok(None) };
    let length = usize::try_from(u32::from_be_bytes([0, head[0], head[1], head[2]]))?;
    let Some(frame) = bytes.get(3..3 + length) else { return Ok(None) };
    let head = frame.first_chunk::<6>().context("a short frame")?;
    let stream = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let kind = u16::from_be_bytes([head[4], head[5]]);
    let content = &frame[6..];
    let parsed = match kind >> 10 {
        PAYLOAD => {
            let mut data = content;
            if kind & METADATA != 0 {
                let size = content.first_chunk::<3>().context("a short payload")?;
                let size = usize::try_from(u32::from_be_bytes([0, size[0], size[1], size[2]]))?;
                data = content.get(3 + size..).context("a short payload")?;
            }
            Frame::Payload { stream, data, follows: kind & FOLLOWS != 0 }
        }
        ERROR => {
            let code = u32::from_be_bytes(*content.first_chunk::<4>().context("a short error")?);
            let text = String::from_utf8_lossy(&content[4..]).into_owned();
            match code {
                REJECTED if stream != 0 => Frame::Busy { stream, retry_after_ms: retry_after_ms(&text) },
                _ => Frame::Refused { text },
            }
        }
        KEEPALIVE if kind & RESPOND != 0 => Frame::Ping(content.get(8..).unwrap_or_default()),
        KEEPALIVE | LEASE | METADATA_PUSH => Frame::Other,
        other => bail!("a frame of type {other:#x}"),
    };
    Ok(Some((parsed, 3 + length)))
}

/// From `BUSY retry_after_ms=120: why`; 10 where it states none.
fn retry_after_ms(text: &str) -> u64 {
    let after = text.split_once("retry_after_ms=").map_or("", |(_, after)| after);
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    after[..digits].parse().unwrap_or(10)
}

#[cfg(test)]
mod tests {
    use super::{Frame, METADATA, PAYLOAD, begin, end, parse, retry_after_ms, three};

    #[test]
    fn an_answer_is_read_once_it_is_whole() {
        let mut bytes = Vec::new();
        let start = begin(7, PAYLOAD, METADATA | 0x60, &mut bytes);
        three(2, &mut bytes);
        bytes.extend_from_slice(b"mmdata");
        end(start, &mut bytes);
        let whole = Frame::Payload { stream: 7, data: b"data", follows: false };
        assert_eq!(parse(&bytes).expect("good"), Some((whole, bytes.len())));
        assert_eq!(parse(&bytes[..bytes.len() - 1]).expect("good so far"), None);
    }

    #[test]
    fn busy_states_when_to_retry() {
        assert_eq!(retry_after_ms("BUSY retry_after_ms=120: queue is full"), 120);
        assert_eq!(retry_after_ms("BUSY"), 10);
    }
}
