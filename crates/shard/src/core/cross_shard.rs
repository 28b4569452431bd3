//! Letters between shards: jobs, two-phase commit of transfers, apps and pushes.
//!
//! The sender keeps it under a number until the receiver has confirmed it, durably; the receiver
//! takes it in once however often it comes. So after any crash it is in exactly one place.

use stadium_journal::{Journal, Position, Room};
use stadium_push::Platform;
use stadium_queue::{Place, Queues, Refusal, Time};
use stadium_session::Sessions;
use stadium_wallet::Ledger;

use super::fault::{FULL_RETRY, Fault, Lack, NoRoom};
use super::outbox::Outbox;
use super::payloads::{How, Unreadable};
use super::ports::{Caller, Confirmation, Delivery, Output};
use super::running::{Running, Waits};
use super::slot::{BASE_BYTES, Slot};
use crate::frame::{HEADER_BYTES, Machine};

impl<J: Journal, C: Caller> Running<J, C> {
    pub(super) fn outbox(&mut self, machine: Machine) -> &mut Outbox {
        &mut self.outboxes[machine.index()]
    }

    /// Announces what is to be sent, and what was confirmed, when it is durable.
    pub(super) fn announce(&mut self, since_us: u64) {
        for machine in Machine::ALL {
            let one = self.machines.one(machine);
            let (next, first) = (one.outgoing_next(), one.outgoing_first());
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
        let taken = match delivery {
            Delivery::Job(delivery) => self.deliver_to::<Queues>(delivery, now)?,
            Delivery::Wallet(delivery) => self.deliver_to::<Ledger>(delivery, now)?,
            Delivery::Push(delivery) => self.deliver_to::<Platform>(delivery, now)?,
        };
        let Some(taken) = taken else { return Ok(false) };
        self.wait(Waits::Confirmation(delivery.shard(), delivery.confirmation(taken)), since_us);
        Ok(true)
    }

    /// Returns the machine's answer; none where the journal is behind.
    fn deliver_to<M: Slot>(
        &mut self,
        delivery: &stadium_state_machine::Delivery<M::Letter>,
        now: Time,
    ) -> Result<Option<Result<(), Refusal>>, Fault> {
        let machine = M::of(&mut self.machines);
        let now = machine.record_time(now);
        let bytes = BASE_BYTES + machine.receive_bytes_max(delivery);
        let at = match self.room_for_delivery(bytes)? {
            Ok(at) => at,
            Err(refused) => return Ok(refused.map(Err)),
        };
        self.record.begin(HEADER_BYTES);
        let taken = M::of(&mut self.machines).receive(at.0, now, delivery, &mut self.record);
        // A rejection may be written too: it is the answer, for ever.
        self.append_events(M::MACHINE, at, now, Room::Ordinary)?;
        Ok(Some(taken))
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
                self.outbox(machine).again(now.after((*retry_after).clamp(10, 10_000)), number);
                return Ok(true);
            }
            // Only a newer or older version of the other shard could say that; it may be replaced.
            Err(Refusal::Rejected { .. }) if !machine.kind().rejection_answers => {
                self.outbox(machine).again(now.after(10_000), number);
                return Ok(true);
            }
            Ok(()) | Err(Refusal::Rejected { .. }) => {}
        }
        let bytes = BASE_BYTES + self.machines.one(machine).confirm_bytes_max(number);
        let at = match self.make_room(bytes, Room::Reserved)? {
            Ok(at) => at,
            Err(NoRoom::Behind) => return Ok(false),
            // It is sent again then, and confirmed again.
            Err(NoRoom::Full(_) | NoRoom::TooLarge { .. }) => {
                self.outbox(machine).again(now.after(FULL_RETRY), number);
                return Ok(true);
            }
        };
        match machine {
            Machine::Queue => self.confirm_to::<Queues>(at, now, confirmation)?,
            Machine::Wallet => self.confirm_to::<Ledger>(at, now, confirmation)?,
            Machine::Push => self.confirm_to::<Platform>(at, now, confirmation)?,
            Machine::Session => self.confirm_to::<Sessions>(at, now, confirmation)?,
        }
        Ok(true)
    }

    fn confirm_to<M: Slot>(
        &mut self,
        at: Position,
        now: Time,
        confirmation: &Confirmation,
    ) -> Result<(), Fault> {
        let Confirmation { number, taken, .. } = confirmation;
        self.record.begin(HEADER_BYTES);
        let machine = M::of(&mut self.machines);
        let now = machine.record_time(now);
        machine.confirm(at.0, now, *number, taken, &mut self.record);
        self.append_events(M::MACHINE, at, now, Room::Reserved)
    }

    /// Sends what became durable below that number.
    pub(super) fn send_new(
        &mut self,
        machine: Machine,
        below: u64,
        now: Time,
        output: &mut Output<C>,
        place: Place,
    ) {
        let new = self.outbox(machine).leave(below);
        self.send(machine, new.start, |number| new.contains(&number), now, output, place);
    }

    /// Sends again whose time has come.
    pub(super) fn send_again(&mut self, now: Time, output: &mut Output<C>, place: Place) {
        for machine in Machine::ALL {
            let first = self.machines.one(machine).outgoing_first();
            let due = self.outbox(machine).take_due(now, first);
            if let Some(first) = due.first() {
                self.send(machine, first, |number| due.contains(number), now, output, place);
            }
        }
    }

    fn send(
        &mut self,
        machine: Machine,
        from: u64,
        which: impl Fn(u64) -> bool,
        now: Time,
        output: &mut Output<C>,
        place: Place,
    ) {
        let before = output.deliveries.len();
        let deliveries = &mut output.deliveries;
        match machine {
            Machine::Queue => {
                self.letters::<Queues>(from, which, now, place, |to, one| {
                    deliveries.push((to, Delivery::Job(one)))
                });
            }
            Machine::Wallet => {
                self.letters::<Ledger>(from, which, now, place, |to, one| {
                    deliveries.push((to, Delivery::Wallet(one)))
                });
            }
            Machine::Push => {
                self.letters::<Platform>(from, which, now, place, |to, one| {
                    deliveries.push((to, Delivery::Push(one)))
                });
            }
            // It has no letters.
            Machine::Session => {}
        }
        let count = (output.deliveries.len() - before) as u64;
        if count > 0 {
            self.figures.sent += count;
            self.outbox(machine).watch(now);
        }
    }

    /// Hands out the letters of a machine that are to be sent, and whom they are for.
    fn letters<M: Slot>(
        &mut self,
        from: u64,
        which: impl Fn(u64) -> bool,
        now: Time,
        place: Place,
        mut each: impl FnMut(u16, stadium_state_machine::Delivery<M::Letter>),
    ) {
        let (shard, confirmed_below) = (place.shard, self.outbox(M::MACHINE).confirmed_below());
        let mut later = Vec::new();
        let Self { machines, journal, payloads, .. } = self;
        let mut payload = |number, at| {
            if !which(number) {
                return None;
            }
            match payloads.read(journal, at) {
                Ok(payload) => return Some(payload),
                Err(Unreadable { how: How::ForNow, .. }) => later.push(number),
                // It stays here, counted as damaged, where an operator can find it.
                Err(Unreadable { reason, .. }) => {
                    tracing::error!(number, %reason, "Job for another shard has no payload");
                }
            }
            None
        };
        M::of(machines).outgoing(from, &mut payload, &mut |to, number, letter| {
            if which(number) {
                each(to, stadium_state_machine::Delivery { shard, number, confirmed_below, letter });
            }
        });
        later.into_iter().for_each(|number| self.outbox(M::MACHINE).again(now.after(FULL_RETRY), number));
    }
}
