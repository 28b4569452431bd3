//! The lease as other threads see it: one atomic, read before each answer that rests on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stadium_membership::{BootTime, Lease};

use crate::boot_time::boot_time;

/// Until when the node's lease is certain. Cheap to clone, and never blocks.
#[derive(Clone, Debug, Default)]
pub struct Certainty {
    /// Nanoseconds of `CLOCK_BOOTTIME`; 0 where there is no lease.
    until: Arc<AtomicU64>,
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
        now.0.as_nanos() < u128::from(self.until.load(Ordering::Acquire))
    }

    pub(crate) fn publish(&self, lease: &Lease) {
        let nanos = lease.certain_until().map_or(0, |until| until.0.as_nanos());
        // 584 years of uptime.
        self.until.store(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Release);
    }
}
