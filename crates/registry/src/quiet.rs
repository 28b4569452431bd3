//! Quiet hours by each device's own clock.
//!
//! A device is in them as long as its wall clock is within them: an hour that does not exist is
//! over when it would begin, and one that comes twice is quiet twice. They end at the first instant
//! at which the wall clock is behind them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use roaring::RoaringBitmap;

use crate::labels::Kind;
use crate::packed::Packed;
use crate::{QuietHours, Registry, Slot, Time};

const DAY_S: i64 = 24 * 60 * 60;

/// Quiet hours as their label's text has them.
pub(crate) fn parse(text: &str) -> Option<QuietHours> {
    let (from, to) = text.split_once('-')?;
    QuietHours::new(QuietHours::parse_minute(from)?, QuietHours::parse_minute(to)?)
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

/// Seconds of the day that a wall clock there shows.
fn second_of_day(at: Timestamp, zone: &TimeZone) -> i64 {
    let offset = i64::from(zone.to_offset(at).seconds());
    (at.as_second() + offset).rem_euclid(DAY_S)
}

/// When the quiet hours end that a clock of that zone is in; none where it is in none.
fn ends(hours: QuietHours, zone: &TimeZone, at: Time) -> Option<Time> {
    let mut now = Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok()?;
    if !hours.contains(second_of_day(now, zone) as u32) {
        return None;
    }
    // The clock runs evenly up to the next change of the clocks; each is looked at, and two days have four at the most.
    for _ in 0..4 {
        let left = (i64::from(hours.to()) * 60 - second_of_day(now, zone)).rem_euclid(DAY_S);
        let end = Timestamp::from_second(now.as_second() + left).ok()?;
        match zone.following(now).next().map(|change| change.timestamp()) {
            Some(change) if change <= end => {
                if !hours.contains(second_of_day(change, zone) as u32) {
                    return Some(Time(change.as_millisecond() as u64));
                }
                now = change;
            }
            _ => return Some(Time(end.as_millisecond() as u64)),
        }
    }
    None
}

impl Registry {
    /// Devices that are in their quiet hours, in groups that don't overlap, with the time when
    /// these end. By their time zone, UTC where they have none.
    pub fn quiet_groups(&self, at: Time) -> Vec<(RoaringBitmap, Time)> {
        let hours: Vec<_> = self
            .labels
            .of_kind(Kind::Quiet)
            .map(|(_, text, devices)| (parse(text).expect("it was so when it was made"), devices))
            .collect();
        let mut groups = Vec::new();
        if hours.is_empty() {
            return groups;
        }
        for (_, name, zoned) in self.labels.of_kind(Kind::Zone) {
            let zone = zone(name);
            for &(hours, devices) in &hours {
                if let Some(end) = ends(hours, &zone, at) {
                    groups.push((zoned & devices, end));
                }
            }
        }
        for &(hours, devices) in &hours {
            if let Some(end) = ends(hours, &TimeZone::UTC, at) {
                groups.push((devices - &self.zoned, end));
            }
        }
        groups.retain(|(devices, _)| !devices.is_empty());
        groups
    }

    /// Devices that are in their quiet hours, and when these end.
    pub fn in_quiet_hours(&self, at: Time) -> impl Iterator<Item = (Slot, Time)> {
        self.quiet_groups(at)
            .into_iter()
            .flat_map(|(devices, end)| devices.into_iter().map(move |slot| (Slot(slot), end)))
    }

    /// When the quiet hours end that a device is in; none where it is in none.
    pub fn quiet_until(&self, slot: Slot, at: Time) -> Option<Time> {
        let packed: Packed<'_> = self.packed(slot)?;
        let hours = parse(self.labels.text(packed.field(Kind::Quiet)?)).expect("it was so when it was made");
        match packed.field(Kind::Zone) {
            Some(label) => ends(hours, &zone(self.labels.text(label)), at),
            None => ends(hours, &TimeZone::UTC, at),
        }
    }

    /// Time zones and their devices.
    pub fn time_zones(&self) -> impl Iterator<Item = (&str, &RoaringBitmap)> {
        self.labels.of_kind(Kind::Zone).map(|(_, name, devices)| (name, devices))
    }

    /// Devices without a time zone.
    pub fn without_time_zone(&self) -> RoaringBitmap {
        &self.all - &self.zoned
    }
}
