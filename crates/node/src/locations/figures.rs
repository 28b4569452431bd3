//! What is counted of locations.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use stadium_http::fleet::{LocationStats, Tally};
use stadium_push::Located;

/// Counters of all that is taken from a service.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    is_on: AtomicBool,
    sources: AtomicU64,
    events: AtomicU64,
    replaced: AtomicU64,
    refused: AtomicU64,
    lost: AtomicU64,
    moved: AtomicU64,
    unmoved: AtomicU64,
    older: AtomicU64,
    unknown: AtomicU64,
    waiting: AtomicU64,
    lag_us: AtomicU64,
}

impl Figures {
    /// A service is watched.
    pub(super) fn begin(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// An instance reports locations, or does no more.
    pub(super) fn source(&self, change: i64) {
        self.sources.fetch_add(change as u64, Ordering::Relaxed);
    }

    /// An event was taken.
    pub(super) fn taken(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// An event was overtaken by a newer one before it was written.
    pub(super) fn replaced(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    /// An event has impossible values.
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// The shards would never take these.
    pub(super) fn lost(&self, count: usize) {
        self.lost.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Devices that wait to be written.
    pub(super) fn waiting(&self, devices: usize) {
        self.waiting.store(devices as u64, Ordering::Relaxed);
    }

    /// Events are durable.
    pub(super) fn written(&self, located: Located) {
        for (counter, more) in [
            (&self.moved, located.moved),
            (&self.unmoved, located.unmoved),
            (&self.older, located.older),
            (&self.unknown, located.unknown),
        ] {
            counter.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// So long the oldest event of the last batch was here before it was durable.
    pub(super) fn lag(&self, lag: Duration) {
        self.lag_us.store(u64::try_from(lag.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// For the metrics; none where no service is watched.
    pub(crate) fn stats(&self) -> Option<LocationStats> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let tally = |(reason, counter): (&'static str, &AtomicU64)| Tally { reason, total: read(counter) };
        self.is_on.load(Ordering::Relaxed).then(|| LocationStats {
            sources: read(&self.sources),
            events_total: read(&self.events),
            outcomes: [
                ("moved", &self.moved),
                ("unmoved", &self.unmoved),
                ("older", &self.older),
                ("unknown", &self.unknown),
                ("replaced", &self.replaced),
                ("refused", &self.refused),
                ("lost", &self.lost),
            ]
            .map(tally)
            .to_vec(),
            waiting: read(&self.waiting),
            lag: Duration::from_micros(read(&self.lag_us)),
        })
    }
}
