//! Clocks and calendars: when a civil time comes in a zone, and when a schedule is due.
//!
//! Expressions are croner's (five fields, or six with seconds first, or a nickname), time zones are the IANA database that is linked in. A time that
//! the clocks skip is the first one after the gap; one that they show twice is the first.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::refusal::{CRON, TIME_ZONE, rejected};
use crate::{Civil, Milliseconds, Refusal, Time, Zone};

/// Clocks are at most so far ahead of UTC, and at most two hours less behind it.
pub(crate) const AHEAD_MAX: Milliseconds = 14 * 3_600_000;
/// Zones differ by a multiple of this, mostly.
pub(crate) const ZONE_STEP: Milliseconds = 15 * 60_000;
/// Bytes of a cron expression.
const CRON_BYTES_MAX: usize = 256;

impl Civil {
    /// Its moment by a clock that shows UTC; none before 1970.
    pub(crate) fn as_utc(self) -> Option<Time> {
        u64::try_from(self.0).ok()?.checked_mul(1_000).map(Time)
    }
}

/// The moment when clocks of a zone show this; by UTC where the zone is not known. None where no calendar has it.
pub(crate) fn moment(civil: Civil, zone: &str) -> Option<Time> {
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
            // The first moment behind the gap: the next change of the clocks after a moment that is surely before it.
            let inside = after.to_timestamp(date_time).ok()?;
            zone.following(inside).next().map_or(inside, |change| change.timestamp())
        }
    };
    u64::try_from(at.as_millisecond()).ok().map(Time)
}

/// A schedule's expression, understood.
pub(crate) struct Moments {
    cron: croner::Cron,
    zone: TimeZone,
}

impl Moments {
    /// # Errors
    ///
    /// An expression that is none and a time zone that nobody knows.
    pub(crate) fn new(expression: &str, zone: &Zone) -> Result<Self, Refusal> {
        if expression.len() > CRON_BYTES_MAX {
            let reason =
                format!("the cron expression has {} bytes; {CRON_BYTES_MAX} are allowed", expression.len());
            return Err(rejected(CRON, reason));
        }
        let cron = croner::Cron::from_str(expression)
            .map_err(|error| rejected(CRON, format!("{expression:?} is no cron expression: {error}")))?;
        let zone = match zone {
            Zone::Local => TimeZone::UTC,
            Zone::Named(name) => TimeZone::get(name).map_err(|_| {
                rejected(TIME_ZONE, format!("{name:?} is no time zone; an IANA name like Europe/Berlin is"))
            })?,
        };
        Ok(Self { cron, zone })
    }

    /// The first moment after that one; none where none ever comes.
    pub(crate) fn after(&self, moment: Time) -> Option<Time> {
        let from = Timestamp::from_millisecond(i64::try_from(moment.0).ok()?).ok()?;
        let next = self.cron.find_next_occurrence(&from.to_zoned(self.zone.clone()), false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok().filter(|&at| at > moment.0).map(Time)
    }
}

/// A moment as people read it: `14:00 UTC`, with the day where it is another one than that of `beside`, seconds where there are some.
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
            // Skipped: the first moment after it.
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
            assert_eq!(moment(civil(shown), zone), Some(at(expected)), "{shown} in {zone}");
        }
    }

    #[test]
    fn a_daily_schedule_is_due_once_a_day_when_clocks_change() {
        let moments = Moments::new("30 2 * * *", &Zone::Named("Europe/Berlin".into())).unwrap();
        let mut now = at("2026-03-27T12:00:00Z");
        let mut due = Vec::new();
        for _ in 0..3 {
            now = moments.after(now).unwrap();
            due.push(now);
        }
        assert_eq!(due, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"].map(at));
    }

    #[test]
    fn moments_read_like_a_clock() {
        let noon = at("2026-07-01T12:00:00Z");
        assert_eq!(words(noon, noon), "12:00 UTC");
        assert_eq!(words(Time(noon.0 + 1_203), noon), "12:00:01.203 UTC");
        assert_eq!(words(Time(noon.0 + 86_400_000), noon), "12:00 UTC on 2026-07-02");
    }
}
