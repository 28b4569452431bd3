//! How answers of the API look to people: fields, ages, texts on one line. Columns are in
//! [`crate::table`].
//!
//! Texts of others are cleaned of control characters first, so that a payload or a reference cannot
//! control the terminal.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::span;
pub(crate) use crate::table::Table;

/// A field's text; `-` where there is none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("-")
}

/// A field's number; 0 where there is none.
pub(crate) fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}

/// A list's items; none where it is not there.
pub(crate) fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// Text on one line without control characters, cut where it is longer.
pub(crate) fn clean(text: &str, chars_max: usize) -> String {
    let mut cleaned = String::new();
    for (place, c) in text.chars().enumerate() {
        if place == chars_max {
            cleaned.push('…');
            break;
        }
        cleaned.push(if c.is_control() { '·' } else { c });
    }
    cleaned
}

/// How long ago a time was, or how far off it is: `3m ago`, `in 2h5m`.
pub(crate) fn when(timestamp: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    match milliseconds(timestamp) {
        None => timestamp.to_owned(),
        Some(at) if at > now => format!("in {}", span::shown(at - now)),
        Some(at) => format!("{} ago", span::shown(now - at)),
    }
}

/// A timestamp in a flag, such as `2030-01-01T20:00:00Z`: milliseconds since 1970.
pub(crate) fn parse_timestamp(text: &str) -> Result<u64, String> {
    milliseconds(text).ok_or_else(|| format!("{text:?} is no timestamp such as 2030-01-01T20:00:00Z, in UTC"))
}

/// Milliseconds since 1970 of a timestamp as the API writes it: `2030-01-01T20:00:00.000Z`.
fn milliseconds(timestamp: &str) -> Option<u64> {
    let (date, time) = timestamp.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let thousandths: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // Days of the proleptic Gregorian calendar: months are counted from March, so that leap days
    // end years.
    let years = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        365 * years + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400) + day_of_year;
    let since_1970 = days - 719_468;
    let seconds = since_1970 * 86_400 + hour * 3_600 + minute * 60 + second;
    u64::try_from(seconds * 1_000 + thousandths).ok()
}

/// A timestamp as in `2030-01-01T20:00:00.000Z`.
pub(crate) fn timestamp(time_ms: u64) -> String {
    let (days, of_day) = (time_ms / 86_400_000, time_ms % 86_400_000);
    // Days since 0000-03-01, in eras of 400 years; months are counted from March, so that leap days
    // end years.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, thousandth) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{thousandth:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_read() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00.5Z", Some(951_825_600_500)),
            ("2030-01-01T20:00:00.007Z", Some(1_893_528_000_007)),
            ("2026-11-22T04:00:00.123Z", Some(1_795_320_000_123)),
            ("yesterday", None),
        ];
        for (text, expected) in table {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn timestamps_are_written_as_everywhere() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(951_825_600_500), "2000-02-29T12:00:00.500Z");
        assert_eq!(timestamp(1_795_320_000_123), "2026-11-22T04:00:00.123Z");
    }

    #[test]
    fn payloads_cannot_write_to_the_terminal() {
        assert_eq!(clean("a\x1b[31m\nb", 60), "a·[31m·b");
        assert_eq!(clean("abcdef", 3), "abc…");
    }
}
