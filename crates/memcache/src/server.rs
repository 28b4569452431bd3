//! One server of a client: its connection, and whether it is ejected.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::driver::Connection;
use crate::error::Error;
use crate::metrics::ServerMetrics;
use crate::protocol::{Answer, COMPRESSED, decompress};

/// A server and its health.
pub(crate) struct Server {
    pub(crate) connection: Connection,
    begun: Instant,
    /// Failures in a row that lead to ejection; 0 for never.
    eject_after: u32,
    eject_for: Duration,
    failures: AtomicU32,
    /// Milliseconds after `begun` when the next trial may be; 0 when it is not ejected.
    trial_at_ms: AtomicU64,
    ejections: AtomicU64,
}

impl Server {
    pub(crate) fn new(connection: Connection, eject_after: u32, eject_for: Duration) -> Self {
        Self {
            connection,
            begun: Instant::now(),
            eject_after,
            eject_for,
            failures: AtomicU32::new(0),
            trial_at_ms: AtomicU64::new(0),
            ejections: AtomicU64::new(0),
        }
    }

    /// True where an operation may go there. Of an ejected server that is so for one operation, the
    /// trial, in each [`Config::eject_for`](crate::Config::eject_for).
    pub(crate) fn admits(&self) -> bool {
        let trial_at = self.trial_at_ms.load(Ordering::Relaxed);
        if trial_at == 0 {
            return true;
        }
        let now = self.now_ms();
        let next = now + self.eject_ms();
        now >= trial_at
            && self.trial_at_ms.compare_exchange(trial_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Decompresses the value of an answer where it is compressed.
    pub(crate) fn expand(&self, answer: &mut Answer, value: &mut Vec<u8>) -> Result<(), Error> {
        if answer.client_flags & COMPRESSED != 0 {
            *value = decompress(value, self.connection.value_bytes_max())?;
            answer.client_flags &= !COMPRESSED;
        }
        Ok(())
    }

    pub(crate) fn metrics(&self) -> ServerMetrics {
        let mut metrics = self.connection.metrics();
        metrics.is_ejected = self.is_ejected();
        metrics.figures.ejections = self.ejections.load(Ordering::Relaxed);
        metrics
    }

    /// True while it is ejected.
    pub(crate) fn is_ejected(&self) -> bool {
        self.trial_at_ms.load(Ordering::Relaxed) != 0
    }

    /// Notes how an operation ended.
    pub(crate) fn note<T>(&self, result: &Result<T, Error>) {
        if self.eject_after == 0 {
            return;
        }
        if !result.as_ref().is_err_and(Error::is_of_server) {
            if matches!(result, Err(Error::Busy | Error::BadKey(_) | Error::TooLarge { .. })) {
                // The server was not asked.
                return;
            }
            if self.failures.load(Ordering::Relaxed) > 0 {
                self.failures.store(0, Ordering::Relaxed);
                self.trial_at_ms.store(0, Ordering::Relaxed);
            }
            return;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if failures >= self.eject_after {
            // At least half of it: the clients of one server do not try it together.
            let delay = (self.eject_ms() as f64 * (0.5 + fastrand::f64() / 2.0)) as u64;
            let before = self.trial_at_ms.swap(self.now_ms() + delay.max(1), Ordering::Relaxed);
            self.ejections.fetch_add(u64::from(before == 0), Ordering::Relaxed);
        }
    }

    fn eject_ms(&self) -> u64 {
        u64::try_from(self.eject_for.as_millis()).unwrap_or(u64::MAX / 4).max(1)
    }

    fn now_ms(&self) -> u64 {
        // From 1: 0 means that it is not ejected.
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX / 4) + 1
    }
}
