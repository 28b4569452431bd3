//! Types of single machines that the core carries for [`super`] without looking into them.

use std::collections::VecDeque;

use stadium_push::feed::FeedJob;
use stadium_queue::{NewJob, QueueName};
use stadium_state_machine::StateMachine as _;
use stadium_wallet::Ledger;

/// Transfers, and jobs that are put beside them.
pub(crate) struct Beside {
    pub(in crate::core) transfers: stadium_wallet::Command,
    pub(in crate::core) jobs: Vec<(QueueName, NewJob)>,
}

impl Beside {
    /// Items that it is about.
    pub(in crate::core) fn items(&self) -> usize {
        Ledger::items(&self.transfers) + self.jobs.len()
    }
}

/// Events of feeds that wait, as jobs, until they are put into their queues.
#[derive(Default)]
pub(in crate::core) struct FeedJobs {
    pub(super) waiting: VecDeque<(QueueName, NewJob)>,
    pub(super) fresh: Vec<FeedJob>,
    /// Jobs that were dropped.
    pub(super) dropped: u64,
}
