//! What the wallets hold and do now: one look every two seconds, for the console and the metrics.
//!
//! Totals are kept by the shards, so a look costs them little, and a page or a scrape nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use stadium_wallet::{AssetView, Command};
use tokio::time::MissedTickBehavior;

use crate::request::app::App;
use crate::sampling::{PERIOD, keep};
use crate::shards::ask_for;

/// The newest look.
#[derive(Default)]
pub(crate) struct Figures {
    inner: Mutex<Look>,
}

/// What is read of the newest look.
#[derive(Clone, Default)]
pub(crate) struct Look {
    taken: Option<Instant>,
    booked: u64,
    /// When, milliseconds since 1970; 0 before the first.
    pub(crate) at_ms: u64,
    /// All assets with their totals, by name.
    pub(crate) assets: Vec<AssetView>,
    /// Transfers booked in a second, by whatever way they came.
    pub(crate) booked_per_s: f32,
    /// The same over the last two minutes, the newest last.
    pub(crate) booked_line: VecDeque<f32>,
}

impl Figures {
    /// The newest look.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Look) -> T) -> T {
        read(&self.inner.lock())
    }

    fn looked(&self, mut assets: Vec<AssetView>, booked: u64, now: Instant) {
        assets.sort_unstable_by(|one, other| one.asset.cmp(&other.asset));
        let mut look = self.inner.lock();
        let rate = look.taken.map_or(0.0, |taken| {
            let seconds = now.duration_since(taken).as_secs_f32().max(0.001);
            booked.saturating_sub(look.booked) as f32 / seconds
        });
        keep(&mut look.booked_line, rate);
        look.booked_per_s = rate;
        look.booked = booked;
        look.assets = assets;
        look.taken = Some(now);
        look.at_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    }
}

/// Looks until it is stopped. Figures that cannot be read now stay as they were seen last.
pub(crate) async fn sample(app: Arc<App>, figures: Arc<Figures>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(shards) = app.shards.get() else { continue };
        let booked = shards.metrics().iter().map(|shard| shard.wallet.booked).sum();
        if let Ok(assets) = ask_for(&app, Command::Assets).await {
            figures.looked(assets, booked, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rate_is_of_the_time_between_two_looks() {
        let (figures, start) = (Figures::default(), Instant::now());
        figures.looked(Vec::new(), 1_000, start);
        figures.looked(Vec::new(), 1_030, start + Duration::from_secs(3));
        figures.read(|look| {
            assert_eq!(look.booked_per_s, 10.0);
            assert_eq!(look.booked_line, [0.0, 10.0], "the first look knows no rate");
        });
        // A shard that was opened anew counts from the beginning.
        figures.looked(Vec::new(), 4, start + Duration::from_secs(5));
        figures.read(|look| assert_eq!(look.booked_per_s, 0.0));
    }
}
