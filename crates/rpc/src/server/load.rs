//! The load factor that clients and discovery are told, and what is granted by it.
//!
//! 0 is idle, 1 is all that the loop can do. It follows the share of time that the loop is busy and
//! the share of its concurrency that is used, whichever is larger, smoothed over a second or so.

use stadium_reactor::LoopStats;

use super::dispatch::Core;

/// A change below this is not told.
const TOLD_STEP: f32 = 0.05;

/// One loop's load.
#[derive(Debug, Default)]
pub(crate) struct Load {
    factor: f32,
    told: Option<f32>,
    busy_ns: u64,
    idle_ns: u64,
}

impl Load {
    pub(crate) fn factor(&self) -> f32 {
        self.factor
    }

    /// Whatever it is, the peers are told at the next look.
    pub(crate) fn tell_again(&mut self) {
        self.told = None;
    }

    /// Measures since the last look. Returns whether peers should hear of it.
    pub(crate) fn look(&mut self, stats: &LoopStats, core: &Core, _connections: usize) -> bool {
        let (busy, idle) = (stats.busy_ns.value(), stats.idle_ns.value());
        let (spent, slept) = (busy - self.busy_ns.min(busy), idle - self.idle_ns.min(idle));
        (self.busy_ns, self.idle_ns) = (busy, idle);
        let busy_share = spent as f32 / (spent + slept).max(1) as f32;
        let used_share = core.gate.used_share(core.works.len());
        self.factor += (busy_share.max(used_share) - self.factor) * 0.4;
        let tell = self.told.is_none_or(|told| (told - self.factor).abs() > TOLD_STEP);
        if tell {
            self.told = Some(self.factor);
        }
        tell
    }

    /// Requests that each of so many clients may send until the grant after the next.
    pub(crate) fn requests_to_grant(&self, core: &Core, clients: usize) -> u32 {
        let all = core.gate.requests_per_second();
        let free = f64::from((1.0 - self.factor).clamp(0.05, 1.0));
        // Twice the fair share: most clients do not use theirs.
        (all as f64 * free * 2.0 / clients.max(1) as f64).clamp(1.0, 1e9) as u32
    }
}
