//! The counts of an exporter: what left, what was dropped and why.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counted since the start; shared by the threads that record and the one that exports.
#[derive(Debug, Default)]
pub struct Counts {
    pub(crate) spans_exported: AtomicU64,
    pub(crate) dropped_queue_full: AtomicU64,
    pub(crate) dropped_refused: AtomicU64,
    pub(crate) dropped_expired: AtomicU64,
    pub(crate) dropped_stopped: AtomicU64,
    pub(crate) exports: AtomicU64,
    pub(crate) exports_failed: AtomicU64,
    pub(crate) metrics_exported: AtomicU64,
    pub(crate) queued: AtomicU64,
    pub(crate) failing: AtomicU64,
}

impl Counts {
    /// Spans that the collector took.
    pub fn spans_exported(&self) -> u64 {
        self.spans_exported.load(Ordering::Relaxed)
    }

    /// Spans that were dropped, by reason.
    pub fn spans_dropped(&self) -> [(&'static str, u64); 4] {
        [
            ("queue_full", self.dropped_queue_full.load(Ordering::Relaxed)),
            ("refused", self.dropped_refused.load(Ordering::Relaxed)),
            ("expired", self.dropped_expired.load(Ordering::Relaxed)),
            ("stopped", self.dropped_stopped.load(Ordering::Relaxed)),
        ]
    }

    /// Spans that wait for the exporter.
    pub fn spans_queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Requests to the collector, of spans and of metrics.
    pub fn exports(&self) -> u64 {
        self.exports.load(Ordering::Relaxed)
    }

    /// Requests that failed; each attempt counts.
    pub fn exports_failed(&self) -> u64 {
        self.exports_failed.load(Ordering::Relaxed)
    }

    /// Exports of metrics that the collector took.
    pub fn metrics_exported(&self) -> u64 {
        self.metrics_exported.load(Ordering::Relaxed)
    }

    /// Whether the last export failed.
    pub fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed) != 0
    }
}

pub(crate) fn add(to: &AtomicU64, count: u64) {
    to.fetch_add(count, Ordering::Relaxed);
}
