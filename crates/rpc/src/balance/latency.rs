//! What an instance's answers have lately cost: a moving average that believes bad news at once.
//!
//! A latency above the average replaces it; one below pulls it down with a time constant, and so does
//! time without any sample, so that a slow instance is tried again after a while. The idea is Finagle's
//! peak EWMA. Nothing is known before the first sample.

/// A peak-sensitive, exponentially weighted moving average of latencies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeakEwma {
    /// The average in microseconds at `stamp_us`; 0 before the first sample.
    average_us: f64,
    /// When the average was last moved.
    stamp_us: u64,
}

impl PeakEwma {
    /// Notes that an answer took `latency_us`; `decay_us` is the time constant.
    #[inline]
    pub(crate) fn observe(&mut self, latency_us: u64, now_us: u64, decay_us: u64) {
        // An answer within the clock's grain still costs something.
        let latency = (latency_us as f64).max(MIN_US);
        if now_us == self.stamp_us && latency <= self.average_us {
            // Of answers that come together only the slowest counts.
            return;
        }
        let keep = kept(now_us.saturating_sub(self.stamp_us), decay_us);
        self.average_us =
            if latency >= self.average_us { latency } else { latency + (self.average_us - latency) * keep };
        self.stamp_us = self.stamp_us.max(now_us);
    }

    /// Notes a latency only where it is worse than what is known: for answers that were no work, or never came.
    #[inline]
    pub(crate) fn observe_peak(&mut self, latency_us: u64, now_us: u64, decay_us: u64) {
        if latency_us as f64 > self.at(now_us, decay_us).unwrap_or(0.0) {
            self.observe(latency_us, now_us, decay_us);
        }
    }

    /// Whether there was no sample yet.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.average_us == 0.0
    }

    /// The average at `now_us` in microseconds; nothing before the first sample.
    #[inline]
    pub(crate) fn at(&self, now_us: u64, decay_us: u64) -> Option<f64> {
        (self.average_us > 0.0)
            .then(|| (self.average_us * kept(now_us.saturating_sub(self.stamp_us), decay_us)).max(MIN_US))
    }
}

/// The least that an answer is thought to cost, so that costs never become zero.
const MIN_US: f64 = 0.25;

/// The share of an old value that is left after `elapsed_us`.
#[inline]
fn kept(elapsed_us: u64, decay_us: u64) -> f64 {
    let ratio = elapsed_us as f64 / decay_us.max(1) as f64;
    // Most samples are fresh; two terms are exact to a millionth there, and cost a tenth of exp().
    if ratio < 0.01 { 1.0 - ratio + ratio * ratio * 0.5 } else { (-ratio).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_SECONDS: u64 = 10_000_000;

    #[test]
    fn a_bad_answer_counts_at_once_and_is_forgotten_slowly() {
        let mut latency = PeakEwma::default();
        assert_eq!(latency.at(0, TEN_SECONDS), None);
        latency.observe(1_000, 0, TEN_SECONDS);
        latency.observe(50_000, 1_000, TEN_SECONDS);
        assert_eq!(latency.at(1_000, TEN_SECONDS), Some(50_000.0));

        let after_decay = latency.at(1_000 + TEN_SECONDS, TEN_SECONDS).expect("it has samples");
        assert!((after_decay - 50_000.0 / std::f64::consts::E).abs() < 1.0, "{after_decay}");

        latency.observe(1_000, 1_000 + TEN_SECONDS, TEN_SECONDS);
        let after_sample = latency.at(1_000 + TEN_SECONDS, TEN_SECONDS).expect("it has samples");
        assert!((1_000.0..20_000.0).contains(&after_sample), "{after_sample}");
    }

    #[test]
    fn a_quick_refusal_makes_nobody_look_fast() {
        let mut latency = PeakEwma::default();
        latency.observe(10_000, 0, TEN_SECONDS);
        latency.observe_peak(5, 0, TEN_SECONDS);
        assert_eq!(latency.at(0, TEN_SECONDS), Some(10_000.0));
        latency.observe_peak(30_000, 0, TEN_SECONDS);
        assert_eq!(latency.at(0, TEN_SECONDS), Some(30_000.0));
    }

    #[test]
    fn the_short_series_agrees_with_exp() {
        for elapsed in [0, 1, 1_000, 50_000, 99_999] {
            let exact = (-(elapsed as f64) / TEN_SECONDS as f64).exp();
            assert!((kept(elapsed, TEN_SECONDS) - exact).abs() < 1e-6);
        }
    }
}
