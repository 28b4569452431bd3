//! The input of a shard's core.
//!
//! Commands, what other shards send, and leases that are given back.

use stadium_queue::{Lease, NewJob, QueueName};
use stadium_state_machine::StateMachine as _;
use stadium_wallet::Ledger;

use super::ports::{Confirmation, Delivery, Request};
use super::slot::AnyCommand;

/// An item of the input.
pub(super) enum Input<C> {
    Request(Request<C>),
    Command(C, AnyCommand),
    Together(C, Box<Beside>),
    Release(Vec<Lease>),
    Delivery(Delivery),
    Confirmation(Confirmation),
}

/// A command to the queues must not pay for what else there is.
const _: () = assert!(size_of::<Input<u64>>() <= size_of::<Request<u64>>() + size_of::<u64>());

/// Transfers, and jobs that are put beside them.
pub(super) struct Beside {
    pub(super) transfers: stadium_wallet::Command,
    pub(super) jobs: Vec<(QueueName, NewJob)>,
}

impl Beside {
    /// Items that it is about.
    pub(super) fn items(&self) -> usize {
        Ledger::items(&self.transfers) + self.jobs.len()
    }
}
