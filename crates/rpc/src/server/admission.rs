//! What a loop takes on, from what it measures: the gate before every function.

use std::time::Duration;

use super::config::AdmissionSettings;
use super::pace::{Look, Pace};
use crate::answer::Refusal;
use crate::service::Function;

/// The gate of one loop.
pub(crate) struct Gate {
    settings: AdmissionSettings,
    inline_wait_us_max: u64,
    /// Time that an inline call takes, smoothed, in microseconds.
    inline_each_us: u64,
    refused_in_turn: u32,
}

impl Gate {
    pub(crate) fn new(settings: AdmissionSettings) -> Self {
        Self {
            inline_wait_us_max: settings.inline_wait_max.as_micros() as u64,
            settings,
            inline_each_us: 0,
            refused_in_turn: 0,
        }
    }

    /// May a call for this function begin?
    pub(crate) fn admit(
        &mut self,
        pace: &Pace,
        function: &Function,
        under_way: usize,
    ) -> Result<(), Refusal> {
        match function {
            Function::Inline(_) | Function::Ticking(_) => {
                if pace.waited_us() < self.inline_wait_us_max {
                    return Ok(());
                }
                self.refused_in_turn += 1;
                Err(Refusal::busy(self.retry_after(), "the loop has more requests than it answers in time"))
            }
            _ if under_way < self.settings.concurrency_max as usize => Ok(()),
            _ => Err(Refusal::busy(self.retry_after(), "as many requests as the service works on at once")),
        }
    }

    /// Inline work was measured.
    pub(crate) fn looked(&mut self, look: Look) {
        self.inline_each_us = (self.inline_each_us * 7 + look.each_us) / 8;
    }

    /// A call that outlived its turn is done.
    pub(crate) fn finished(&mut self, _took: Duration, _under_way: usize) {}

    /// The share of the concurrency that is used, 0 to 1.
    pub(crate) fn used_share(&self, under_way: usize) -> f32 {
        under_way as f32 / self.settings.concurrency_max.max(1) as f32
    }

    /// Inline requests that the loop could answer in a second, if it did nothing else.
    pub(crate) fn requests_per_second(&self) -> u64 {
        1_000_000 / self.inline_each_us.max(1)
    }

    /// When it is worth asking again.
    pub(crate) fn retry_after(&self) -> Duration {
        Duration::from_micros(self.inline_wait_us_max.max(1_000))
    }
}
