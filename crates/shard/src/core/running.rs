//! A shard whose journal is open: the machines, and the answers that wait for a commit.
//!
//! Here decisions become records. A decision is appended first and answered when it is durable.
//! [`super::slot`] drives the machines, [`super::cross_shard`] exchanges letters with other shards.

use std::collections::VecDeque;

use hashbrown::HashMap;
use stadium_journal::{Error, Journal, Position, Room};
use stadium_push::Platform;
use stadium_queue::{Answer, Command, Lease, PayloadAt, Queues, Record, Refusal, Retry, Time};
use stadium_session::Sessions;
use stadium_wallet::Ledger;

use super::checkpointing::{Checkpointing, Step};
use super::fault::{FULL_RETRY, Fault, Lack, NoRoom, too_large};
use super::feeds::Feeds;
use super::machines::Machines;
use super::outbox::Outbox;
use super::payloads::{How, Payloads, Spoilt, Unreadable};
use super::ports::{Caller, Confirmation, Output, Reply};
use super::segments::Segments;
use super::settings::CoreSettings;
use super::slot::{Taken, Walk};
use crate::frame::{Machine, write_header};
use crate::metrics::Counts;

/// What leaves when the journal is durable up to a position.
pub(super) struct Pending<C> {
    pub(super) after: Position,
    /// When it was decided, by the stopwatch.
    pub(super) since_us: u64,
    /// The answer of a command of this machine that waited for other shards. Where the record is
    /// cut the command is decided again, and may come out otherwise.
    pub(super) decided_by: Option<Machine>,
    pub(super) what: Waits<C>,
}

pub(super) enum Waits<C> {
    Answer(C, Result<Answer<PayloadAt>, Refusal>),
    /// An answer that has everything.
    Whole(C, Result<crate::Answer, Refusal>),
    /// Records that are read then.
    Walk(C, Walk),
    Confirmation(u16, Confirmation),
    /// What goes to devices.
    ToEdge(Vec<stadium_push::ToEdge>),
    /// What goes to other shards and has a number below this one may be sent.
    Outgoing(Machine, u64),
    /// What was sent below this number is confirmed, and that is remembered.
    Confirmed(Machine, u64),
}

/// A shard whose journal is open.
pub(super) struct Running<J, C> {
    pub(super) journal: J,
    pub(super) machines: Machines,
    pub(super) checkpointing: Checkpointing,
    pub(super) segments: Segments,
    /// The record that is being written.
    pub(super) record: Record,
    pub(super) pending: VecDeque<Pending<C>>,
    /// Callers of pending commands, by the machine's number for the command.
    pub(super) undecided: HashMap<(Machine, u64), C, foldhash::fast::RandomState>,
    pub(super) payloads: Payloads,
    pub(super) spoilt: Vec<Spoilt>,
    pub(super) random: Random,
    /// Microseconds since some moment.
    pub(super) stopwatch: fn() -> u64,
    /// Something was appended since the last commit was started.
    uncommitted: bool,
    /// The disk was full at this time.
    full_at: Option<Time>,
    /// Letters to other shards, by machine.
    pub(super) outboxes: [Outbox; Machine::COUNT],
    pub(super) feeds: Feeds,
    pub(super) figures: Figures,
}

/// What a running shard counts.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) commands: u64,
    pub(super) refusals: u64,
    pub(super) records: u64,
    pub(super) damaged: u64,
    pub(super) sent: u64,
    pub(super) durable_lag_us: Counts,
    /// Records after the newest checkpoint; roughly, where one runs.
    pub(super) tail_records: u64,
}

impl Figures {
    /// Takes over the counts of a journal that failed.
    pub(super) fn add(&mut self, other: &Figures) {
        self.commands += other.commands;
        self.refusals += other.refusals;
        self.records += other.records;
        self.damaged += other.damaged;
        self.sent += other.sent;
    }
}

impl<J: Journal, C: Caller> Running<J, C> {
    pub(super) fn new(
        journal: J,
        machines: Machines,
        checkpointing: Checkpointing,
        segments: Segments,
        settings: &CoreSettings,
        tail_records: u64,
    ) -> Self {
        let outboxes = Machine::ALL.map(|machine| Outbox::new(machines.one(machine).outgoing_first()));
        Self {
            journal,
            machines,
            checkpointing,
            segments,
            record: Record::new(),
            pending: VecDeque::new(),
            undecided: HashMap::default(),
            payloads: Payloads::default(),
            spoilt: Vec::new(),
            random: Random(settings.seed),
            stopwatch: settings.stopwatch,
            uncommitted: false,
            full_at: None,
            outboxes,
            feeds: Feeds::default(),
            figures: Figures { tail_records, ..Figures::default() },
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Asks for room; `Err` inside where there is none, outside where the journal is at its end.
    pub(super) fn make_room(&mut self, bytes: usize, room: Room) -> Result<Result<Position, NoRoom>, Fault> {
        match self.journal.make_room(bytes, room) {
            Ok(at) => Ok(Ok(at)),
            Err(Error::Busy { .. }) => Ok(Err(NoRoom::Behind)),
            Err(Error::Full) => Ok(Err(NoRoom::Full(Lack::Disk))),
            Err(Error::Descriptors) => Ok(Err(NoRoom::Full(Lack::Descriptors))),
            Err(Error::TooLarge { bytes, bytes_max }) => Ok(Err(NoRoom::TooLarge { bytes, bytes_max })),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks for room for a command's record; the refusal inside where it gets none, nothing where the journal is behind.
    pub(super) fn room_for(
        &mut self,
        bytes: usize,
        room: Room,
        now: Time,
    ) -> Result<Option<Result<Position, Refusal>>, Fault> {
        Ok(match self.make_room(bytes, room)? {
            Ok(at) => Some(Ok(at)),
            Err(NoRoom::Behind) => None,
            Err(NoRoom::Full(lack)) => {
                self.full_at = Some(now);
                Some(Err(lack.refusal()))
            }
            Err(NoRoom::TooLarge { bytes, bytes_max }) => Some(Err(too_large(bytes, bytes_max))),
        })
    }

    /// Appends what a machine wrote; it is applied already.
    pub(super) fn append_events(
        &mut self,
        machine: Machine,
        at: Position,
        now: Time,
        room: Room,
    ) -> Result<(), Fault> {
        if self.record.is_empty() {
            return Ok(());
        }
        let events_bytes = self.record.events().len();
        write_header(self.record.header_mut(), machine, now, events_bytes);
        self.append_record(at, room, &[machine])
    }

    /// Appends the record with the sections of these machines.
    pub(super) fn append_record(
        &mut self,
        at: Position,
        room: Room,
        machines: &[Machine],
    ) -> Result<(), Fault> {
        append(&mut self.journal, self.record.bytes(), at, room)?;
        self.uncommitted = true;
        self.figures.records += 1;
        self.figures.tail_records += 1;
        for machine in machines {
            if *machine == Machine::Queue {
                // Payloads came to life and died with it.
                self.machines.queues.take_payload_changes(self.segments.changes());
                self.segments.apply(&self.journal);
            }
            if machine.kind().records_stay {
                self.segments.pin(&self.journal, at);
            }
        }
        Ok(())
    }

    /// Carries out a command to the queues that is answered at once. None where the journal is
    /// behind.
    pub(super) fn execute(
        &mut self,
        command: &Command,
        now: Time,
    ) -> Result<Option<Result<Answer<PayloadAt>, Refusal>>, Fault> {
        Ok(match self.carry_out::<Queues>(command, now)? {
            Taken::Answer(answer) => Some(answer),
            Taken::Behind => None,
            Taken::Walk(_) | Taken::Pending(_) => {
                unreachable!("histories are taken elsewhere, nothing is pending")
            }
        })
    }

    /// What time brings, within the bounds of a turn. Says whether more is due.
    pub(super) fn take_time(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        let queues = self.tick::<Queues>(now, settings)?;
        let wallets = self.tick::<Ledger>(now, settings)?;
        let platform = self.tick::<Platform>(now, settings)?;
        let sessions = self.tick::<Sessions>(now, settings)?;
        Ok(queues || wallets || platform || sessions)
    }

    /// The disk is full.
    pub(super) fn full_now(&mut self, now: Time) {
        self.full_at = Some(now);
    }

    /// Whether the disk was full a moment ago, so that nothing is tried that can wait.
    pub(super) fn is_full(&mut self, now: Time) -> bool {
        // A clock that was set back ends it too.
        if self.full_at.is_some_and(|at| now < at || now >= at.after(FULL_RETRY)) {
            self.full_at = None;
        }
        self.full_at.is_some()
    }

    /// When time brings something next, as far as it can be taken.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let machines = self.machines.next_deadline();
        let machines = match self.full_at {
            Some(at) => machines.map(|deadline| deadline.max(at.after(FULL_RETRY))),
            None => machines,
        };
        let again = self.outboxes.iter().filter_map(Outbox::next_deadline);
        machines.into_iter().chain(again).min()
    }

    /// Lets an answer leave when everything that it may have seen is durable.
    pub(super) fn answer(&mut self, caller: C, answer: Result<Answer<PayloadAt>, Refusal>, since_us: u64) {
        self.figures.refusals += u64::from(answer.is_err());
        self.wait(Waits::Answer(caller, answer), since_us);
    }

    /// Lets an answer leave that has everything.
    pub(super) fn answer_whole(&mut self, caller: C, answer: Result<crate::Answer, Refusal>, since_us: u64) {
        self.figures.refusals += u64::from(answer.is_err());
        self.wait(Waits::Whole(caller, answer), since_us);
    }

    pub(super) fn wait(&mut self, what: Waits<C>, since_us: u64) {
        let after = self.journal.end();
        self.pending.push_back(Pending { after, since_us, decided_by: None, what });
    }

    /// Starts a commit of what was appended, and announces what goes to other shards.
    ///
    /// Called at the end of each turn.
    pub(super) fn commit(&mut self, since_us: u64) -> Result<(), Fault> {
        self.answer_decided::<Ledger>(since_us);
        self.announce(since_us);
        self.announce_to_edge(since_us);
        if self.uncommitted {
            self.uncommitted = false;
            self.journal.commit()?;
        }
        Ok(())
    }

    /// Sends what is durable. Dead segments may go when nothing older waits.
    pub(super) fn release(
        &mut self,
        now: Time,
        output: &mut Output<C>,
        settings: &CoreSettings,
    ) -> Result<(), Fault> {
        if self.pending.is_empty() && !self.segments.has_dead() {
            return Ok(());
        }
        let durable = self.journal.durable()?;
        self.release_until(durable, now, output, settings);
        if self.pending.is_empty() {
            self.segments.remove_dead(&mut self.journal, durable);
        }
        Ok(())
    }

    /// Lets the answers go whose records are before `durable`.
    pub(super) fn release_until(
        &mut self,
        durable: Position,
        now: Time,
        output: &mut Output<C>,
        settings: &CoreSettings,
    ) {
        let mut last_batch = None;
        while self.pending.front().is_some_and(|pending| pending.after <= durable) {
            let pending = self.pending.pop_front().expect("there is a first one");
            if last_batch != Some(pending.since_us) {
                last_batch = Some(pending.since_us);
                self.figures.durable_lag_us.add((self.stopwatch)().saturating_sub(pending.since_us));
            }
            match pending.what {
                Waits::Answer(caller, answer) => {
                    let filled = |answer| self.payloads.fill(&self.journal, answer, &mut self.spoilt);
                    let answer = answer.and_then(filled).map(crate::Answer::Queue);
                    output.replies.push(Reply { caller, answer });
                }
                Waits::Whole(caller, answer) => {
                    output.replies.push(Reply { caller, answer });
                }
                Waits::Walk(caller, walk) => {
                    let answer = self.walk(walk, settings);
                    output.replies.push(Reply { caller, answer });
                }
                Waits::Confirmation(shard, confirmation) => output.confirmations.push((shard, confirmation)),
                Waits::ToEdge(mut to_edge) => output.to_edge.append(&mut to_edge),
                Waits::Outgoing(machine, below) => self.send_new(machine, below, now, output, settings.place),
                Waits::Confirmed(machine, below) => self.outbox(machine).confirmed(below),
            }
        }
        self.figures.damaged = self.payloads.damaged;
    }

    /// Jobs that were found unreadable when they were to be handed out are set aside; those that may be read later are due again then.
    pub(super) fn bury_spoilt(&mut self, now: Time) -> Result<(), Fault> {
        while let Some(Spoilt { lease, unreadable: Unreadable { reason, how } }) = self.spoilt.pop() {
            if how == How::ForNow {
                tracing::warn!(job = %lease.job, %reason, "Payload cannot be read now; the job is due again later");
                let retry = Retry::NotTried(FULL_RETRY);
                self.execute(&Command::Release { leases: vec![lease], retry, error: None }, now)?;
                continue;
            }
            tracing::error!(job = %lease.job, %reason, "Payload damaged; the job is buried");
            let command = Command::Bury { leases: vec![lease], reason: Some(reason) };
            // Where there is no room its lease ends, and it comes here again.
            self.execute(&command, now)?;
        }
        Ok(())
    }

    /// What was reserved for somebody who has gone is due again, and the attempt does not count.
    pub(super) fn give_back(&mut self, leases: Vec<Lease>, now: Time) -> Result<(), Fault> {
        // Where there is no room the leases end by themselves.
        self.execute(&Command::Release { leases, retry: Retry::NotTried(0), error: None }, now)?;
        Ok(())
    }

    /// One step of a checkpoint and of freeing segments.
    pub(super) fn background(
        &mut self,
        now: Time,
        settings: &CoreSettings,
        is_idle: bool,
    ) -> Result<Step, Fault> {
        let (machines, journal) = (&mut self.machines, &mut self.journal);
        let step = self.checkpointing.step(machines, journal, &self.segments, settings, now);
        if step == Step::Finished {
            self.figures.tail_records = 0;
        }
        if step == Step::Idle || step == Step::Finished {
            self.segments.look(&self.journal, settings, self.checkpointing.floor(), now);
            if is_idle && !self.is_full(now) && self.rewrite(now, settings)? {
                return Ok(Step::AtOnce);
            }
        }
        Ok(step)
    }

    /// Tells all whose answers wait that nothing is acknowledged.
    pub(super) fn give_up(&mut self, refusal: &Refusal, output: &mut Output<C>) {
        for pending in self.pending.drain(..) {
            let refusal = pending.decided_by.map_or_else(|| refusal.clone(), Machine::pending_refusal);
            match pending.what {
                Waits::Answer(caller, _) | Waits::Whole(caller, _) | Waits::Walk(caller, _) => {
                    output.replies.push(Reply { caller, answer: Err(refusal) });
                }
                Waits::Confirmation(shard, confirmation) => {
                    let refused = Confirmation { taken: Err(refusal), ..confirmation };
                    output.confirmations.push((shard, refused));
                }
                // Whoever is connected arrives anew, and is given what it is owed.
                Waits::Outgoing(..) | Waits::Confirmed(..) | Waits::ToEdge(_) => {}
            }
        }
        self.give_up_undecided(output);
    }
}

/// Appends a record for which room was made, where it was announced.
fn append(journal: &mut impl Journal, record: &[u8], at: Position, room: Room) -> Result<(), Fault> {
    let appended = match room {
        Room::Ordinary => journal.append(record),
        Room::Reserved => journal.append_reserved(record),
    };
    let appended = appended.map_err(|error| match error {
        // Room was made: that it does not suffice is our miscalculation.
        Error::Busy { .. } | Error::Full | Error::Descriptors | Error::TooLarge { .. } => {
            Fault::Broken(format!("a record of {} bytes did not fit: {error}", record.len()))
        }
        error => error.into(),
    })?;
    if appended != at {
        return Err(Fault::Broken(format!("a record stands at {appended}, announced was {at}")));
    }
    Ok(())
}

/// Numbers for jitter: what follows from them is in the journal.
pub(super) struct Random(u64);

impl Random {
    /// `SplitMix64`.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
