//! The state of all wallets of a shard.

use crate::{Answer, Bounds, Command, Corrupt, Delivery, Record, Refusal, Time};

/// Which shard of how many this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number, below `shards`.
    pub shard: u16,
    /// How many there are, 1 to 1,024.
    pub shards: u16,
    /// Keeps who chooses names from choosing them so that they collide. Anything; may differ at each start.
    pub hash_seed: u64,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Executed {
    /// It is done.
    Done(Answer),
    /// Other shards are asked; [`Ledger::finished`] has the answer under this number later.
    Pending(u64),
}

/// The answer of a command that was pending.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// What [`Executed::Pending`] said.
    pub number: u64,
    /// What came of it. It may leave when the record is durable that was written last.
    pub answer: Result<Answer, Refusal>,
}

/// What has to be read from the journal, or was known without.
#[derive(Debug)]
pub enum Lookup {
    /// Nothing has to be read.
    Answer(Answer),
    /// Records have to be read.
    Walk(Walk),
}

/// Reads records of the journal backwards for one command. Its driver reads what `next` names, until there is nothing or
/// it has read enough, and then takes the answer.
#[derive(Debug)]
pub struct Walk {}

impl Walk {
    /// The position of the record that is to be read next.
    pub fn next(&self) -> Option<u64> {
        None
    }

    /// Takes in the record that `next` named: its time, and the wallets' section of it, the chain value included.
    ///
    /// # Errors
    ///
    /// A section that this version did not write.
    pub fn read(&mut self, _ledger: &Ledger, _time: Time, _section: &[u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    /// What was found; where `next` still names a record, as far as was read.
    ///
    /// # Errors
    ///
    /// A balance or a transfer that was not reached.
    pub fn finish(self, _ledger: &Ledger) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
}

/// What time brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// More is due now than fitted: call again.
    pub more: bool,
}

/// A seal: the root of all records before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// Its number, from 1.
    pub number: u64,
    /// When it was made.
    pub at: Time,
    /// Where its record stands.
    pub position: u64,
    /// Records of its period.
    pub records: u64,
    /// Its root.
    pub root: [u8; 32],
}

/// Figures for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Accounts.
    pub accounts: u64,
    /// Open holds.
    pub holds: u64,
    /// Ids that are remembered.
    pub remembered: u64,
    /// Groups that are not decided, here as coordinator or waiting for another shard's decision.
    pub pending: u64,
    /// Letters that are not confirmed.
    pub outgoing: u64,
    /// Transfers that were booked since the start; replayed ones count.
    pub booked: u64,
    /// Transfers that were refused since the start.
    pub refused: u64,
    /// Seals that were ever made.
    pub seals: u64,
    /// Records that no seal covers.
    pub unsealed: u64,
}

/// All wallets of one shard.
///
/// `execute`, `tick`, `receive` and `confirm` decide, write what they decided as events into a record (that was begun and is empty), apply those, and
/// close the section with its chain value: one call, one record. `apply` does the same with the section of a record that was read back, and decides
/// nothing. So the state after a replay is the state that was.
///
/// `at` is the position that the record will have; `now` its time, which must stand in its frame: the chain covers it.
/// Where the record stays empty nothing changed.
pub struct Ledger {}

impl Ledger {
    /// No wallets.
    pub fn new(_place: Place, _bounds: Bounds) -> Self {
        Self {}
    }

    /// Carries out a command that may change something; those that only read memory are answered too.
    ///
    /// # Errors
    ///
    /// The refusals of docs/wallet.md; nothing happened then, and the record stays as it was begun. So do History, BalanceAt and
    /// Find (MISDIRECTED): they go to [`Self::look_up`].
    pub fn execute(
        &mut self,
        _at: u64,
        _now: Time,
        _command: &Command,
        _record: &mut Record,
    ) -> Result<Executed, Refusal> {
        Ok(Executed::Done(Answer::Done))
    }

    /// Whether `execute` would succeed now, without another shard: for records that several machines share. Of unlinked transfers: whether all would.
    ///
    /// # Errors
    ///
    /// What `execute` would refuse; SHARDS where other shards would be asked.
    pub fn check(&self, _now: Time, _command: &Command) -> Result<(), Refusal> {
        Ok(())
    }

    /// Answers Wallet, Accounts, Holds and Assets from memory.
    ///
    /// # Errors
    ///
    /// Unknown wallets; MISDIRECTED for every other command.
    pub fn read(&self, _now: Time, _command: &Command) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }

    /// Begins to answer History, BalanceAt and Find.
    ///
    /// # Errors
    ///
    /// Unknown accounts and transfers; MISDIRECTED for every other command.
    pub fn look_up(&self, _now: Time, _command: &Command) -> Result<Lookup, Refusal> {
        Ok(Lookup::Answer(Answer::Done))
    }

    /// What time brings: holds that expire, groups that nobody answered in time, seals; about `events_max` events.
    pub fn tick(&mut self, _at: u64, _now: Time, _record: &mut Record, _events_max: u32) -> Ticked {
        Ticked::default()
    }

    /// When time brings something next.
    pub fn next_deadline(&self) -> Option<Time> {
        None
    }

    /// Applies the section of a record that was read back, the chain value included. Records come in the order in which they were written.
    ///
    /// # Errors
    ///
    /// Events that cannot follow what was applied so far, or a chain value that differs. The state is then of no use.
    pub fn apply(&mut self, _at: u64, _time: Time, _section: &[u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    /// Letters that are not confirmed, by number, from `from` on: to which shard, and what.
    pub fn outgoing(&self, _from: u64, _each: &mut dyn FnMut(u16, Delivery)) {}

    /// The number that the next letter will have; those from it on are new since.
    pub fn outgoing_next(&self) -> u64 {
        1
    }

    /// The lowest number that is not confirmed; that of the next one where all are.
    pub fn outgoing_first(&self) -> u64 {
        1
    }

    /// Takes in another shard's letter, once however often it is delivered. The answer, when it is durable, goes back to the sender's [`Self::confirm`].
    ///
    /// # Errors
    ///
    /// Rejected: that is an answer, and as durable as a yes. Busy: not now; nothing happened, and it is to be delivered again.
    pub fn receive(
        &mut self,
        _at: u64,
        _now: Time,
        _delivery: &Delivery,
        _record: &mut Record,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// Takes in what another shard answered to a letter. Busy changes nothing: the letter is sent again.
    pub fn confirm(
        &mut self,
        _at: u64,
        _now: Time,
        _number: u64,
        _taken: &Result<(), Refusal>,
        _record: &mut Record,
    ) {
    }

    /// Takes out the answers of commands that were pending and are decided now: ask after each `execute`, `confirm` and `tick`.
    pub fn finished(&mut self) -> impl Iterator<Item = Finished> + '_ {
        std::iter::empty()
    }

    /// The last 10,000 seals, oldest first.
    pub fn seals(&self) -> impl Iterator<Item = Seal> + '_ {
        std::iter::empty()
    }

    /// Figures for metrics.
    pub fn figures(&self) -> Figures {
        Figures::default()
    }

    /// The latest moment that was seen.
    pub fn now(&self) -> Time {
        Time(0)
    }

    /// Bytes of memory that the state holds, but for names of more than 24 bytes.
    pub fn bytes(&self) -> usize {
        0
    }

    /// Counts everything again and compares: sums, totals, held amounts.
    ///
    /// # Errors
    ///
    /// What does not agree.
    pub fn audit(&self) -> Result<(), String> {
        Ok(())
    }

    /// Begins a checkpoint of the state as it is now.
    pub fn checkpoint_begin(&mut self) {}

    /// Appends about `bytes_max` more bytes of the checkpoint, one chunk. Returns whether there is more.
    pub fn checkpoint_next(&mut self, _out: &mut Vec<u8>, _bytes_max: usize) -> bool {
        false
    }

    /// Drops a running checkpoint.
    pub fn checkpoint_abort(&mut self) {}

    /// Takes in one chunk of a checkpoint, in their order, into a new ledger.
    ///
    /// # Errors
    ///
    /// A chunk that no checkpoint of this format has.
    pub fn restore(&mut self, _chunk: &[u8]) -> Result<(), Corrupt> {
        Ok(())
    }

    /// All chunks are in: builds what is not saved. Records after the checkpoint are applied next. A checkpoint of before there were wallets has no chunks:
    /// then this is not called.
    ///
    /// # Errors
    ///
    /// A checkpoint that is not whole, or contradicts itself.
    pub fn restore_finish(&mut self) -> Result<(), Corrupt> {
        Ok(())
    }
}
