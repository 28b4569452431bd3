//! A job that goes to another shard.

use crate::{NewJob, PrincipalId, QueueName};

/// A job for a queue of another shard.
#[derive(Debug, Clone, PartialEq)]
pub struct ShardMessage {
    /// Into which queue.
    pub queue: QueueName,
    /// What, with its payload.
    pub job: NewJob,
    /// The principal that put it.
    pub principal: Option<PrincipalId>,
}

/// A job that comes from another shard, exactly once however often it is delivered, as long as
/// deliveries come in the order in which they were sent.
pub type Delivery = stadium_state_machine::Delivery<ShardMessage>;
