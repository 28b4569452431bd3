//! The lease as other threads see it: one atomic, read before each answer that rests on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stadium_membership::{BootTime, Incarnation, Lease};

use crate::boot_time::boot_time;

/// Until when the node's lease is certain. Cheap to clone, and never blocks.
#[derive(Clone, Debug, Default)]
pub struct Certainty {
    times: Arc<Times>,
}

#[derive(Debug, Default)]
struct Times {
    /// Nanoseconds of `CLOCK_BOOTTIME`; 0 where there is no lease.
    until: AtomicU64,
    /// Whose lease it is: written before the first `until` of its lease.
    incarnation: AtomicU64,
}

impl Certainty {
    /// Whether the lease is certain now, by a look at the clock.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.is_certain_at(boot_time())
    }

    /// Whether the lease is certain at `now`, a reading of [`boot_time`].
    #[must_use]
    pub fn is_certain_at(&self, now: BootTime) -> bool {
        now.0.as_nanos() < u128::from(self.times.until.load(Ordering::Acquire))
    }

    /// Whether the lease of this incarnation of the node is certain now. Not so after it ended, even
    /// if the node has registered again: another node may have served meanwhile.
    #[must_use]
    pub fn is_certain_for(&self, incarnation: Incarnation) -> bool {
        // The end first: that of a later lease comes after its incarnation.
        self.is_certain() && self.times.incarnation.load(Ordering::Acquire) == incarnation.0
    }

    /// Another lease begins, whose end follows.
    pub(crate) fn begin(&self, incarnation: Incarnation) {
        self.times.until.store(0, Ordering::Release);
        self.times.incarnation.store(incarnation.0, Ordering::Release);
    }

    pub(crate) fn publish(&self, lease: &Lease) {
        let nanos = lease.certain_until().map_or(0, |until| until.0.as_nanos());
        // 584 years of uptime.
        self.times.until.store(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_of_a_later_incarnation_says_nothing_of_an_earlier_one() {
        let (certainty, mut lease) = (Certainty::default(), Lease::default());
        let (first, second) = (Incarnation(1), Incarnation(2));
        assert!(!certainty.is_certain_for(first));
        certainty.begin(first);
        assert!(!certainty.is_certain_for(first), "it is not granted yet");
        lease.confirm(boot_time());
        certainty.publish(&lease);
        assert!(certainty.is_certain_for(first) && !certainty.is_certain_for(second));
        // The node was stopped: its lease ended, and it registers again.
        lease.end();
        certainty.publish(&lease);
        certainty.begin(second);
        lease.confirm(boot_time());
        certainty.publish(&lease);
        assert!(certainty.is_certain() && certainty.is_certain_for(second));
        assert!(!certainty.is_certain_for(first));
    }
}
