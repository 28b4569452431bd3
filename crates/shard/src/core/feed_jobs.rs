//! Events of feeds that wait until they are put into their queues.
//!
//! [`super::composition`] takes them from the push platform and puts them.

use std::collections::VecDeque;

use stadium_push::feed::FeedJob;
use stadium_queue::{NewJob, QueueName};

/// Events that wait, as jobs.
#[derive(Default)]
pub(super) struct FeedJobs {
    pub(super) waiting: VecDeque<(QueueName, NewJob)>,
    pub(super) fresh: Vec<FeedJob>,
    /// Jobs that were dropped.
    pub(super) dropped: u64,
}
