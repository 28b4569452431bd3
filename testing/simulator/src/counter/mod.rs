//! A counter on each shard, and amounts that move between shards: a small state machine.
//!
//! It shows all that a machine needs to be driven by a shard, which does not know it: commands,
//! events, messages between shards, checkpoints. The simulator runs it beside the other machines.

mod events;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use bytes::Bytes;
use stadium_state_machine::encoding::{Reader, corrupt, number};
use stadium_state_machine::{
    Checkpointed, Corrupt, Delivery, Description, Executed, Lookup, MachineState, PayloadAt, Place, Record,
    Refusal, Section, StateMachine, Time, rejected,
};

use events::Event;

/// The most bytes of an event: its kind and five numbers.
const EVENT_BYTES: usize = 64;

/// A command to a shard's counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Adds an amount.
    Add(u64),
    /// Moves an amount to the counter of another shard. Refused where there is not so much.
    Move {
        /// The other shard.
        to: u16,
        /// The amount.
        amount: u64,
    },
    /// Reads the counter.
    Read,
}

/// An amount on its way to the counter of another shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount(u64);

/// The counter of a shard.
#[derive(Debug)]
pub struct Counter {
    place: Place,
    state: State,
    /// Of a checkpoint that is being written: what is left of it.
    saving: Vec<u8>,
    /// Of one that is being read: its bytes so far.
    restoring: Vec<u8>,
}

/// Everything that events decide.
#[derive(Debug, Default)]
struct State {
    value: u64,
    /// The number of the next message.
    next: u64,
    /// Messages that are not confirmed: the shard and the amount of each.
    outgoing: BTreeMap<u64, (u16, u64)>,
    /// Messages of other shards that were taken in.
    taken: BTreeMap<u16, Taken>,
}

/// Messages of one shard that were taken in.
#[derive(Debug, Default)]
struct Taken {
    /// All below this number.
    below: u64,
    /// And these.
    numbers: BTreeSet<u64>,
}

impl Taken {
    fn has(&self, number: u64) -> bool {
        number < self.below || self.numbers.contains(&number)
    }
}

impl Counter {
    /// One that stands at zero.
    pub fn new(place: Place) -> Self {
        Counter { place, state: State::default(), saving: Vec::new(), restoring: Vec::new() }
    }

    /// Its value.
    pub fn value(&self) -> u64 {
        self.state.value
    }

    /// Messages that are not confirmed: number, shard, amount.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (u64, u16, u64)> + '_ {
        self.state.outgoing.iter().map(|(&number, &(to, amount))| (number, to, amount))
    }

    /// Whether a message of another shard was taken in.
    pub fn has_taken(&self, shard: u16, number: u64) -> bool {
        self.state.taken.get(&shard).is_some_and(|taken| taken.has(number))
    }

    /// Writes an event and applies it.
    fn emit(&mut self, record: &mut Record, event: Event) {
        event.encode(record.events_mut());
        self.state.apply(event).expect("an event is decided by the state that it is applied to");
    }
}

impl State {
    fn apply(&mut self, event: Event) -> Result<(), Corrupt> {
        let too_much = || corrupt("a counter of more than 64 bits");
        match event {
            Event::Added(amount) => {
                self.value = self.value.checked_add(amount).ok_or_else(too_much)?;
            }
            Event::Sent { to, amount } => {
                let left = self.value.checked_sub(amount);
                self.value = left.ok_or_else(|| corrupt("more leaves a counter than there is"))?;
                self.outgoing.insert(self.next, (to, amount));
                self.next += 1;
            }
            Event::Received { shard, number, confirmed_below, amount } => {
                let taken = self.taken.entry(shard).or_default();
                if taken.has(number) {
                    return Err(corrupt("a message is taken in twice"));
                }
                self.value = self.value.checked_add(amount).ok_or_else(too_much)?;
                taken.numbers.insert(number);
                taken.below = taken.below.max(confirmed_below);
                taken.numbers = taken.numbers.split_off(&taken.below);
            }
            Event::Confirmed(number) => {
                let known = self.outgoing.remove(&number);
                known.ok_or_else(|| corrupt("a message is confirmed that is not on its way"))?;
            }
        }
        Ok(())
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let out = &mut bytes;
        number(out, self.value);
        number(out, self.next);
        number(out, self.outgoing.len() as u64);
        for (&at, &(to, amount)) in &self.outgoing {
            [at, u64::from(to), amount].into_iter().for_each(|value| number(out, value));
        }
        number(out, self.taken.len() as u64);
        for (&shard, taken) in &self.taken {
            [u64::from(shard), taken.below, taken.numbers.len() as u64]
                .into_iter()
                .for_each(|value| number(out, value));
            taken.numbers.iter().for_each(|&value| number(out, value));
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, Corrupt> {
        let mut input = Reader::new(bytes);
        let mut state = State { value: input.number()?, next: input.number()?, ..State::default() };
        for _ in 0..input.number()? {
            let (at, to, amount) = (input.number()?, input.small()?, input.number()?);
            state.outgoing.insert(at, (to, amount));
        }
        for _ in 0..input.number()? {
            let (shard, below) = (input.small()?, input.number()?);
            let mut taken = Taken { below, ..Taken::default() };
            for _ in 0..input.number()? {
                taken.numbers.insert(input.number()?);
            }
            state.taken.insert(shard, taken);
        }
        if input.is_empty() { Ok(state) } else { Err(corrupt("bytes follow the counter's state")) }
    }
}

impl Checkpointed for Counter {
    fn checkpoint_begin(&mut self) {
        self.saving = self.state.encode();
    }

    fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        let bytes = bytes_max.max(1).min(self.saving.len());
        chunk.extend(self.saving.drain(..bytes));
        !self.saving.is_empty()
    }

    fn checkpoint_abort(&mut self) {
        self.saving.clear();
    }

    fn restore(&mut self, chunk: &[u8]) -> Result<(), Corrupt> {
        self.restoring.extend_from_slice(chunk);
        Ok(())
    }

    fn restore_finish(&mut self) -> Result<(), Corrupt> {
        self.state = State::decode(&std::mem::take(&mut self.restoring))?;
        Ok(())
    }
}

impl MachineState for Counter {
    fn apply(&mut self, _at: u64, _time: Time, _offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        let mut input = Reader::new(events);
        while !input.is_empty() {
            self.state.apply(Event::decode(&mut input)?)?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }

    fn next_deadline(&self) -> Option<Time> {
        None
    }

    fn outgoing_next(&self) -> u64 {
        self.state.next
    }

    fn outgoing_first(&self) -> u64 {
        self.state.outgoing.keys().next().copied().unwrap_or(self.state.next)
    }

    fn confirm_bytes_max(&self, _number: u64) -> usize {
        EVENT_BYTES
    }
}

impl StateMachine for Counter {
    type Command = Command;
    /// The value of the counter afterwards.
    type Answer = u64;
    type Message = Amount;
    type Walk = Infallible;

    const CODE: u8 = 200;

    fn is_read(command: &Command) -> bool {
        *command == Command::Read
    }

    fn record_bytes_max(&self, _command: &Command) -> usize {
        EVENT_BYTES
    }

    fn read(&mut self, _now: Time, _command: &Command) -> Result<Lookup<u64, Infallible>, Refusal> {
        Ok(Lookup::Answer(self.state.value))
    }

    fn execute(
        &mut self,
        _at: u64,
        _now: Time,
        _random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed<u64>, Refusal> {
        match *command {
            Command::Add(amount) => {
                if self.state.value.checked_add(amount).is_none() {
                    return Err(rejected("COUNT-001", "the counter would have more than 64 bits"));
                }
                self.emit(record, Event::Added(amount));
            }
            Command::Move { to, amount } => {
                if to >= self.place.shards || to == self.place.shard {
                    return Err(rejected("COUNT-002", format!("shard {to} is not another shard")));
                }
                if amount > self.state.value {
                    return Err(rejected("COUNT-003", "the counter does not have so much"));
                }
                self.emit(record, Event::Sent { to, amount });
            }
            Command::Read => {}
        }
        Ok(Executed::Done(self.state.value))
    }

    fn tick(&mut self, _at: u64, _now: Time, _random: u64, _record: &mut Record, _events_max: u32) -> bool {
        false
    }

    fn tick_bytes_max(&self, _events_max: u32) -> usize {
        0
    }

    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        let mut input = Reader::new(section.events);
        while !input.is_empty() {
            into.push(Event::decode(&mut input)?.describe());
        }
        Ok(())
    }

    fn outgoing(
        &self,
        from: u64,
        _payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        out: &mut dyn FnMut(u16, u64, Amount),
    ) {
        self.state
            .outgoing
            .range(from..)
            .for_each(|(&number, &(to, amount))| out(to, number, Amount(amount)));
    }

    fn receive_bytes_max(&self, _delivery: &Delivery<Amount>) -> usize {
        EVENT_BYTES
    }

    fn receive(
        &mut self,
        _at: u64,
        _now: Time,
        delivery: &Delivery<Amount>,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        let Delivery { shard, number, confirmed_below, message: Amount(amount) } = *delivery;
        if !self.has_taken(shard, number) {
            self.emit(record, Event::Received { shard, number, confirmed_below, amount });
        }
        Ok(())
    }

    fn confirm(
        &mut self,
        _at: u64,
        _now: Time,
        number: u64,
        _taken: &Result<(), Refusal>,
        record: &mut Record,
    ) {
        if self.state.outgoing.contains_key(&number) {
            self.emit(record, Event::Confirmed(number));
        }
    }
}
