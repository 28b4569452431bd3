//! Calls under way on one RSocket connection, several at a time: answers by stream, put together where they come in fragments.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};

use super::rsocket::{self, Frame};

/// The calls of a connection; `T` identifies the waiting worker and its request.
pub(crate) struct Calls<T> {
    /// The next call's stream.
    stream: u32,
    under_way: HashMap<u32, T>,
    /// Answers of which a part has come.
    parts: HashMap<u32, Vec<u8>>,
}

/// How a call ended.
pub(crate) enum Reply<'a> {
    /// Its answer's message.
    Answer(&'a [u8]),
    /// Nothing happened; come back after so many milliseconds.
    Busy(u64),
}

impl<T> Calls<T> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { stream: 1, under_way: HashMap::new(), parts: HashMap::new() }
    }

    /// Makes a call: `data` writes its message.
    pub(crate) fn ask(
        &mut self,
        call: T,
        metadata: &[u8],
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) {
        let stream = self.stream;
        self.stream += 2;
        self.under_way.insert(stream, call);
        rsocket::request(stream, metadata, out, data);
    }

    /// Takes whole frames and returns how many bytes they were; `each` gets every call with its
    /// reply.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        mut each: impl FnMut(T, Reply<'_>) -> Result<()>,
    ) -> Result<usize> {
        let mut at = 0;
        while let Some((frame, length)) = rsocket::parse(&bytes[at..])? {
            at += length;
            match frame {
                Frame::Payload { stream, data, follows: true } => {
                    self.parts.entry(stream).or_default().extend_from_slice(data);
                }
                Frame::Payload { stream, data, follows: false } => {
                    let call = self.end(stream)?;
                    match self.parts.remove(&stream) {
                        None => each(call, Reply::Answer(data))?,
                        Some(mut whole) => {
                            whole.extend_from_slice(data);
                            each(call, Reply::Answer(&whole))?;
                        }
                    }
                }
                Frame::Busy { stream, retry_after_ms } => {
                    each(self.end(stream)?, Reply::Busy(retry_after_ms))?
                }
                Frame::Refused { text } => bail!("stadium: {text}"),
                Frame::Ping(data) => rsocket::alive(data, out),
                Frame::Other => {}
            }
        }
        Ok(at)
    }

    fn end(&mut self, stream: u32) -> Result<T> {
        self.under_way.remove(&stream).context("an answer to no call")
    }
}
