//! Drives the state machines: commands, lookups, and the work that falls due.
//!
//! A [`Slot`] binds a machine to its section of a record and to its answers and lookups among the
//! shard's.

use stadium_journal::{Error, Journal, Position, Room};
use stadium_push::Platform;
use stadium_queue::Queues;
use stadium_session::Sessions;
use stadium_state_machine::{Executed, Lookup, Refusal, StateMachine, Time, Walk as _};
use stadium_wallet::Ledger;

use super::fault::{Fault, NoRoom, not_read};
use super::machines::Machines;
use super::ports::{Caller, Output, Reply};
use super::running::{Pending, Running, Waits};
use super::settings::CoreSettings;
use crate::error::rejected;
use crate::frame::{Frame, HEADER_BYTES, Machine};

/// Bytes of a record beside its events: the frame, and some more.
pub(super) const BASE_BYTES: usize = HEADER_BYTES + 1_024;

/// A machine that keeps the trait, as a part of the shard.
pub(super) trait Slot: StateMachine {
    /// Whose section of a record its events are.
    const MACHINE: Machine;

    /// It, among the others.
    fn of(machines: &mut Machines) -> &mut Self;

    /// An answer on its way to whoever asked, until it may leave.
    fn waits<C>(caller: C, answer: Result<Self::Answer, Refusal>) -> Waits<C>;

    /// Its lookup as one of the shard.
    fn walk(walk: Self::Walk) -> Walk;

    /// Looks something up. A machine has no clock: an answer that says how long it took gets that
    /// here.
    fn look_up(
        &mut self,
        now: Time,
        command: &Self::Command,
        _stopwatch: fn() -> u64,
    ) -> Result<Lookup<Self::Answer, Self::Walk>, Refusal> {
        self.read(now, command)
    }
}

impl Slot for Queues {
    const MACHINE: Machine = Machine::Queue;

    fn of(machines: &mut Machines) -> &mut Self {
        &mut machines.queues
    }

    fn waits<C>(caller: C, answer: Result<Self::Answer, Refusal>) -> Waits<C> {
        Waits::Answer(caller, answer)
    }

    fn walk(walk: Self::Walk) -> Walk {
        Walk::Queue(Box::new(walk))
    }
}

impl Slot for Ledger {
    const MACHINE: Machine = Machine::Wallet;

    fn of(machines: &mut Machines) -> &mut Self {
        &mut machines.ledger
    }

    fn waits<C>(caller: C, answer: Result<Self::Answer, Refusal>) -> Waits<C> {
        Waits::Whole(caller, answer.map(crate::Answer::Wallet))
    }

    fn walk(walk: Self::Walk) -> Walk {
        Walk::Wallet(Box::new(walk))
    }
}

impl Slot for Platform {
    const MACHINE: Machine = Machine::Push;

    fn of(machines: &mut Machines) -> &mut Self {
        &mut machines.platform
    }

    fn waits<C>(caller: C, answer: Result<Self::Answer, Refusal>) -> Waits<C> {
        Waits::Whole(caller, answer.map(crate::Answer::Push))
    }

    fn walk(walk: Self::Walk) -> Walk {
        match walk {}
    }

    fn look_up(
        &mut self,
        now: Time,
        command: &Self::Command,
        stopwatch: fn() -> u64,
    ) -> Result<Lookup<Self::Answer, Self::Walk>, Refusal> {
        let began = stopwatch();
        let mut found = self.read(now, command)?;
        if let Lookup::Answer(stadium_push::Answer::Preview(preview)) = &mut found {
            preview.took_us = stopwatch().saturating_sub(began);
        }
        Ok(found)
    }
}

impl Slot for Sessions {
    const MACHINE: Machine = Machine::Session;

    fn of(machines: &mut Machines) -> &mut Self {
        &mut machines.sessions
    }

    fn waits<C>(caller: C, answer: Result<Self::Answer, Refusal>) -> Waits<C> {
        Waits::Whole(caller, answer.map(crate::Answer::Session))
    }

    fn walk(walk: Self::Walk) -> Walk {
        match walk {}
    }
}

/// A lookup in records of the journal.
pub(super) enum Walk {
    Queue(Box<stadium_queue::History>),
    Wallet(Box<stadium_wallet::Walk>),
}

/// The result of a command.
pub(super) enum Taken<A> {
    /// The answer, which may leave when everything is durable that it may have seen.
    Answer(Result<A, Refusal>),
    /// Records are read then.
    Walk(Walk),
    /// Other shards are asked; the machine has the answer under this number later.
    Pending(u64),
    /// Not now: the journal is behind. Nothing happened.
    Behind,
}

impl<J: Journal, C: Caller> Running<J, C> {
    /// Carries out a command, or looks up its answer.
    pub(super) fn carry_out<M: Slot>(
        &mut self,
        command: &M::Command,
        now: Time,
    ) -> Result<Taken<M::Answer>, Fault> {
        let machine = M::of(&mut self.machines);
        let now = machine.record_time(now);
        if M::is_read(command) {
            return Ok(match machine.look_up(now, command, self.stopwatch) {
                Ok(Lookup::Answer(answer)) => Taken::Answer(Ok(answer)),
                Ok(Lookup::Walk(walk)) => Taken::Walk(M::walk(walk)),
                Err(refusal) => Taken::Answer(Err(refusal)),
            });
        }
        let room = if M::may_use_reserve(command) { Room::Reserved } else { Room::Ordinary };
        let bytes = BASE_BYTES + machine.record_bytes_max(command);
        let at = match self.room_for(bytes, room, now)? {
            Some(Ok(at)) => at,
            Some(Err(refusal)) => return Ok(Taken::Answer(Err(refusal))),
            None => return Ok(Taken::Behind),
        };
        self.record.begin(HEADER_BYTES);
        let random = self.random.next();
        let executed = M::of(&mut self.machines).execute(at.0, now, random, command, &mut self.record);
        self.append_events(M::MACHINE, at, now, room)?;
        Ok(match executed {
            Ok(Executed::Done(answer)) => Taken::Answer(Ok(answer)),
            Ok(Executed::Pending(number)) => Taken::Pending(number),
            Err(refusal) => Taken::Answer(Err(refusal)),
        })
    }

    /// Reads the records that a lookup names, newest first, up to a bound.
    pub(super) fn walk(&mut self, walk: Walk, settings: &CoreSettings) -> Result<crate::Answer, Refusal> {
        match walk {
            Walk::Queue(walk) => {
                let answer = self.walk_on::<Queues>(*walk, settings)?;
                let filled = self.payloads.fill(&self.journal, answer, &mut self.spoilt);
                filled.map(crate::Answer::Queue)
            }
            Walk::Wallet(walk) => self.walk_on::<Ledger>(*walk, settings).map(crate::Answer::Wallet),
        }
    }

    fn walk_on<M: Slot>(&mut self, mut walk: M::Walk, settings: &CoreSettings) -> Result<M::Answer, Refusal> {
        let machine = &*M::of(&mut self.machines);
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
                Err(Error::Gone(_)) if walk.gone() => break,
                record => record.map_err(|error| not_read(error, damaged))?,
            };
            bytes += record.body.len();
            let frame = Frame::parse(record.body).map_err(damaged)?;
            let section = frame
                .sections()
                .find(|section| section.machine == M::MACHINE)
                .ok_or_else(|| damaged("it has no section of this state machine".into()))?;
            walk.read(machine, section.of(settings.place.shard, at, frame.time))
                .map_err(|error| damaged(error.reason))?;
        }
        walk.finish(machine)
    }

    /// Lets the answers leave of commands that were pending and are decided now.
    pub(super) fn answer_decided<M: Slot>(&mut self, since_us: u64) {
        let after = self.journal.end();
        let Self { machines, undecided, pending, figures, .. } = self;
        M::of(machines).take_decided(&mut |number, answer| {
            // Nobody waits for those that were under way when the shard was opened.
            if let Some(caller) = undecided.remove(&(M::MACHINE, number)) {
                figures.refusals += u64::from(answer.is_err());
                let (decided_by, what) = (Some(M::MACHINE), M::waits(caller, answer));
                pending.push_back(Pending { after, since_us, decided_by, what });
            }
        });
    }

    /// The shard starts over, or stops: what is under way between shards goes on later, and nobody
    /// can wait for it here.
    pub(super) fn give_up_undecided(&mut self, output: &mut Output<C>) {
        for ((machine, _), caller) in self.undecided.drain() {
            output.replies.push(Reply { caller, answer: Err(machine.pending_refusal()) });
        }
    }

    /// Has a machine do the work that is due. Returns whether more is due.
    pub(super) fn tick<M: Slot>(&mut self, now: Time, settings: &CoreSettings) -> Result<bool, Fault> {
        let machine = M::of(&mut self.machines);
        if !machine.is_due(now) {
            return Ok(false);
        }
        let record_time = machine.record_time(now);
        if self.is_full(now) {
            return Ok(false);
        }
        let mut events = settings.turn_events_max.max(1);
        let at = loop {
            let bytes = BASE_BYTES + M::of(&mut self.machines).tick_bytes_max(events);
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
                        "what time brings asks for a record of {bytes} bytes; the journal takes {bytes_max}"
                    )));
                }
            }
        };
        self.record.begin(HEADER_BYTES);
        let random = self.random.next();
        let more = M::of(&mut self.machines).tick(at.0, record_time, random, &mut self.record, events);
        self.append_events(M::MACHINE, at, record_time, Room::Ordinary)?;
        Ok(more)
    }

    /// Lets leave what goes to devices when everything is durable that led to it.
    pub(super) fn announce_to_edge(&mut self, since_us: u64) {
        let mut to_edge = Vec::new();
        self.machines.platform.take_to_edge(&mut to_edge);
        if !to_edge.is_empty() {
            self.wait(Waits::ToEdge(to_edge), since_us);
        }
    }
}
