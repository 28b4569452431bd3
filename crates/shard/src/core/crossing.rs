//! What goes from shard to shard: jobs, letters about transfers, letters of the push platform.
//!
//! The sender keeps it under a number until the receiver has confirmed it, durably; the receiver takes it in once
//! however often it comes. So after any crash it is in exactly one place.

use stadium_journal::{Journal, Room};
use stadium_queue::{Place, Refusal, Time};
use stadium_state_machine::{Incoming, StateMachine as _};

use super::fault::{FULL_RETRY, Fault, Lack, NoRoom};
use super::outbox::Outbox;
use super::payloads::{How, Unreadable};
use super::room::{self, BASE_BYTES};
use super::running::{Running, Waits};
use super::seam::{Caller, Confirmation, Delivery, Output, Sent};
use crate::frame::{HEADER_BYTES, Machine};

impl<J: Journal, C: Caller> Running<J, C> {
    pub(super) fn outbox(&mut self, sent: Sent) -> &mut Outbox {
        match sent {
            Sent::Jobs => &mut self.jobs_out,
            Sent::Letters => &mut self.letters_out,
            Sent::Pushes => &mut self.pushes_out,
        }
    }

    /// Announces what is to be sent, and what was confirmed, when it is durable.
    pub(super) fn announce(&mut self, since_us: u64) {
        let queues = &self.machines.queues;
        let jobs = (Sent::Jobs, queues.outgoing_next(), queues.outgoing_first());
        let ledger = &self.machines.ledger;
        let letters = (Sent::Letters, ledger.outgoing_next(), ledger.outgoing_first());
        let platform = &self.machines.platform;
        let pushes = (Sent::Pushes, platform.outgoing_next(), platform.outgoing_first());
        for (sent, next, first) in [jobs, letters, pushes] {
            if self.outbox(sent).announce(next) {
                self.wait(Waits::Outgoing(sent, next), since_us);
            }
            if self.outbox(sent).announce_confirmed(first) {
                self.wait(Waits::Confirmed(sent, first), since_us);
            }
        }
    }

    /// Takes in what another shard sent. False where the journal is behind.
    pub(super) fn deliver(&mut self, delivery: &Delivery, now: Time, since_us: u64) -> Result<bool, Fault> {
        let bytes = match delivery {
            Delivery::Job(job) => room::job_delivery_bytes_max(job),
            Delivery::Letter(letter) => BASE_BYTES + self.machines.ledger.receive_bytes_max(letter),
            Delivery::Push(_, letter) => BASE_BYTES + self.machines.platform.receive_bytes_max(letter),
        };
        let taken = match self.make_room(bytes, Room::Ordinary)? {
            Ok(at) => match delivery {
                Delivery::Job(job) => {
                    self.record.begin(HEADER_BYTES);
                    let taken = self.machines.queues.deliver(at.0, now, job, &mut self.record);
                    if taken.is_ok() {
                        self.append_events(Machine::Queue, at, now, Room::Ordinary)?;
                    }
                    taken.map(|_| ())
                }
                Delivery::Letter(letter) => {
                    let now = self.wallet_time(now);
                    self.record.begin(HEADER_BYTES);
                    let taken = self.machines.ledger.receive(at.0, now, letter, &mut self.record);
                    // A refusal is written too: it is the answer, for ever.
                    self.append_events(Machine::Wallet, at, now, Room::Ordinary)?;
                    taken
                }
                Delivery::Push(from, letter) => {
                    self.record.begin(HEADER_BYTES);
                    let taken = self.machines.platform.receive(at.0, now, *from, letter, &mut self.record);
                    self.append_events(Machine::Push, at, now, Room::Ordinary)?;
                    taken
                }
            },
            Err(NoRoom::Behind) => return Ok(false),
            Err(NoRoom::Full(lack)) => Err(lack.refusal()),
            Err(NoRoom::TooLarge { .. }) => Err(Lack::Disk.refusal()),
        };
        self.wait(Waits::Confirmation(delivery.shard(), delivery.confirmation(taken)), since_us);
        Ok(true)
    }

    /// Another shard has what we sent, or cannot take it now. False where the journal is behind.
    pub(super) fn confirmed(&mut self, confirmation: &Confirmation, now: Time) -> Result<bool, Fault> {
        let Confirmation { sent, number, ref taken } = *confirmation;
        match taken {
            Err(Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. }) => {
                self.outbox(sent).again(now.after((*retry_after).clamp(10, 10_000)), number);
                return Ok(true);
            }
            // Only a newer or older version of the other shard could say that of a job; it may be replaced.
            Err(Refusal::Rejected { .. }) if sent != Sent::Letters => {
                self.outbox(sent).again(now.after(10_000), number);
                return Ok(true);
            }
            Ok(()) | Err(Refusal::Rejected { .. }) => {}
        }
        let bytes = match sent {
            Sent::Jobs => HEADER_BYTES + 256,
            Sent::Letters => BASE_BYTES + self.machines.ledger.confirm_bytes_max(number),
            Sent::Pushes => BASE_BYTES,
        };
        let at = match self.make_room(bytes, Room::Reserved)? {
            Ok(at) => at,
            Err(NoRoom::Behind) => return Ok(false),
            // It is sent again then, and confirmed again.
            Err(NoRoom::Full(_) | NoRoom::TooLarge { .. }) => {
                self.outbox(sent).again(now.after(FULL_RETRY), number);
                return Ok(true);
            }
        };
        match sent {
            Sent::Jobs => {
                self.record.begin(HEADER_BYTES);
                self.machines.queues.confirm(at.0, now, number, &mut self.record);
                self.append_events(Machine::Queue, at, now, Room::Reserved)?;
            }
            Sent::Letters => {
                let now = self.wallet_time(now);
                self.record.begin(HEADER_BYTES);
                self.machines.ledger.confirm(at.0, now, number, taken, &mut self.record);
                self.append_events(Machine::Wallet, at, now, Room::Reserved)?;
            }
            Sent::Pushes => {
                self.record.begin(HEADER_BYTES);
                self.machines.platform.confirm(at.0, now, number, &mut self.record);
                self.append_events(Machine::Push, at, now, Room::Reserved)?;
            }
        }
        Ok(true)
    }

    /// Sends what became durable below that number.
    pub(super) fn send_new(
        &mut self,
        sent: Sent,
        below: u64,
        now: Time,
        output: &mut Output<C>,
        place: Place,
    ) {
        let new = self.outbox(sent).leave(below);
        self.send(sent, new.start, |number| new.contains(&number), now, output, place);
    }

    /// Sends again whose time has come.
    pub(super) fn send_again(&mut self, now: Time, output: &mut Output<C>, place: Place) {
        for sent in [Sent::Jobs, Sent::Letters, Sent::Pushes] {
            let first = match sent {
                Sent::Jobs => self.machines.queues.outgoing_first(),
                Sent::Letters => self.machines.ledger.outgoing_first(),
                Sent::Pushes => self.machines.platform.outgoing_first(),
            };
            let due = self.outbox(sent).take_due(now, first);
            if let Some(first) = due.first() {
                self.send(sent, first, |number| due.contains(number), now, output, place);
            }
        }
    }

    fn send(
        &mut self,
        sent: Sent,
        from: u64,
        which: impl Fn(u64) -> bool,
        now: Time,
        output: &mut Output<C>,
        place: Place,
    ) {
        let before = output.deliveries.len();
        let confirmed_below = self.outbox(sent).confirmed_below();
        match sent {
            Sent::Jobs => self.send_jobs(from, which, confirmed_below, now, output, place),
            Sent::Letters => self.machines.ledger.outgoing(from, &mut |shard, mut letter| {
                if which(letter.number) {
                    letter.confirmed_below = confirmed_below;
                    output.deliveries.push((shard, Delivery::Letter(letter)));
                }
            }),
            Sent::Pushes => self.machines.platform.outgoing(from, &mut |shard, number, letter| {
                if which(number) {
                    let from = Incoming { shard: place.shard, number, confirmed_below };
                    output.deliveries.push((shard, Delivery::Push(from, letter)));
                }
            }),
        }
        let count = (output.deliveries.len() - before) as u64;
        if count > 0 {
            self.figures.sent += count;
            self.outbox(sent).watch(now);
        }
    }

    fn send_jobs(
        &mut self,
        from: u64,
        which: impl Fn(u64) -> bool,
        confirmed_below: u64,
        now: Time,
        output: &mut Output<C>,
        place: Place,
    ) {
        let mut outgoing = Vec::new();
        self.machines.queues.outgoing(from, &mut |job| {
            if which(job.number) {
                outgoing.push(job);
            }
        });
        for job in outgoing {
            let number = job.number;
            match self.payloads.read(&self.journal, job.payload) {
                Ok(payload) => {
                    let shard = Place::home(&job.queue, place.shards);
                    let job_there = stadium_queue::NewJob { payload, ..job.job };
                    let delivery = stadium_queue::Delivery {
                        shard: place.shard,
                        number,
                        confirmed_below,
                        queue: job.queue,
                        job: job_there,
                    };
                    output.deliveries.push((shard, Delivery::Job(delivery)));
                }
                Err(Unreadable { how: How::ForNow, .. }) => {
                    self.outbox(Sent::Jobs).again(now.after(FULL_RETRY), number);
                }
                // It stays here, counted as damaged, where an operator can find it.
                Err(Unreadable { reason, .. }) => {
                    tracing::error!(number, %reason, "Job for another shard has no payload")
                }
            }
        }
    }
}
