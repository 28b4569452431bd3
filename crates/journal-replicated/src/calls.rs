//! The calls to the partition that have no outcome yet.

use std::sync::Arc;

use stadium_journal_log::partition::Event;
use stadium_journal_log::{Header, Offset, Partition, Sequence, WriterId};

use crate::signal::Signal;

/// Bytes of messages that one read asks for.
const READ_BYTES: usize = 1 << 20;

pub(crate) struct Calls {
    partition: Box<dyn Partition>,
    /// Appends without an outcome: their tags, and what they append.
    appends: Vec<(u64, WriterId, Sequence)>,
    next_tag: u64,
    /// Searches for the ends without an answer. Only the answer to the last one counts.
    finds: usize,
    is_reading: bool,
    /// The message that is appended, kept for its room.
    message: Vec<u8>,
}

impl Calls {
    pub(crate) fn new(mut partition: Box<dyn Partition>, signal: &Arc<Signal>) -> Self {
        partition.on_event(signal.as_wake());
        let (appends, message) = (Vec::with_capacity(16), Vec::new());
        Self { partition, appends, next_tag: 0, finds: 0, is_reading: false, message }
    }

    pub(crate) fn append(&mut self, header: &Header, body: &[u8]) -> Result<(), String> {
        self.message.clear();
        header.encode(body, &mut self.message).map_err(|wrong| format!("a message was refused: {wrong}"))?;
        self.next_tag += 1;
        self.appends.push((self.next_tag, header.claim.writer, header.sequence));
        self.partition.append(self.next_tag, &self.message);
        Ok(())
    }

    /// An append has an outcome: the writer and the sequence of its message.
    pub(crate) fn append_ended(&mut self, tag: u64) -> Option<(WriterId, Sequence)> {
        let place = self.appends.iter().position(|(one, ..)| *one == tag)?;
        let (_, writer, sequence) = self.appends.swap_remove(place);
        Some((writer, sequence))
    }

    pub(crate) fn find_ends(&mut self) {
        self.finds += 1;
        self.partition.find_ends();
    }

    /// Whether a search has no answer yet.
    pub(crate) fn is_finding(&self) -> bool {
        self.finds > 0
    }

    /// A search has an outcome. Returns whether it was the last one.
    pub(crate) fn find_ended(&mut self) -> bool {
        self.finds = self.finds.saturating_sub(1);
        self.finds == 0
    }

    /// Reads on from an offset, unless it reads already.
    pub(crate) fn read_on(&mut self, from: Offset) {
        if !self.is_reading {
            self.read_anew(from);
        }
    }

    /// Reads from an offset on, whatever is being read.
    pub(crate) fn read_anew(&mut self, from: Offset) {
        self.is_reading = true;
        self.partition.read(from, READ_BYTES);
    }

    pub(crate) fn read_ended(&mut self) {
        self.is_reading = false;
    }

    pub(crate) fn trim(&mut self, below: Offset) {
        self.partition.trim(below);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.partition.next_event()
    }
}
