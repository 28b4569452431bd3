//! Values that devices carry: of attributes, where they are, when they want quiet.
//!
//! Each is kept in one form, so that equal ones are the same bytes on every machine.

use std::borrow::Cow;
use std::fmt;

use compact_str::CompactString;
use jiff::Timestamp;

/// An attribute's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(CompactString),
    /// A number: finite, and never the negative zero. [`Value::number`] makes one.
    Number(f64),
    /// A time: milliseconds since 1970-01-01T00:00:00Z, negative before, since people are older
    /// than that.
    Date(i64),
}

impl Value {
    /// A number, where it is finite.
    pub fn number(number: f64) -> Option<Value> {
        number.is_finite().then_some(Value::Number(number + 0.0))
    }

    /// As it stands in a text: a number without needless digits, a date as RFC 3339.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Value::Text(text) => Cow::Borrowed(text),
            Value::Number(number) => Cow::Owned(number.to_string()),
            Value::Date(at) => Cow::Owned(date_text(*at)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Number(_) | Value::Date(_) => f.write_str(&self.as_text()),
        }
    }
}

/// The time in RFC 3339; its number where RFC 3339 has no form for it.
pub(crate) fn date_text(at: i64) -> String {
    Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}

/// The time that a text of RFC 3339 names.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(|at| at.as_millisecond())
}

/// A place on Earth, to the centimetre.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// In ten-millionths of a degree, -90° to 90°.
    pub(crate) latitude: i32,
    /// In ten-millionths of a degree, -180° to 180°.
    pub(crate) longitude: i32,
}

const DEGREE: f64 = 1e7;

impl Location {
    /// The place at so many degrees, where there is one.
    pub fn new(latitude: f64, longitude: f64) -> Option<Self> {
        let fits = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        let part = |degrees: f64| (degrees * DEGREE).round() as i32;
        fits.then(|| Self { latitude: part(latitude), longitude: part(longitude) })
    }

    /// The place at so many ten-millionths of a degree, where there is one.
    pub fn of_ten_millionths(latitude: i32, longitude: i32) -> Option<Self> {
        let location = Self { latitude, longitude };
        location.is_on_earth().then_some(location)
    }

    /// Its latitude and its longitude, in ten-millionths of a degree: exact.
    pub fn ten_millionths(self) -> (i32, i32) {
        let Self { latitude, longitude } = self;
        (latitude, longitude)
    }

    /// Degrees, positive in the north.
    pub fn latitude(self) -> f64 {
        f64::from(self.latitude) / DEGREE
    }

    /// Degrees, positive in the east.
    pub fn longitude(self) -> f64 {
        f64::from(self.longitude) / DEGREE
    }

    pub(crate) fn is_on_earth(self) -> bool {
        self.latitude.unsigned_abs() <= 900_000_000 && self.longitude.unsigned_abs() <= 1_800_000_000
    }
}

/// Hours of the day in which a device wants no push, by its own clock. They may go over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuietHours {
    from: u16,
    to: u16,
}

const DAY_MINUTES: u16 = 24 * 60;

impl QuietHours {
    /// From a minute of the day on, until another one. None where a minute is none or both are the same.
    pub fn new(from: u16, to: u16) -> Option<Self> {
        (from < DAY_MINUTES && to < DAY_MINUTES && from != to).then_some(Self { from, to })
    }

    /// The minute of the day in which they begin.
    pub fn from(self) -> u16 {
        self.from
    }

    /// The minute of the day in which they are over.
    pub fn to(self) -> u16 {
        self.to
    }

    /// Whether that second of the day is one of them.
    pub fn contains(self, second: u32) -> bool {
        let (from, to) = (u32::from(self.from) * 60, u32::from(self.to) * 60);
        if from < to { (from..to).contains(&second) } else { second >= from || second < to }
    }

    /// From `HH:MM` texts.
    pub(crate) fn parse_minute(text: &str) -> Option<u16> {
        let (hours, minutes) = text.split_once(':')?;
        let two = |part: &str| {
            (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| part.parse::<u16>().ok())?
        };
        let (hours, minutes) = (two(hours)?, two(minutes)?);
        (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
    }

    /// A minute of the day as `HH:MM`.
    pub(crate) fn minute_text(minute: u16) -> String {
        format!("{:02}:{:02}", minute / 60, minute % 60)
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", Self::minute_text(self.from), Self::minute_text(self.to))
    }
}
