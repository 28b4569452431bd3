//! Wakes the thread of a node: membership changed, a replica has another state, an opener is done.
//!
//! All of it is coalesced: of each replica only the last state is kept. So what waits is bounded by
//! the number of shards, however slow the thread is.

use std::collections::BTreeMap;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use stadium_shard::ReplicaState;

/// The result of an opener's work on a shard.
pub(crate) enum Done {
    /// Its replica is open, or is not, for the reason given.
    Opened(Result<(), String>),
    /// Its replica is closed; false where it is not yet.
    Closed(bool),
}

/// The news since the thread looked last.
#[derive(Default)]
pub(crate) struct News {
    is_rung: bool,
    /// The last states of replicas, and the claims that they had taken up.
    pub(crate) states: BTreeMap<u16, (ReplicaState, u64)>,
    /// At most one for each shard: an opener has one piece of work on a shard at a time.
    pub(crate) done: Vec<(u16, Done)>,
}

/// The bell of a node.
#[derive(Default)]
pub(crate) struct Bell {
    news: Mutex<News>,
    rung: Condvar,
}

impl Bell {
    /// Has the thread look.
    pub(crate) fn ring(&self) {
        self.add(|_| ());
    }

    pub(crate) fn tell(&self, shard: u16, state: ReplicaState, claim: u64) {
        self.add(|news| _ = news.states.insert(shard, (state, claim)));
    }

    pub(crate) fn done(&self, shard: u16, done: Done) {
        self.add(|news| news.done.push((shard, done)));
    }

    fn add(&self, add: impl FnOnce(&mut News)) {
        let mut news = self.news.lock();
        add(&mut news);
        news.is_rung = true;
        self.rung.notify_one();
    }

    /// Waits until it is rung, or until `until`, and takes what came.
    pub(crate) fn wait(&self, until: Instant) -> News {
        let mut news = self.news.lock();
        while !news.is_rung {
            if self.rung.wait_until(&mut news, until).timed_out() {
                break;
            }
        }
        std::mem::take(&mut news)
    }
}
