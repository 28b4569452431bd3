//! Answers from memory of a shard that another node may have taken over.
//!
//! A node that was stopped goes on with the memory that it had. So an answer leaves only if the
//! node's lease was certain after it was decided, or if a commit that was begun after it came back:
//! then no other owner's fence stands before it. Where nothing else is to be committed, a record
//! without events is: a barrier. All answers of a turn share it, and one is on its way at most.
//!
//! All answers are treated alike, also refusals: those of a command that wrote have its commit.

use stadium_journal::{Error, Journal, Room};
use stadium_state_machine::Time;

use super::direct::Direct;
use super::fault::Fault;
use super::ports::Caller;
use super::running::{HELD, Running};
use crate::frame::{FRAME_BYTES, write_empty};

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    /// Puts answers of this turn, and those that are held, behind a commit where the lease is not
    /// certain. Called before the commit of the turn is begun.
    ///
    /// To look once is enough: an answer that was true when it was decided may leave later.
    pub(super) fn prove(&mut self, now: Time) -> Result<(), Fault> {
        if self.unproven_from >= self.pending.len() {
            self.unproven_from = self.pending.len();
            return Ok(());
        }
        let is_certain = self.is_certain();
        // They are sent after the answers of this turn were decided.
        let has_records = self.journal.end() > self.taken_from;
        if !is_certain && !has_records && (self.is_barrier_under_way()? || !self.append_barrier(now)?) {
            self.pending.range_mut(self.unproven_from..).for_each(|pending| pending.after = HELD);
            return Ok(());
        }
        let end = self.journal.end();
        for pending in self.pending.range_mut(self.unproven_from..) {
            if !is_certain || pending.after == HELD {
                pending.after = end;
            }
        }
        self.unproven_from = self.pending.len();
        Ok(())
    }

    /// The journal failed, or a turn did: what is not proven by now does not leave, even if all that
    /// it has seen is durable.
    pub(super) fn hold_unproven(&mut self, fault: &Fault) {
        let is_fenced = matches!(fault, Fault::Journal(Error::Fenced { .. }));
        if self.lease.is_none() || !is_fenced && self.is_certain() {
            return;
        }
        let from = self.unproven_from.min(self.pending.len());
        for pending in self.pending.range_mut(from..) {
            // Others have a record of this turn before them.
            if pending.after <= self.taken_from {
                pending.after = HELD;
            }
        }
    }

    /// Whether answers are held, and no barrier could be appended for them.
    pub(super) fn wants_barrier(&self) -> bool {
        self.lease.is_some() && self.unproven_from < self.pending.len() && self.barrier.is_none()
    }

    /// The first of the pending answers that are held: they are the last ones between two turns.
    pub(super) fn first_held(&self) -> usize {
        let held = self.pending.iter().rev().take_while(|pending| pending.after == HELD).count();
        self.pending.len() - held
    }

    fn is_certain(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| lease.is_certain(self.shard))
    }

    fn is_barrier_under_way(&mut self) -> Result<bool, Fault> {
        if let Some(barrier) = self.barrier
            && self.journal.durable()? >= barrier
        {
            self.barrier = None;
        }
        Ok(self.barrier.is_some())
    }

    /// Appends a record without events. False where there is no room for it now.
    fn append_barrier(&mut self, now: Time) -> Result<bool, Fault> {
        // Its space is small, and a full disk must not keep anybody from reading.
        let Ok(at) = self.make_room(FRAME_BYTES, Room::Reserved)? else { return Ok(false) };
        self.record.begin(FRAME_BYTES);
        write_empty(self.record.header_mut(), now);
        self.append_record(at, Room::Reserved, &[])?;
        self.barrier = Some(self.journal.end());
        self.figures.barriers += 1;
        Ok(true)
    }
}
