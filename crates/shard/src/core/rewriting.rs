//! Frees segments that are nearly dead: what still lives in them is written again, in slices.
//!
//! One machine after the other looks through its payloads.

use stadium_journal::{Journal, Room};
use stadium_state_machine::{MoveCursor, MovePayloads, PayloadAt, Time};

use super::direct::Direct;
use super::fault::Fault;
use super::ports::Caller;
use super::running::Running;
use super::settings::CoreSettings;
use crate::frame::HEADER_BYTES;

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    /// Writes a slice of a nearly dead segment's payloads again. Returns whether there is more.
    pub(super) fn rewrite(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        let slice = settings.rewrite_slice_bytes;
        let Some(from) = self.segments.rewriting().map(|rewriting| rewriting.machine) else {
            return Ok(false);
        };
        let Some((place, bytes)) = self.machines.first_with_payloads(from, slice) else {
            self.segments.rewritten();
            return Ok(false);
        };
        let Ok(at) = self.make_room(HEADER_BYTES + bytes, Room::Ordinary)? else {
            return Ok(false);
        };
        self.record.begin(HEADER_BYTES);
        let Some(rewriting) = self.segments.rewriting() else {
            return Ok(false);
        };
        let (journal, payloads) = (&self.journal, &mut self.payloads);
        let mut rewritten = 0;
        let mut read = |at: PayloadAt, into: &mut Vec<u8>| match payloads.read(journal, at) {
            Ok(payload) => {
                rewritten += payload.len() as u64;
                into.extend_from_slice(&payload);
                true
            }
            Err(_) => false,
        };
        let mut moving = MovePayloads {
            range: rewriting.range.clone(),
            cursor: &mut rewriting.cursor,
            read: &mut read,
            bytes_max: slice,
        };
        let machine = self.machines.kinds.get(place).id;
        let slot = self.machines.slot_mut(machine);
        let mut more = slot.move_payloads(at.0, now, &mut moving, &mut self.record);
        if !more && let Some((next, _)) = self.machines.first_with_payloads(place + 1, slice) {
            (rewriting.machine, rewriting.cursor) = (next, MoveCursor::default());
            more = true;
        }
        self.segments.rewritten_bytes += rewritten;
        if !more {
            self.segments.rewritten();
        }
        self.append_events(machine, at, now, Room::Ordinary)?;
        Ok(more)
    }
}
