//! Machines that keep the trait which machines have in common: their commands, their letters, and what time brings them.
//!
//! The queues and the wallets came before the trait and do more: see [`super::running`] and [`super::wallets`].

use stadium_journal::{Journal, Room};
use stadium_push::Platform;
use stadium_session::Sessions;
use stadium_state_machine::{Refusal, StateMachine, Time};

use super::fault::{Fault, NoRoom};
use super::machines::Machines;
use super::room::BASE_BYTES;
use super::running::{Running, Waits};
use super::seam::Caller;
use super::settings::CoreSettings;
use crate::frame::{HEADER_BYTES, Machine};

/// A machine that keeps the trait, as a part of the shard.
pub(super) trait Uniform: StateMachine {
    /// Whose section of a record its events are.
    const MACHINE: Machine;

    /// It, among the others.
    fn of(machines: &mut Machines) -> &mut Self;

    /// Its answer as one of the shard.
    fn answer(answer: Self::Answer) -> crate::Answer;

    /// Says in an answer how long it took to find, in microseconds, where it has a place for that: a machine has no clock.
    fn say_took(_answer: &mut Self::Answer, _took_us: u64) {}
}

impl Uniform for Platform {
    const MACHINE: Machine = Machine::Push;

    fn of(machines: &mut Machines) -> &mut Self {
        &mut machines.platform
    }

    fn answer(answer: Self::Answer) -> crate::Answer {
        crate::Answer::Push(answer)
    }

    fn say_took(answer: &mut Self::Answer, took_us: u64) {
        if let stadium_push::Answer::Preview(preview) = answer {
            preview.took_us = took_us;
        }
    }
}

impl Uniform for Sessions {
    const MACHINE: Machine = Machine::Session;

    fn of(machines: &mut Machines) -> &mut Self {
        &mut machines.sessions
    }

    fn answer(answer: Self::Answer) -> crate::Answer {
        crate::Answer::Session(answer)
    }
}

impl<J: Journal, C: Caller> Running<J, C> {
    /// Carries out a command, or finds its answer. None where the journal is behind; nothing happened then.
    pub(super) fn take_uniform<M: Uniform>(
        &mut self,
        command: &M::Command,
        now: Time,
        stopwatch: fn() -> u64,
    ) -> Result<Option<Result<crate::Answer, Refusal>>, Fault> {
        let machine = M::of(&mut self.machines);
        if M::is_read(command) {
            let began = stopwatch();
            let mut answer = machine.read(now, command);
            if let Ok(answer) = &mut answer {
                M::say_took(answer, stopwatch().saturating_sub(began));
            }
            return Ok(Some(answer.map(M::answer)));
        }
        let room = if M::may_use_reserve(command) { Room::Reserved } else { Room::Ordinary };
        let bytes = BASE_BYTES + machine.record_bytes_max(command);
        let at = match self.room_for(bytes, room, now)? {
            Some(Ok(at)) => at,
            Some(Err(refusal)) => return Ok(Some(Err(refusal))),
            None => return Ok(None),
        };
        self.record.begin(HEADER_BYTES);
        let random = self.random.next();
        let answer = M::of(&mut self.machines).execute(at.0, now, random, command, &mut self.record);
        self.append_events(M::MACHINE, at, now, room)?;
        Ok(Some(answer.map(M::answer)))
    }

    /// What time brings a machine. Says whether more is due.
    pub(super) fn uniform_takes_time<M: Uniform>(
        &mut self,
        now: Time,
        settings: &CoreSettings,
    ) -> Result<bool, Fault> {
        let machine = M::of(&mut self.machines);
        if machine.next_deadline().is_none_or(|deadline| deadline > now) {
            return Ok(false);
        }
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
        let more = M::of(&mut self.machines).tick(at.0, now, random, &mut self.record, events);
        self.append_events(M::MACHINE, at, now, Room::Ordinary)?;
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
