//! The platform as a shard drives it.
//!
//! It states beforehand how many bytes a command may write, since a shard makes room for them
//! first.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;

use bytes::Bytes;
use stadium_registry::Changes;
use stadium_state_machine::{
    Delivery, Description, Effects, Executed, Lookup, MachineState, PayloadAt, Record, Section, StateMachine,
};

use crate::events::{Event, From, SMALL_BYTES, SPOT_BYTES, STEP_BYTES};
use crate::execute::ROOM_EVENTS_MAX;
use crate::platform::Platform;
use crate::refusal::{EARLY, busy};
use crate::tick::NUMBERS_BYTES;
use crate::{
    Answer, AppSettings, Audience, Command, Corrupt, NewPush, OwnRequest, Refusal, ShardMessage, Time,
};

/// Messages of another shard that were taken in, and may arrive again.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Taken {
    /// All below this number.
    pub(crate) below: u64,
    /// Those of the others.
    pub(crate) numbers: BTreeSet<u64>,
    /// Messages that are still to come and start nothing: the home has cancelled their pushes.
    pub(crate) withdrawn: BTreeSet<u64>,
}

impl Taken {
    pub(crate) fn holds(&self, number: u64) -> bool {
        number < self.below || self.numbers.contains(&number)
    }

    /// Notes a message. Returns whether it is new.
    pub(crate) fn note(&mut self, number: u64, confirmed_below: u64) -> bool {
        let new = !self.holds(number);
        if confirmed_below > self.below {
            self.below = confirmed_below;
            self.numbers = self.numbers.split_off(&confirmed_below);
            self.withdrawn = self.withdrawn.split_off(&confirmed_below);
        }
        new && (number < self.below || self.numbers.insert(number))
    }
}

/// Bytes of a push in an event, at most.
fn push_bytes(push: &NewPush) -> usize {
    let audience = match &push.audience {
        Audience::Device(_) | Audience::Saved(_) => 200,
        Audience::Selector(selector) => {
            let mut bytes = Vec::new();
            selector.encode(&mut bytes);
            bytes.len()
        }
    };
    // Up to 200 variants, each with a few lengths; properties likewise.
    audience + push.content.bytes() + 2 * SMALL_BYTES + 256 * 32
}

/// Bytes of one device's changes in an event.
fn changes_bytes(changes: &Changes) -> usize {
    let mut bytes = Vec::new();
    changes.encode(&mut bytes);
    bytes.len()
}

/// Bytes of an app's settings in an event, at most.
fn settings_bytes(settings: &AppSettings) -> usize {
    let mut bytes = Vec::new();
    settings.encode(&mut bytes);
    bytes.len() + SMALL_BYTES
}

impl MachineState for Platform {
    fn apply(&mut self, at: u64, time: Time, _offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        self.replay(at, time, events)
    }

    fn bytes(&self) -> usize {
        self.bytes_held()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.deadline()
    }

    fn outgoing_next(&self) -> u64 {
        self.outbox.next
    }

    fn outgoing_first(&self) -> u64 {
        self.outbox.first()
    }

    /// A `Vec<TransportCommand>`.
    fn take_effects(&mut self) -> Option<Effects> {
        let mut commands = Vec::new();
        self.take_transport_commands(&mut commands);
        (!commands.is_empty()).then(|| Box::new(commands) as Effects)
    }
}

impl StateMachine for Platform {
    type Command = Command;
    type Answer = Answer;
    type Message = ShardMessage;
    type Walk = Infallible;

    const CODE: u8 = 3;

    fn is_read(command: &Command) -> bool {
        matches!(
            command,
            Command::Apps { .. }
                | Command::Device { .. }
                | Command::Devices { .. }
                | Command::Inbox { .. }
                | Command::Authenticate { .. }
                | Command::Preview { .. }
                | Command::Audiences { .. }
                | Command::Check { .. }
                | Command::Push { .. }
                | Command::Pushes { .. }
                | Command::Trace { .. }
                | Command::Deliveries { .. }
                | Command::Schedules { .. }
        )
    }

    fn may_use_reserve(command: &Command) -> bool {
        matches!(command, Command::Presence { .. } | Command::Progress { .. })
    }

    fn command_bytes(command: &Command) -> usize {
        match command {
            Command::Send { push } | Command::SendLive { push, .. } | Command::Edit { push } => push.bytes(),
            Command::Change { devices, .. } => devices.len() * 256,
            Command::Own { request: OwnRequest::Change(changes), .. } => changes_bytes(changes),
            Command::Own { request: OwnRequest::Settle(pushes), .. } => 256 + pushes.len() * 16,
            Command::Locate { sightings, .. } => sightings.len() * 64,
            Command::Presence { arrived, left } => 64 + (arrived.len() + left.len()) * 160,
            Command::Progress { steps } => 64 + steps.len() * 64,
            _ => 256,
        }
    }

    /// The other shards follow a cancellation that an app's home has carried out.
    fn follow_up(answer: &Answer, shards: u16) -> Vec<(u16, Command)> {
        match answer {
            Answer::AtHome(cancellation) => cancellation.elsewhere(shards),
            _ => Vec::new(),
        }
    }

    fn note_duration(answer: &mut Answer, took_us: u64) {
        if let Answer::Preview(preview) = answer {
            preview.took_us = took_us;
        }
    }

    fn record_bytes_max(&self, command: &Command) -> usize {
        match command {
            Command::Change { devices, .. } => {
                let mut bytes = Vec::new();
                devices.iter().for_each(|(_, changes)| changes.encode(&mut bytes));
                bytes.len() + devices.len() * SMALL_BYTES
            }
            Command::Own { request: OwnRequest::Change(changes), .. } => changes_bytes(changes) + SMALL_BYTES,
            Command::Own { request: OwnRequest::Settle(pushes), .. } => pushes.len() * STEP_BYTES + 32,
            Command::Remove { devices, .. } => devices.len() * SMALL_BYTES,
            Command::Locate { sightings, .. } => sightings.len() * SPOT_BYTES + SMALL_BYTES,
            Command::DeclareApp { settings, .. } => settings_bytes(settings),
            Command::SaveAudience { audience, .. } => {
                let mut bytes = Vec::new();
                audience.encode(&mut bytes);
                bytes.len() + SMALL_BYTES
            }
            Command::Send { push } => {
                let reach = if push.options.qos == 0 { self.set_bytes_max() } else { 0 };
                push_bytes(push) + reach + ROOM_EVENTS_MAX * 32
            }
            Command::Edit { push } => push_bytes(push) + self.set_bytes_max(),
            Command::Schedule { schedule } => push_bytes(&schedule.push) + 4 * SMALL_BYTES,
            Command::Presence { arrived, left } => (arrived.len() + left.len() + 1) * SMALL_BYTES,
            Command::Progress { steps } => steps.len() * STEP_BYTES + 32,
            _ => 2 * SMALL_BYTES,
        }
    }

    fn read(&mut self, now: Time, command: &Command) -> Result<Lookup<Answer, Infallible>, Refusal> {
        self.look_up(now, command).map(Lookup::Answer)
    }

    fn execute(
        &mut self,
        _at: u64,
        now: Time,
        _random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed<Answer>, Refusal> {
        if Self::is_read(command) {
            return self.look_up(now, command).map(Executed::Done);
        }
        let answer = self.carry_out(now, command, record)?;
        self.write_reach(now, record);
        self.send(now);
        Ok(Executed::Done(answer))
    }

    fn tick(&mut self, _at: u64, now: Time, _random: u64, record: &mut Record, events_max: u32) -> bool {
        self.advance(now, record, events_max)
    }

    fn tick_bytes_max(&self, events_max: u32) -> usize {
        events_max as usize * (NUMBERS_BYTES.max(2 * SMALL_BYTES)) + self.set_bytes_max()
    }

    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        crate::describe::describe(section, into)
    }

    fn outgoing(
        &self,
        from: u64,
        _payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        out: &mut dyn FnMut(u16, u64, ShardMessage),
    ) {
        for (number, shard, message) in self.outbox.range(from) {
            out(shard, number, message.clone());
        }
    }

    fn receive_bytes_max(&self, delivery: &Delivery<ShardMessage>) -> usize {
        match &delivery.message {
            ShardMessage::Settings { settings, .. } => settings_bytes(settings),
            ShardMessage::Start { push, .. } => {
                push_bytes(push) + SMALL_BYTES + self.set_bytes_max() + ROOM_EVENTS_MAX * 32
            }
        }
    }

    fn receive(
        &mut self,
        _at: u64,
        now: Time,
        delivery: &Delivery<ShardMessage>,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        let &Delivery { shard, number, confirmed_below, ref message } = delivery;
        if self.taken.get(&shard).is_some_and(|taken| taken.holds(number)) {
            return Ok(());
        }
        if let ShardMessage::Start { push, .. } = message {
            if !self.by_name.contains_key(&push.app) {
                let reason = format!("app {:?} is not known here yet", push.app.as_str());
                return Err(busy(EARLY, 1_000, reason));
            }
            self.make_room(now, push, record);
            self.check_room(push)?;
        }
        let from = From { shard, number, confirmed_below };
        self.emit(now, record, &Event::ShardMessage { from, message: Cow::Borrowed(message) });
        self.write_reach(now, record);
        self.send(now);
        Ok(())
    }

    fn confirm(
        &mut self,
        _at: u64,
        now: Time,
        number: u64,
        _taken: &Result<(), Refusal>,
        record: &mut Record,
    ) {
        if self.outbox.contains(number) {
            self.emit(now, record, &Event::Confirmed { message: number });
        }
    }
}
