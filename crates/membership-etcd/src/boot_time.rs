//! The clock that leases are counted by.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use stadium_membership::BootTime;

/// Reads `CLOCK_BOOTTIME`. It goes on while the machine sleeps, and nobody sets it.
#[must_use]
pub fn boot_time() -> BootTime {
    let time = clock_gettime(ClockId::Boottime);
    // Both are never negative on this clock.
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    BootTime(Duration::from_secs(seconds) + Duration::from_nanos(nanos))
}
