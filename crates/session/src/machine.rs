//! The machine as its shard drives it.
//!
//! A change that means something is written as it is and taken in. Retained messages whose time is over are removed by an event that
//! names them by their numbers, so that a replay removes the same ones wherever they stand in its table.

use std::convert::Infallible;

use stadium_state_machine::encoding::{Reader, number};
use stadium_state_machine::{Description, Executed, Lookup, MachineState, Record, Section, StateMachine};

use crate::change::{Change, Keep};
use crate::encoding::{KEEP, list};
use crate::sessions::Known;
use crate::{Answer, Command, Corrupt, Outcome, Refusal, Sessions, Time};

/// A number of retained messages are over: the event's byte, then the time and how many. It is read
/// and no longer written.
pub(crate) const RETAINED_OVER: u8 = 0;

/// These retained messages are over: the event's byte, then the time and the list of their numbers.
pub(crate) const RETAINED_ENDED: u8 = 14;

/// Bytes of that event beside its numbers at most.
const RETAINED_ENDED_BYTES: usize = 24;

/// Publishes at QoS 2 that are forgotten for one more at most. Their events fit beside its own, see [`Change::record_bytes_max`].
const FORGOTTEN_FOR_ONE: usize = 2;

/// Bytes of a number at most.
const NUMBER_BYTES: usize = 10;

impl MachineState for Sessions {
    fn apply(&mut self, _at: u64, time: Time, _offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        let mut input = Reader::new(events);
        while !input.is_empty() {
            match events[input.position()] {
                RETAINED_OVER => {
                    input.byte()?;
                    let until = Time(input.number()?);
                    self.end_lowest_places(until, input.small()?);
                }
                RETAINED_ENDED => {
                    input.byte()?;
                    let until = Time(input.number()?);
                    let numbers = list(&mut input, |input| input.number())?;
                    self.end_numbers(until, numbers);
                }
                KEEP => {
                    input.byte()?;
                    let keep = Keep::decode(&mut input)?;
                    self.keep_as_before(&keep);
                }
                _ => {
                    let change = Change::decode(&mut input)?;
                    self.take_in(time, &change);
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let tables = self.sessions.bytes()
            + self.deliveries.bytes()
            + self.messages.bytes()
            + self.retained.bytes()
            + self.taken.bytes();
        tables + (self.message_bytes + self.retained_bytes) as usize
    }

    fn next_deadline(&self) -> Option<Time> {
        self.next_end()
    }
}

impl StateMachine for Sessions {
    type Command = Command;
    type Answer = Answer;
    type Message = Infallible;
    type Walk = Infallible;

    const CODE: u8 = 4;

    fn is_read(command: &Command) -> bool {
        !matches!(command, Command::Batch(_))
    }

    fn may_use_reserve(command: &Command) -> bool {
        matches!(command, Command::Batch(changes) if !changes.iter().any(Change::takes_room))
    }

    fn command_bytes(command: &Command) -> usize {
        command.record_bytes_max()
    }

    fn record_bytes_max(&self, command: &Command) -> usize {
        command.record_bytes_max()
    }

    fn read(&mut self, _now: Time, command: &Command) -> Result<Lookup<Answer, Infallible>, Refusal> {
        Ok(Lookup::Answer(match command {
            Command::Batch(changes) => {
                debug_assert!(false, "a batch is executed");
                Answer::Batch(vec![Outcome::Full; changes.len()])
            }
            &Command::Page { part, from, entries_max } => Answer::Page(self.page(part, from, entries_max)),
            Command::Figures => Answer::Figures(self.figures()),
        }))
    }

    fn execute(
        &mut self,
        _at: u64,
        now: Time,
        _random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed<Answer>, Refusal> {
        let Command::Batch(changes) = command else {
            debug_assert!(false, "it is read");
            return Ok(Executed::Done(Answer::Batch(Vec::new())));
        };
        let outcomes = changes.iter().map(|change| self.carry_out(now, change, record)).collect();
        Ok(Executed::Done(Answer::Batch(outcomes)))
    }

    fn tick(&mut self, _at: u64, now: Time, _random: u64, record: &mut Record, events_max: u32) -> bool {
        let mut ended = self.end_retained(now, events_max);
        let until = self.forget_removed(events_max, &mut ended).map_or(now, |until| until.max(now));
        if !ended.is_empty() {
            let out = record.events_mut();
            out.push(RETAINED_ENDED);
            number(out, until.0);
            number(out, ended.len() as u64);
            ended.into_iter().for_each(|one| number(out, one));
        }
        self.next_end().is_some_and(|ends| ends <= now)
    }

    fn tick_bytes_max(&self, events_max: u32) -> usize {
        RETAINED_ENDED_BYTES + NUMBER_BYTES * events_max as usize
    }

    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        crate::describe::describe(section, into)
    }
}

impl Command {
    /// The most bytes of events that it writes.
    pub fn record_bytes_max(&self) -> usize {
        match self {
            Command::Batch(changes) => changes.iter().map(Change::encoded_max).sum(),
            Command::Page { .. } | Command::Figures => 0,
        }
    }
}

impl Change {
    /// The most bytes that it adds to a record: a caller that collects a batch stays below the
    /// journal's bound with it.
    pub fn record_bytes_max(&self) -> usize {
        self.encoded_max()
    }

    /// Whether it asks for something new to be kept. The others report events, mostly that
    /// something need not be kept any more: a full disk still takes a batch of these.
    pub fn takes_room(&self) -> bool {
        matches!(
            self,
            Change::Connect(_)
                | Change::Subscribe { .. }
                | Change::Keep(_)
                | Change::Retain { .. }
                | Change::ClearNothing { .. }
        )
    }
}

impl Sessions {
    fn carry_out(&mut self, now: Time, change: &Change, record: &mut Record) -> Outcome {
        if let Change::Ask { origin } = change {
            return if self.is_taken(*origin) { Outcome::Known } else { Outcome::Done };
        }
        if let Change::Keep(keep) = change {
            match self.knows(keep) {
                Known::Nobody => {}
                Known::All => return Outcome::Known,
                Known::These(known) => {
                    let mut rest = keep.clone();
                    let mut at = 0..;
                    rest.receivers.retain(|_| at.next().is_none_or(|at| known.binary_search(&at).is_err()));
                    return match self.carry_out_new(now, &Change::Keep(rest), record) {
                        Outcome::Done => Outcome::Partly(known.into()),
                        Outcome::Full => Outcome::PartlyFull(known.into()),
                        other => other,
                    };
                }
            }
        }
        self.carry_out_new(now, change, record)
    }

    fn carry_out_new(&mut self, now: Time, change: &Change, record: &mut Record) -> Outcome {
        if !self.means_something(change) {
            return Outcome::Done;
        }
        if !self.has_room(change) {
            return Outcome::Full;
        }
        if let Change::Keep(keep) = change
            && keep.is_once()
        {
            for _ in 0..FORGOTTEN_FOR_ONE {
                let Some(origin) = self.oldest_that_goes_for(keep) else { break };
                let forget = Change::Forget { origin };
                forget.encode(record.events_mut());
                self.take_in(now, &forget);
            }
            if !self.has_room_for_receivers(keep) {
                return Outcome::Full;
            }
        }
        change.encode(record.events_mut());
        self.take_in(now, change);
        Outcome::Done
    }
}
