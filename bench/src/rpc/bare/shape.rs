//! The bytes of a request and the length of its answer, where neither is looked into: what a client that costs next
//! to nothing sends to a server that does the work.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::sample::{Codec, LENGTH_BYTES};
use crate::wire::rsocket::{self, Frame};

/// Requests that are made once and sent again and again.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Requests {
    /// Bytes that mean nothing, for a server that sends back what it reads
    Opaque,
    /// A length of 4 bytes, then the message: what the bare loop that decodes and bare Netty take
    LengthPrefixed,
    /// Frames of RSocket for the method `echo/Echo`
    Rsocket,
}

/// What goes over one connection.
pub(super) struct Shape {
    requests: Requests,
    /// Sent first.
    pub(super) setup: Vec<u8>,
    /// One request.
    pub(super) request: Vec<u8>,
    /// Length of its answer.
    pub(super) answer_bytes: usize,
}

/// Bytes of a message without its elements, and of each element.
const BYTES: usize = 16;

/// Bytes of a frame of RSocket before its content, with its length.
const HEAD_BYTES: usize = 9;

impl Shape {
    /// Of samples with so many elements.
    pub(super) fn of(requests: Requests, elements: usize) -> Result<Self> {
        let mut prefixed = Vec::new();
        Codec::new(elements).next(&mut prefixed)?;
        let sample = &prefixed[LENGTH_BYTES..];
        let (mut setup, mut request) = (Vec::new(), Vec::new());
        let answer_bytes = match requests {
            Requests::Opaque => {
                request.resize(BYTES + BYTES * elements, b'.');
                request.len()
            }
            Requests::LengthPrefixed => {
                request.extend_from_slice(&prefixed);
                request.len()
            }
            Requests::Rsocket => {
                rsocket::setup(&mut setup);
                let metadata = rsocket::routed("echo/Echo");
                rsocket::request(1, &metadata, &mut request, |out| out.extend_from_slice(sample));
                HEAD_BYTES + sample.len()
            }
        };
        Ok(Self { requests, setup, request, answer_bytes })
    }

    /// Gives `count` requests at the front of `outgoing` the next ids of their connection, which are odd.
    pub(super) fn number(&self, outgoing: &mut [u8], count: usize, next_id: &mut u32) {
        if self.requests == Requests::Rsocket {
            for request in outgoing.chunks_exact_mut(self.request.len()).take(count) {
                rsocket::renumber(request, *next_id);
                *next_id += 2;
            }
        }
    }

    /// Looks at the first answer that begins in `read`, before which `partial` bytes of another one came.
    pub(super) fn check(&self, partial: usize, read: &[u8]) -> Result<()> {
        let begin = (self.answer_bytes - partial) % self.answer_bytes;
        let Some(answer) = read.get(begin..begin + self.answer_bytes) else { return Ok(()) };
        let is_answer = match self.requests {
            Requests::Opaque => true,
            // Samples are sent back as they came.
            Requests::LengthPrefixed => answer == self.request,
            Requests::Rsocket => {
                let length = self.answer_bytes - HEAD_BYTES;
                matches!(rsocket::parse(answer)?, Some((Frame::Payload { data, .. }, _)) if data.len() == length)
            }
        };
        ensure!(is_answer, "this is no answer: {answer:02x?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_wherever_it_begins() {
        let shape = Shape::of(Requests::LengthPrefixed, 2).expect("it is encoded");
        let two = shape.request.repeat(2);
        for partial in [0, 1, 51] {
            shape.check(partial, &two[partial..]).expect("it is one");
        }
        shape.check(0, &two[1..]).expect_err("it is none");

        let shape = Shape::of(Requests::Rsocket, 2).expect("it is encoded");
        shape.check(0, &shape.request).expect_err("a request is none");
        shape.check(0, &[0; 20]).expect("it has not arrived whole");
    }

    #[test]
    fn requests_have_the_ids_of_their_connection() {
        let shape = Shape::of(Requests::Rsocket, 2).expect("it is encoded");
        let mut outgoing = shape.request.repeat(3);
        let mut next_id = 5;
        shape.number(&mut outgoing, 2, &mut next_id);
        let id = |place: usize| outgoing[place * shape.request.len() + 6];
        assert_eq!(([id(0), id(1), id(2)], next_id), ([5, 7, 1], 9));
    }
}
