//! A shard whose journal is open: the machines, and the answers that wait for a commit.
//!
//! Here decisions become records. A decision is appended first and answered when it is durable.
//! [`super::cross_shard`] exchanges messages with other shards.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use stadium_journal::{Error, Journal, Position, Room};
use stadium_state_machine::{
    Effects, Executed, Gone, Lookup, Milliseconds, Record, Refusal, Time, Unreadable,
};

use super::checkpointing::{Checkpointing, Step};
use super::composition::carried::FeedJobs;
use super::direct::Direct;
use super::fault::{FULL_RETRY, Fault, Lack, NoRoom, not_read, too_large};
use super::machines::Machines;
use super::outbox::Outbox;
use super::payloads::Payloads;
use super::ports::{Body, Caller, Confirmation, NodeLease, Output, Reply, Request};
use super::segments::Segments;
use super::settings::CoreSettings;
use super::slot::{AnyAnswer, AnyWalk};
use super::target::{Target, Typed};
use crate::error::{log_away, outcome_unknown, rejected};
use crate::frame::{Frame, HEADER_BYTES, MachineId, write_header};
use crate::metrics::Counts;

/// Bytes of a record beside its events: the frame, and some more.
pub(super) const BASE_BYTES: usize = HEADER_BYTES + 1_024;

/// No record has this position: what leaves after it is held.
pub(super) const HELD: Position = Position(u64::MAX);

/// The result of a command.
pub(super) enum Taken<A> {
    /// The answer, which may leave when everything is durable that it may have seen.
    Answer(Result<A, Refusal>),
    /// The same, of a command that never changes anything.
    Lookup(Result<A, Refusal>),
    /// Records are read then.
    Walk(Box<dyn AnyWalk>),
    /// Other shards are asked; the machine has the answer under this number later.
    Pending(u64),
    /// Not now: the journal is behind. Nothing happened.
    Behind,
}

/// What leaves when the journal is durable up to a position.
pub(super) struct Pending<C, M: Direct> {
    pub(super) after: Position,
    /// When it was decided, by the stopwatch.
    pub(super) since_us: u64,
    /// The answer of a command of this machine that waited for other shards. Where the record is
    /// cut the command is decided again, and may come out otherwise.
    pub(super) decided_by: Option<MachineId>,
    /// The answer of a command that never changes anything.
    pub(super) is_lookup: bool,
    /// Its command is kept: the next of [`Running::kept`] whose answer waits.
    pub(super) is_kept: bool,
    pub(super) what: Waits<C, M>,
}

/// A caller whose command waits for other shards.
pub(super) struct Undecided<C, M: Direct> {
    pub(super) caller: C,
    /// The command, where it is kept.
    pub(super) body: Option<Body<M::Command>>,
}

pub(super) enum Waits<C, M: Direct> {
    /// An answer of the direct machine, whose payloads are read then.
    Answer(C, Result<M::Answer, Refusal>),
    /// An answer that has everything.
    Whole(C, Result<crate::Answer, Refusal>),
    /// Records that are read then, for a machine.
    Walk(C, MachineId, Box<dyn AnyWalk>),
    Confirmation(u16, Confirmation),
    /// Effects of a machine on other parts of the process.
    Effects(MachineId, Effects),
    /// Cross-shard messages with a number below this one may be sent.
    Outgoing(MachineId, u64),
    /// Messages sent below this number are confirmed, and that is remembered.
    Confirmed(MachineId, u64),
}

/// A shard whose journal is open.
pub(super) struct Running<J, C, M: Direct> {
    pub(super) journal: J,
    pub(super) machines: Machines,
    pub(super) checkpointing: Checkpointing,
    pub(super) segments: Segments,
    /// The record that is being written.
    pub(super) record: Record,
    pub(super) pending: VecDeque<Pending<C, M>>,
    /// Commands that come back if they are not answered, in the order of their answers in `pending`.
    /// They are moved here, not copied; a shard of a standalone server keeps none.
    pub(super) kept: VecDeque<Body<M::Command>>,
    pub(super) shard: u16,
    /// See [`CoreSettings::lease`].
    pub(super) lease: Option<Arc<dyn NodeLease>>,
    /// Of `pending`, with a lease: from here on none was decided under a certain lease, or has a
    /// commit that was begun after it.
    pub(super) unproven_from: usize,
    /// The end of the journal when the turn began to take commands. The journal has sent nothing of
    /// what was appended since, until the next commit.
    pub(super) taken_from: Position,
    /// The end of a barrier that is on its way.
    pub(super) barrier: Option<Position>,
    /// Callers of pending commands, by the machine's number for the command.
    pub(super) undecided: HashMap<(MachineId, u64), Undecided<C, M>, foldhash::fast::RandomState>,
    pub(super) payloads: Payloads,
    /// Items that were to be handed out, and cannot be read.
    pub(super) unreadable: Vec<(M::Lease, Unreadable)>,
    pub(super) random: Random,
    /// Microseconds since an arbitrary time.
    pub(super) stopwatch: fn() -> u64,
    /// Something was appended since the last commit was started.
    uncommitted: bool,
    /// The disk was full at this time.
    full_at: Option<Time>,
    /// Callers stopped waiting for a commit; it is through when this position is durable.
    overdue: Option<Position>,
    /// Messages to other shards, by machine.
    pub(super) outboxes: Vec<Outbox>,
    pub(super) feed_jobs: FeedJobs,
    pub(super) figures: Figures,
}

/// What a running shard counts.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) commands: u64,
    pub(super) refusals: u64,
    pub(super) records: u64,
    pub(super) barriers: u64,
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
        self.barriers += other.barriers;
        self.damaged += other.damaged;
        self.sent += other.sent;
    }
}

impl<J: Journal, C: Caller, M: Direct> Running<J, C, M> {
    pub(super) fn new(
        journal: J,
        machines: Machines,
        checkpointing: Checkpointing,
        segments: Segments,
        settings: &CoreSettings,
        tail_records: u64,
    ) -> Self {
        let outboxes = machines
            .all()
            .map(|(_, slot)| Outbox::new(slot.outgoing_first(), settings.confirmed_within))
            .collect();
        Self {
            journal,
            machines,
            checkpointing,
            segments,
            record: Record::new(),
            pending: VecDeque::new(),
            kept: VecDeque::new(),
            shard: settings.place.shard,
            lease: settings.lease.clone(),
            unproven_from: 0,
            taken_from: Position::START,
            barrier: None,
            undecided: HashMap::default(),
            payloads: Payloads::default(),
            unreadable: Vec::new(),
            random: Random(settings.seed),
            stopwatch: settings.stopwatch,
            uncommitted: false,
            full_at: None,
            overdue: None,
            outboxes,
            feed_jobs: FeedJobs::default(),
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
        machine: MachineId,
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
        machines: &[MachineId],
    ) -> Result<(), Fault> {
        append(&mut self.journal, self.record.bytes(), at, room)?;
        self.uncommitted = true;
        self.figures.records += 1;
        self.figures.tail_records += 1;
        for &machine in machines {
            // Payloads became needed, or unneeded, with it.
            self.machines.slot_mut(machine).take_payload_changes(self.segments.changes());
            if self.machines.kinds.of(machine).records_stay {
                self.segments.pin(&self.journal, at);
            }
        }
        self.segments.apply(&self.journal);
        Ok(())
    }

    /// Carries out a command, or looks up its answer.
    pub(super) fn carry_out<T: Target>(
        &mut self,
        target: T,
        command: &T::Command,
        now: Time,
    ) -> Result<Taken<T::Answer>, Fault> {
        let machines = &mut self.machines;
        let now = machines.slot(target.id()).record_time(now);
        if target.is_read(machines, command) {
            return Ok(match target.read(machines, now, command, self.stopwatch) {
                Ok(Lookup::Answer(answer)) => Taken::Lookup(Ok(answer)),
                Ok(Lookup::Walk(walk)) => Taken::Walk(walk),
                Err(refusal) => Taken::Lookup(Err(refusal)),
            });
        }
        let room = if target.may_use_reserve(machines, command) { Room::Reserved } else { Room::Ordinary };
        let bytes = BASE_BYTES + target.record_bytes_max(machines, command);
        let at = match self.room_for(bytes, room, now)? {
            Some(Ok(at)) => at,
            Some(Err(refusal)) => return Ok(Taken::Answer(Err(refusal))),
            None => return Ok(Taken::Behind),
        };
        self.record.begin(HEADER_BYTES);
        let random = self.random.next();
        let executed = target.execute(&mut self.machines, at.0, now, random, command, &mut self.record);
        self.append_events(target.id(), at, now, room)?;
        Ok(match executed {
            Ok(Executed::Done(answer)) => Taken::Answer(Ok(answer)),
            Ok(Executed::Pending(number)) => Taken::Pending(number),
            Err(refusal) => Taken::Answer(Err(refusal)),
        })
    }

    /// Carries out a command to the direct machine that is answered at once. None where the journal
    /// is behind.
    pub(super) fn execute(
        &mut self,
        command: &M::Command,
        now: Time,
    ) -> Result<Option<Result<M::Answer, Refusal>>, Fault> {
        Ok(match self.carry_out(Typed::<M>::new(), command, now)? {
            Taken::Answer(answer) | Taken::Lookup(answer) => Some(answer),
            Taken::Behind => None,
            Taken::Walk(_) | Taken::Pending(_) => {
                unreachable!("commands that wait or take items back are answered at once")
            }
        })
    }

    /// Reads the records that a lookup of a machine names, newest first, up to a bound.
    fn walk(
        &mut self,
        machine: MachineId,
        mut walk: Box<dyn AnyWalk>,
        settings: &CoreSettings,
    ) -> Result<crate::Answer, Refusal> {
        let slot = self.machines.slot(machine);
        let mut reader = self.journal.reader();
        let mut bytes = 0;
        while let Some(at) = walk.next()
            && bytes <= settings.history_bytes_max
        {
            let damaged = |what: String| {
                let at = Position(at);
                rejected("SHARD-010", format!("the record at position {at} cannot be read: {what}"))
            };
            let record = match reader.record(Position(at)) {
                Err(error @ Error::Gone(_)) => match walk.gone(slot) {
                    Gone::Ends => break,
                    Gone::Refused(refusal) => return Err(refusal),
                    Gone::Damaged => return Err(not_read(error, damaged)),
                },
                record => record.map_err(|error| not_read(error, damaged))?,
            };
            bytes += record.body.len();
            let frame = Frame::parse(record.body).map_err(damaged)?;
            let section = frame
                .sections()
                .find(|section| section.machine == machine)
                .ok_or_else(|| damaged("it has no section of this state machine".into()))?;
            walk.read(slot, section.of(settings.place.shard, at, frame.time))
                .map_err(|error| damaged(error.reason))?;
        }
        let answer = walk.finish(slot)?;
        self.whole(machine, answer)
    }

    /// An answer with everything that is in it.
    fn whole(&mut self, machine: MachineId, answer: AnyAnswer) -> Result<crate::Answer, Refusal> {
        if machine != MachineId::of::<M>() {
            return Ok(crate::Answer::Machine(machine, answer));
        }
        self.resolve(*answer.downcast().expect("a machine gives its own answers"))
    }

    /// An answer of the direct machine with its payloads.
    fn resolve(&mut self, answer: M::Answer) -> Result<crate::Answer, Refusal> {
        self.payloads.resolve::<M>(&self.journal, answer, &mut self.unreadable).map(M::answer)
    }

    /// Lets the answers leave of commands that were pending and are decided now.
    fn answer_decided(&mut self, since_us: u64) {
        let after = self.journal.end();
        let Self { machines, undecided, pending, kept, figures, .. } = self;
        for (machine, slot) in machines.all_mut() {
            slot.take_decided(&mut |number, answer| {
                // Nobody waits for those that were under way when the shard was opened.
                if let Some(Undecided { caller, body }) = undecided.remove(&(machine, number)) {
                    figures.refusals += u64::from(answer.is_err());
                    let what = if machine == MachineId::of::<M>() {
                        let own =
                            |answer: AnyAnswer| *answer.downcast().expect("a machine gives its own answers");
                        Waits::Answer(caller, answer.map(own))
                    } else {
                        Waits::Whole(caller, answer.map(|answer| crate::Answer::Machine(machine, answer)))
                    };
                    let (decided_by, is_kept) = (Some(machine), body.is_some());
                    kept.extend(body);
                    pending.push_back(Pending {
                        after,
                        since_us,
                        decided_by,
                        is_lookup: false,
                        is_kept,
                        what,
                    });
                }
            });
        }
    }

    /// Lets leave what machines have for other parts of the process.
    fn announce_effects(&mut self, since_us: u64) {
        let after = self.journal.end();
        for (machine, slot) in self.machines.all_mut() {
            if let Some(effects) = slot.take_effects() {
                let what = Waits::Effects(machine, effects);
                self.pending.push_back(Pending {
                    after,
                    since_us,
                    decided_by: None,
                    is_lookup: false,
                    is_kept: false,
                    what,
                });
            }
        }
    }

    /// The shard starts over, or stops: work under way between shards goes on later, and nobody can
    /// wait for it here. Commands that are kept are set aside with their refusals.
    pub(super) fn give_up_undecided(&mut self, output: &mut Output<C, M>) {
        let mut given_up: Vec<_> = self.undecided.drain().collect();
        // In the order of their numbers: a run of the simulator is determined by its seed.
        given_up.sort_unstable_by_key(|&(command, _)| command);
        for ((machine, _), Undecided { caller, body }) in given_up {
            let refusal = self.machines.kinds.of(machine).pending_refusal();
            output.set_aside(caller, body, refusal, 0);
        }
    }

    /// Does the work that is due, within the bounds of a turn. Returns whether more is due.
    pub(super) fn take_time(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        let mut more = false;
        for at in 0..self.machines.kinds.len() {
            more |= self.tick(self.machines.kinds.get(at).id, now, settings)?;
        }
        Ok(more)
    }

    /// Has a machine do the work that is due. Returns whether more is due.
    fn tick(&mut self, machine: MachineId, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        let slot = self.machines.slot(machine);
        if !slot.is_due(now) {
            return Ok(false);
        }
        let record_time = slot.record_time(now);
        if self.is_full(now) {
            return Ok(false);
        }
        let mut events = settings.turn_events_max.max(1);
        let at = loop {
            let bytes = BASE_BYTES + self.machines.slot(machine).tick_bytes_max(events);
            match self.make_room(bytes, Room::Ordinary)? {
                Ok(at) => break at,
                Err(NoRoom::Behind) => return Ok(false),
                Err(NoRoom::Full(_)) => {
                    self.full_now(now);
                    return Ok(false);
                }
                // Where records are short a turn does less.
                Err(NoRoom::TooLarge { .. }) if events > 1 => events /= 2,
                Err(NoRoom::TooLarge { bytes, bytes_max }) => {
                    return Err(Fault::Broken(format!(
                        "due work asks for a record of {bytes} bytes; the journal takes {bytes_max}"
                    )));
                }
            }
        };
        self.record.begin(HEADER_BYTES);
        let random = self.random.next();
        let slot = self.machines.slot_mut(machine);
        let more = slot.tick(at.0, record_time, random, &mut self.record, events);
        self.append_events(machine, at, record_time, Room::Ordinary)?;
        Ok(more)
    }

    /// The disk is full.
    pub(super) fn full_now(&mut self, now: Time) {
        self.full_at = Some(now);
    }

    /// Whether the disk was full a short time ago, so that nothing is tried that can wait.
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
    pub(super) fn answer(&mut self, caller: C, answer: Result<M::Answer, Refusal>, since_us: u64) {
        self.figures.refusals += u64::from(answer.is_err());
        self.wait(Waits::Answer(caller, answer), since_us);
    }

    /// As [`Self::answer`], of a request that was carried out: it is kept where it comes back.
    pub(super) fn answer_request(
        &mut self,
        request: Request<C, M::Command>,
        answer: Result<M::Answer, Refusal>,
        since_us: u64,
    ) {
        let Request { caller, command, .. } = request;
        let is_kept = caller.comes_back();
        self.answer(caller, answer, since_us);
        if is_kept {
            self.keep(Body::Direct(command));
        }
    }

    /// Lets an answer leave that has everything.
    pub(super) fn answer_whole(&mut self, caller: C, answer: Result<crate::Answer, Refusal>, since_us: u64) {
        self.figures.refusals += u64::from(answer.is_err());
        self.wait(Waits::Whole(caller, answer), since_us);
    }

    pub(super) fn wait(&mut self, what: Waits<C, M>, since_us: u64) {
        self.wait_for(what, false, since_us);
    }

    /// As [`Self::wait`], for the answer of a command that never changes anything.
    pub(super) fn wait_for_lookup(&mut self, what: Waits<C, M>, since_us: u64) {
        self.wait_for(what, true, since_us);
    }

    fn wait_for(&mut self, what: Waits<C, M>, is_lookup: bool, since_us: u64) {
        let after = self.journal.end();
        self.pending.push_back(Pending {
            after,
            since_us,
            decided_by: None,
            is_lookup,
            is_kept: false,
            what,
        });
    }

    /// Keeps the command whose answer began to wait just now.
    pub(super) fn keep(&mut self, body: Body<M::Command>) {
        let last = self.pending.back_mut().expect("its answer waits");
        debug_assert!(!last.is_kept, "a command is kept once");
        last.is_kept = true;
        self.kept.push_back(body);
    }

    /// Takes out the command of an answer that waited longest of all.
    fn take_kept(&mut self, pending: &Pending<C, M>) -> Option<Body<M::Command>> {
        if pending.is_kept { self.kept.pop_front() } else { None }
    }

    /// Starts a commit of what was appended, and announces what goes to other shards.
    ///
    /// Called at the end of each turn.
    pub(super) fn commit(&mut self, now: Time, since_us: u64) -> Result<(), Fault> {
        self.answer_decided(since_us);
        self.announce(since_us);
        self.announce_effects(since_us);
        if self.lease.is_some() {
            self.prove(now)?;
        }
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
        output: &mut Output<C, M>,
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
        output: &mut Output<C, M>,
        settings: &CoreSettings,
    ) {
        let mut last_batch = None;
        let before = self.pending.len();
        while self.pending.front().is_some_and(|pending| pending.after <= durable) {
            let pending = self.pending.pop_front().expect("there is a first one");
            drop(self.take_kept(&pending));
            if last_batch != Some(pending.since_us) {
                last_batch = Some(pending.since_us);
                self.figures.durable_lag_us.add((self.stopwatch)().saturating_sub(pending.since_us));
            }
            match pending.what {
                Waits::Answer(caller, answer) => {
                    let answer = answer.and_then(|answer| self.resolve(answer));
                    output.replies.push(Reply { caller, answer });
                }
                Waits::Whole(caller, answer) => {
                    output.replies.push(Reply { caller, answer });
                }
                Waits::Walk(caller, machine, walk) => {
                    let answer = self.walk(machine, walk, settings);
                    output.replies.push(Reply { caller, answer });
                }
                Waits::Confirmation(shard, confirmation) => output.confirmations.push((shard, confirmation)),
                Waits::Effects(machine, effects) => output.effects.push((machine, effects)),
                Waits::Outgoing(machine, below) => self.send_new(machine, below, now, output, settings.place),
                Waits::Confirmed(machine, below) => self.outbox(machine).confirmed(below),
            }
        }
        self.unproven_from = self.unproven_from.saturating_sub(before - self.pending.len());
        self.figures.damaged = self.payloads.damaged;
    }

    /// Whether a commit takes longer than callers wait for it. Those who waited so long hear that
    /// the outcome is unknown; of a lookup, that it is busy. Leases that they were to get end by
    /// themselves.
    pub(super) fn is_overdue(
        &mut self,
        output: &mut Output<C, M>,
        settings: &CoreSettings,
    ) -> Result<bool, Fault> {
        let Some(wait) = settings.commit_wait else { return Ok(false) };
        if let Some(until) = self.overdue
            && self.journal.durable()? >= until
        {
            self.overdue = None;
        }
        let now_us = (self.stopwatch)();
        let has_waited = |pending: &Pending<C, M>| now_us.saturating_sub(pending.since_us) >= wait * 1_000;
        if !self.pending.front().is_some_and(has_waited) {
            return Ok(self.overdue.is_some());
        }
        self.overdue.get_or_insert(self.journal.end());
        // The rest of the shard's work goes on when the commit is through.
        let mut others = VecDeque::new();
        while let Some(pending) = self.pending.pop_front_if(|pending| has_waited(pending)) {
            let body = self.take_kept(&pending);
            match pending.what {
                Waits::Answer(caller, _) | Waits::Whole(caller, _) | Waits::Walk(caller, ..) => {
                    let refusal = match pending.is_lookup {
                        true => log_away(),
                        false => outcome_unknown("the replicated log does not answer"),
                    };
                    output.refuse(caller, body, refusal, now_us.saturating_sub(pending.since_us) / 1_000);
                }
                _ => others.push_back(pending),
            }
        }
        others.append(&mut self.pending);
        self.pending = others;
        self.unproven_from = self.first_held();
        Ok(true)
    }

    /// Whether a commit was overdue in the last turn, and is not confirmed yet.
    pub(super) fn is_log_away(&self) -> bool {
        self.overdue.is_some()
    }

    /// Milliseconds until a commit is overdue, where one is waited for.
    pub(super) fn overdue_in(&self, settings: &CoreSettings) -> Option<Milliseconds> {
        let wait = settings.commit_wait?;
        let waited_us = (self.stopwatch)().saturating_sub(self.pending.front()?.since_us);
        Some((wait + 1).saturating_sub(waited_us / 1_000).max(1))
    }

    /// Sets items aside that were found unreadable when they were to be handed out; those that may
    /// be read later are handed out then.
    pub(super) fn set_unreadable_aside(&mut self, now: Time) -> Result<(), Fault> {
        while let Some((lease, unreadable)) = self.unreadable.pop() {
            let command = match unreadable {
                Unreadable::Temporary(reason) => {
                    tracing::warn!(%lease, %reason, "Payload cannot be read now; the job is due again later");
                    M::take_back(vec![lease], FULL_RETRY)
                }
                Unreadable::Permanent(reason) => {
                    tracing::error!(%lease, %reason, "Payload damaged; the job is buried");
                    M::set_aside(lease, reason)
                }
            };
            // Where there is no room its lease ends, and it comes here again.
            self.execute(&command, now)?;
        }
        Ok(())
    }

    /// Items that were handed out to a caller that has gone are ready again, and the attempt does
    /// not count.
    pub(super) fn give_back(&mut self, leases: Vec<M::Lease>, now: Time) -> Result<(), Fault> {
        // Where there is no room the leases end by themselves.
        self.execute(&M::take_back(leases, 0), now)?;
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

    /// Answers everyone whose answer waits that nothing is acknowledged. Commands that are kept are set
    /// aside with their refusals.
    pub(super) fn give_up(&mut self, refusal: &Refusal, output: &mut Output<C, M>) {
        let now_us = (self.stopwatch)();
        while let Some(pending) = self.pending.pop_front() {
            let body = self.take_kept(&pending);
            let refusal = match pending.decided_by {
                Some(machine) => self.machines.kinds.of(machine).pending_refusal(),
                None => refusal.clone(),
            };
            match pending.what {
                Waits::Answer(caller, _) | Waits::Whole(caller, _) | Waits::Walk(caller, ..) => {
                    let held_ms = now_us.saturating_sub(pending.since_us) / 1_000;
                    output.set_aside(caller, body, refusal, held_ms);
                }
                Waits::Confirmation(shard, confirmation) => {
                    let refused = Confirmation { taken: Err(refusal), ..confirmation };
                    output.confirmations.push((shard, refused));
                }
                // Messages are sent again, and receivers of effects announce themselves anew.
                Waits::Outgoing(..) | Waits::Confirmed(..) | Waits::Effects(..) => {}
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
