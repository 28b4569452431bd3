//! The queues' part of one journal record while it is written.
//!
//! Payload offsets count from the record's first byte, the frame included, so that
//! `journal.read_at(record, offset, ..)` finds them.

use stadium_state_machine::Record;

use crate::events::{Encoder, Event};
use crate::job::NONE;
use crate::{PayloadAt, PrincipalId, Time};

/// The queue, the worker, the reason and the principal that the next events mean. The machine keeps
/// it between records: once warm, nothing is allocated.
#[derive(Debug)]
pub(crate) struct Scratch {
    events: u32,
    queue: u32,
    worker: String,
    reason: String,
    principal: String,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            events: 0,
            queue: NONE,
            worker: String::new(),
            reason: String::new(),
            principal: String::new(),
        }
    }
}

/// A record, where it will stand, and when it is written. docs/formats/queue-events.md defines the
/// encoding of events.
pub(crate) struct Writer<'r> {
    record: &'r mut Record,
    scratch: Scratch,
    pub(crate) at: u64,
    pub(crate) time: Time,
}

impl<'r> Writer<'r> {
    pub(crate) fn new(record: &'r mut Record, mut scratch: Scratch, at: u64, time: Time) -> Self {
        debug_assert!(record.is_empty(), "a section is begun before each call");
        scratch.events = 0;
        scratch.queue = NONE;
        scratch.worker.clear();
        scratch.reason.clear();
        scratch.principal.clear();
        Self { record, scratch, at, time }
    }

    /// Ends the section, and returns the scratch for the next record. A section without an event is
    /// taken back.
    pub(crate) fn finish(self) -> Scratch {
        if self.scratch.events == 0 {
            self.record.take_back();
        }
        self.scratch
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u32 {
        self.scratch.events
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.record.bytes().len()
    }

    fn encode(&mut self, event: &Event<'_>) -> PayloadAt {
        let (at, time) = (self.at, self.time);
        Encoder { out: self.record.events_mut(), at, time }.event(event)
    }

    /// Appends an event; answers where its payload stands.
    pub(crate) fn write(&mut self, event: &Event<'_>) -> PayloadAt {
        self.scratch.events += 1;
        self.encode(event)
    }

    /// From here on it is about that queue.
    pub(crate) fn enter(&mut self, queue: u32, name: &str) {
        if self.scratch.queue != queue {
            self.scratch.queue = queue;
            self.encode(&Event::Queue(name));
        }
    }

    /// A queue that is about to be made has no number yet.
    pub(crate) fn enter_new(&mut self, name: &str) {
        self.scratch.queue = NONE;
        self.encode(&Event::Queue(name));
    }

    /// The queue that was about to be made has that number now.
    pub(crate) fn entered(&mut self, queue: u32) {
        self.scratch.queue = queue;
    }

    pub(crate) fn worker(&mut self, worker: &str) {
        if self.scratch.worker != worker {
            self.scratch.worker.clear();
            self.scratch.worker.push_str(worker);
            self.encode(&Event::Worker(worker));
        }
    }

    pub(crate) fn reason(&mut self, reason: &str) {
        if self.scratch.reason != reason {
            self.scratch.reason.clear();
            self.scratch.reason.push_str(reason);
            self.encode(&Event::Reason(reason));
        }
    }

    /// From here on jobs are put by that principal, or by none.
    pub(crate) fn principal(&mut self, principal: Option<&PrincipalId>) {
        let principal = principal.map_or("", PrincipalId::as_str);
        if self.scratch.principal != principal {
            self.scratch.principal.clear();
            self.scratch.principal.push_str(principal);
            self.encode(&Event::Principal(principal));
        }
    }

    /// What the events that are written now mean.
    pub(crate) fn context(&self) -> crate::apply::Context<'_> {
        crate::apply::Context {
            at: self.at,
            time: self.time,
            queue: self.scratch.queue,
            reason: &self.scratch.reason,
            principal: &self.scratch.principal,
        }
    }
}
