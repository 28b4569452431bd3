//! The messages in a batch, and their bytes.
//!
//! A batch is the data of one payload on the link's channel: messages one behind the other.
//!
//! [`Message`] has the format. Requests, letters and voids take credit, with all their bytes.

/// Length and kind of a message.
const PREFIX_BYTES: usize = 5;

/// Bytes of a request besides its body.
pub(crate) const REQUEST_BYTES: usize = PREFIX_BYTES + 24;

/// Bytes of a letter besides its body.
pub(crate) const LETTER_BYTES: usize = PREFIX_BYTES + 12;

mod kind {
    pub(super) const VOID: u8 = 0;
    pub(super) const REQUEST: u8 = 1;
    pub(super) const ANSWER: u8 = 2;
    pub(super) const LETTER: u8 = 3;
    pub(super) const CREDIT: u8 = 4;
    pub(super) const PING: u8 = 5;
    pub(super) const PONG: u8 = 6;
}

/// The caller's own name for a request. It comes back with the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// The addressee of a message on the other node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// The shard.
    pub shard: u32,
    /// The generation of the shard's map entry that the sender acts on. The receiver refuses an old
    /// one.
    pub generation: u64,
}

/// A request that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The addressee.
    pub target: Target,
    /// Milliseconds that the caller waits for the answer from now on, without the time on the way.
    pub deadline_ms: u32,
    /// The request.
    pub body: &'a [u8],
}

/// A letter that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Letter<'a> {
    /// The addressee.
    pub target: Target,
    /// The letter.
    pub body: &'a [u8],
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With a body.
    Answer,
    /// There was no room for it, and nothing happened.
    Busy,
    /// It was given up without an answer.
    Dropped,
}

/// One message of a batch.
///
/// ```text
/// message   length u32 | kind u8 | head | body        the length counts what follows it
/// request   1 | shard u32 | generation u64 | number u64 | deadline u32 (ms that are left) | body
/// answer    2 | number u64 | status u8 | body
/// letter    3 | shard u32 | generation u64 | body
/// credit    4 | messages u32 | bytes u64
/// ping      5 | stamp u64
/// pong      6 | stamp u64
/// void      0 | anything: a request whose deadline passed before it left
/// ```
/// Integers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A request and its number, which no other request of the connection has.
    Request {
        /// The number.
        number: u64,
        /// The request.
        request: Request<'a>,
    },
    /// The answer to a request.
    Answer {
        /// The request's number.
        number: u64,
        /// How it was answered.
        status: Status,
        /// The answer.
        body: &'a [u8],
    },
    /// A letter.
    Letter(Letter<'a>),
    /// Letters have been taken: their credit comes back.
    Credit {
        /// How many.
        messages: u32,
        /// Their bytes.
        bytes: u64,
    },
    /// The other half is to send the stamp back.
    Ping(u64),
    /// The stamp of a ping.
    Pong(u64),
    /// Nothing: it only has a length.
    Void,
}

/// Appends a request.
pub(crate) fn write_request(target: Target, number: u64, deadline_ms: u32, body: &[u8], out: &mut Vec<u8>) {
    begin(kind::REQUEST, REQUEST_BYTES - PREFIX_BYTES + body.len(), out);
    out.extend_from_slice(&target.shard.to_be_bytes());
    out.extend_from_slice(&target.generation.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&deadline_ms.to_be_bytes());
    out.extend_from_slice(body);
}

/// Appends a letter.
pub(crate) fn write_letter(target: Target, body: &[u8], out: &mut Vec<u8>) {
    begin(kind::LETTER, LETTER_BYTES - PREFIX_BYTES + body.len(), out);
    out.extend_from_slice(&target.shard.to_be_bytes());
    out.extend_from_slice(&target.generation.to_be_bytes());
    out.extend_from_slice(body);
}

/// Turns the message that begins at `at` into a void.
pub(crate) fn void(at: usize, batch: &mut [u8]) {
    batch[at + PREFIX_BYTES - 1] = kind::VOID;
}

/// Appends an answer.
pub(crate) fn write_answer(number: u64, status: Status, body: &[u8], out: &mut Vec<u8>) {
    begin(kind::ANSWER, 9 + body.len(), out);
    out.extend_from_slice(&number.to_be_bytes());
    out.push(match status {
        Status::Answer => 0,
        Status::Busy => 1,
        Status::Dropped => 2,
    });
    out.extend_from_slice(body);
}

/// Appends a message of the link itself: credit, ping or pong. The others are written by their own
/// functions.
pub(crate) fn write_own(message: &Message<'_>, out: &mut Vec<u8>) {
    match message {
        Message::Credit { messages, bytes } => {
            begin(kind::CREDIT, 12, out);
            out.extend_from_slice(&messages.to_be_bytes());
            out.extend_from_slice(&bytes.to_be_bytes());
        }
        Message::Ping(stamp) => {
            begin(kind::PING, 8, out);
            out.extend_from_slice(&stamp.to_be_bytes());
        }
        Message::Pong(stamp) => {
            begin(kind::PONG, 8, out);
            out.extend_from_slice(&stamp.to_be_bytes());
        }
        Message::Request { .. } | Message::Answer { .. } | Message::Letter(_) | Message::Void => {
            debug_assert!(false, "a message of the link itself");
        }
    }
}

fn begin(kind: u8, rest: usize, out: &mut Vec<u8>) {
    // A body is at most as long as an RSocket frame: 24 bits.
    out.extend_from_slice(&((1 + rest) as u32).to_be_bytes());
    out.push(kind);
}

/// The batch breaks its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The messages of a batch, in order, each with its whole length in bytes.
#[derive(Clone, Debug)]
pub struct Messages<'a>(Fields<'a>);

impl<'a> Messages<'a> {
    /// Reads a batch.
    pub fn new(batch: &'a [u8]) -> Self {
        Self(Fields(batch))
    }

    fn read(&mut self) -> Option<(Message<'a>, usize)> {
        let length = self.0.u32()? as usize;
        let mut fields = Fields(self.0.bytes(length)?);
        let message = match fields.u8()? {
            kind::REQUEST => {
                let target = fields.target()?;
                let (number, deadline_ms) = (fields.u64()?, fields.u32()?);
                Message::Request { number, request: Request { target, deadline_ms, body: fields.0 } }
            }
            kind::ANSWER => {
                let number = fields.u64()?;
                let status = match fields.u8()? {
                    0 => Status::Answer,
                    1 => Status::Busy,
                    2 => Status::Dropped,
                    _ => return None,
                };
                Message::Answer { number, status, body: fields.0 }
            }
            kind::LETTER => Message::Letter(Letter { target: fields.target()?, body: fields.0 }),
            kind::CREDIT => Message::Credit { messages: fields.u32()?, bytes: fields.u64()? },
            kind::PING => Message::Ping(fields.u64()?),
            kind::PONG => Message::Pong(fields.u64()?),
            kind::VOID => Message::Void,
            _ => return None,
        };
        Some((message, 4 + length))
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<(Message<'a>, usize), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_none() {
            self.0.0 = &[];
        }
        Some(read.ok_or(Malformed))
    }
}

/// Reads big-endian fields off the front of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn target(&mut self) -> Option<Target> {
        Some(Target { shard: self.u32()?, generation: self.u64()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TARGET: Target = Target { shard: 3, generation: 9 };

    #[test]
    fn a_batch_is_read_as_it_was_written() {
        let mut batch = Vec::new();
        write_request(TARGET, 7, 250, b"ask", &mut batch);
        let at = batch.len();
        write_request(TARGET, 8, 250, b"late", &mut batch);
        void(at, &mut batch);
        write_letter(TARGET, b"", &mut batch);
        write_answer(5, Status::Busy, b"soon", &mut batch);
        let own = [Message::Credit { messages: 2, bytes: 80 }, Message::Ping(4), Message::Pong(6)];
        own.iter().for_each(|message| write_own(message, &mut batch));
        let read: Vec<_> = Messages::new(&batch).map(|message| message.expect("it is one")).collect();
        let asked = Request { target: TARGET, deadline_ms: 250, body: b"ask" };
        let expected = [
            (Message::Request { number: 7, request: asked }, REQUEST_BYTES + 3),
            (Message::Void, REQUEST_BYTES + 4),
            (Message::Letter(Letter { target: TARGET, body: b"" }), LETTER_BYTES),
            (Message::Answer { number: 5, status: Status::Busy, body: b"soon" }, 18),
            (own[0], 17),
            (own[1], 13),
            (own[2], 13),
        ];
        assert_eq!(read, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_end_as_messages_or_as_malformed(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read: Vec<_> = Messages::new(&bytes).collect();
            let whole: usize = read.iter().flatten().map(|(_, length)| length).sum();
            let is_whole = read.iter().all(Result::is_ok);
            prop_assert_eq!(is_whole, whole == bytes.len());
            prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
        }
    }
}
