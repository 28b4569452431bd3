//! The periods that both backends derive from the settings.
//!
//! A beat and a call that is never answered are together shorter than a registration's life: one failed attempt to
//! show a sign of life leaves time for another, elsewhere.

use std::time::{Duration, Instant};

use crate::config::Config;

/// The periods of talking to a backend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// How long a registration outlives its process.
    pub(crate) ttl: Duration,
    /// Between two signs of life, in either direction.
    pub(crate) beat: Duration,
    /// The longest that a call may take.
    pub(crate) timeout: Duration,
    /// Between two comparisons with the backend that nothing asked for.
    pub(crate) refresh: Duration,
    /// Between two writes of a load factor.
    pub(crate) update_interval: Duration,
}

impl Timing {
    /// What follows from the settings.
    pub(crate) fn new(config: &Config) -> Self {
        let ttl = config.session_ttl;
        Self {
            ttl,
            beat: ttl / 3,
            timeout: (ttl / 3).min(Duration::from_secs(5)),
            refresh: config.refresh,
            update_interval: config.update_interval,
        }
    }

    /// When to compare next: moved by up to a tenth, so that clients do not stay in step.
    pub(crate) fn refresh_at(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + self.refresh.mul_f64(0.9 + 0.2 * fastrand::f64())
    }
}

/// Sleeps until then, or for ever.
pub(crate) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
