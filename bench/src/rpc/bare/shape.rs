//! Requests that are made beforehand, and the length of their answers: for a client that costs next to
//! nothing, of a server that does the work.

use anyhow::{Result, bail, ensure};
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

/// The bytes of one connection.
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

    /// The same, where somebody else looks at the answers.
    pub(super) fn unread(self) -> Self {
        Self { requests: Requests::Opaque, ..self }
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

    /// Counts the answers that `read` completes. `partial` has the bytes before it.
    pub(super) fn count(&self, partial: &mut Partial, read: &[u8]) -> Result<Answers> {
        if self.requests == Requests::Rsocket {
            return self.count_frames(partial, read);
        }
        let begin = (self.answer_bytes - partial.length) % self.answer_bytes;
        if self.requests == Requests::LengthPrefixed
            && let Some(answer) = read.get(begin..begin + self.answer_bytes)
        {
            // Samples are sent back as they came.
            ensure!(answer == self.request, "this is no answer: {answer:02x?}");
        }
        let bytes = partial.length + read.len();
        partial.length = bytes % self.answer_bytes;
        Ok(Answers { whole: (bytes / self.answer_bytes) as u64, busy: 0 })
    }

    fn count_frames(&self, partial: &mut Partial, read: &[u8]) -> Result<Answers> {
        if partial.bytes.is_empty() {
            let (answers, taken) = self.frames(read)?;
            partial.bytes.extend_from_slice(&read[taken..]);
            return Ok(answers);
        }
        partial.bytes.extend_from_slice(read);
        let (answers, taken) = self.frames(&partial.bytes)?;
        partial.bytes.drain(..taken);
        Ok(answers)
    }

    /// The answers among the whole frames, and the length of these.
    fn frames(&self, bytes: &[u8]) -> Result<(Answers, usize)> {
        let mut answers = Answers { whole: 0, busy: 0 };
        let mut taken = 0;
        while let Some((frame, length)) = rsocket::parse(&bytes[taken..])? {
            match frame {
                Frame::Payload { .. } if length == self.answer_bytes => answers.whole += 1,
                Frame::Busy { .. } => answers.busy += 1,
                other => bail!("this is no answer: {other:?}"),
            }
            taken += length;
        }
        Ok((answers, taken))
    }
}

/// A message of one connection whose end has not arrived.
#[derive(Default)]
pub(super) struct Partial {
    length: usize,
    /// Its bytes, where it is looked at.
    pub(super) bytes: Vec<u8>,
}

/// The answers of one read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) whole: u64,
    /// Calls that the server had no time for.
    pub(super) busy: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_whatever_the_pieces() {
        for (requests, answer) in [
            (
                Requests::LengthPrefixed,
                Shape::of(Requests::LengthPrefixed, 2).expect("it is encoded").request,
            ),
            // A PAYLOAD of stream 1 with NEXT and COMPLETE.
            (Requests::Rsocket, [&[0, 0, 54, 0, 0, 0, 1, 0x28, 0x60][..], &[7; 48]].concat()),
        ] {
            let shape = Shape::of(requests, 2).expect("it is encoded");
            let (mut partial, mut whole) = (Partial::default(), 0);
            for piece in answer.repeat(5).chunks(70) {
                whole += shape.count(&mut partial, piece).expect("they are answers").whole;
            }
            assert_eq!(whole, 5);
            let mut other = answer;
            other[7] = 0x10;
            shape.count(&mut Partial::default(), &other).expect_err("it is none");
        }
    }

    #[test]
    fn a_call_that_is_answered_busy_is_no_answer() {
        let shape = Shape::of(Requests::Rsocket, 2).expect("it is encoded");
        // An ERROR of stream 1 with REJECTED, without a text.
        let busy = [0, 0, 10, 0, 0, 0, 1, 0x2c, 0, 0, 0, 2, 2];
        let answers = shape.count(&mut Partial::default(), &busy).expect("it is read");
        assert_eq!(answers, Answers { whole: 0, busy: 1 });
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
