//! The ledger as a shard drives it.
//!
//! It states beforehand how many bytes a command may write, since a shard makes room for them
//! first.

use bytes::Bytes;
use stadium_state_machine::{
    Description, Gone, Lookup, MachineState, PayloadAt, Record, Section, StateMachine, unknown,
};

use crate::{
    Answer, Command, Corrupt, Delivery, Executed, Ledger, NewTransfer, Refusal, ShardMessage, Time, Walk,
    refusal,
};

/// Bytes of a command that has no items: an asset, changed rules.
const COMMAND_BYTES: usize = 1_024;

/// Bytes of a transfer without its texts: the event, two accounts that open by themselves, and both
/// sides between shards.
const TRANSFER_BYTES: usize = 768;

/// Bytes of an account that is opened.
const ACCOUNT_BYTES: usize = 160;

/// Bytes of an event that time brings, at most, and of what a section has beside its events.
const TICK_EVENT_BYTES: usize = 256;
const TICK_BYTES: usize = 4_096;

/// Bytes of memory that an item of a command keeps alive beside its texts.
const ITEM_BYTES: usize = 128;

impl NewTransfer {
    /// Bytes of memory that it keeps alive while it waits for its shard, about.
    pub fn waiting_bytes(&self) -> usize {
        ITEM_BYTES + self.reference.len() + self.metadata.len()
    }
}

fn transfer_bytes(transfer: &NewTransfer) -> usize {
    TRANSFER_BYTES + transfer.reference.len() + transfer.metadata.len()
}

impl MachineState for Ledger {
    fn apply(&mut self, at: u64, time: Time, _offset: u32, events: &[u8]) -> Result<(), Corrupt> {
        Ledger::apply(self, at, time, events)
    }

    fn bytes(&self) -> usize {
        Ledger::bytes(self)
    }

    fn next_deadline(&self) -> Option<Time> {
        Ledger::next_deadline(self)
    }

    fn pending(&self) -> u64 {
        self.figures().pending
    }

    fn outgoing_next(&self) -> u64 {
        Ledger::outgoing_next(self)
    }

    fn outgoing_first(&self) -> u64 {
        Ledger::outgoing_first(self)
    }

    fn confirm_bytes_max(&self, number: u64) -> usize {
        Ledger::confirm_bytes_max(self, number)
    }
}

impl StateMachine for Ledger {
    type Command = Command;
    type Answer = Answer;
    type Message = ShardMessage;
    type Walk = Walk;

    const CODE: u8 = 2;

    const RECORDS_STAY: bool = true;
    const REJECTION_ANSWERS: bool = true;

    fn is_read(command: &Command) -> bool {
        match command {
            Command::Wallet { .. }
            | Command::Accounts { .. }
            | Command::Holds { .. }
            | Command::Assets
            | Command::Seals { .. }
            | Command::History { .. }
            | Command::BalanceAt { .. }
            | Command::Find { .. } => true,
            Command::Declare { .. }
            | Command::Open { .. }
            | Command::Change { .. }
            | Command::Transfer { .. } => false,
        }
    }

    fn items(command: &Command) -> usize {
        match command {
            Command::Open { accounts } => accounts.len(),
            Command::Transfer { transfers, .. } => transfers.len(),
            // They read records of the journal.
            Command::History { .. } | Command::BalanceAt { .. } => 16,
            _ => 1,
        }
    }

    fn command_bytes(command: &Command) -> usize {
        match command {
            Command::Transfer { transfers, .. } => transfers.iter().map(NewTransfer::waiting_bytes).sum(),
            Command::Open { accounts } => accounts.len() * ITEM_BYTES,
            _ => 0,
        }
    }

    fn record_bytes_max(&self, command: &Command) -> usize {
        COMMAND_BYTES
            + match command {
                Command::Open { accounts } => accounts.len() * ACCOUNT_BYTES,
                Command::Transfer { transfers, .. } => transfers.iter().map(transfer_bytes).sum(),
                _ => 0,
            }
    }

    fn record_time(&self, now: Time) -> Time {
        now.max(self.now())
    }

    fn read(&mut self, now: Time, command: &Command) -> Result<Lookup<Answer, Walk>, Refusal> {
        match command {
            Command::History { .. } | Command::BalanceAt { .. } | Command::Find { .. } => {
                self.look_up(now, command)
            }
            _ => Ledger::read(self, now, command).map(Lookup::Answer),
        }
    }

    fn execute(
        &mut self,
        at: u64,
        now: Time,
        _random: u64,
        command: &Command,
        record: &mut Record,
    ) -> Result<Executed, Refusal> {
        Ledger::execute(self, at, now, command, record)
    }

    fn take_decided(&mut self, each: &mut dyn FnMut(u64, Result<Answer, Refusal>)) {
        self.waiting.finished.drain(..).for_each(|finished| each(finished.number, finished.answer));
    }

    fn pending_refusal() -> Option<Refusal> {
        let reason = "the shard started over while the transfer was under way between shards: \
                      ask again with the same id to get the outcome";
        Some(unknown(refusal::PENDING, 1_000, reason))
    }

    fn tick(&mut self, at: u64, now: Time, _random: u64, record: &mut Record, events_max: u32) -> bool {
        Ledger::tick(self, at, now, record, events_max).more
    }

    fn tick_bytes_max(&self, events_max: u32) -> usize {
        TICK_BYTES + events_max as usize * TICK_EVENT_BYTES
    }

    fn describe(section: Section<'_>, into: &mut Vec<Description>) -> Result<(), Corrupt> {
        Ledger::describe(section, into)
    }

    fn outgoing(
        &self,
        from: u64,
        _payload: &mut dyn FnMut(u64, PayloadAt) -> Option<Bytes>,
        out: &mut dyn FnMut(u16, u64, ShardMessage),
    ) {
        Ledger::outgoing(self, from, out);
    }

    fn receive_bytes_max(&self, delivery: &Delivery) -> usize {
        Ledger::receive_bytes_max(self, delivery)
    }

    fn receive(
        &mut self,
        at: u64,
        now: Time,
        delivery: &Delivery,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        Ledger::receive(self, at, now, delivery, record)
    }

    fn confirm(&mut self, at: u64, now: Time, number: u64, taken: &Result<(), Refusal>, record: &mut Record) {
        Ledger::confirm(self, at, now, number, taken, record);
    }
}

impl stadium_state_machine::Walk<Ledger> for Walk {
    fn next(&self) -> Option<u64> {
        Walk::next(self)
    }

    fn read(&mut self, ledger: &Ledger, section: Section<'_>) -> Result<(), Corrupt> {
        Walk::read(self, ledger, section.time, section.events)
    }

    fn gone(&self, ledger: &Ledger) -> Gone {
        Walk::gone(self, ledger)
    }

    fn finish(self, ledger: &Ledger) -> Result<Answer, Refusal> {
        Walk::finish(self, ledger)
    }
}
