//! What the thread `membership` and the handles share: the last view, and who waits for the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stadium_membership::{Error, Incarnation, ShardSet, View};

/// The contact with etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// A member answers, and the view follows it.
    Connected,
    /// None does, for the reason given. The view is the last one.
    Away(String),
    /// The cluster in etcd is not this node's, or another process has this node's name.
    Refused(Error),
}

/// The cluster as this node knows it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Grows with each snapshot.
    pub number: u64,
    /// The last view.
    pub view: View,
    /// The incarnation that is registered; none before the first registration and after a lost lease.
    pub incarnation: Option<Incarnation>,
    /// The contact with etcd.
    pub connection: Connection,
}

/// What the node says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// How busy it is: 0 idle, 1 at capacity.
    pub load: f32,
    /// The shards to announce as in step: [`stadium_membership::Succession::announced`].
    pub in_step: ShardSet,
    /// The shards with state on disk.
    pub has_data: ShardSet,
    /// It hands its shards over.
    pub draining: bool,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Leases that ended while the node lived.
    pub leases_lost: u64,
    /// Contacts with a member of etcd.
    pub contacts: u64,
    /// Watches that found what they had missed compacted away.
    pub compactions: u64,
    /// Writes whose conditions did not hold.
    pub conflicts: u64,
    /// Keys that could not be read.
    pub unreadable: u64,
    /// Elections as planner.
    pub elections: u64,
}

/// Called on the thread `membership` after each change: wakes the node, and returns.
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// Shared by the thread and the handles.
pub(crate) struct Shared {
    snapshot: Mutex<Arc<Snapshot>>,
    changed: Condvar,
    counts: Mutex<Counts>,
    wake: Wake,
}

impl Shared {
    pub(crate) fn new(wake: Wake) -> Self {
        let connection = Connection::Away("not reached yet".to_owned());
        let first = Snapshot { number: 0, view: View::default(), incarnation: None, connection };
        Self {
            snapshot: Mutex::new(Arc::new(first)),
            changed: Condvar::new(),
            counts: Mutex::default(),
            wake,
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.lock().clone()
    }

    /// Makes the next snapshot.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        let mut snapshot = self.snapshot.lock();
        let mut next = Snapshot::clone(&snapshot);
        change(&mut next);
        next.number += 1;
        *snapshot = Arc::new(next);
        drop(snapshot);
        self.changed.notify_all();
        (self.wake)();
    }

    /// Waits for a snapshot after number `seen`, or returns the last one when the time is over.
    pub(crate) fn wait(&self, seen: u64, within: Duration) -> Arc<Snapshot> {
        let deadline = Instant::now() + within;
        let mut snapshot = self.snapshot.lock();
        while snapshot.number <= seen {
            if self.changed.wait_until(&mut snapshot, deadline).timed_out() {
                break;
            }
        }
        snapshot.clone()
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock());
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.counts.lock()
    }
}
