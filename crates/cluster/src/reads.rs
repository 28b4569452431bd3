//! The shards whose reads this node answers under its lease, as their threads ask.
//!
//! A lease alone is not enough. A node that was stopped registers again and has a certain lease,
//! while it still serves what others have taken over. So each shard is noted with the incarnation
//! under which this node is its recorded owner, and only the lease of that one counts.

use std::sync::atomic::{AtomicU64, Ordering};

use stadium_membership::{Incarnation, Shard};
use stadium_membership_etcd::Certainty;
use stadium_shard::core::NodeLease;

/// For each shard the incarnation by whose lease it answers reads.
#[derive(Debug)]
pub(crate) struct Reads {
    certainty: Certainty,
    /// [`NOBODY`] where there is none.
    recorded: Vec<AtomicU64>,
}

/// No incarnation has this number.
const NOBODY: u64 = 0;

impl Reads {
    pub(crate) fn new(certainty: Certainty, shards: u16) -> Self {
        Self { certainty, recorded: (0..shards).map(|_| AtomicU64::new(NOBODY)).collect() }
    }

    /// Notes under which incarnation each shard answers reads: as `is_recorded` says, this one.
    pub(crate) fn note(&self, incarnation: Option<Incarnation>, is_recorded: impl Fn(Shard) -> bool) {
        for (shard, recorded) in (0..).map(Shard).zip(&self.recorded) {
            let noted = incarnation.filter(|_| is_recorded(shard)).map_or(NOBODY, |one| one.0);
            recorded.store(noted, Ordering::Release);
        }
    }
}

impl NodeLease for Reads {
    fn is_certain(&self, shard: u16) -> bool {
        let recorded = self.recorded.get(usize::from(shard)).map(|recorded| recorded.load(Ordering::Acquire));
        recorded.is_some_and(|one| one != NOBODY && self.certainty.is_certain_for(Incarnation(one)))
    }
}
