//! How far a replica of this process that follows is behind its log, for whoever asks.
//!
//! The thread that drives the replica publishes it; readers wait for nothing but a copy.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

/// How far a replica that follows is behind its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerLag {
    /// Messages that it has not read, of those that the log had at most half a second ago. `None`
    /// until the log has told its end.
    pub messages: Option<u64>,
    /// Since when it has been behind; `None` while it is in step.
    pub since: Option<Instant>,
}

/// The place where the lag of a shard's replica is published; nothing while none follows.
pub(crate) type Published = Arc<Mutex<Option<FollowerLag>>>;

/// The lag of one follower, published while it exists.
pub(crate) struct Lag {
    published: Published,
    since: Option<Instant>,
}

impl Lag {
    pub(crate) fn new(published: &Published) -> Self {
        let mut lag = Self { published: Arc::clone(published), since: None };
        lag.note(None);
        lag
    }

    /// Takes what a look at the end of the log told.
    pub(crate) fn note(&mut self, messages: Option<u64>) {
        self.since = match messages {
            Some(0) => None,
            _ => self.since.or_else(|| Some(Instant::now())),
        };
        *self.published.lock() = Some(FollowerLag { messages, since: self.since });
    }
}

impl Drop for Lag {
    fn drop(&mut self) {
        *self.published.lock() = None;
    }
}
