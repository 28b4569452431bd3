//! Whether an instance may be trusted: serving, ejected for a while, or on probation.
//!
//! ```text
//! serving --failures in a row, or far below the others--> ejected --time--> probation
//!    ^                                                       ^                 |   |
//!    |                                                       '--a probe fails--'   |
//!    '------------------------------three probes in a row succeed------------------'
//! ```
//! This judges one instance alone; shares and comparisons are [`super::feedback`]'s business.

use super::settings::EjectionSettings;

/// Where an instance stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    #[default]
    Serving,
    Ejected {
        until_us: u64,
    },
    Probation {
        /// Calls that began earlier prove nothing.
        since_us: u64,
        succeeded: u8,
        /// A probe is under way.
        probing: bool,
    },
}

/// What an answer made of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As before.
    Unchanged,
    /// It should be ejected, if enough others are left.
    Eject,
    /// It failed its probe, and goes back to where it was.
    EjectAgain,
    /// Its standing has changed for the better.
    Improved,
}

/// The record of one instance.
#[derive(Debug, Default)]
pub(crate) struct Health {
    standing: Standing,
    failures_in_row: u32,
    /// Ejections that good conduct has not made forgotten yet.
    ejections: u32,
    /// When it last came back into use.
    trusted_since_us: u64,
    /// Answers within the present window, good and bad.
    pub(crate) answered: u32,
    /// The bad ones among them.
    pub(crate) failed: u32,
}

impl Health {
    /// Where it stands at `now_us`: the end of an ejection needs nobody to notice it.
    #[inline]
    pub(crate) fn standing(&self, now_us: u64) -> Standing {
        match self.standing {
            Standing::Ejected { until_us } if until_us <= now_us => {
                Standing::Probation { since_us: until_us, succeeded: 0, probing: false }
            }
            other => other,
        }
    }

    /// A call begins; on probation it is the probe. Whether that changed anything is returned.
    #[inline]
    pub(crate) fn began(&mut self, now_us: u64) -> Verdict {
        if self.standing == Standing::Serving {
            return Verdict::Unchanged;
        }
        self.standing = self.standing(now_us);
        match &mut self.standing {
            Standing::Probation { probing, .. } if !*probing => {
                *probing = true;
                Verdict::Improved
            }
            _ => Verdict::Unchanged,
        }
    }

    /// A call that began at `began_us` ended without a verdict on the instance.
    pub(crate) fn ended_silently(&mut self, began_us: u64) -> Verdict {
        match &mut self.standing {
            Standing::Probation { since_us, probing, .. } if *probing && *since_us <= began_us => {
                *probing = false;
                Verdict::Improved
            }
            _ => Verdict::Unchanged,
        }
    }

    /// A call that began at `began_us` was answered as it should be.
    #[inline]
    pub(crate) fn succeeded(&mut self, began_us: u64, now_us: u64, settings: &EjectionSettings) -> Verdict {
        self.answered = self.answered.saturating_add(1);
        if self.standing == Standing::Serving {
            self.failures_in_row = 0;
            return Verdict::Unchanged;
        }
        match &mut self.standing {
            Standing::Probation { since_us, succeeded, probing } if *since_us <= began_us => {
                *probing = false;
                *succeeded = succeeded.saturating_add(1);
                if *succeeded >= settings.probes {
                    self.standing = Standing::Serving;
                    self.failures_in_row = 0;
                    self.trusted_since_us = now_us;
                    (self.answered, self.failed) = (0, 0);
                }
                Verdict::Improved
            }
            _ => Verdict::Unchanged,
        }
    }

    /// A call that began at `began_us` failed for a reason that lies with the instance or the way to it.
    pub(crate) fn failed(&mut self, began_us: u64, settings: &EjectionSettings) -> Verdict {
        self.answered = self.answered.saturating_add(1);
        self.failed = self.failed.saturating_add(1);
        match self.standing {
            Standing::Serving => {
                self.failures_in_row = self.failures_in_row.saturating_add(1);
                if self.failures_in_row >= settings.failures { Verdict::Eject } else { Verdict::Unchanged }
            }
            Standing::Probation { since_us, .. } if since_us <= began_us => Verdict::EjectAgain,
            Standing::Ejected { .. } | Standing::Probation { .. } => Verdict::Unchanged,
        }
    }

    /// Takes it out of use: longer each time, less long after good conduct.
    pub(crate) fn eject(&mut self, now_us: u64, settings: &EjectionSettings) {
        if self.standing == Standing::Serving {
            let forgotten = now_us.saturating_sub(self.trusted_since_us) / settings.forget_us.max(1);
            self.ejections = self.ejections.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX));
        }
        self.ejections = self.ejections.saturating_add(1);
        let for_us = settings.base_us.saturating_mul(u64::from(self.ejections)).min(settings.max_us);
        self.standing = Standing::Ejected { until_us: now_us.saturating_add(for_us) };
        self.failures_in_row = 0;
        (self.answered, self.failed) = (0, 0);
    }
}
