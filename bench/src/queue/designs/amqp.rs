//! AMQP 0-9-1, client side, as little of it as a durable queue needs. Section numbers are the specification's.
//!
//! A frame is a type, a channel, a length, the content and an end octet (2.3.5). Everything here happens on channel 1.

use anyhow::{Context as _, Result, bail};

const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const HEARTBEAT: u8 = 8;
const END: u8 = 0xce;
/// The bytes sent before anything else (4.2.2).
pub(super) const GREETING: &[u8] = b"AMQP\0\0\x09\x01";

/// The server's frames, as far as queues need them.
#[derive(Debug, PartialEq)]
pub(super) enum Frame<'a> {
    /// A method by class and id, with its arguments.
    Method(u16, u16, &'a [u8]),
    /// The size of the content that follows.
    Header(u64),
    /// A part of it.
    Body(&'a [u8]),
    Heartbeat,
}

/// The first frame in `bytes` and its length; `None` when there is no whole one yet.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>> {
    let Some(head) = bytes.first_chunk::<7>() else { return Ok(None) };
    let size = usize::try_from(u32::from_be_bytes([head[3], head[4], head[5], head[6]]))?;
    let Some(whole) = bytes.get(7..8 + size) else { return Ok(None) };
    let (content, end) = whole.split_at(size);
    if end != [END] {
        bail!("a frame of AMQP without its end");
    }
    let short = |at: usize| -> Result<u16> {
        let bytes = content.get(at..at + 2).context("a short frame of AMQP")?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let frame = match head[0] {
        METHOD => Frame::Method(short(0)?, short(2)?, &content[4..]),
        HEADER => Frame::Header(long(content, 4)?),
        BODY => Frame::Body(content),
        HEARTBEAT => Frame::Heartbeat,
        other => bail!("a frame of AMQP of type {other}"),
    };
    Ok(Some((frame, 8 + size)))
}

/// A 64-bit number at a place.
pub(super) fn long(bytes: &[u8], at: usize) -> Result<u64> {
    let number = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()).context("a short frame of AMQP")?;
    Ok(u64::from_be_bytes(*number))
}

/// A method's frame.
pub(super) fn method(channel: u16, class: u16, id: u16, arguments: &[u8], out: &mut Vec<u8>) {
    frame(METHOD, channel, &[&class.to_be_bytes(), &id.to_be_bytes(), arguments], out);
}

/// basic.publish of one persistent message to a queue, by the default exchange (1.8.3.7).
pub(super) fn publish(queue: &str, body: &[u8], out: &mut Vec<u8>) {
    let mut arguments = vec![0, 0, 0];
    short_string(queue, &mut arguments);
    arguments.push(0);
    method(1, 60, 40, &arguments, out);
    let size = (body.len() as u64).to_be_bytes();
    // One property, delivery-mode: 2 is persistent.
    frame(HEADER, 1, &[&60_u16.to_be_bytes(), &[0, 0], &size, &0x1000_u16.to_be_bytes(), &[2]], out);
    frame(BODY, 1, &[body], out);
}

/// A string of at most 255 bytes.
pub(super) fn short_string(text: &str, out: &mut Vec<u8>) {
    out.push(u8::try_from(text.len()).expect("a short name"));
    out.extend_from_slice(text.as_bytes());
}

/// A long string.
pub(super) fn long_string(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(text.len()).expect("short").to_be_bytes());
    out.extend_from_slice(text);
}

fn frame(kind: u8, channel: u16, parts: &[&[u8]], out: &mut Vec<u8>) {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    out.push(kind);
    out.extend_from_slice(&channel.to_be_bytes());
    out.extend_from_slice(&u32::try_from(size).expect("a message of less than 4 GB").to_be_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.push(END);
}

#[cfg(test)]
mod tests {
    use super::{Frame, method, parse};

    #[test]
    fn a_method_is_read_back_once_it_is_whole() {
        let mut bytes = Vec::new();
        method(1, 60, 80, &[1, 2], &mut bytes);
        assert_eq!(parse(&bytes).expect("good"), Some((Frame::Method(60, 80, &[1, 2]), bytes.len())));
        assert_eq!(parse(&bytes[..bytes.len() - 1]).expect("good so far"), None);
    }
}
