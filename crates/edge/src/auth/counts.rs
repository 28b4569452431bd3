//! What became of the devices that knocked.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::{CacheCounts, DenyReason, Verdict, Via};

/// Verdicts since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Devices let in, by their proof.
    pub allowed: Vec<(Via, u64)>,
    /// Devices refused, by reason.
    pub denied: Vec<(DenyReason, u64)>,
    /// Devices asked to reconnect later.
    pub busy: u64,
    /// Bans of an address.
    pub bans: u64,
    /// Verdicts that were remembered and needed neither a hash nor a call.
    pub remembered: u64,
    /// Calls of the HTTP callback without a usable answer.
    pub callback_failures: u64,
    /// Verdicts that the threads' queues or the registry work on now (a gauge).
    pub waiting: usize,
    /// Answers remembered now (a gauge), about 100 bytes each.
    pub remembered_now: usize,
    /// The cache of the callback's answers; none where there is none.
    pub cache: Option<CacheCounts>,
}

/// The counters behind [`Counts`].
#[derive(Default)]
pub(super) struct Counters {
    allowed: [AtomicU64; Via::ALL.len()],
    denied: [AtomicU64; DenyReason::ALL.len()],
    busy: AtomicU64,
    pub(super) bans: AtomicU64,
    pub(super) remembered: AtomicU64,
    pub(super) callback_failures: AtomicU64,
    /// Devices about whom the registry was asked, and has not answered.
    pub(super) asked: AtomicUsize,
}

impl Counters {
    pub(super) fn count(&self, verdict: &Verdict) {
        // Both enums number their variants from 0 in the order of their lists.
        let counter = match verdict {
            Verdict::Allow(identity) => &self.allowed[identity.via as usize],
            Verdict::Deny(reason) => &self.denied[*reason as usize],
            Verdict::Busy { .. } => &self.busy,
        };
        increment(counter);
    }

    pub(super) fn snapshot(
        &self,
        waiting: usize,
        remembered_now: usize,
        cache: Option<CacheCounts>,
    ) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            allowed: Via::ALL.iter().zip(&self.allowed).map(|(via, count)| (*via, read(count))).collect(),
            denied: DenyReason::ALL
                .iter()
                .zip(&self.denied)
                .map(|(why, count)| (*why, read(count)))
                .collect(),
            busy: read(&self.busy),
            bans: read(&self.bans),
            remembered: read(&self.remembered),
            callback_failures: read(&self.callback_failures),
            waiting: waiting + self.asked.load(Ordering::Relaxed),
            remembered_now,
            cache,
        }
    }
}

pub(super) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
