//! The machine as its shard drives it.
//!
//! A change that means something is written as it is and taken in. Retained messages whose time is over are removed by an event that
//! says up to when, so that a replay removes the same ones.

use stadium_machine::encoding::{Reader, number};
use stadium_machine::{Record, StateMachine};

use crate::change::Change;
use crate::{Answer, Command, Corrupt, Outcome, Refusal, Sessions, Time};

/// So many retained messages are over: the first event byte, then the moment and how many.
const RETAINED_OVER: u8 = 0;

/// Bytes of that event at most.
const RETAINED_OVER_BYTES: usize = 16;

impl StateMachine for Sessions {
    type Command = Command;
    type Answer = Answer;
    type Letter = std::convert::Infallible;

    fn is_read(command: &Command) -> bool {
        !matches!(command, Command::Batch(_))
    }

    fn record_bytes_max(&self, command: &Command) -> usize {
        command.record_bytes_max()
    }

    fn read(&mut self, _now: Time, command: &Command) -> Result<Answer, Refusal> {
        Ok(match command {
            Command::Batch(changes) => {
                debug_assert!(false, "a batch is executed");
                Answer::Batch(vec![Outcome::Full; changes.len()])
            }
            &Command::Page { part, from, entries_max } => Answer::Page(self.page(part, from, entries_max)),
            Command::Figures => Answer::Figures(self.figures()),
        })
    }

    fn execute(
        &mut self,
        _at: u64,
        now: Time,
        _random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Answer, Refusal> {
        let Command::Batch(changes) = command else { return self.read(now, command) };
        Ok(Answer::Batch(changes.iter().map(|change| self.carry_out(now, change, record)).collect()))
    }

    fn tick(&mut self, _at: u64, now: Time, _random: u64, record: &mut Record, events_max: u32) -> bool {
        let ended = self.end_retained(now, events_max);
        if ended > 0 {
            let out = record.events_mut();
            out.push(RETAINED_OVER);
            number(out, now.0);
            number(out, u64::from(ended));
        }
        self.next_end().is_some_and(|ends| ends <= now)
    }

    fn tick_bytes_max(&self, _events_max: u32) -> usize {
        RETAINED_OVER_BYTES
    }

    fn next_deadline(&self) -> Option<Time> {
        self.next_end()
    }

    fn apply(&mut self, _at: u64, time: Time, events: &[u8]) -> Result<(), Corrupt> {
        let mut input = Reader::new(events);
        while !input.is_empty() {
            if events[input.position()] != RETAINED_OVER {
                let change = Change::decode(&mut input)?;
                self.take_in(time, &change);
                continue;
            }
            input.byte()?;
            let until = Time(input.number()?);
            let ended = input.small()?;
            if self.end_retained(until, ended) != ended {
                return Err(Corrupt { reason: "more retained messages were over than there are".into() });
            }
        }
        Ok(())
    }

    fn checkpoint_begin(&mut self) {
        self.save_begin();
    }

    fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        self.save_next(chunk, bytes_max)
    }

    fn checkpoint_abort(&mut self) {
        self.save_abort();
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        self.take_back(chunk)
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        self.take_back_finish()
    }

    fn bytes(&self) -> usize {
        let tables = self.sessions.bytes()
            + self.letters.bytes()
            + self.messages.bytes()
            + self.retained.bytes()
            + self.taken.bytes();
        tables + (self.message_bytes + self.retained_bytes) as usize
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
    /// The most bytes that it adds to a record: who gathers a batch stays below the journal's bound with it.
    pub fn record_bytes_max(&self) -> usize {
        self.encoded_max()
    }
}

impl Sessions {
    fn carry_out(&mut self, now: Time, change: &Change, record: &mut Record) -> Outcome {
        if let Change::Keep(keep) = change
            && self.knows(keep)
        {
            return Outcome::Known;
        }
        if !self.means_something(change) {
            return Outcome::Done;
        }
        if !self.has_room(change) {
            return Outcome::Full;
        }
        change.encode(record.events_mut());
        self.take_in(now, change);
        Outcome::Done
    }
}
