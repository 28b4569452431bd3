//! The wallets' part of one journal record while it is written.
//!
//! The machine closes the section with its chain value before it returns.

use stadium_state_machine::Record;
use stadium_state_machine::encoding::number;

use crate::chain::{Hash, Tree, leaf};
use crate::events::Event;
use crate::{PrincipalId, Time};

/// Buffers of a writer. The machine keeps them between records: once warm, nothing is allocated.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The event that is being written.
    event: Vec<u8>,
    /// The hashes of those written.
    tree: Tree,
}

/// A record, where it will stand, and when it is written. docs/formats/wallet-events.md defines the
/// encoding of events.
pub(crate) struct Writer<'r> {
    record: &'r mut Record,
    scratch: Scratch,
    principal: Option<PrincipalId>,
    /// The record names the principal already.
    names_principal: bool,
    pub(crate) at: u64,
    pub(crate) time: Time,
}

impl<'r> Writer<'r> {
    pub(crate) fn new(record: &'r mut Record, mut scratch: Scratch, at: u64, time: Time) -> Self {
        debug_assert!(record.is_empty(), "a section is begun before each call");
        scratch.tree.clear();
        Self { record, scratch, principal: None, names_principal: false, at, time }
    }

    /// The events from here on are of that principal. It is named before the first of them, so that
    /// a refusal writes nothing. A record is of one principal at most.
    pub(crate) fn of(&mut self, principal: Option<&PrincipalId>) {
        debug_assert!(!self.names_principal, "a record is of one principal");
        self.principal = principal.cloned();
    }

    pub(crate) fn principal(&self) -> Option<&PrincipalId> {
        self.principal.as_ref()
    }

    /// Appends an event.
    pub(crate) fn write(&mut self, event: &Event<'_>) {
        if !self.names_principal
            && let Some(principal) = self.principal.take()
        {
            self.names_principal = true;
            self.append(&Event::Principal(principal.as_str()));
            self.principal = Some(principal);
        }
        self.append(event);
    }

    fn append(&mut self, event: &Event<'_>) {
        let Scratch { event: encoded, tree } = &mut self.scratch;
        encoded.clear();
        event.encode(encoded, self.time);
        let bytes = self.record.events_mut();
        number(bytes, encoded.len() as u64);
        bytes.extend_from_slice(encoded);
        tree.push(leaf(encoded));
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.scratch.tree.leaves()
    }

    /// The root over the events so far.
    pub(crate) fn digest(&self) -> Hash {
        self.scratch.tree.root()
    }

    /// Ends the section with its chain value.
    pub(crate) fn close(&mut self, value: &Hash) {
        self.record.events_mut().extend_from_slice(value);
    }

    /// Returns the buffers, for the next record.
    pub(crate) fn into_scratch(self) -> Scratch {
        self.scratch
    }
}
