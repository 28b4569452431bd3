//! What a shard asks of a machine, whichever it is.
//!
//! A machine decides by its state and what it is given: a command, the time, a random number. What it decides it writes as events,
//! and has applied already; applying the events of all records in their order to an empty machine gives the same state. The wallets and the queues came
//! before this trait and have wider interfaces of their own.

use crate::{Corrupt, Description, Record, Refusal, Section, Time};

/// A state machine of a shard.
pub trait StateMachine {
    /// What it can be told and asked.
    type Command;
    /// What it answers.
    type Answer;
    /// What it sends to the same machine on other shards.
    type Letter;

    /// Whether this changes nothing durable: it is then given to [`Self::read`], and no room is made for a record.
    fn is_read(command: &Self::Command) -> bool;

    /// Whether it may use the room that is set aside on a full disk, since it frees more than it takes, or tells what has happened already.
    fn may_use_reserve(_command: &Self::Command) -> bool {
        false
    }

    /// The most bytes of events that a command writes.
    fn record_bytes_max(&self, command: &Self::Command) -> usize;

    /// Looks something up.
    ///
    /// # Errors
    ///
    /// What was asked for is not there, or cannot be asked like this.
    fn read(&mut self, now: Time, command: &Self::Command) -> Result<Self::Answer, Refusal>;

    /// Carries out a command: writes its events to a record that will stand at the position `at`, and applies them.
    /// `random` is another number each time.
    ///
    /// # Errors
    ///
    /// A command that is not carried out: nothing was written and nothing changed.
    fn execute(
        &mut self,
        at: u64,
        now: Time,
        random: u64,
        command: &Self::Command,
        record: &mut Record,
    ) -> Result<Self::Answer, Refusal>;

    /// Does what time brings, so many events at most. Says whether more is due.
    fn tick(&mut self, at: u64, now: Time, random: u64, record: &mut Record, events_max: u32) -> bool;

    /// The most bytes of events that a tick of so many events writes.
    fn tick_bytes_max(&self, events_max: u32) -> usize;

    /// When time brings something next.
    fn next_deadline(&self) -> Option<Time>;

    /// Applies the events of a record that was read back.
    ///
    /// # Errors
    ///
    /// Events that this machine cannot have written in this state.
    fn apply(&mut self, at: u64, time: Time, events: &[u8]) -> Result<(), Corrupt>;

    /// Describes the events of a record, one after the other, for people. Payloads and secrets are not shown.
    ///
    /// # Errors
    ///
    /// Events that this version does not know, or that are damaged; those before them are described.
    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt>;

    /// Begins a checkpoint of the state as it is now.
    fn checkpoint_begin(&mut self);

    /// Appends the next chunk, of about so many bytes. Says whether there are more.
    fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool;

    /// Gives up the running checkpoint.
    fn checkpoint_abort(&mut self);

    /// Takes in a chunk, in their order, into a machine that was empty before the first.
    ///
    /// # Errors
    ///
    /// Bytes that no checkpoint holds.
    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt>;

    /// All chunks are in.
    ///
    /// # Errors
    ///
    /// Something is missing, or does not fit together.
    fn restore_finish(&mut self) -> Result<(), Corrupt>;

    /// Bytes of memory that it holds.
    fn bytes(&self) -> usize;

    /// The number that the next letter gets; letters are numbered from 0 without gaps.
    fn outgoing_next(&self) -> u64 {
        0
    }

    /// The lowest number of a letter that is not confirmed; [`Self::outgoing_next`] where all are.
    fn outgoing_first(&self) -> u64 {
        0
    }

    /// Hands out letters that are not confirmed and have this number at least, in their order, with the shard that each is for.
    fn outgoing(&self, _from: u64, _out: &mut dyn FnMut(u16, u64, Self::Letter)) {}

    /// The most bytes of events that receiving a letter writes.
    fn receive_bytes_max(&self, _letter: &Self::Letter) -> usize {
        0
    }

    /// Takes in the letter that the shard `from` numbered so, once however often it comes. That shard knows those below
    /// `confirmed_below` to be taken in.
    ///
    /// # Errors
    ///
    /// Busy: not now; nothing happened, and it is sent again.
    fn receive(
        &mut self,
        _at: u64,
        _now: Time,
        _from: Incoming,
        _letter: &Self::Letter,
        _record: &mut Record,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// The letter with this number was taken in.
    fn confirm(&mut self, _at: u64, _now: Time, _number: u64, _record: &mut Record) {}
}

/// Where a letter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoming {
    /// The shard that sends it.
    pub shard: u16,
    /// Its number there.
    pub number: u64,
    /// Those below it are done: what is remembered of them may be forgotten.
    pub confirmed_below: u64,
}
