//! How long to wait before a connection is tried again.
//!
//! Each wait is drawn between the shortest and three times the last one, up to the longest ("decorrelated
//! jitter"): waits grow while it fails, and clients that lost a server together come back one by one.

use super::random::Random;

/// The waits of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    base_ms: u64,
    max_ms: u64,
    last_ms: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::between(50, 5_000)
    }
}

impl Backoff {
    /// Waits from `base_ms` (default 50) up to `max_ms` (default 5,000); both at least 1, in milliseconds.
    pub fn between(base_ms: u64, max_ms: u64) -> Self {
        let base_ms = base_ms.max(1);
        Self { base_ms, max_ms: max_ms.max(base_ms), last_ms: base_ms }
    }

    /// The next wait in milliseconds.
    pub fn wait_ms(&mut self, random: &mut Random) -> u64 {
        let most = self.last_ms.saturating_mul(3).min(self.max_ms).max(self.base_ms);
        self.last_ms = random.within(self.base_ms..=most);
        self.last_ms
    }

    /// It worked: the next wait is a short one again.
    pub fn reset(&mut self) {
        self.last_ms = self.base_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_within_their_bounds() {
        let mut random = Random::seeded(7);
        let mut first = 0;
        let mut late = 0;
        for _ in 0..200 {
            let mut backoff = Backoff::default();
            first += backoff.wait_ms(&mut random);
            for _ in 0..20 {
                let wait_ms = backoff.wait_ms(&mut random);
                assert!((50..=5_000).contains(&wait_ms));
                late += wait_ms;
            }
        }
        assert!(first / 200 <= 150, "the first wait is short");
        assert!(late / (200 * 20) > 500, "later waits are long");
    }

    #[test]
    fn a_success_makes_the_next_wait_short() {
        let mut random = Random::seeded(7);
        let mut backoff = Backoff::between(50, 5_000);
        for _ in 0..30 {
            backoff.wait_ms(&mut random);
        }
        backoff.reset();
        assert!(backoff.wait_ms(&mut random) <= 150);
    }

    #[test]
    fn clients_that_failed_together_come_back_apart() {
        let waits: Vec<u64> = (0..100)
            .map(|client| {
                let mut random = Random::seeded(client);
                let mut backoff = Backoff::default();
                (0..6).map(|_| backoff.wait_ms(&mut random)).sum()
            })
            .collect();
        let mut distinct = waits.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 80, "{waits:?}");
    }
}
