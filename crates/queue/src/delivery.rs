//! A job that comes from another shard.

use crate::{NewJob, QueueName};

/// A job that comes from another shard, exactly once however often it is delivered, as long as deliveries come in the order in
/// which they were sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// Whose.
    pub shard: u16,
    /// The sender's number for it.
    pub number: u64,
    /// The sender has no unconfirmed job below this number: they need not be remembered any more.
    pub confirmed_below: u64,
    /// Into which queue.
    pub queue: QueueName,
    /// What, with its payload.
    pub job: NewJob,
}
