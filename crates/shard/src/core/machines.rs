//! The state machines of a shard: records are applied to them, and checkpoints hold them.
//!
//! They stand in slots, in the order of their ids. The settings determine which ones there are
//! ([`super::kinds`]).

use stadium_journal::Position;
use stadium_state_machine::{Place, StateMachine, Time};

use super::kinds::Kinds;
use super::slot::Slot;
use crate::frame::{CHUNK_HEADER_BYTES, Frame, MachineId, chunk_header, parse_chunk};

/// The state machines of a shard.
pub(super) struct Machines {
    pub(super) kinds: Kinds,
    slots: Vec<Box<dyn Slot>>,
    /// Of a checkpoint that is being written: the machine whose chunks come next.
    saving: usize,
    /// Of one that is being read: the machines that it holds. Older ones do not hold all.
    restored: Vec<bool>,
}

impl Machines {
    /// Without anything in them.
    pub(super) fn new(kinds: Kinds, place: Place) -> Self {
        let slots: Vec<_> = kinds.iter().map(|kind| kind.empty(place)).collect();
        let restored = vec![false; slots.len()];
        Self { kinds, slots, saving: 0, restored }
    }

    /// The machine of a type that the shard has.
    pub(super) fn machine<M: StateMachine>(&self) -> &M {
        self.slot(MachineId::of::<M>()).any().downcast_ref().expect("a code is one machine's")
    }

    pub(super) fn machine_mut<M: StateMachine>(&mut self) -> &mut M {
        self.slot_mut(MachineId::of::<M>()).any_mut().downcast_mut().expect("a code is one machine's")
    }

    /// The machine with this id, which the shard has.
    pub(super) fn slot(&self, id: MachineId) -> &dyn Slot {
        &*self.slots[self.at(id)]
    }

    pub(super) fn slot_mut(&mut self, id: MachineId) -> &mut dyn Slot {
        let at = self.at(id);
        &mut *self.slots[at]
    }

    /// The place of a machine among them.
    pub(super) fn at(&self, id: MachineId) -> usize {
        self.kinds.index(id).expect("the shard has this machine")
    }

    /// All of them, with their ids.
    pub(super) fn all(&self) -> impl Iterator<Item = (MachineId, &dyn Slot)> {
        self.kinds.iter().zip(&self.slots).map(|(kind, slot)| (kind.id, &**slot))
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = (MachineId, &mut dyn Slot)> {
        self.kinds.iter().zip(&mut self.slots).map(|(kind, slot)| (kind.id, &mut **slot as &mut dyn Slot))
    }

    /// Applies a record that was read back. Returns whether it may never be removed.
    pub(super) fn apply(&mut self, position: Position, body: &[u8]) -> Result<bool, String> {
        let frame = Frame::parse(body)?;
        // One that cannot be read whole is not applied at all.
        for section in frame.sections() {
            self.kinds.known(section.machine)?;
        }
        let mut stays = false;
        for section in frame.sections() {
            let at = self.at(section.machine);
            self.slots[at]
                .apply(position.0, frame.time, section.offset, section.events)
                .map_err(|error| error.reason)?;
            stays |= self.kinds.get(at).records_stay;
        }
        Ok(stays)
    }

    /// Begins a checkpoint of the state as it is now.
    pub(super) fn checkpoint_begin(&mut self) {
        self.saving = 0;
        self.slots.iter_mut().for_each(|slot| slot.checkpoint_begin());
    }

    /// Makes the next chunk, of about so many bytes. Returns whether there are more.
    pub(super) fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        chunk.extend_from_slice(&chunk_header(self.kinds.get(self.saving).id));
        debug_assert_eq!(chunk.len(), CHUNK_HEADER_BYTES, "the chunk was empty");
        if self.slots[self.saving].checkpoint_next(chunk, bytes_max) {
            return true;
        }
        self.saving = (self.saving + 1) % self.slots.len();
        self.saving != 0
    }

    /// The whole state, as the chunks of a checkpoint. No checkpoint may be running.
    pub(super) fn state(&mut self) -> Vec<Vec<u8>> {
        let mut chunks = Vec::new();
        self.checkpoint_begin();
        loop {
            let mut chunk = Vec::new();
            let more = self.checkpoint_next(&mut chunk, usize::MAX);
            chunks.push(chunk);
            if !more {
                return chunks;
            }
        }
    }

    /// Drops a running checkpoint.
    pub(super) fn checkpoint_abort(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.checkpoint_abort());
    }

    /// Takes in a chunk, in their order.
    pub(super) fn restore(&mut self, chunk: &[u8]) -> Result<(), String> {
        let (machine, part) = parse_chunk(chunk)?;
        let at = self.kinds.known(machine)?;
        self.restored[at] = true;
        self.slots[at].restore(part).map_err(|error| error.reason)
    }

    /// All chunks are in.
    pub(super) fn restore_finish(&mut self) -> Result<(), String> {
        for (slot, is_restored) in self.slots.iter_mut().zip(&self.restored) {
            if *is_restored {
                slot.restore_finish().map_err(|error| error.reason)?;
            }
        }
        Ok(())
    }

    /// The first machine from a place on whose payloads can be written again, and the bytes of
    /// events that it then writes at most, where so many bytes of payloads are asked for.
    pub(super) fn first_with_payloads(&self, from: usize, bytes_max: usize) -> Option<(usize, usize)> {
        let slots = self.slots.iter().enumerate().skip(from);
        slots.filter_map(|(at, slot)| Some((at, slot.move_bytes_max(bytes_max)?))).next()
    }

    /// Commands that wait for other shards.
    pub(super) fn pending(&self) -> u64 {
        self.slots.iter().map(|slot| slot.pending()).sum()
    }

    /// When time brings something next.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.slots.iter().filter_map(|slot| slot.next_deadline()).min()
    }
}
