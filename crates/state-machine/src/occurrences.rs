//! When a schedule is due: cron expressions in time zones.
//!
//! Expressions are croner's (five fields, or six with seconds first, or a nickname). Time zones are the IANA
//! database that is linked in. Where the clocks of a zone skip a time, the occurrence comes right behind the
//! gap. A time that they show twice comes once where the hour is named, and twice where it is a wildcard.

use std::fmt;
use std::str::FromStr as _;

use croner::Cron;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Time;

/// The occurrences of a cron expression in a time zone.
pub struct Occurrences {
    cron: Cron,
    zone: TimeZone,
}

/// Why a schedule has no occurrences: the text is for the caller who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidSchedule {
    /// The expression is too long, or none.
    Cron(String),
    /// The IANA database has no time zone of that name.
    TimeZone(String),
}

impl Occurrences {
    /// Bytes of an expression at most; the longest useful ones have about a hundred.
    pub const CRON_BYTES_MAX: usize = 256;

    /// Reads an expression. An empty name of a zone is UTC.
    ///
    /// # Errors
    ///
    /// An expression that is none or longer than [`Self::CRON_BYTES_MAX`], and an unknown time zone.
    pub fn new(expression: &str, zone: &str) -> Result<Self, InvalidSchedule> {
        if expression.len() > Self::CRON_BYTES_MAX {
            let (bytes, max) = (expression.len(), Self::CRON_BYTES_MAX);
            let reason = format!("the cron expression has {bytes} bytes; {max} are allowed");
            return Err(InvalidSchedule::Cron(reason));
        }
        let cron = Cron::from_str(expression).map_err(|error| {
            InvalidSchedule::Cron(format!("{expression:?} is no cron expression: {error}"))
        })?;
        let zone = if zone.is_empty() { "UTC" } else { zone };
        let zone = TimeZone::get(zone).map_err(|_| {
            let reason = format!("{zone:?} is no time zone; an IANA name like Europe/Berlin is");
            InvalidSchedule::TimeZone(reason)
        })?;
        Ok(Self { cron, zone })
    }

    /// The first occurrence after that time. `None` where there is none.
    pub fn after(&self, time: Time) -> Option<Time> {
        let from = Timestamp::from_millisecond(i64::try_from(time.0).ok()?).ok()?;
        let next = self.cron.find_next_occurrence(&from.to_zoned(self.zone.clone()), false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok().filter(|&at| at > time.0).map(Time)
    }
}

impl fmt::Display for InvalidSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Cron(reason) | Self::TimeZone(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for InvalidSchedule {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        Time(text.parse::<Timestamp>().expect("a timestamp").as_millisecond() as u64)
    }

    #[test]
    fn a_daily_schedule_is_due_once_a_day_when_clocks_change() {
        let occurrences = Occurrences::new("30 2 * * *", "Europe/Berlin").expect("an expression");
        let mut now = at("2026-03-27T12:00:00Z");
        let mut due = Vec::new();
        for _ in 0..3 {
            now = occurrences.after(now).expect("there is a next one");
            due.push(now);
        }
        assert_eq!(due, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"].map(at));
    }

    #[test]
    fn bad_schedules_are_refused_with_the_reason() {
        let reason = |expression: &str, zone: &str| match Occurrences::new(expression, zone) {
            Err(error) => error,
            Ok(_) => panic!("{expression} in {zone} is taken"),
        };
        let long = "*".repeat(257);
        assert_eq!(
            reason(&long, ""),
            InvalidSchedule::Cron("the cron expression has 257 bytes; 256 are allowed".to_owned())
        );
        assert!(
            matches!(reason("every day", ""), InvalidSchedule::Cron(text) if text.contains("\"every day\""))
        );
        assert!(
            matches!(reason("@daily", "Mars/Olympus"), InvalidSchedule::TimeZone(text) if text.contains("Mars"))
        );
    }
}
