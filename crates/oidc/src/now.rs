//! The current time, as callers pass it in.

use std::time::{Instant, SystemTime};

/// One moment on both clocks: ages are counted on the first, tokens carry times of the second.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The monotonic clock.
    pub instant: Instant,
    /// The wall clock.
    pub time: SystemTime,
}

impl Now {
    /// Reads both clocks.
    pub fn read() -> Self {
        Self { instant: Instant::now(), time: SystemTime::now() }
    }
}
