//! Whether the machine had processors to spare while the swarm measured.
//!
//! A generator that shares its processors with the broker measures both. The kernel's own account of idle time
//! tells; where there is none, the report says so by leaving the figure out.

use crate::machine::Watch;

/// Idle below this is busy: the rest is what accounting rounds.
const IDLE_SHARE_MIN: f64 = 0.03;

/// Samples the machine's account.
#[derive(Debug)]
pub(crate) struct Machine {
    watch: Watch,
    samples: u32,
    busy: u32,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine { watch: Watch::new(), samples: 0, busy: 0 }
    }

    /// Looks at what happened since last time. Call it a few times a second.
    pub(crate) fn sample(&mut self) {
        let Some(since) = self.watch.look() else { return };
        self.samples += 1;
        self.busy += u32::from((since.idle as f64) < since.total as f64 * IDLE_SHARE_MIN);
    }

    /// Share of the time in which all processors were busy.
    pub(crate) fn busy_share(&self) -> Option<f64> {
        (self.samples > 0).then(|| f64::from(self.busy) / f64::from(self.samples))
    }
}
