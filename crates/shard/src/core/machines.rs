//! The state machines of a shard: what a record is applied to, and what a checkpoint holds.
//!
//! Each stands for itself and knows nothing of the others; here is what is done to all of them alike.

use stadium_journal::Position;
use stadium_queue::{Bounds, Queues};
use stadium_wallet::Ledger;

use super::settings::CoreSettings;
use crate::frame::{CHUNK_HEADER_BYTES, Frame, Machine, chunk_header, parse_chunk};

/// The state machines of a shard.
pub(super) struct Machines {
    pub(super) queues: Queues,
    pub(super) ledger: Ledger,
    /// Of a checkpoint that is being written: whose chunks come next.
    saving: Machine,
    /// Of one that is being read: whether it holds wallets. Those of before there were any do not.
    has_wallets: bool,
}

impl Machines {
    /// Without anything in them.
    pub(super) fn new(settings: &CoreSettings) -> Self {
        let bounds: Bounds = settings.bounds.clone();
        Self {
            queues: Queues::new(settings.place, bounds),
            ledger: Ledger::new(settings.place, settings.wallet.clone()),
            saving: Machine::Queue,
            has_wallets: false,
        }
    }

    /// Applies a record that was read back. Says whether it has something of the wallets.
    pub(super) fn apply(&mut self, position: Position, body: &[u8]) -> Result<bool, String> {
        let frame = Frame::parse(body)?;
        let mut has_wallets = false;
        for section in frame.sections() {
            match section.machine {
                Machine::Queue => self.queues.apply(position.0, frame.time, section.offset, section.events),
                Machine::Wallet => {
                    has_wallets = true;
                    self.ledger.apply(position.0, frame.time, section.events)
                }
            }
            .map_err(|error| error.reason)?;
        }
        Ok(has_wallets)
    }

    /// Begins a checkpoint of the state as it is now.
    pub(super) fn checkpoint_begin(&mut self) {
        self.saving = Machine::Queue;
        self.queues.checkpoint_begin();
        self.ledger.checkpoint_begin();
    }

    /// Makes the next chunk, of about so many bytes. Says whether there are more.
    pub(super) fn checkpoint_next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        chunk.extend_from_slice(&chunk_header(self.saving));
        debug_assert_eq!(chunk.len(), CHUNK_HEADER_BYTES, "the chunk was empty");
        match self.saving {
            Machine::Queue => {
                if !self.queues.checkpoint_next(chunk, bytes_max) {
                    self.saving = Machine::Wallet;
                }
                true
            }
            Machine::Wallet => self.ledger.checkpoint_next(chunk, bytes_max),
        }
    }

    /// Drops a running checkpoint.
    pub(super) fn checkpoint_abort(&mut self) {
        self.queues.checkpoint_abort();
        self.ledger.checkpoint_abort();
    }

    /// Takes in a chunk, in their order.
    pub(super) fn restore(&mut self, chunk: &[u8]) -> Result<(), String> {
        let (machine, part) = parse_chunk(chunk)?;
        match machine {
            Machine::Queue => self.queues.restore(part),
            Machine::Wallet => {
                self.has_wallets = true;
                self.ledger.restore(part)
            }
        }
        .map_err(|error| error.reason)
    }

    /// All chunks are in.
    pub(super) fn restore_finish(&mut self) -> Result<(), String> {
        self.queues.restore_finish().map_err(|error| error.reason)?;
        if self.has_wallets {
            self.ledger.restore_finish().map_err(|error| error.reason)?;
        }
        Ok(())
    }

    /// Bytes of memory that they hold.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.queues.bytes() as u64, self.ledger.bytes() as u64)
    }
}
