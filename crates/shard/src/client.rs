//! How everybody else reaches the shards of this process.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use stadium_queue::{Answer, Command, Refusal};

/// The shards of this process. Cheap to clone.
#[derive(Clone)]
pub struct Shards {
    _private: (),
}

impl Shards {
    /// Hands a command to the shard that it belongs to, or to several where the queue is spread.
    ///
    /// Never waits: where a shard's mailbox is full the ticket is at once a `Busy`. A ticket that is
    /// dropped takes back a reserve that still waits; everything else happens all the same.
    pub fn submit(&self, _command: Command) -> Ticket {
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
