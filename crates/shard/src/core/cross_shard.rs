//! Messages between the machines of different shards.
//!
//! The sender keeps it under a number until the receiver has confirmed it, durably; the receiver
//! takes it in once however often it comes. So after any crash it is in exactly one place.

use stadium_journal::{Journal, Position, Room};
use stadium_state_machine::{Place, Refusal, Time, Unreadable};

use super::direct::Direct;
use super::fault::{FULL_RETRY, Fault, Lack, NoRoom};
use super::outbox::{AGAIN_MAX, Outbox};
use super::ports::{Caller, Confirmation, Delivery, Output};
use super::running::{BASE_BYTES, Running, Waits};
use super::slot::Sender;
use crate::frame::{HEADER_BYTES, MachineId};

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    pub(super) fn outbox(&mut self, machine: MachineId) -> &mut Outbox {
        &mut self.outboxes[self.machines.at(machine)]
    }

    pub(super) fn send_again_soon(&mut self) {
        self.outboxes.iter_mut().for_each(Outbox::hurry);
    }

    /// Announces messages to be sent, and confirmed ones, when that is durable.
    pub(super) fn announce(&mut self, since_us: u64) {
        for at in 0..self.machines.kinds.len() {
            let machine = self.machines.kinds.get(at).id;
            let slot = self.machines.slot(machine);
            let (next, first) = (slot.outgoing_next(), slot.outgoing_first());
            if self.outbox(machine).announce(next) {
                self.wait(Waits::Outgoing(machine, next), since_us);
            }
            if self.outbox(machine).announce_confirmed(first) {
                self.wait(Waits::Confirmed(machine, first), since_us);
            }
        }
    }

    /// Takes in what another shard sent. False where the journal is behind.
    pub(super) fn deliver(&mut self, delivery: &Delivery, now: Time, since_us: u64) -> Result<bool, Fault> {
        let machine = delivery.machine;
        let slot = self.machines.slot(machine);
        let now = slot.record_time(now);
        let bytes = BASE_BYTES + slot.receive_bytes_max(delivery.message());
        let taken = match self.room_for_delivery(bytes)? {
            Ok(at) => {
                self.record.begin(HEADER_BYTES);
                let slot = self.machines.slot_mut(machine);
                let taken = slot.receive(at.0, now, delivery.message(), &mut self.record);
                // A rejection may be written too: it is the answer, for ever.
                self.append_events(machine, at, now, Room::Ordinary)?;
                taken
            }
            Err(Some(refusal)) => Err(refusal),
            Err(None) => return Ok(false),
        };
        self.wait(Waits::Confirmation(delivery.shard, delivery.confirmation(taken)), since_us);
        Ok(true)
    }

    /// Room for what another shard sent; else the refusal, or none where the journal is behind.
    fn room_for_delivery(&mut self, bytes: usize) -> Result<Result<Position, Option<Refusal>>, Fault> {
        Ok(self.make_room(bytes, Room::Ordinary)?.map_err(|lacks| match lacks {
            NoRoom::Behind => None,
            NoRoom::Full(lack) => Some(lack.refusal()),
            NoRoom::TooLarge { .. } => Some(Lack::Disk.refusal()),
        }))
    }

    /// Another shard has what we sent, or cannot take it now. False where the journal is behind.
    pub(super) fn confirmed(&mut self, confirmation: &Confirmation, now: Time) -> Result<bool, Fault> {
        let Confirmation { machine, number, ref taken } = *confirmation;
        match taken {
            Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                self.outbox(machine).again(now.after((*retry_after).clamp(10, AGAIN_MAX)), number);
                return Ok(true);
            }
            // Only a newer or older version of the other shard could send that; it may be replaced.
            Err(Refusal::Rejected { .. }) if !self.machines.kinds.of(machine).rejection_answers => {
                self.outbox(machine).again(now.after(AGAIN_MAX), number);
                return Ok(true);
            }
            Ok(()) | Err(Refusal::Rejected { .. }) => {}
        }
        let bytes = BASE_BYTES + self.machines.slot(machine).confirm_bytes_max(number);
        let at = match self.make_room(bytes, Room::Reserved)? {
            Ok(at) => at,
            Err(NoRoom::Behind) => return Ok(false),
            // It is sent again then, and confirmed again.
            Err(NoRoom::Full(_) | NoRoom::TooLarge { .. }) => {
                self.outbox(machine).again(now.after(FULL_RETRY), number);
                return Ok(true);
            }
        };
        self.record.begin(HEADER_BYTES);
        let slot = self.machines.slot_mut(machine);
        let now = slot.record_time(now);
        slot.confirm(at.0, now, number, taken, &mut self.record);
        self.append_events(machine, at, now, Room::Reserved)?;
        Ok(true)
    }

    /// Sends what became durable below that number.
    pub(super) fn send_new(
        &mut self,
        machine: MachineId,
        below: u64,
        now: Time,
        output: &mut Output<C, M>,
        place: Place,
    ) {
        let new = self.outbox(machine).leave(below);
        self.send(machine, new.start, &|number| new.contains(&number), now, output, place);
    }

    /// Sends again whose time has come.
    pub(super) fn send_again(&mut self, now: Time, output: &mut Output<C, M>, place: Place) {
        for at in 0..self.machines.kinds.len() {
            let machine = self.machines.kinds.get(at).id;
            let first = self.machines.slot(machine).outgoing_first();
            let due = self.outbox(machine).take_due(now, first);
            if let Some(first) = due.first() {
                self.send(machine, first, &|number| due.contains(number), now, output, place);
            }
        }
    }

    /// Sends those messages of a machine that `which` names; none is below `from`.
    fn send(
        &mut self,
        machine: MachineId,
        from: u64,
        which: &dyn Fn(u64) -> bool,
        now: Time,
        output: &mut Output<C, M>,
        place: Place,
    ) {
        let before = output.deliveries.len();
        let shard = place.shard;
        let sender = Sender { shard, confirmed_below: self.outbox(machine).confirmed_below(), from };
        let mut later = Vec::new();
        let Self { machines, journal, payloads, .. } = self;
        let mut payload = |number, at| {
            if !which(number) {
                return None;
            }
            match payloads.read(journal, at) {
                Ok(payload) => return Some(payload),
                Err(Unreadable::Temporary(_)) => later.push(number),
                // It stays here, counted as damaged, where an operator can find it.
                Err(Unreadable::Permanent(reason)) => {
                    tracing::error!(number, %reason, "Job for another shard has no payload");
                }
            }
            None
        };
        machines.slot(machine).outgoing(sender, which, &mut payload, &mut |to, number, message| {
            output.deliveries.push((to, Delivery::new(machine, shard, number, message)));
        });
        later.into_iter().for_each(|number| self.outbox(machine).again(now.after(FULL_RETRY), number));
        let count = (output.deliveries.len() - before) as u64;
        if count > 0 {
            self.figures.sent += count;
            self.outbox(machine).watch(now);
        }
    }
}
