//! The harness' clock: Unix time that never steps, so that a job can carry it and servers can be
//! given due times.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Unix time as it was at the start, and the monotonic time since.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    started: Instant,
    unix_at_start: Duration,
}

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Self {
        let unix_at_start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), unix_at_start }
    }

    /// Nanoseconds since 1970.
    pub(crate) fn unix_ns(self) -> u64 {
        let now = self.unix_at_start + self.started.elapsed();
        u64::try_from(now.as_nanos()).expect("this century's time fits 64 bits")
    }
}
