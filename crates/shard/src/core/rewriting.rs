//! Frees segments that are nearly dead: what still lives in them is written again, in slices.

use stadium_journal::{Journal, Room};
use stadium_queue::{PayloadAt, Queues, Time};

use super::fault::Fault;
use super::ports::Caller;
use super::running::Running;
use super::settings::CoreSettings;
use crate::frame::{HEADER_BYTES, MachineId};

impl<J: Journal, C: Caller> Running<J, C> {
    /// Writes a slice of a nearly dead segment's payloads again. Returns whether there is more.
    pub(super) fn rewrite(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        if self.segments.rewriting().is_none() {
            return Ok(false);
        }
        let bytes = HEADER_BYTES
            + 4_096
            + settings.rewrite_slice_bytes
            + settings.bounds.payload_bytes_max as usize
            + settings.rewrite_slice_bytes / 4;
        let Ok(at) = self.make_room(bytes, Room::Ordinary)? else {
            return Ok(false);
        };
        self.record.begin(HEADER_BYTES);
        let Some(rewriting) = self.segments.rewriting() else {
            return Ok(false);
        };
        let range = rewriting.range.clone();
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
        let more = self.machines.machine_mut::<Queues>().move_payloads(
            at.0,
            now,
            range,
            &mut rewriting.cursor,
            &mut read,
            &mut self.record,
            settings.rewrite_slice_bytes,
        );
        self.segments.rewritten_bytes += rewritten;
        if !more {
            self.segments.rewritten();
        }
        self.append_events(MachineId::of::<Queues>(), at, now, Room::Ordinary)?;
        Ok(more)
    }
}
