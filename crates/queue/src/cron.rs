//! When a schedule is due.
//!
//! Expressions are croner's (five fields, or six with seconds first, or a nickname), time zones are the
//! IANA database that is linked in. Around a change of the clocks a moment that does not exist comes
//! right behind the gap, and one that comes twice comes once where the hour is named and twice where it is a
//! wildcard: docs/queue.md.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::refusal::{CRON, TIME_ZONE, rejected};
use crate::{Bounds, Cron, Refusal, Time};

/// A schedule's expression, understood.
pub(crate) struct Moments {
    cron: croner::Cron,
    zone: TimeZone,
}

impl Moments {
    /// # Errors
    ///
    /// An expression that is none and a time zone that nobody knows.
    pub(crate) fn new(cron: &Cron) -> Result<Self, Refusal> {
        if cron.expression.len() > Bounds::CRON_BYTES_MAX {
            let reason = format!(
                "the cron expression has {} bytes; {} are allowed",
                cron.expression.len(),
                Bounds::CRON_BYTES_MAX
            );
            return Err(rejected(CRON, reason));
        }
        let parsed = croner::Cron::from_str(&cron.expression).map_err(|error| {
            rejected(CRON, format!("{:?} is no cron expression: {error}", cron.expression))
        })?;
        let name = if cron.time_zone.is_empty() { "UTC" } else { &cron.time_zone };
        let zone = TimeZone::get(name).map_err(|_| {
            rejected(TIME_ZONE, format!("{name:?} is no time zone; an IANA name like Europe/Berlin is"))
        })?;
        Ok(Self { cron: parsed, zone })
    }

    /// The first moment after that one; none where none ever comes.
    pub(crate) fn after(&self, moment: Time) -> Option<Time> {
        let from = Timestamp::from_millisecond(i64::try_from(moment.0).ok()?).ok()?;
        let next = self.cron.find_next_occurrence(&from.to_zoned(self.zone.clone()), false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok().filter(|&at| at > moment.0).map(Time)
    }
}
