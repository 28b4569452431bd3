//! The machine that a command is for: one of a known type, or one in its slot.
//!
//! A command to a machine of a known type is not boxed on its way.

use std::any::Any;
use std::marker::PhantomData;

use stadium_state_machine::{Executed, Record, Refusal, StateMachine, Time};

use super::machines::Machines;
use super::slot::{AnyAnswer, Found, walk_of};
use crate::frame::MachineId;

/// The machine that a command is for.
pub(super) trait Target: Copy {
    /// Its commands.
    type Command: ?Sized;
    /// Its answers.
    type Answer;

    fn id(self) -> MachineId;

    fn is_read(self, machines: &Machines, command: &Self::Command) -> bool;

    fn may_use_reserve(self, machines: &Machines, command: &Self::Command) -> bool;

    fn record_bytes_max(self, machines: &Machines, command: &Self::Command) -> usize;

    fn read(
        self,
        machines: &mut Machines,
        now: Time,
        command: &Self::Command,
        stopwatch: fn() -> u64,
    ) -> Result<Found<Self::Answer>, Refusal>;

    fn execute(
        self,
        machines: &mut Machines,
        at: u64,
        now: Time,
        random: u64,
        command: &Self::Command,
        record: &mut Record,
    ) -> Result<Executed<Self::Answer>, Refusal>;
}

/// A slot, with commands and answers of its own types.
#[derive(Clone, Copy)]
pub(super) struct InSlot(pub(super) MachineId);

impl Target for InSlot {
    type Command = dyn Any;
    type Answer = AnyAnswer;

    fn id(self) -> MachineId {
        self.0
    }

    fn is_read(self, machines: &Machines, command: &dyn Any) -> bool {
        machines.slot(self.0).is_read(command)
    }

    fn may_use_reserve(self, machines: &Machines, command: &dyn Any) -> bool {
        machines.slot(self.0).may_use_reserve(command)
    }

    fn record_bytes_max(self, machines: &Machines, command: &dyn Any) -> usize {
        machines.slot(self.0).record_bytes_max(command)
    }

    fn read(
        self,
        machines: &mut Machines,
        now: Time,
        command: &dyn Any,
        stopwatch: fn() -> u64,
    ) -> Result<Found<AnyAnswer>, Refusal> {
        machines.slot_mut(self.0).read(now, command, stopwatch)
    }

    fn execute(
        self,
        machines: &mut Machines,
        at: u64,
        now: Time,
        random: u64,
        command: &dyn Any,
        record: &mut Record,
    ) -> Result<Executed<AnyAnswer>, Refusal> {
        machines.slot_mut(self.0).execute(at, now, random, command, record)
    }
}

/// A machine of a known type: nothing is boxed on the way.
pub(super) struct Typed<M>(PhantomData<M>);

impl<M> Typed<M> {
    pub(super) const fn new() -> Self {
        Typed(PhantomData)
    }
}

impl<M> Clone for Typed<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Typed<M> {}

impl<M: StateMachine> Target for Typed<M> {
    type Command = M::Command;
    type Answer = M::Answer;

    fn id(self) -> MachineId {
        MachineId::of::<M>()
    }

    fn is_read(self, _machines: &Machines, command: &M::Command) -> bool {
        M::is_read(command)
    }

    fn may_use_reserve(self, _machines: &Machines, command: &M::Command) -> bool {
        M::may_use_reserve(command)
    }

    fn record_bytes_max(self, machines: &Machines, command: &M::Command) -> usize {
        machines.machine::<M>().record_bytes_max(command)
    }

    fn read(
        self,
        machines: &mut Machines,
        now: Time,
        command: &M::Command,
        _stopwatch: fn() -> u64,
    ) -> Result<Found<M::Answer>, Refusal> {
        StateMachine::read(machines.machine_mut::<M>(), now, command).map(walk_of::<M>)
    }

    fn execute(
        self,
        machines: &mut Machines,
        at: u64,
        now: Time,
        random: u64,
        command: &M::Command,
        record: &mut Record,
    ) -> Result<Executed<M::Answer>, Refusal> {
        StateMachine::execute(machines.machine_mut::<M>(), at, now, random, command, record)
    }
}
