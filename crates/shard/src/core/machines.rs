//! The state machines of a shard: what a record is applied to, and what a checkpoint holds.
//!
//! Each stands for itself and knows nothing of the others; here is what is done to all of them alike.

use stadium_journal::Position;
use stadium_push::Platform;
use stadium_queue::{Bounds, Queues};
use stadium_session::Sessions;
use stadium_state_machine::{Corrupt, Description, Refusal, Section, StateMachine};
use stadium_wallet::Ledger;

use super::settings::CoreSettings;
use crate::ShardMetrics;
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

impl Machine {
    /// Whether its records are never removed.
    pub(super) fn records_stay(self) -> bool {
        match self {
            Machine::Queue => Queues::RECORDS_STAY,
            Machine::Wallet => Ledger::RECORDS_STAY,
            Machine::Push => Platform::RECORDS_STAY,
            Machine::Session => Sessions::RECORDS_STAY,
        }
    }

    /// What whoever waits for a pending command is told when the shard starts over.
    pub(super) fn pending_refusal(self) -> Refusal {
        match self {
            Machine::Queue => Queues::pending_refusal(),
            Machine::Wallet => Ledger::pending_refusal(),
            Machine::Push => Platform::pending_refusal(),
            Machine::Session => Sessions::pending_refusal(),
        }
    }
}

/// Describes the events that a machine wrote in a record.
pub(crate) fn describe(
    machine: Machine,
    section: Section<'_>,
    into: &mut Vec<Description>,
) -> Result<(), Corrupt> {
    match machine {
        Machine::Queue => Queues::describe(section, into),
        Machine::Wallet => Ledger::describe(section, into),
        Machine::Push => Platform::describe(section, into),
        Machine::Session => Sessions::describe(section, into),
    }
}

impl Machines {
    /// Without anything in them.
    pub(super) fn new(settings: &CoreSettings) -> Self {
        let bounds: Bounds = settings.bounds.clone();
        Self {
            queues: Queues::new(settings.place, bounds),
            ledger: Ledger::new(settings.place, settings.wallet.clone()),
            platform: Platform::new(settings.place, settings.push.clone()),
            sessions: Sessions::new(settings.place, settings.session),
            saving: Machine::Queue,
            restored: [false; Machine::COUNT],
        }
    }

    /// Applies a record that was read back. Says whether it may never be removed.
    pub(super) fn apply(&mut self, position: Position, body: &[u8]) -> Result<bool, String> {
        let frame = Frame::parse(body)?;
        let mut stays = false;
        for section in frame.sections() {
            match section.machine {
                Machine::Queue => self.queues.apply(position.0, frame.time, section.offset, section.events),
                Machine::Wallet => StateMachine::apply(
                    &mut self.ledger,
                    position.0,
                    frame.time,
                    section.offset,
                    section.events,
                ),
                Machine::Push => StateMachine::apply(
                    &mut self.platform,
                    position.0,
                    frame.time,
                    section.offset,
                    section.events,
                ),
                Machine::Session => StateMachine::apply(
                    &mut self.sessions,
                    position.0,
                    frame.time,
                    section.offset,
                    section.events,
                ),
            }
            .map_err(|error| error.reason)?;
            stays |= section.machine.records_stay();
        }
        Ok(stays)
    }

    /// Begins a checkpoint of the state as it is now.
    pub(super) fn checkpoint_begin(&mut self) {
        self.saving = Machine::Queue;
        self.queues.checkpoint_begin();
        self.ledger.checkpoint_begin();
        self.platform.checkpoint_begin();
        self.sessions.checkpoint_begin();
    }

    /// Makes the next chunk, of about so many bytes. Says whether there are more.
    pub(super) fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        chunk.extend_from_slice(&chunk_header(self.saving));
        debug_assert_eq!(chunk.len(), CHUNK_HEADER_BYTES, "the chunk was empty");
        let more = match self.saving {
            Machine::Queue => self.queues.checkpoint_next(chunk, bytes_max),
            Machine::Wallet => self.ledger.checkpoint_next(chunk, bytes_max),
            Machine::Push => self.platform.checkpoint_next(chunk, bytes_max),
            Machine::Session => self.sessions.checkpoint_next(chunk, bytes_max),
        };
        if more {
            return true;
        }
        let next = self.saving.next();
        self.saving = next.unwrap_or(Machine::Queue);
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
        self.queues.checkpoint_abort();
        self.ledger.checkpoint_abort();
        self.platform.checkpoint_abort();
        self.sessions.checkpoint_abort();
    }

    /// Takes in a chunk, in their order.
    pub(super) fn restore(&mut self, chunk: &[u8]) -> Result<(), String> {
        let (machine, part) = parse_chunk(chunk)?;
        self.restored[machine.index()] = true;
        match machine {
            Machine::Queue => self.queues.restore(part),
            Machine::Wallet => self.ledger.restore(part),
            Machine::Push => self.platform.restore(part),
            Machine::Session => self.sessions.restore(part),
        }
        .map_err(|error| error.reason)
    }

    /// All chunks are in.
    pub(super) fn restore_finish(&mut self) -> Result<(), String> {
        for machine in Machine::ALL {
            if !self.restored[machine.index()] {
                continue;
            }
            match machine {
                Machine::Queue => self.queues.restore_finish(),
                Machine::Wallet => self.ledger.restore_finish(),
                Machine::Push => self.platform.restore_finish(),
                Machine::Session => self.sessions.restore_finish(),
            }
            .map_err(|error| error.reason)?;
        }
        Ok(())
    }

    /// Commands that wait for other shards.
    pub(super) fn pending(&self) -> u64 {
        self.ledger.pending() + self.platform.pending() + self.sessions.pending()
    }

    /// Notes the bytes of memory that they hold.
    pub(super) fn measure(&self, metrics: &mut ShardMetrics) {
        metrics.queue_bytes = self.queues.bytes() as u64;
        metrics.wallet_bytes = self.ledger.bytes() as u64;
        metrics.push_bytes = self.platform.bytes() as u64;
        metrics.push = self.platform.figures();
        metrics.session_bytes = self.sessions.bytes() as u64;
        metrics.state_bytes =
            metrics.queue_bytes + metrics.wallet_bytes + metrics.push_bytes + metrics.session_bytes;
    }
}
