//! The wallets' part of one journal record while it is written.
//!
//! The buffer is reused: once warm, nothing is allocated. Bytes in front of the events belong to whoever frames
//! the record. The machine closes the section with its chain value before it returns.

use stadium_machine::encoding::number;

use crate::Time;
use crate::chain::{Hash, Tree, leaf};
use crate::events::Event;

/// Events of one record, encoded as docs/formats/wallet-events.md says.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    header_bytes: usize,
    /// The event that is being written.
    event: Vec<u8>,
    /// The hashes of those written.
    tree: Tree,
}

impl Record {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it, and sets so many zero bytes aside in front.
    pub fn begin(&mut self, header_bytes: usize) {
        self.bytes.clear();
        self.bytes.resize(header_bytes, 0);
        self.header_bytes = header_bytes;
        self.tree.clear();
    }

    /// Whether it holds no event: then there is nothing to append.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.header_bytes
    }

    /// What was set aside in front, and then the section: events and chain value.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was set aside in front.
    pub fn header_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.header_bytes]
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.tree.leaves()
    }

    pub(crate) fn digest(&self) -> Hash {
        self.tree.root()
    }

    pub(crate) fn close(&mut self, value: &Hash) {
        self.bytes.extend_from_slice(value);
    }
}

/// A record, where it will stand, and when it is written.
pub(crate) struct Writer<'r> {
    pub(crate) record: &'r mut Record,
    pub(crate) at: u64,
    pub(crate) time: Time,
}

impl<'r> Writer<'r> {
    pub(crate) fn new(record: &'r mut Record, at: u64, time: Time) -> Self {
        debug_assert!(record.is_empty(), "a record is begun before each call");
        Self { record, at, time }
    }

    /// Appends an event.
    pub(crate) fn write(&mut self, event: &Event<'_>) {
        let Record { bytes, event: encoded, tree, .. } = &mut *self.record;
        encoded.clear();
        event.encode(encoded, self.time);
        number(bytes, encoded.len() as u64);
        bytes.extend_from_slice(encoded);
        tree.push(leaf(encoded));
    }
}
