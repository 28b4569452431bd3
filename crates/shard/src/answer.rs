//! The answer to a request, whichever machine it was for.
//!
//! A shard answers all of them alike. A ticket gives the answer its type back.

use std::fmt;

use bytes::Bytes;
use stadium_queue::{NewJob, Placed, QueueName};
use stadium_state_machine::{PrincipalId, StateMachine};
use stadium_wallet::{Booked, NewTransfer, linked_shard};

use crate::core::AnyAnswer;
use crate::frame::MachineId;

/// Transfers and jobs that are done together, in one record: all or none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Together {
    /// Booked as a linked list: their accounts live on one shard, system wallets aside.
    pub transfers: Vec<NewTransfer>,
    /// Put where the transfers are booked, or sent from there to the queue's shard.
    pub jobs: Vec<(QueueName, NewJob)>,
    /// The principal that asks for all of it.
    pub principal: Option<PrincipalId>,
}

impl Together {
    /// The shards, of so many, that are asked to do this: one, or all where the transfers name only
    /// ids, and the one that knows them does it.
    pub fn shards(&self, shards: u16) -> Vec<u16> {
        match linked_shard(&self.transfers, shards) {
            Some(shard) => vec![shard],
            None => (0..shards.max(1)).collect(),
        }
    }

    /// Bytes of memory that it keeps alive while it waits.
    pub(crate) fn bytes(&self) -> usize {
        let transfers = self.transfers.iter().map(NewTransfer::waiting_bytes);
        let jobs = self.jobs.iter().map(|(_, job)| JOB_BYTES + job.payload.len());
        transfers.chain(jobs).sum()
    }
}

/// Bytes that a job keeps alive beside its payload.
const JOB_BYTES: usize = 128;

/// What came of [`Together`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// One for each transfer, in its order.
    pub booked: Vec<Booked>,
    /// One for each job, in its order; none where all transfers had been booked before, so that nothing was put now.
    ///
    /// A job on its way to another shard has the id 0 of the shard that sends it: it gets its own where it arrives.
    pub placed: Vec<Placed>,
}

/// The answer to a request.
pub enum Answer {
    /// Of a command to the queues.
    Queue(stadium_queue::Answer<Bytes>),
    /// Of a command to another state machine.
    Machine(MachineId, AnyAnswer),
    /// Of transfers and jobs together.
    Together(Done),
}

impl Answer {
    /// An answer of the machine `M`.
    pub fn of<M: StateMachine>(answer: M::Answer) -> Self {
        Answer::Machine(MachineId::of::<M>(), Box::new(answer))
    }

    /// As the machine `M` gave it.
    ///
    /// # Errors
    ///
    /// It is another machine's: it comes back.
    pub fn from_machine<M: StateMachine>(self) -> Result<M::Answer, Self> {
        match self {
            Answer::Machine(machine, answer) if machine == MachineId::of::<M>() => {
                answer.downcast().map(|answer| *answer).map_err(|answer| Answer::Machine(machine, answer))
            }
            other => Err(other),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Queue(answer) => answer.fmt(f),
            Answer::Machine(machine, _) => write!(f, "an answer of {machine:?}"),
            Answer::Together(done) => done.fmt(f),
        }
    }
}

/// The answer to a command of `M`.
pub(crate) fn of_machine<M: StateMachine>(answer: Answer) -> M::Answer {
    match answer.from_machine::<M>() {
        Ok(answer) => answer,
        Err(other) => unreachable!("a machine answers its own commands, not {other:?}"),
    }
}

/// The answer to a command to the queues.
pub(crate) fn of_queues(answer: Answer) -> stadium_queue::Answer<Bytes> {
    match answer {
        Answer::Queue(answer) => answer,
        other => unreachable!("the queues answer their own commands, not {other:?}"),
    }
}

/// The answer to transfers and jobs.
pub(crate) fn of_together(answer: Answer) -> Done {
    match answer {
        Answer::Together(done) => done,
        other => unreachable!("transfers and jobs are answered together, not {other:?}"),
    }
}
