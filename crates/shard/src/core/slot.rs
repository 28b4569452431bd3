//! A state machine behind one type, whichever it is.
//!
//! A [`Slot`] takes commands, answers, messages and lookups whose types it alone knows.

use std::any::Any;
use std::fmt;

use bytes::Bytes;
use stadium_state_machine::{
    Corrupt, Delivery, Executed, Gone, Lookup, MachineState, PayloadAt, Record, Refusal, Section,
    StateMachine, Time, Walk,
};

use crate::frame::MachineId;

/// A command for one of a shard's machines.
pub struct AnyCommand {
    machine: MachineId,
    command: Box<dyn Any + Send>,
    /// Bytes of memory that it keeps alive.
    bytes: usize,
}

impl AnyCommand {
    /// A command for `M`.
    pub fn of<M: StateMachine>(command: M::Command) -> Self {
        let bytes = M::command_bytes(&command);
        AnyCommand { machine: MachineId::of::<M>(), command: Box::new(command), bytes }
    }

    /// The command itself.
    ///
    /// # Errors
    ///
    /// It is for another machine than `M`: it comes back.
    pub fn into_machine<M: StateMachine>(self) -> Result<M::Command, Self> {
        let Self { machine, command, bytes } = self;
        match command.downcast() {
            Ok(command) if machine == MachineId::of::<M>() => Ok(*command),
            Ok(command) => Err(Self { machine, command, bytes }),
            Err(command) => Err(Self { machine, command, bytes }),
        }
    }

    pub(crate) fn machine(&self) -> MachineId {
        self.machine
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn command(&self) -> &dyn Any {
        &*self.command
    }
}

impl fmt::Debug for AnyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a command for {:?}", self.machine)
    }
}

/// An answer of a machine, of its own type.
pub(crate) type AnyAnswer = Box<dyn Any + Send>;

/// A message between shards that its machine's [`Slot`] takes in.
pub(crate) trait AnyMessage: Any + Send + fmt::Debug {
    fn any(&self) -> &dyn Any;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;

    fn cloned(&self) -> Box<dyn AnyMessage>;

    fn is_same(&self, other: &dyn AnyMessage) -> bool;
}

impl<T: Clone + PartialEq + fmt::Debug + Send + 'static> AnyMessage for Delivery<T> {
    fn any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn cloned(&self) -> Box<dyn AnyMessage> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn AnyMessage) -> bool {
        other.any().downcast_ref() == Some(self)
    }
}

/// A lookup in records of the journal, on behalf of a machine.
pub(super) trait AnyWalk: Send {
    fn next(&self) -> Option<u64>;

    fn gone(&self, machine: &dyn Slot) -> Gone;

    fn read(&mut self, machine: &dyn Slot, section: Section<'_>) -> Result<(), Corrupt>;

    fn finish(self: Box<Self>, machine: &dyn Slot) -> Result<AnyAnswer, Refusal>;
}

/// A lookup of `M`.
struct WalkOf<M: StateMachine>(M::Walk);

impl<M: StateMachine> AnyWalk for WalkOf<M> {
    fn next(&self) -> Option<u64> {
        self.0.next()
    }

    fn gone(&self, machine: &dyn Slot) -> Gone {
        self.0.gone(own(machine.any()))
    }

    fn read(&mut self, machine: &dyn Slot, section: Section<'_>) -> Result<(), Corrupt> {
        self.0.read(own(machine.any()), section)
    }

    fn finish(self: Box<Self>, machine: &dyn Slot) -> Result<AnyAnswer, Refusal> {
        let answer = self.0.finish(own::<M>(machine.any()))?;
        Ok(Box::new(answer))
    }
}

pub(super) fn walk_of<M: StateMachine>(lookup: Lookup<M::Answer, M::Walk>) -> Found<M::Answer> {
    match lookup {
        Lookup::Answer(answer) => Lookup::Answer(answer),
        Lookup::Walk(walk) => Lookup::Walk(Box::new(WalkOf::<M>(walk))),
    }
}

/// The result of a read.
pub(super) type Found<A> = Lookup<A, Box<dyn AnyWalk>>;

/// A value as its own machine sees it.
fn own<T: 'static>(value: &dyn Any) -> &T {
    value.downcast_ref().expect("a machine is given its own kind of values")
}

/// A state machine, whichever it is.
pub(super) trait Slot: MachineState + Send {
    fn any(&self) -> &dyn Any;

    fn any_mut(&mut self) -> &mut dyn Any;

    fn record_time(&self, now: Time) -> Time;

    fn is_read(&self, command: &dyn Any) -> bool;

    fn may_use_reserve(&self, command: &dyn Any) -> bool;

    fn items(&self, command: &dyn Any) -> usize;

    fn record_bytes_max(&self, command: &dyn Any) -> usize;

    fn read(
        &mut self,
        now: Time,
        command: &dyn Any,
        stopwatch: fn() -> u64,
    ) -> Result<Found<AnyAnswer>, Refusal>;

    fn execute(
        &mut self,
        at: u64,
        now: Time,
        random: u64,
        command: &dyn Any,
        record: &mut Record,
    ) -> Result<Executed<AnyAnswer>, Refusal>;

    fn take_decided(&mut self, each: &mut dyn FnMut(u64, Result<AnyAnswer, Refusal>));

    fn is_due(&self, now: Time) -> bool;

    fn tick_bytes_max(&self, events_max: u32) -> usize;

    fn tick(&mut self, at: u64, now: Time, random: u64, record: &mut Record, events_max: u32) -> bool;

    /// As [`StateMachine::outgoing`], of those messages that `which` names: the shard, the number,
    /// the delivery.
    fn outgoing(
        &self,
        sender: Sender,
        which: &dyn Fn(u64) -> bool,
        payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        out: &mut dyn FnMut(u16, u64, Box<dyn AnyMessage>),
    );

    fn receive_bytes_max(&self, message: &dyn AnyMessage) -> usize;

    fn receive(
        &mut self,
        at: u64,
        now: Time,
        message: &dyn AnyMessage,
        record: &mut Record,
    ) -> Result<(), Refusal>;

    fn confirm(&mut self, at: u64, now: Time, number: u64, taken: &Result<(), Refusal>, record: &mut Record);
}

/// The shard that sends messages.
#[derive(Clone, Copy)]
pub(super) struct Sender {
    pub(super) shard: u16,
    /// Messages below this number are confirmed.
    pub(super) confirmed_below: u64,
    /// The lowest number that is sent.
    pub(super) from: u64,
}

impl<M: StateMachine> Slot for M {
    fn any(&self) -> &dyn Any {
        self
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn record_time(&self, now: Time) -> Time {
        StateMachine::record_time(self, now)
    }

    fn is_read(&self, command: &dyn Any) -> bool {
        M::is_read(own(command))
    }

    fn may_use_reserve(&self, command: &dyn Any) -> bool {
        M::may_use_reserve(own(command))
    }

    fn items(&self, command: &dyn Any) -> usize {
        M::items(own(command))
    }

    fn record_bytes_max(&self, command: &dyn Any) -> usize {
        StateMachine::record_bytes_max(self, own(command))
    }

    fn read(
        &mut self,
        now: Time,
        command: &dyn Any,
        stopwatch: fn() -> u64,
    ) -> Result<Found<AnyAnswer>, Refusal> {
        let began = stopwatch();
        let mut found = StateMachine::read(self, now, own(command))?;
        if let Lookup::Answer(answer) = &mut found {
            M::note_duration(answer, stopwatch().saturating_sub(began));
        }
        Ok(match walk_of::<M>(found) {
            Lookup::Answer(answer) => Lookup::Answer(Box::new(answer)),
            Lookup::Walk(walk) => Lookup::Walk(walk),
        })
    }

    fn execute(
        &mut self,
        at: u64,
        now: Time,
        random: u64,
        command: &dyn Any,
        record: &mut Record,
    ) -> Result<Executed<AnyAnswer>, Refusal> {
        Ok(match StateMachine::execute(self, at, now, random, own(command), record)? {
            Executed::Done(answer) => Executed::Done(Box::new(answer)),
            Executed::Pending(number) => Executed::Pending(number),
        })
    }

    fn take_decided(&mut self, each: &mut dyn FnMut(u64, Result<AnyAnswer, Refusal>)) {
        StateMachine::take_decided(self, &mut |number, answer| {
            each(number, answer.map(|answer| Box::new(answer) as AnyAnswer));
        });
    }

    fn is_due(&self, now: Time) -> bool {
        StateMachine::is_due(self, now)
    }

    fn tick_bytes_max(&self, events_max: u32) -> usize {
        StateMachine::tick_bytes_max(self, events_max)
    }

    fn tick(&mut self, at: u64, now: Time, random: u64, record: &mut Record, events_max: u32) -> bool {
        StateMachine::tick(self, at, now, random, record, events_max)
    }

    fn outgoing(
        &self,
        sender: Sender,
        which: &dyn Fn(u64) -> bool,
        payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        out: &mut dyn FnMut(u16, u64, Box<dyn AnyMessage>),
    ) {
        let Sender { shard, confirmed_below, from } = sender;
        StateMachine::outgoing(self, from, payload, &mut |to, number, message| {
            if which(number) {
                out(to, number, Box::new(Delivery { shard, number, confirmed_below, message }));
            }
        });
    }

    fn receive_bytes_max(&self, message: &dyn AnyMessage) -> usize {
        StateMachine::receive_bytes_max(self, own(message.any()))
    }

    fn receive(
        &mut self,
        at: u64,
        now: Time,
        message: &dyn AnyMessage,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        StateMachine::receive(self, at, now, own(message.any()), record)
    }

    fn confirm(&mut self, at: u64, now: Time, number: u64, taken: &Result<(), Refusal>, record: &mut Record) {
        StateMachine::confirm(self, at, now, number, taken, record);
    }
}
