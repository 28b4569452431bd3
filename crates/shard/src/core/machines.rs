//! The state machines of a shard: what a record is applied to, and what a checkpoint holds.
//!
//! Here, and in [`super::slot`], is which machines there are; everything else asks a machine by its
//! name.

use stadium_journal::Position;
use stadium_push::Platform;
use stadium_queue::Queues;
use stadium_session::Sessions;
use stadium_state_machine::{Corrupt, Description, MachineState, Refusal, Section, StateMachine, Time};
use stadium_wallet::Ledger;

use super::settings::CoreSettings;
use crate::ShardMetrics;
use crate::error::unknown;
use crate::frame::{CHUNK_HEADER_BYTES, Frame, Machine, chunk_header, parse_chunk};

/// The state machines of a shard.
pub(super) struct Machines {
    pub(super) queues: Queues,
    pub(super) ledger: Ledger,
    pub(super) platform: Platform,
    pub(super) sessions: Sessions,
    /// Of a checkpoint that is being written: whose chunks come next.
    saving: Machine,
    /// Of one that is being read: which machines it holds. Older ones do not hold all.
    restored: [bool; Machine::COUNT],
}

/// Properties of a machine, whatever its state.
pub(super) struct Kind {
    /// Its records are never removed.
    pub(super) records_stay: bool,
    /// A rejection is an answer to its letters.
    pub(super) rejection_answers: bool,
    pending_refusal: fn() -> Option<Refusal>,
    describe: Describe,
}

type Describe = fn(Section<'_>, &mut Vec<Description>) -> Result<(), Corrupt>;

impl Kind {
    const fn of<M: StateMachine>() -> Self {
        Self {
            records_stay: M::RECORDS_STAY,
            rejection_answers: M::REJECTION_ANSWERS,
            pending_refusal: M::pending_refusal,
            describe: M::describe,
        }
    }
}

impl Machine {
    /// Its properties.
    pub(super) const fn kind(self) -> Kind {
        match self {
            Machine::Queue => Kind::of::<Queues>(),
            Machine::Wallet => Kind::of::<Ledger>(),
            Machine::Push => Kind::of::<Platform>(),
            Machine::Session => Kind::of::<Sessions>(),
        }
    }
}

impl Machine {
    /// The refusal of a pending command when the shard starts over.
    pub(super) fn pending_refusal(self) -> Refusal {
        (self.kind().pending_refusal)().unwrap_or_else(unknown)
    }
}

/// Describes the events that a machine wrote in a record.
pub(crate) fn describe(
    machine: Machine,
    section: Section<'_>,
    into: &mut Vec<Description>,
) -> Result<(), Corrupt> {
    (machine.kind().describe)(section, into)
}

impl Machines {
    /// Without anything in them.
    pub(super) fn new(settings: &CoreSettings) -> Self {
        Self {
            queues: Queues::new(settings.place, settings.bounds.clone()),
            ledger: Ledger::new(settings.place, settings.wallet.clone()),
            platform: Platform::new(settings.place, settings.push.clone()),
            sessions: Sessions::new(settings.place, settings.session),
            saving: Machine::ALL[0],
            restored: [false; Machine::COUNT],
        }
    }

    pub(super) fn one(&self, machine: Machine) -> &dyn MachineState {
        match machine {
            Machine::Queue => &self.queues,
            Machine::Wallet => &self.ledger,
            Machine::Push => &self.platform,
            Machine::Session => &self.sessions,
        }
    }

    fn one_mut(&mut self, machine: Machine) -> &mut dyn MachineState {
        match machine {
            Machine::Queue => &mut self.queues,
            Machine::Wallet => &mut self.ledger,
            Machine::Push => &mut self.platform,
            Machine::Session => &mut self.sessions,
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &dyn MachineState> {
        Machine::ALL.into_iter().map(|machine| self.one(machine))
    }

    /// Applies a record that was read back. Says whether it may never be removed.
    pub(super) fn apply(&mut self, position: Position, body: &[u8]) -> Result<bool, String> {
        let frame = Frame::parse(body)?;
        let mut stays = false;
        for section in frame.sections() {
            let machine = self.one_mut(section.machine);
            machine
                .apply(position.0, frame.time, section.offset, section.events)
                .map_err(|error| error.reason)?;
            stays |= section.machine.kind().records_stay;
        }
        Ok(stays)
    }

    /// Begins a checkpoint of the state as it is now.
    pub(super) fn checkpoint_begin(&mut self) {
        self.saving = Machine::ALL[0];
        Machine::ALL.into_iter().for_each(|machine| self.one_mut(machine).checkpoint_begin());
    }

    /// Makes the next chunk, of about so many bytes. Says whether there are more.
    pub(super) fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        chunk.extend_from_slice(&chunk_header(self.saving));
        debug_assert_eq!(chunk.len(), CHUNK_HEADER_BYTES, "the chunk was empty");
        if self.one_mut(self.saving).checkpoint_next(chunk, bytes_max) {
            return true;
        }
        let next = self.saving.next();
        self.saving = next.unwrap_or(Machine::ALL[0]);
        next.is_some()
    }

    /// The whole state, as the chunks of a checkpoint. No checkpoint may be running.
    pub(super) fn state(&mut self) -> Vec<Vec<u8>> {
        let mut chunks = Vec::new();
        self.checkpoint_begin();
        loop {
            let mut chunk = Vec::new();
            let more = self.checkpoint_next(&mut chunk, usize::MAX);
            chunks.push(chunk);
            if !more {
                return chunks;
            }
        }
    }

    /// Drops a running checkpoint.
    pub(super) fn checkpoint_abort(&mut self) {
        Machine::ALL.into_iter().for_each(|machine| self.one_mut(machine).checkpoint_abort());
    }

    /// Takes in a chunk, in their order.
    pub(super) fn restore(&mut self, chunk: &[u8]) -> Result<(), String> {
        let (machine, part) = parse_chunk(chunk)?;
        self.restored[machine.index()] = true;
        self.one_mut(machine).restore(part).map_err(|error| error.reason)
    }

    /// All chunks are in.
    pub(super) fn restore_finish(&mut self) -> Result<(), String> {
        for machine in Machine::ALL {
            if self.restored[machine.index()] {
                self.one_mut(machine).restore_finish().map_err(|error| error.reason)?;
            }
        }
        Ok(())
    }

    /// Commands that wait for other shards.
    pub(super) fn pending(&self) -> u64 {
        self.all().map(MachineState::pending).sum()
    }

    /// When time brings something next.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.all().filter_map(MachineState::next_deadline).min()
    }

    /// Notes the bytes of memory that they hold.
    pub(super) fn measure(&self, metrics: &mut ShardMetrics) {
        let bytes = |machine| self.one(machine).bytes() as u64;
        metrics.queue_bytes = bytes(Machine::Queue);
        metrics.wallet_bytes = bytes(Machine::Wallet);
        metrics.push_bytes = bytes(Machine::Push);
        metrics.session_bytes = bytes(Machine::Session);
        metrics.state_bytes = Machine::ALL.map(bytes).iter().sum();
        metrics.push = self.platform.figures();
    }
}
