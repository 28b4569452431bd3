//! Clocks and calendars: when a civil time comes in a zone, and when a schedule is due.
//!
//! A time that the clocks skip is the first one after the gap; one that they show twice is the first.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use stadium_state_machine::{InvalidSchedule, Occurrences};

use crate::refusal::{CRON, TIME_ZONE, rejected};
use crate::{Civil, Milliseconds, Refusal, Time, Zone};

/// Clocks are at most so far ahead of UTC, and at most two hours less behind it.
pub(crate) const AHEAD_MAX: Milliseconds = 14 * 3_600_000;
/// Zones differ by a multiple of this, mostly.
pub(crate) const ZONE_STEP: Milliseconds = 15 * 60_000;

impl Civil {
    /// Its time by a clock that shows UTC; none before 1970.
    pub(crate) fn as_utc(self) -> Option<Time> {
        u64::try_from(self.0).ok()?.checked_mul(1_000).map(Time)
    }
}

/// The time when clocks of a zone show this; by UTC where the zone is not known. None where no
/// calendar has it.
pub(crate) fn time_in_zone(civil: Civil, zone: &str) -> Option<Time> {
    let utc = civil.as_utc()?;
    if zone.is_empty() || zone == "UTC" {
        return Some(utc);
    }
    let Ok(zone) = TimeZone::get(zone) else { return Some(utc) };
    let date_time: DateTime =
        DateTime::new(1970, 1, 1, 0, 0, 0, 0).ok()?.checked_add(civil.0.seconds()).ok()?;
    let ambiguous = zone.to_ambiguous_timestamp(date_time);
    let at = match ambiguous.offset() {
        jiff::tz::AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(date_time).ok()?,
        jiff::tz::AmbiguousOffset::Fold { before, .. } => before.to_timestamp(date_time).ok()?,
        jiff::tz::AmbiguousOffset::Gap { after, .. } => {
            // The first instant behind the gap: the next change of the clocks after a time that is
            // surely before it.
            let inside = after.to_timestamp(date_time).ok()?;
            zone.following(inside).next().map_or(inside, |change| change.timestamp())
        }
    };
    u64::try_from(at.as_millisecond()).ok().map(Time)
}

/// The occurrences of a schedule; those of [`Zone::Local`] are times of the clock that each zone shows.
///
/// # Errors
///
/// An expression that is none and a time zone that nobody knows.
pub(crate) fn occurrences(expression: &str, zone: &Zone) -> Result<Occurrences, Refusal> {
    let zone = match zone {
        Zone::Local => "UTC",
        Zone::Named(name) => name,
    };
    Occurrences::new(expression, zone).map_err(|error| {
        let code = match error {
            InvalidSchedule::Cron(_) => CRON,
            InvalidSchedule::TimeZone(_) => TIME_ZONE,
        };
        rejected(code, error.to_string())
    })
}

/// A time as people read it: `14:00 UTC`, with the day where it differs from that of `beside`,
/// seconds where there are some.
pub(crate) fn words(at: Time, beside: Time) -> String {
    let day = |time: Time| time.0 / 86_400_000;
    let date = i64::try_from(at.0).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let Some(date) = date else { return "the end of time".into() };
    let date = date.to_zoned(TimeZone::UTC).datetime();
    let mut words = format!("{:02}:{:02}", date.hour(), date.minute());
    if !at.0.is_multiple_of(60_000) {
        words += &format!(":{:02}", date.second());
    }
    if !at.0.is_multiple_of(1_000) {
        words += &format!(".{:03}", at.0 % 1_000);
    }
    words += " UTC";
    if day(at) != day(beside) {
        words += &format!(" on {:04}-{:02}-{:02}", date.year(), date.month(), date.day());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn civil(text: &str) -> Civil {
        Civil(text.parse::<DateTime>().unwrap().to_zoned(TimeZone::UTC).unwrap().timestamp().as_second())
    }

    fn at(text: &str) -> Time {
        Time(text.parse::<Timestamp>().unwrap().as_millisecond() as u64)
    }

    #[test]
    fn a_civil_time_comes_once_in_each_zone() {
        for (shown, zone, expected) in [
            ("2026-03-29T01:59:00", "Europe/Berlin", "2026-03-29T00:59:00Z"),
            // Skipped: the first instant after it.
            ("2026-03-29T02:00:00", "Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("2026-03-29T02:20:00", "Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("2026-03-29T03:00:00", "Europe/Berlin", "2026-03-29T01:00:00Z"),
            // Twice: the first.
            ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"),
            ("2026-10-25T03:00:00", "Europe/Berlin", "2026-10-25T02:00:00Z"),
            ("2026-07-01T09:00:00", "Asia/Kathmandu", "2026-07-01T03:15:00Z"),
            ("2026-07-01T09:00:00", "Pacific/Kiritimati", "2026-06-30T19:00:00Z"),
            ("2026-10-04T02:10:00", "Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
            ("2026-07-01T09:00:00", "", "2026-07-01T09:00:00Z"),
            ("2026-07-01T09:00:00", "Mars/Olympus", "2026-07-01T09:00:00Z"),
        ] {
            assert_eq!(time_in_zone(civil(shown), zone), Some(at(expected)), "{shown} in {zone}");
        }
    }

    #[test]
    fn times_read_like_a_clock() {
        let noon = at("2026-07-01T12:00:00Z");
        assert_eq!(words(noon, noon), "12:00 UTC");
        assert_eq!(words(Time(noon.0 + 1_203), noon), "12:00:01.203 UTC");
        assert_eq!(words(Time(noon.0 + 86_400_000), noon), "12:00 UTC on 2026-07-02");
    }
}
