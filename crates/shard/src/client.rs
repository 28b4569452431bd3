//! How everybody else reaches the shards of this process.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use stadium_queue::{Answer, Command, Refusal};

use crate::core::Progress;
use crate::{Error, Settings, ShardMetrics};

/// The shards of this process. Cheap to clone.
#[derive(Clone)]
pub struct Shards {
    _private: (),
}

impl Shards {
    /// Starts all shards and waits until each has recovered. `progress` is told how far each one is, from its own
    /// thread, about once a second.
    ///
    /// # Errors
    ///
    /// The first shard that cannot start; the others are stopped again.
    pub fn open(
        _settings: Settings,
        _progress: impl Fn(u16, Progress) + Send + Sync + 'static,
    ) -> Result<Shards, Error> {
        unimplemented!("the shards are being built")
    }

    /// Hands a command to the shard that it belongs to, or to several where the queue is spread.
    ///
    /// Never waits: where a shard's mailbox is full the ticket is at once a `Busy`. A ticket that is
    /// dropped takes back a reserve that still waits; everything else happens all the same.
    pub fn submit(&self, _command: Command) -> Ticket {
        unimplemented!("the shards are being built")
    }

    /// Figures of each shard, as they were at most a tenth of a second ago.
    pub fn metrics(&self) -> Vec<ShardMetrics> {
        unimplemented!("the shards are being built")
    }

    /// Stops all shards: new commands are told Busy, waiting consumers get nothing, what was begun is finished, last checkpoints are
    /// written. Returns when their threads have ended, or after `at_most`; then false. May be called twice.
    pub fn stop(&self, _at_most: Duration) -> bool {
        unimplemented!("the shards are being built")
    }
}

/// The answer to a command, once it is there.
pub struct Ticket {
    _private: (),
}

impl Ticket {
    /// Waits for the answer on this thread; `None` when it took longer than that.
    pub fn wait(self, _at_most: Duration) -> Option<Result<Answer<Bytes>, Refusal>> {
        unimplemented!("the shards are being built")
    }
}

impl Future for Ticket {
    type Output = Result<Answer<Bytes>, Refusal>;

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        unimplemented!("the shards are being built")
    }
}
