//! The queues' part of one journal record while it is written.
//!
//! The buffer is reused: once warm, nothing is allocated. Bytes in front of the events belong to whoever
//! frames the record; payload offsets count from the buffer's first byte, the frame included, so that
//! `journal.read_at(record, offset, ..)` finds them.

use crate::events::{Encoder, Event};
use crate::job::NONE;
use crate::{PayloadAt, Time};

/// Events of one record, encoded as docs/formats/queue-events.md says.
#[derive(Debug)]
pub struct Record {
    bytes: Vec<u8>,
    header_bytes: usize,
    events: u32,
    /// What the events behind mean by the queue, the worker and the reason.
    queue: u32,
    worker: String,
    reason: String,
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

impl Record {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            bytes: Vec::new(),
            header_bytes: 0,
            events: 0,
            queue: NONE,
            worker: String::new(),
            reason: String::new(),
        }
    }

    /// Empties it, and sets so many zero bytes aside in front.
    pub fn begin(&mut self, header_bytes: usize) {
        self.bytes.clear();
        self.bytes.resize(header_bytes, 0);
        self.header_bytes = header_bytes;
        self.events = 0;
        self.queue = NONE;
        self.worker.clear();
        self.reason.clear();
    }

    /// Whether it holds no event: then there is nothing to append.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Events so far.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// What was set aside in front, and then the events.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was set aside in front.
    pub fn header_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.header_bytes]
    }
}

/// A record, where it will stand, and when it is written.
pub(crate) struct Writer<'r> {
    record: &'r mut Record,
    pub(crate) at: u64,
    pub(crate) time: Time,
}

impl<'r> Writer<'r> {
    pub(crate) fn new(record: &'r mut Record, at: u64, time: Time) -> Self {
        Self { record, at, time }
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u32 {
        self.record.events
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.record.bytes.len()
    }

    fn encode(&mut self, event: &Event<'_>) -> PayloadAt {
        let (at, time) = (self.at, self.time);
        Encoder { out: &mut self.record.bytes, at, time }.event(event)
    }

    /// Appends an event; answers where its payload stands.
    pub(crate) fn write(&mut self, event: &Event<'_>) -> PayloadAt {
        self.record.events += 1;
        self.encode(event)
    }

    /// From here on it is about that queue.
    pub(crate) fn enter(&mut self, queue: u32, name: &str) {
        if self.record.queue != queue {
            self.record.queue = queue;
            self.encode(&Event::Queue(name));
        }
    }

    /// A queue that is about to be made has no number yet.
    pub(crate) fn enter_new(&mut self, name: &str) {
        self.record.queue = NONE;
        self.encode(&Event::Queue(name));
    }

    /// The queue that was about to be made has that number now.
    pub(crate) fn entered(&mut self, queue: u32) {
        self.record.queue = queue;
    }

    pub(crate) fn worker(&mut self, worker: &str) {
        if self.record.worker != worker {
            self.record.worker.clear();
            self.record.worker.push_str(worker);
            self.encode(&Event::Worker(worker));
        }
    }

    pub(crate) fn reason(&mut self, reason: &str) {
        if self.record.reason != reason {
            self.record.reason.clear();
            self.record.reason.push_str(reason);
            self.encode(&Event::Reason(reason));
        }
    }

    /// What the events that are written now mean.
    pub(crate) fn context(&self) -> crate::apply::Context<'_> {
        crate::apply::Context {
            at: self.at,
            time: self.time,
            queue: self.record.queue,
            reason: &self.record.reason,
        }
    }
}
