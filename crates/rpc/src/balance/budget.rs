//! How many extra calls the client may make: for retries, and with other settings for hedges.
//!
//! A budget is earned by calls, so that retries stay a share of the traffic and cannot multiply an outage;
//! a small allowance by time lets a quiet client retry too. Balances are whole thousandths of a token, so
//! that nothing is lost to rounding.

/// What a [`RetryBudget`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct BudgetSettings {
    /// The share of calls that may be made again (default 0.2).
    pub share: f64,
    /// What may be made again each second besides (default 10), so that a client with few calls can retry.
    pub per_second_min: u32,
    /// The most that calls can save up (default 100 retries). More lets a longer burst of failures through.
    pub saved_max: u32,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Self { share: 0.2, per_second_min: 10, saved_max: 100 }
    }
}

/// A bucket of tokens, each good for one extra call.
///
/// Over any time the extra calls are at most `share` of the calls, plus `per_second_min` a second, plus what
/// was saved before (`saved_max` and one second's allowance).
#[derive(Clone, Debug)]
pub struct RetryBudget {
    earned_by_call: u64,
    earned_max: u64,
    /// Thousandths of a token earned by calls.
    earned: u64,
    per_second: u64,
    /// Millionths of a thousandth, as time is counted in microseconds.
    allowance: u64,
    refilled_at_us: Option<u64>,
}

/// One token, in thousandths.
const TOKEN: u64 = 1_000;
/// The allowance counts in microseconds times tokens a second.
const ALLOWANCE_TOKEN: u64 = 1_000_000;

impl RetryBudget {
    /// A budget with nothing earned yet and one second's allowance.
    pub fn new(settings: BudgetSettings) -> Self {
        let per_second = u64::from(settings.per_second_min);
        Self {
            earned_by_call: (settings.share.clamp(0.0, 1.0) * TOKEN as f64) as u64,
            earned_max: u64::from(settings.saved_max) * TOKEN,
            earned: 0,
            per_second,
            allowance: per_second * ALLOWANCE_TOKEN,
            refilled_at_us: None,
        }
    }

    /// A call is made for the first time, and earns its share.
    #[inline]
    pub fn called(&mut self) {
        self.earned = (self.earned + self.earned_by_call).min(self.earned_max);
    }

    /// Takes a token for one extra call; false when there is none, and the call must not be made.
    #[inline]
    pub fn take(&mut self, now_us: u64) -> bool {
        self.refill(now_us);
        // What time gives is lost when unused, so it goes first.
        if self.allowance >= ALLOWANCE_TOKEN {
            self.allowance -= ALLOWANCE_TOKEN;
            true
        } else if self.earned >= TOKEN {
            self.earned -= TOKEN;
            true
        } else {
            false
        }
    }

    /// Whole tokens that could be taken now.
    pub fn left(&mut self, now_us: u64) -> u64 {
        self.refill(now_us);
        self.allowance / ALLOWANCE_TOKEN + self.earned / TOKEN
    }

    fn refill(&mut self, now_us: u64) {
        let since_us = now_us.saturating_sub(*self.refilled_at_us.get_or_insert(now_us));
        self.allowance = self
            .allowance
            .saturating_add(since_us.saturating_mul(self.per_second))
            .min(self.per_second * ALLOWANCE_TOKEN);
        self.refilled_at_us = Some(now_us.max(self.refilled_at_us.unwrap_or(0)));
    }
}
