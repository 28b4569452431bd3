//! Whether a call that was not answered OK is made again, where, and when.
//!
//! BUSY means that nothing happened, so any call may be made again; after a deadline or a broken connection
//! nobody knows, so only an idempotent one may. A retry never outlives the call's deadline, never exceeds the
//! attempts, and always costs a token of the [`RetryBudget`].

use super::{budget::RetryBudget, feedback::Outcome, random::Random};

/// Whether doing it twice is the same as doing it once; the service's contract states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotence {
    /// Safe to do again when nobody knows whether it was done.
    Idempotent,
    /// Must not happen twice.
    Once,
}

/// Whether another instance could take the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// An instance that has not seen this call may be chosen.
    Possible,
    /// There is none, or the call's key binds it to the one that it had.
    Impossible,
}

/// An attempt that did not end well.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// How it ended.
    pub outcome: Outcome,
    /// How many attempts there were, this one included.
    pub made: u32,
    /// Whether the method may be done twice.
    pub idempotence: Idempotence,
    /// Whether there is another instance to ask.
    pub elsewhere: Elsewhere,
    /// When the call is over, in microseconds.
    pub deadline_us: u64,
}

/// What becomes of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Make it again at once, on another instance.
    Now,
    /// Make it again at that time, on any instance.
    At {
        /// Microseconds; before the deadline.
        at_us: u64,
    },
    /// The caller gets the answer that there is.
    Stop(Stop),
}

/// Why a call is not made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The answer is final.
    Final,
    /// Nobody knows whether it was done, and it must not be done twice.
    NotIdempotent,
    /// It was tried often enough.
    Attempts,
    /// The deadline passes before another attempt could begin.
    Deadline,
    /// The client has made too many extra calls lately.
    Budget,
}

/// The rule of retries.
#[derive(Clone, Copy, Debug)]
pub struct RetryRule {
    /// Attempts of one call, the first included (default 3). More only adds load where there is trouble.
    pub attempts_max: u32,
    /// The shortest wait before the same instance is asked again (default 5 ms, in microseconds).
    pub wait_min_us: u64,
}

impl Default for RetryRule {
    fn default() -> Self {
        Self { attempts_max: 3, wait_min_us: 5_000 }
    }
}

impl RetryRule {
    /// Decides on `attempt`; takes a token of `budget` where the answer is not [`Decision::Stop`].
    pub fn decide(
        &self,
        attempt: Attempt,
        now_us: u64,
        budget: &mut RetryBudget,
        random: &mut Random,
    ) -> Decision {
        let asked_us = match attempt.outcome {
            Outcome::Ok | Outcome::Rejected | Outcome::Cancelled => return Decision::Stop(Stop::Final),
            Outcome::Busy { retry_after_ms } => u64::from(retry_after_ms) * 1_000,
            Outcome::Deadline | Outcome::Broken if attempt.idempotence == Idempotence::Once => {
                return Decision::Stop(Stop::NotIdempotent);
            }
            Outcome::Deadline | Outcome::Broken => 0,
        };
        if attempt.made >= self.attempts_max {
            return Decision::Stop(Stop::Attempts);
        }
        let at_us = match attempt.elsewhere {
            Elsewhere::Possible => now_us,
            Elsewhere::Impossible => {
                // As long as was asked, and up to half of it more, so that refused calls don't return as a herd.
                let wait_us = asked_us.max(self.wait_min_us);
                now_us.saturating_add(wait_us).saturating_add(random.within(0..=wait_us / 2))
            }
        };
        if at_us >= attempt.deadline_us {
            return Decision::Stop(Stop::Deadline);
        }
        if !budget.take(now_us) {
            return Decision::Stop(Stop::Budget);
        }
        if at_us == now_us { Decision::Now } else { Decision::At { at_us } }
    }
}
