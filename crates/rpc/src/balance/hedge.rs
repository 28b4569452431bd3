//! When a second copy of a slow call is sent to another instance.
//!
//! Only for idempotent methods. A copy leaves once the call has taken longer than nearly all others lately (the
//! 95th percentile by default), and copies have a budget of their own, so that a slow service is not asked
//! twice as much. The percentile comes from a small histogram over the last ten to twenty seconds.

use super::budget::{BudgetSettings, RetryBudget};

/// What a [`Hedge`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct HedgeSettings {
    /// The percentile of latencies after which a copy is sent (default 0.95).
    pub percentile: f64,
    /// What that latency is multiplied by (default 1.0); higher sends fewer copies, later.
    pub factor: f64,
    /// The share of calls that may be sent twice (default 0.05).
    pub share: f64,
    /// Latencies that must be known before any copy is sent (default 100).
    pub samples_min: u32,
    /// The shortest wait before a copy (default 1 ms, in microseconds): below it a copy costs more than it saves.
    pub wait_min_us: u64,
    /// How long a latency counts: between once and twice this (default 10 s, in microseconds).
    pub window_us: u64,
}

impl Default for HedgeSettings {
    fn default() -> Self {
        Self {
            percentile: 0.95,
            factor: 1.0,
            share: 0.05,
            samples_min: 100,
            wait_min_us: 1_000,
            window_us: 10_000_000,
        }
    }
}

/// The recent latencies of one method, and the budget of copies.
#[derive(Clone, Debug)]
pub struct Hedge {
    settings: HedgeSettings,
    budget: RetryBudget,
    /// Latencies of this window and of the one before.
    windows: [Box<[u32; BUCKETS]>; 2],
    counts: [u32; 2],
    window_end_us: u64,
    /// The wait as last computed; nothing while too little is known.
    wait_us: Option<u64>,
    /// Samples until it is computed again.
    stale_in: u32,
}

/// Eight buckets for each power of two, up to 2^27 µs (two minutes): at most an eighth too long.
const BUCKETS: usize = 8 * 26;
/// Samples for which a computed wait is good enough.
const STALE_AFTER: u32 = 256;

impl Hedge {
    /// A hedge that knows no latency yet.
    pub fn new(settings: HedgeSettings) -> Self {
        let budget = BudgetSettings { share: settings.share, per_second_min: 0, saved_max: 10 };
        Self {
            settings,
            budget: RetryBudget::new(budget),
            windows: [Box::new([0; BUCKETS]), Box::new([0; BUCKETS])],
            counts: [0; 2],
            window_end_us: 0,
            wait_us: None,
            stale_in: settings.samples_min,
        }
    }

    /// A call is made: when its copy is due, in microseconds from now. Nothing while too little is known.
    #[inline]
    pub fn called(&mut self) -> Option<u64> {
        self.budget.called();
        self.wait_us
    }

    /// The time of a copy has come: whether it may be sent. Takes its token.
    pub fn take(&mut self, now_us: u64) -> bool {
        self.budget.take(now_us)
    }

    /// A call, or the faster copy of it, was answered after `latency_us`.
    #[inline]
    pub fn answered(&mut self, latency_us: u64, now_us: u64) {
        if now_us >= self.window_end_us {
            self.turn_over(now_us);
        }
        self.windows[0][bucket(latency_us)] += 1;
        self.counts[0] += 1;
        self.stale_in = self.stale_in.saturating_sub(1);
        if self.stale_in == 0 {
            self.compute();
        }
    }

    #[cold]
    fn turn_over(&mut self, now_us: u64) {
        let window_us = self.settings.window_us.max(1);
        // After a pause of a whole window the old one is out of date too.
        let paused = now_us >= self.window_end_us.saturating_add(window_us);
        self.windows.swap(0, 1);
        self.counts.swap(0, 1);
        self.windows[0].fill(0);
        self.counts[0] = 0;
        if paused {
            self.windows[1].fill(0);
            self.counts[1] = 0;
        }
        self.window_end_us = now_us.saturating_add(window_us);
        self.compute();
    }

    fn compute(&mut self) {
        let count = self.counts[0] + self.counts[1];
        if count < self.settings.samples_min {
            self.wait_us = None;
            self.stale_in = self.settings.samples_min - count;
            return;
        }
        self.stale_in = STALE_AFTER;
        let rank = (f64::from(count) * self.settings.percentile).ceil() as u32;
        let mut seen = 0;
        let bucket = self.windows[0].iter().zip(self.windows[1].iter()).position(|(new, old)| {
            seen += new + old;
            seen >= rank
        });
        let latency_us = ceiling(bucket.unwrap_or(BUCKETS - 1)) as f64 * self.settings.factor;
        self.wait_us = Some((latency_us as u64).max(self.settings.wait_min_us));
    }
}

/// Where a latency is counted.
#[inline]
fn bucket(latency_us: u64) -> usize {
    let latency_us = latency_us.max(8);
    let power = latency_us.ilog2() as usize;
    ((power - 3) * 8 + (latency_us >> (power - 3)) as usize - 8).min(BUCKETS - 1)
}

/// The longest latency that is counted there.
fn ceiling(bucket: usize) -> u64 {
    (((bucket % 8 + 9) as u64) << (bucket / 8)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_in_a_bucket_that_is_at_most_an_eighth_too_long() {
        for latency_us in (8..5_000).chain([70_000, 1_234_567, 100_000_000]) {
            let longest = ceiling(bucket(latency_us));
            assert!(longest >= latency_us && longest as f64 <= latency_us as f64 * 1.125, "{latency_us}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket(0), 0);
    }

    #[test]
    fn a_copy_waits_for_the_95th_percentile() {
        let mut hedge = Hedge::new(HedgeSettings::default());
        for n in 0..99 {
            assert_eq!(hedge.called(), None, "too little is known");
            hedge.answered(if n % 20 == 0 { 80_000 } else { 2_000 + n }, n * 1_000);
        }
        for n in 99..1_000 {
            hedge.answered(if n % 10 == 0 { 80_000 } else { 2_000 }, n * 1_000);
        }
        let wait_us = hedge.called().expect("enough is known");
        assert!((80_000..=90_000).contains(&wait_us), "one in ten is slow, so the 95th is slow: {wait_us}");
    }

    #[test]
    fn old_latencies_are_forgotten() {
        let mut hedge = Hedge::new(HedgeSettings::default());
        for n in 0..500 {
            hedge.answered(500_000, n);
        }
        for n in 0..500 {
            hedge.answered(3_000, 40_000_000 + n);
        }
        assert!(hedge.called().expect("enough is known") < 4_000);
    }

    #[test]
    fn copies_are_at_most_a_twentieth_of_the_calls() {
        let mut hedge = Hedge::new(HedgeSettings::default());
        let mut copies = 0;
        for n in 0..10_000 {
            hedge.called();
            copies += u32::from(hedge.take(n * 1_000));
        }
        assert!((400..=510).contains(&copies), "{copies}");
    }
}
