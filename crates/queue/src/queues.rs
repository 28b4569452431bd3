//! All queues of one shard.
//!
//! `execute` and `tick` decide, write what they decided as events into a record, and apply those; `apply`
//! does the same with the events of a record that was read back, and decides nothing. So the state after
//! a replay is the state that was.

use crate::{
    Answer, Bounds, Command, Delivery, JobId, NewJob, PayloadAt, Place, QueueName, Record, Refusal, Time,
};

/// All queues of one shard.
pub struct Queues {
    _place: Place,
    _bounds: Bounds,
}

/// What time brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// More is due now than fitted: call again.
    pub more: bool,
}

/// Events or a checkpoint that this machine cannot have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// What is wrong with what.
    pub reason: String,
}

/// A payload that came to life or died, for the accounting of segments. A payload may live several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadChange {
    /// The record that holds it.
    pub record: u64,
    /// Bytes that live there now in addition; negative where they died.
    pub bytes: i64,
}

/// A job on its way to another shard, until that has confirmed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing<P = PayloadAt> {
    /// The sender's own number for it.
    pub number: u64,
    /// Where to.
    pub queue: QueueName,
    /// What: its payload is empty here and stands in `payload`.
    pub job: NewJob,
    /// Its payload.
    pub payload: P,
}

/// How far a scan of all payloads got, see [`Queues::move_payloads`].
#[derive(Debug, Clone, Default)]
pub struct MoveCursor {
    pub(crate) table: u8,
    pub(crate) next: u32,
}

impl Queues {
    /// No queues.
    pub fn new(place: Place, bounds: Bounds) -> Self {
        Self { _place: place, _bounds: bounds }
    }

    /// Carries out a command that may change something: writes the events of one record and applies them
    /// at once. `at` is the position that the record will have. Where the record stays empty nothing
    /// changed. `random` is anything, another one each time.
    ///
    /// # Errors
    ///
    /// The refusals of docs/queue.md; nothing happened then, and the record stays as it was begun.
    pub fn execute(
        &mut self,
        _at: u64,
        _now: Time,
        _random: u64,
        _command: &Command,
        _record: &mut Record,
    ) -> Result<Answer<PayloadAt>, Refusal> {
        todo!()
    }

    /// Answers a command that changes nothing: peek, find, stats, list, schedules.
    ///
    /// # Errors
    ///
    /// What it asks for is unknown, or out of bounds. History is the shard's: see [`Self::history_start`].
    pub fn read(&self, _now: Time, _command: &Command) -> Result<Answer<PayloadAt>, Refusal> {
        todo!()
    }

    /// What time brings: leases that end, times to live, schedules, purges that go on; up to
    /// `events_max` events, at least one where something is due.
    pub fn tick(
        &mut self,
        _at: u64,
        _now: Time,
        _random: u64,
        _record: &mut Record,
        _events_max: u32,
    ) -> Ticked {
        todo!()
    }

    /// When `tick` is to be called next; it may be called earlier, and may then find nothing.
    pub fn next_deadline(&self) -> Option<Time> {
        todo!()
    }

    /// Applies the events of a record that was read back: `events` begins `offset` bytes into the record at
    /// `at`, whose time was `time`. Records come in the order in which they were written.
    ///
    /// # Errors
    ///
    /// Events that cannot follow what was applied so far. The state is then of no use.
    pub fn apply(&mut self, _at: u64, _time: Time, _offset: u32, _events: &[u8]) -> Result<(), Corrupt> {
        todo!()
    }

    /// The queues in which something became ready to be handed out since the last call, each once.
    pub fn take_ready(&mut self, _into: &mut Vec<QueueName>) {
        todo!()
    }

    /// Payloads that came to life or died since the last call.
    pub fn take_payload_changes(&mut self, _into: &mut Vec<PayloadChange>) {
        todo!()
    }

    /// Every payload that lives, for the accounting after a recovery.
    pub fn live_payloads(&self, _each: &mut dyn FnMut(PayloadAt)) {
        todo!()
    }

    /// Writes payloads again whose records lie in `segment`: looks at some thousand places from the cursor on,
    /// and writes at most `bytes_max` bytes of payloads (at least one). `read` appends a payload's bytes
    /// to the buffer; where it fails the payload stays where it is. Returns whether there is more to look at.
    #[expect(clippy::too_many_arguments, reason = "one call of one driver")]
    pub fn move_payloads(
        &mut self,
        _at: u64,
        _now: Time,
        _segment: std::ops::Range<u64>,
        _cursor: &mut MoveCursor,
        _read: &mut dyn FnMut(PayloadAt, &mut Vec<u8>) -> bool,
        _record: &mut Record,
        _bytes_max: usize,
    ) -> bool {
        todo!()
    }

    /// The position of the job's newest event: of one that is here, or that was finished lately.
    pub fn history_start(&self, _job: JobId) -> Option<u64> {
        todo!()
    }

    /// Jobs that were sent to queues of other shards and are not confirmed, by number, from `from` on.
    pub fn outgoing(&self, _from: u64, _each: &mut dyn FnMut(Outgoing)) {
        todo!()
    }

    /// The number that the next outgoing job will have; those from it on are new since.
    pub fn outgoing_next(&self) -> u64 {
        todo!()
    }

    /// Takes over a job that another shard sent: put once, however often it is delivered. Answers the job's id.
    ///
    /// # Errors
    ///
    /// Busy, as for a put.
    pub fn deliver(
        &mut self,
        _at: u64,
        _now: Time,
        _delivery: &Delivery,
        _record: &mut Record,
    ) -> Result<JobId, Refusal> {
        todo!()
    }

    /// The other shard has an outgoing job, durably: it is forgotten here.
    pub fn confirm(&mut self, _at: u64, _now: Time, _number: u64, _record: &mut Record) {
        todo!()
    }

    /// Whether a queue of that name is here, or would be made here.
    pub fn is_local(&self, _queue: &QueueName) -> bool {
        todo!()
    }

    /// Begins a checkpoint of the state as it is now.
    pub fn checkpoint_begin(&mut self) {
        todo!()
    }

    /// Appends about `bytes_max` more bytes of the checkpoint, one chunk. Returns whether there is more.
    pub fn checkpoint_next(&mut self, _out: &mut Vec<u8>, _bytes_max: usize) -> bool {
        todo!()
    }

    /// Drops a running checkpoint.
    pub fn checkpoint_abort(&mut self) {
        todo!()
    }

    /// Takes in one chunk of a checkpoint, in their order, into new queues.
    ///
    /// # Errors
    ///
    /// A chunk that no checkpoint of this format has.
    pub fn restore(&mut self, _chunk: &[u8]) -> Result<(), Corrupt> {
        todo!()
    }

    /// All chunks are in: builds what is not saved. Records after the checkpoint are applied next.
    ///
    /// # Errors
    ///
    /// A checkpoint that is not whole, or contradicts itself.
    pub fn restore_finish(&mut self) -> Result<(), Corrupt> {
        todo!()
    }

    /// Jobs in whatever state.
    pub fn jobs(&self) -> u64 {
        todo!()
    }

    /// Bytes of memory that the state holds.
    pub fn bytes(&self) -> usize {
        todo!()
    }
}
