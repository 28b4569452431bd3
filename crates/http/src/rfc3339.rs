//! Moments as text: `2026-11-21T21:09:03.250Z` (RFC 3339).
//!
//! Written in UTC with milliseconds, read with any offset; what is no date of the calendar is none here.

use std::time::{SystemTime, UNIX_EPOCH};

/// The moment as text; one before 1970 is written as 1970.
pub(crate) fn format(moment: SystemTime) -> String {
    let since_1970 = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since_1970.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of a day counted from 1970-01-01, after Howard Hinnant's `civil_from_days`: years begin in
/// March, so the leap day is the last of its year.
fn date(day_since_1970: u64) -> (u64, u64, u64) {
    let day = day_since_1970 + 719_468; // counted from 0000-03-01
    let era = day / 146_097; // 400 years
    let day_of_era = day % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_month)
}

/// Milliseconds since 1970 of a date and time of RFC 3339, 5.6; finer parts of a second are cut off, a moment before
/// 1970 is 1970. `None` where the text is not one. A leap second is the one before it.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = bytes.get(from..to)?;
        digits
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| digits.iter().fold(0, |n, d| n * 10 + u64::from(d - b'0')))
    };
    let is = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
    let between = |value: u64, least: u64, most: u64| (least..=most).contains(&value).then_some(value);
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let year = number(0, 4)?;
    let month = between(number(5, 7)?, 1, 12)?;
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = [31, 28 + u64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
    let day = between(number(8, 10)?, 1, days)?;
    let hour = between(number(11, 13)?, 0, 23)?;
    let minute = between(number(14, 16)?, 0, 59)?;
    let second = between(number(17, 19)?, 0, 60)?.min(59);
    let mut at = 19;
    let mut millis = 0;
    if is(at, b".") {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        let first = digits.min(3);
        millis = number(at + 1, at + 1 + first)? * 10_u64.pow(3 - first as u32);
        at += 1 + digits;
    }
    let offset_min = match bytes.get(at)? {
        b'Z' | b'z' if bytes.len() == at + 1 => 0,
        sign @ (b'+' | b'-') if bytes.len() == at + 6 && is(at + 3, b":") => {
            let east =
                between(number(at + 1, at + 3)?, 0, 23)? * 60 + between(number(at + 4, at + 6)?, 0, 59)?;
            if *sign == b'+' { east as i64 } else { -(east as i64) }
        }
        _ => return None,
    };
    let seconds = day_since_1970(year, month, day) * 86_400 + (hour * 3_600 + minute * 60 + second) as i64;
    let seconds = u64::try_from(seconds - offset_min * 60).ok();
    Some(seconds.map_or(0, |seconds| seconds * 1_000 + millis))
}

/// The inverse of [`date`], after Howard Hinnant's `days_from_civil`.
fn day_since_1970(year: u64, month: u64, day: u64) -> i64 {
    // One era later, so that a January of the year 0 counts from a positive year.
    let year = year + 400 - u64::from(month <= 2);
    let month_from_march = (month + 9) % 12;
    let year_of_era = year % 400;
    let day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month_from_march + 2) / 5 + day - 1;
    (year / 400 * 146_097 + day_of_era) as i64 - 146_097 - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(format(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(format(UNIX_EPOCH + Duration::from_millis(1_250)), "1970-01-01T00:00:01.250Z");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for day in (0..60_000).step_by(37) {
            let millis = day * 86_400_000 + day * 1_234_567 % 86_400_000;
            assert_eq!(parse(&format(UNIX_EPOCH + Duration::from_millis(millis))), Some(millis));
        }
    }

    #[test]
    fn moments_are_read_with_any_offset_and_nothing_else_is() {
        let noon = 1_709_208_000_000;
        for (text, expected) in [
            ("2024-02-29T12:00:00Z", Some(noon)),
            ("2024-02-29t12:00:00.0009z", Some(noon)),
            ("2024-02-29 12:00:00.5Z", Some(noon + 500)),
            ("2024-02-29T12:00:00.123456789Z", Some(noon + 123)),
            ("2024-02-29T14:30:00+02:30", Some(noon)),
            ("2024-02-28T23:30:00-12:30", Some(noon)),
            ("2016-12-31T23:59:60Z", Some(1_483_228_799_000)),
            ("1969-12-31T23:59:59Z", Some(0)),
            ("0000-01-01T00:00:00Z", Some(0)),
            ("2023-02-29T12:00:00Z", None),
            ("2024-13-01T12:00:00Z", None),
            ("2024-02-29T24:00:00Z", None),
            ("2024-02-29T12:00:00", None),
            ("2024-02-29T12:00:00.Z", None),
            ("2024-02-29T12:00:00Zulu", None),
            ("2024-02-29T12:00:00+0230", None),
            ("2024-02-29", None),
            ("tomorrow", None),
            ("", None),
            ("２０２４-02-29T12:00:00Z", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
