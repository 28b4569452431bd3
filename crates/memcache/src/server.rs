//! One server of a client: its connection, and whether it is ejected.

use std::time::{Duration, Instant};

use crate::driver::Connection;
use crate::error::Error;
use crate::health::{Health, Verdict};
use crate::metrics::ServerMetrics;
use crate::protocol::{Answer, COMPRESSED, decompress};

/// A server and its health.
pub(crate) struct Server {
    pub(crate) connection: Connection,
    begun: Instant,
    health: Health,
}

impl Server {
    pub(crate) fn new(connection: Connection, eject_after: u32, eject_for: Duration) -> Self {
        let eject_ms = u64::try_from(eject_for.as_millis()).unwrap_or(u64::MAX / 4);
        Self { connection, begun: Instant::now(), health: Health::new(eject_after, eject_ms) }
    }

    /// True where an operation may go there; see [`Health::admits`].
    pub(crate) fn admits(&self) -> bool {
        self.health.admits(|| self.now_ms())
    }

    /// True where [`admits`](Self::admits) would be now.
    #[cfg(feature = "tokio")]
    pub(crate) fn would_admit(&self) -> bool {
        self.health.would_admit(|| self.now_ms())
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
        metrics.figures.ejections = self.health.ejections();
        metrics
    }

    /// True while it is ejected.
    pub(crate) fn is_ejected(&self) -> bool {
        self.health.is_ejected()
    }

    /// Notes how an operation ended.
    pub(crate) fn note<T>(&self, result: &Result<T, Error>) {
        self.health.note(Verdict::of(result), || self.now_ms(), fastrand::f64);
    }

    fn now_ms(&self) -> u64 {
        // From 1: 0 means that it is not ejected.
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX / 4) + 1
    }
}
