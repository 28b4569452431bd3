//! When to try again to reach a backend that is away.
//!
//! The pause doubles from 0.1 s to a bound and is spread over its upper half, so that a thousand
//! clients that lost etcd at one time neither come back at one time nor wait minutes. No I/O, no
//! clock, no dice: time and chance are arguments, so an outage of an hour takes a test no time.

use std::time::Duration;

/// The bound of the first pause.
const DELAY_MIN: Duration = Duration::from_millis(100);

/// Attempts that failed one after the other.
#[derive(Debug)]
pub(crate) struct Outage {
    delay_max: Duration,
    failures: u32,
}

impl Outage {
    /// None failed yet; pauses will be at most `delay_max`.
    pub(crate) fn new(delay_max: Duration) -> Self {
        Self { delay_max, failures: 0 }
    }

    /// An attempt failed. Returns the pause until the next; `chance` is evenly spread over 0..1.
    pub(crate) fn failed(&mut self, chance: f64) -> Duration {
        // Doubled at most 20 times: more would only reach the bound again.
        let bound = (DELAY_MIN * (1 << self.failures.min(20))).min(self.delay_max);
        self.failures = self.failures.saturating_add(1);
        bound.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
    }

    /// The backend is back and has been for a while: the next outage starts with short pauses.
    pub(crate) fn ended(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Attempts that one client makes until `until`, as times since the loss.
    fn attempts(seed: u64, until: Duration) -> Vec<Duration> {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut outage = Outage::new(Duration::from_secs(5));
        let mut at = Duration::ZERO;
        let mut attempts = Vec::new();
        while at < until {
            attempts.push(at);
            at += outage.failed(chance.f64());
        }
        attempts
    }

    #[test]
    fn an_hour_away_costs_a_bounded_number_of_attempts() {
        let count = attempts(7, HOUR).len();
        assert!((720..1450).contains(&count), "{count} attempts in an hour");
    }

    #[test]
    fn a_backend_that_comes_back_after_an_hour_is_found_within_the_longest_pause() {
        for seed in 0..1000 {
            let attempts = attempts(seed, HOUR + Duration::from_secs(5));
            assert!(
                attempts.iter().any(|at| *at >= HOUR),
                "seed {seed}: none in the five seconds after the hour"
            );
        }
    }

    #[test]
    fn a_thousand_clients_do_not_come_back_at_one_time() {
        let mut in_second = [0_u32; 5];
        for seed in 0..1000 {
            let attempts = attempts(seed, HOUR + Duration::from_secs(5));
            let first = attempts.iter().find(|at| **at >= HOUR).expect("found above");
            in_second[(*first - HOUR).as_secs() as usize] += 1;
        }
        assert!(in_second.iter().all(|clients| *clients < 400), "clients in each second: {in_second:?}");
    }

    #[test]
    fn the_first_attempts_come_quickly() {
        let attempts = attempts(3, Duration::from_secs(1));
        assert!(attempts.len() >= 4, "{attempts:?}");
    }

    #[test]
    fn an_outage_that_ended_is_forgotten() {
        let mut outage = Outage::new(Duration::from_secs(5));
        for _ in 0..40 {
            outage.failed(1.0);
        }
        assert_eq!(outage.failed(1.0), Duration::from_secs(5));
        outage.ended();
        assert_eq!(outage.failed(1.0), DELAY_MIN);
    }
}
