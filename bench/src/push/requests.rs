//! The requests of a load over a kept connection of HTTP/1.1: one after the other, each written
//! whole by its caller.

use std::time::Duration;

use anyhow::Result;

use crate::harness::{self, Dialogue, Lane};
use crate::wire::http;

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// After how long it may be asked again, where the answer states it.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// For an error: its status and body.
    pub(super) fn shown(&self) -> String {
        format!("{}: {}", self.status, String::from_utf8_lossy(&self.body))
    }
}

/// Requests, as bytes.
pub(super) struct Requests;

impl Dialogue for Requests {
    type Request<'a> = &'a [u8];
    type Outcome = Answer;

    fn again(answer: &Answer) -> Option<Duration> {
        let pause = Duration::from_millis(100);
        matches!(answer.status, 429 | 503).then(|| answer.retry_after.unwrap_or(pause))
    }
}

type Event = harness::Event<Answer>;

/// A kept connection.
pub(super) struct Kept {
    is_open: bool,
}

impl Kept {
    /// Not yet connected.
    pub(super) fn lane() -> Box<dyn Lane<Requests>> {
        Box::new(Self { is_open: false })
    }
}

impl Lane<Requests> for Kept {
    fn open(&mut self, _outs: &mut [Vec<u8>]) {}

    fn start(&mut self, _worker: usize, request: &[u8], outs: &mut [Vec<u8>]) {
        outs[0].extend_from_slice(request);
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        _outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        if !self.is_open {
            self.is_open = true;
            events.push(Event::Open);
        }
        let Some((answer, length)) = http::parse(bytes)? else { return Ok(0) };
        events.push(Event::Answer(
            0,
            Answer {
                status: answer.status,
                retry_after: answer.retry_after_s.map(Duration::from_secs),
                body: answer.body.to_vec(),
            },
        ));
        Ok(length)
    }
}
