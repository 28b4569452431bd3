//! A shard without a thread: state machines on a journal, turn by turn.
//!
//! A turn takes what was handed in and what time brought, writes each as one record, applies it, and
//! starts a commit; answers whose records are durable leave. What holds always: no answer leaves before everything that it may have
//! seen is durable, and a commit that failed takes everything after the last durable record with it.

mod seam;
mod settings;

use stadium_queue::{Delivery, Time};

pub use seam::{Caller, Claim, Confirmation, Next, Output, Reply, Request, Search, Store};
pub use settings::{CheckpointWriting, CoreSettings};

use crate::Error;

/// A shard. Whoever drives it calls [`Self::turn`] after input, when the journal wakes it, and at the deadline
/// of the last turn; extra turns are harmless.
pub struct Core<S: Store, C: Caller> {
    _store: S,
    _caller: std::marker::PhantomData<C>,
}

/// How far a recovery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The newest checkpoint is read.
    Checkpoint {
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all.
        bytes_all: u64,
    },
    /// Records after it are applied.
    Records {
        /// Records so far.
        records: u64,
        /// Bytes of journal so far.
        bytes: u64,
    },
}

impl<S: Store, C: Caller> Core<S, C> {
    /// Opens the journal, reads the newest checkpoint and applies what follows.
    ///
    /// # Errors
    ///
    /// The journal cannot be opened or read, or what it holds cannot be applied.
    pub fn open(
        _store: S,
        _settings: CoreSettings,
        _now: Time,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        todo!()
    }

    /// Hands in a request for the next turn. The driver bounds how many.
    pub fn submit(&mut self, _request: Request<C>) {
        todo!()
    }

    /// Nobody waits for this caller's answer any more: a reserve that waits for a job is taken back.
    pub fn vanished(&mut self, _caller: u64) {
        todo!()
    }

    /// An answer could not be given to its caller, who has gone: what it reserved is released, and the attempt does not count.
    pub fn undelivered(&mut self, _reply: Reply<C>) {
        todo!()
    }

    /// Hands in a job that comes from another shard.
    pub fn deliver(&mut self, _delivery: Delivery) {
        todo!()
    }

    /// Hands in what another shard answered to a delivery.
    pub fn confirmed(&mut self, _confirmation: Confirmation) {
        todo!()
    }

    /// One turn: everything that can be done now, within the bounds of a turn.
    pub fn turn(&mut self, _now: Time, _output: &mut Output<C>) -> Next {
        todo!()
    }

    /// Begins a checkpoint at the next turn, unless one runs.
    pub fn checkpoint_soon(&mut self) {
        todo!()
    }

    /// Takes no more commands, lets waiting consumers go, finishes what was begun and writes a last
    /// checkpoint. Turns go on until one says `stopped`.
    pub fn stop(&mut self) {
        todo!()
    }

    /// The machine, to be looked at; none while the journal is not open.
    pub fn queues(&self) -> Option<&stadium_queue::Queues> {
        todo!()
    }

    /// The journal, to be looked at, and for a simulator to let its commits complete.
    pub fn journal(&mut self) -> Option<&mut S::Journal> {
        todo!()
    }
}
