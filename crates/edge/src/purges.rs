//! The retained messages that operators remove, until the shards have answered for each.

use std::collections::HashMap;
use std::sync::mpsc::Sender;

use stadium_mqtt::broker::{Persisted, PurgeId};

/// How many messages were removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Purged {
    /// Messages that are gone, durably; in a dry run those that would be.
    pub removed: usize,
    /// Messages that are there still, because a shard was busy or its disk full.
    pub refused: usize,
    /// The topic from which the next part goes on; none where no message is left to look at.
    pub next: Option<String>,
}

/// Messages that a loop is to remove.
#[derive(Debug)]
pub(crate) struct Purge {
    pub(crate) topics: Vec<String>,
    /// Only those of this owner.
    pub(crate) owner: Option<String>,
    pub(crate) reply: Sender<Purged>,
}

/// Removals that wait for the shards, of one loop. Each belongs to a request that waits in a thread
/// of its own, of which the control plane has a bounded number.
#[derive(Debug, Default)]
pub(crate) struct Purges {
    last: u64,
    waiting: HashMap<PurgeId, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    left: usize,
    purged: Purged,
    reply: Sender<Purged>,
}

impl Purges {
    /// A name for a request.
    pub(crate) fn begin(&mut self) -> PurgeId {
        self.last += 1;
        PurgeId(self.last)
    }

    /// So many of its messages are gone when the shards have answered, which is after this call.
    pub(crate) fn wait(&mut self, purge: PurgeId, left: usize, reply: Sender<Purged>) {
        self.waiting.insert(purge, Waiting { left, purged: Purged::default(), reply });
    }

    /// One message is gone, or there again.
    pub(crate) fn purged(&mut self, purge: PurgeId, persisted: Persisted) {
        let Some(waiting) = self.waiting.get_mut(&purge) else { return };
        match persisted {
            Persisted::Done | Persisted::Known => waiting.purged.removed += 1,
            Persisted::Full | Persisted::Busy | Persisted::Unknown => waiting.purged.refused += 1,
        }
        waiting.left -= 1;
        if waiting.left == 0
            && let Some(Waiting { purged, reply, .. }) = self.waiting.remove(&purge)
        {
            // Nobody may be listening any more.
            let _ = reply.send(purged);
        }
    }
}
