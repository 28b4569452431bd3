//! The contract between a shard and its state machines.
//!
//! A machine decides by its state and what it is given: a command, the time, a random number. It
//! writes its decisions as events, and has applied them when a call returns. Applying the events of
//! all records in their order to an empty machine gives the same state.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;

use crate::{Corrupt, Description, MovePayloads, PayloadAt, PayloadChange, Record, Refusal, Section, Time};

/// A state that is saved while it goes on changing, and taken back in.
pub trait Checkpointed {
    /// Begins a checkpoint of the state as it is now.
    fn checkpoint_begin(&mut self);

    /// Appends the next chunk, of about so many bytes. Returns whether there are more.
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
}

/// The part of the contract that does not depend on a machine's commands.
pub trait MachineState: Checkpointed {
    /// Applies the events of a record that was read back; they begin `offset` bytes into it.
    ///
    /// # Errors
    ///
    /// Events that this machine cannot have written in this state.
    fn apply(&mut self, at: u64, time: Time, offset: u32, events: &[u8]) -> Result<(), Corrupt>;

    /// Bytes of memory that it holds.
    fn bytes(&self) -> usize;

    /// When time brings something next.
    fn next_deadline(&self) -> Option<Time>;

    /// Commands that are pending: a shard that stops waits for them briefly.
    fn pending(&self) -> u64 {
        0
    }

    /// The number that the next message gets; messages are numbered from 0 without gaps.
    fn outgoing_next(&self) -> u64 {
        0
    }

    /// The lowest number of a message that is not confirmed; [`Self::outgoing_next`] where all are.
    fn outgoing_first(&self) -> u64 {
        0
    }

    /// The most bytes of events that [`StateMachine::confirm`] writes for a message.
    fn confirm_bytes_max(&self, _number: u64) -> usize {
        0
    }

    /// Takes what the machine has for other parts of the process, such as deliveries to devices. It
    /// leaves the shard when everything that led to it is durable; a shard that starts over before
    /// drops it.
    fn take_effects(&mut self) -> Option<Effects> {
        None
    }

    /// Hands out the payloads of its records that became needed, or unneeded, since the last call.
    fn take_payload_changes(&mut self, _into: &mut Vec<PayloadChange>) {}

    /// Hands out all payloads of its records that are needed.
    fn live_payloads(&self, _each: &mut dyn FnMut(PayloadAt)) {}

    /// The most bytes of events that [`Self::move_payloads`] writes in one call, where `bytes_max`
    /// is asked for; none where its records hold no payloads that are needed later.
    fn move_bytes_max(&self, _bytes_max: usize) -> Option<usize> {
        None
    }

    /// Writes payloads again that stand in a range of the journal, into a record that will stand at
    /// the position `at`, so that the range is not needed any more. Returns whether there is more
    /// to look at.
    fn move_payloads(
        &mut self,
        _at: u64,
        _now: Time,
        _moving: &mut MovePayloads<'_>,
        _record: &mut Record,
    ) -> bool {
        false
    }
}

/// A state machine of a shard.
pub trait StateMachine: MachineState + Send + Sized + 'static {
    /// Its commands, reads included.
    type Command: Send + 'static;
    /// Its answers.
    type Answer: Send + 'static;
    /// Messages to the same machine on other shards.
    type Message: Clone + PartialEq + fmt::Debug + Send + 'static;
    /// A lookup in records of the journal; [`Infallible`] where memory has all answers.
    type Walk: Walk<Self> + Send + 'static;

    /// Its number in records and checkpoints, from 1; no other machine of a shard has it.
    const CODE: u8;

    /// The version of its events and of its checkpoint that is written and understood.
    const VERSION: u8 = 1;

    /// Whether its records are never removed from the journal: they are the truth that people look
    /// up.
    const RECORDS_STAY: bool = false;

    /// Whether this changes nothing durable: it is then given to [`Self::read`], and no room is
    /// made for a record.
    fn is_read(command: &Self::Command) -> bool;

    /// Whether it may use the room that is set aside on a full disk, since it frees more than it
    /// takes, or reports what has happened already.
    fn may_use_reserve(_command: &Self::Command) -> bool {
        false
    }

    /// How many items a command is about: they bound the work of a shard in a turn.
    fn items(_command: &Self::Command) -> usize {
        1
    }

    /// Bytes of memory that a command keeps alive while it waits for its shard.
    fn command_bytes(_command: &Self::Command) -> usize {
        256
    }

    /// Commands that other shards are to be given although nobody waits for this answer any more.
    fn follow_up(_answer: &Self::Answer, _shards: u16) -> Vec<(u16, Self::Command)> {
        Vec::new()
    }

    /// Notes how many microseconds a read took: a machine has no clock.
    fn note_duration(_answer: &mut Self::Answer, _took_us: u64) {}

    /// The most bytes of events that a command writes.
    fn record_bytes_max(&self, command: &Self::Command) -> usize;

    /// The time of the record that is written now. A machine whose times may not go back overrides
    /// this.
    fn record_time(&self, now: Time) -> Time {
        now
    }

    /// Looks something up.
    ///
    /// # Errors
    ///
    /// Something unknown, or a question out of bounds.
    fn read(
        &mut self,
        now: Time,
        command: &Self::Command,
    ) -> Result<Lookup<Self::Answer, Self::Walk>, Refusal>;

    /// Carries out a command: writes its events to a record that will stand at the position `at`,
    /// and applies them. `random` is another number each time.
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
    ) -> Result<Executed<Self::Answer>, Refusal>;

    /// Hands out the answers of commands that were pending and are decided now, by their numbers.
    /// Asked after each record; an answer may leave when the newest record is durable.
    fn take_decided(&mut self, _each: &mut dyn FnMut(u64, Result<Self::Answer, Refusal>)) {}

    /// The refusal of a command that is pending when the shard starts over: it may yet be carried
    /// out. None where no command is ever pending.
    fn pending_refusal() -> Option<Refusal> {
        None
    }

    /// Does the work that is due, so many events at most. Returns whether more is due.
    fn tick(&mut self, at: u64, now: Time, random: u64, record: &mut Record, events_max: u32) -> bool;

    /// The most bytes of events that a tick of so many events writes.
    fn tick_bytes_max(&self, events_max: u32) -> usize;

    /// Whether time has brought something by now.
    fn is_due(&self, now: Time) -> bool {
        self.next_deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Describes the events of a record, one after the other, for people. Payloads and secrets are
    /// not shown.
    ///
    /// # Errors
    ///
    /// Events that this version does not know, or that are damaged; those before them are
    /// described.
    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt>;

    /// Hands out messages that are not confirmed and have this number at least, in their order,
    /// with the shard that each is for. `payload` reads a payload of the message with that number
    /// from the journal; without it the message is left out.
    fn outgoing(
        &self,
        _from: u64,
        _payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        _out: &mut dyn FnMut(u16, u64, Self::Message),
    ) {
    }

    /// The most bytes of events that receiving a message writes.
    fn receive_bytes_max(&self, _delivery: &Delivery<Self::Message>) -> usize {
        0
    }

    /// Takes in a message of another shard, once however often it comes.
    ///
    /// # Errors
    ///
    /// Busy: not now; nothing happened, and it is sent again. Rejected, where
    /// [`Self::REJECTION_ANSWERS`]: an answer as durable as a yes.
    fn receive(
        &mut self,
        _at: u64,
        _now: Time,
        _delivery: &Delivery<Self::Message>,
        _record: &mut Record,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether Rejected is an answer to a message. Else it was sent to another version, and is sent
    /// again.
    const REJECTION_ANSWERS: bool = false;

    /// The message with this number was taken in, or rejected.
    fn confirm(
        &mut self,
        _at: u64,
        _now: Time,
        _number: u64,
        _taken: &Result<(), Refusal>,
        _record: &mut Record,
    ) {
    }
}

/// Effects of a machine on other parts of the process, of a type that it and they know: all of a
/// turn in one box.
pub type Effects = Box<dyn Any + Send>;

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed<A> {
    /// It is done.
    Done(A),
    /// Other shards are asked; [`StateMachine::take_decided`] has the answer under this number
    /// later.
    Pending(u64),
}

impl<A> Executed<A> {
    /// The answer, where there is one already.
    pub fn done(self) -> Option<A> {
        match self {
            Executed::Done(answer) => Some(answer),
            Executed::Pending(_) => None,
        }
    }
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<A, W> {
    /// The answer.
    Answer(A),
    /// Records of the journal have to be read.
    Walk(W),
}

impl<A, W> Lookup<A, W> {
    /// The answer, where memory has it.
    pub fn answer(self) -> Option<A> {
        match self {
            Lookup::Answer(answer) => Some(answer),
            Lookup::Walk(_) => None,
        }
    }
}

/// The meaning of a record that was removed with its segment, for a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    /// It must not have been removed.
    Damaged,
    /// The lookup ends with the part that it has.
    Ends,
    /// The lookup fails.
    Refused(Refusal),
}

/// A lookup in records of the journal, from the newest backwards. Its driver reads them, as many as
/// a bound allows.
pub trait Walk<M: StateMachine> {
    /// The position of the record that is to be read next.
    fn next(&self) -> Option<u64>;

    /// Takes in the machine's section of the record that [`Self::next`] named.
    ///
    /// # Errors
    ///
    /// A section that this version did not write, or that does not hold what it must.
    fn read(&mut self, machine: &M, section: Section<'_>) -> Result<(), Corrupt>;

    /// The record that [`Self::next`] named was removed with its segment.
    fn gone(&self, _machine: &M) -> Gone {
        Gone::Damaged
    }

    /// The answer. It is incomplete where [`Self::next`] still names a record.
    ///
    /// # Errors
    ///
    /// Something that was not reached.
    fn finish(self, machine: &M) -> Result<M::Answer, Refusal>;
}

impl<M: StateMachine> Walk<M> for Infallible {
    fn next(&self) -> Option<u64> {
        match *self {}
    }

    fn read(&mut self, _machine: &M, _section: Section<'_>) -> Result<(), Corrupt> {
        match *self {}
    }

    fn finish(self, _machine: &M) -> Result<M::Answer, Refusal> {
        match self {}
    }
}

/// A message on its way to another shard. It is sent until its receiver has confirmed it, and taken
/// in once however often it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<M> {
    /// The shard that sends it.
    pub shard: u16,
    /// Its number there.
    pub number: u64,
    /// Those below it are confirmed: nothing need be remembered of them any more.
    pub confirmed_below: u64,
    /// Its content.
    pub message: M,
}

impl<M> Delivery<M> {
    /// The same delivery with another form of its content.
    pub fn map<N>(self, form: impl FnOnce(M) -> N) -> Delivery<N> {
        let Self { shard, number, confirmed_below, message } = self;
        Delivery { shard, number, confirmed_below, message: form(message) }
    }
}
