//! The bytes of a request and of its answer, where neither is looked into: what a client that costs next to
//! nothing sends to a server that does the work.
//!
//! RSocket's frames are those of its protocol, version 1.0: a length of 3 bytes, the stream's id, type and flags.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::sample::{Codec, LENGTH_BYTES};

/// Requests that are made once and sent again and again.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Requests {
    /// A length of 4 bytes, then the message: what the bare loop that decodes and bare Netty take
    LengthPrefixed,
    /// Frames of RSocket for the method `echo/Echo`
    Rsocket,
}

/// A stream of the bytes of one connection.
pub(super) struct Shape {
    /// Sent first.
    pub(super) setup: Vec<u8>,
    /// One request.
    pub(super) request: Vec<u8>,
    /// Length of its answer.
    pub(super) answer_bytes: usize,
    /// Bytes that each answer has, and where.
    mark: (usize, Vec<u8>),
    /// The place of the stream's id in a request.
    stream_id: Option<usize>,
}

/// Bytes of a message without its elements, and of each element.
const BYTES: usize = 16;

/// Bytes of a frame before its content, with its length.
const HEAD_BYTES: usize = 9;

const SETUP: u16 = 0x01 << 10;
const REQUEST_RESPONSE: u16 = 0x04 << 10;
const PAYLOAD: u16 = 0x0a << 10;
const HAS_METADATA: u16 = 1 << 8;
const NEXT: u16 = 1 << 5;
const COMPLETE: u16 = 1 << 6;

impl Shape {
    /// Bytes that mean nothing, for a server that sends back what it reads.
    pub(super) fn opaque(elements: usize) -> Self {
        let request = vec![b'.'; BYTES + BYTES * elements];
        let answer_bytes = request.len();
        Self { setup: Vec::new(), request, answer_bytes, mark: (0, Vec::new()), stream_id: None }
    }

    /// A sample in these requests.
    pub(super) fn of(requests: Requests, elements: usize) -> Result<Self> {
        let mut prefixed = Vec::new();
        Codec::new(elements).next(&mut prefixed)?;
        let (length, sample) = prefixed.split_at(LENGTH_BYTES);
        Ok(match requests {
            Requests::LengthPrefixed => Self {
                answer_bytes: prefixed.len(),
                mark: (0, length.to_vec()),
                request: prefixed.clone(),
                ..Self::opaque(elements)
            },
            Requests::Rsocket => {
                let mut content = Vec::new();
                // Composite metadata: the routing extension (0x7e), then its one tag.
                let route = b"\x09echo/Echo";
                put_u24(&mut content, 1 + 3 + route.len());
                content.push(0x80 | 0x7e);
                put_u24(&mut content, route.len());
                content.extend_from_slice(route);
                content.extend_from_slice(sample);
                let answer = PAYLOAD | NEXT | COMPLETE;
                Self {
                    setup: frame(SETUP, &setup()),
                    request: frame(REQUEST_RESPONSE | HAS_METADATA, &content),
                    answer_bytes: HEAD_BYTES + sample.len(),
                    mark: (HEAD_BYTES - 2, answer.to_be_bytes().to_vec()),
                    stream_id: Some(3),
                }
            }
        })
    }

    /// Gives `count` requests at the front of `outgoing` the next ids of their connection, which are odd.
    pub(super) fn number(&self, outgoing: &mut [u8], count: usize, next_id: &mut u32) {
        let Some(at) = self.stream_id else { return };
        for request in outgoing.chunks_exact_mut(self.request.len()).take(count) {
            request[at..at + 4].copy_from_slice(&next_id.to_be_bytes());
            *next_id += 2;
        }
    }

    /// Looks at the first answer that begins in `read`, before which `partial` bytes of another one came.
    pub(super) fn check(&self, partial: usize, read: &[u8]) -> Result<()> {
        let begin = (self.answer_bytes - partial) % self.answer_bytes;
        let (at, mark) = &self.mark;
        if let Some(found) = read.get(begin + at..begin + at + mark.len()) {
            ensure!(found == mark, "this is no answer: {:02x?}", &read[begin..read.len().min(begin + 64)]);
        }
        Ok(())
    }
}

/// The content of SETUP: version, times, types.
fn setup() -> Vec<u8> {
    let mut content = vec![0, 1, 0, 0];
    for ms in [20_000_u32, 90_000] {
        content.extend_from_slice(&ms.to_be_bytes());
    }
    for mime in ["message/x.rsocket.composite-metadata.v0", "application/vnd.google.protobuf"] {
        content.push(mime.len() as u8);
        content.extend_from_slice(mime.as_bytes());
    }
    content
}

fn frame(type_and_flags: u16, content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put_u24(&mut frame, HEAD_BYTES - 3 + content.len());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&type_and_flags.to_be_bytes());
    frame.extend_from_slice(content);
    frame
}

fn put_u24(to: &mut Vec<u8>, number: usize) {
    to.extend_from_slice(&(number as u32).to_be_bytes()[1..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_wherever_it_begins() {
        let shape = Shape::of(Requests::Rsocket, 2).expect("it is encoded");
        assert_eq!(shape.answer_bytes, 57);
        let answer = frame(PAYLOAD | NEXT | COMPLETE, &[7; 48]);
        let error = frame(0x0b << 10, &[7; 48]);
        let two = [&answer[..], &answer[..]].concat();
        shape.check(0, &two).expect("it is one");
        shape.check(10, &two[10..]).expect("it is one");
        shape.check(0, &error).expect_err("it is none");
        shape.check(57 - 1, &[&[7], &error[..]].concat()).expect_err("it is none");
    }

    #[test]
    fn requests_have_the_ids_of_their_connection() {
        let shape = Shape::of(Requests::Rsocket, 2).expect("it is encoded");
        let mut outgoing = shape.request.repeat(3);
        let mut next_id = 5;
        shape.number(&mut outgoing, 2, &mut next_id);
        let id = |place: usize| outgoing[place * shape.request.len() + 6];
        assert_eq!(([id(0), id(1), id(2)], next_id), ([5, 7, 0], 9));
    }
}
