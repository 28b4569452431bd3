//! Timestamps as text: `2026-11-21T21:09:03.250Z` (RFC 3339).
//!
//! Written in UTC with milliseconds, read with any offset. jiff knows the calendar; it also reads other forms
//! of ISO 8601, which are none here.

use std::time::SystemTime;

use jiff::Timestamp;

/// The timestamp as text. One before 1970 is written as 1970, one after the year 9999 as its end.
pub(crate) fn format(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::MAX).max(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// Milliseconds since 1970 of a date and time of RFC 3339, 5.6. Finer parts of a second are cut off, and a
/// time before 1970 is 1970. `None` where the text is not one. A leap second is the one before it.
pub(crate) fn parse(text: &str) -> Option<u64> {
    if !is_shaped(text.as_bytes()) {
        return None;
    }
    let time: Timestamp = text.parse().ok()?;
    Some(u64::try_from(time.as_millisecond()).unwrap_or(0))
}

/// Whether the punctuation is where RFC 3339 has it: `YYYY-MM-DDThh:mm:ss[.s...](Z|+hh:mm|-hh:mm)`.
fn is_shaped(text: &[u8]) -> bool {
    let Some((start, rest)) = text.split_at_checked("YYYY-MM-DDThh:mm:ss".len()) else { return false };
    let is_start = start.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        10 => b"Tt ".contains(byte),
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let zone = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        _ => rest,
    };
    let is_zone = match zone {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    is_start && is_zone
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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
    fn written_timestamps_are_read_back() {
        for day in (0..60_000).step_by(37) {
            let millis = day * 86_400_000 + day * 1_234_567 % 86_400_000;
            assert_eq!(parse(&format(UNIX_EPOCH + Duration::from_millis(millis))), Some(millis));
        }
    }

    #[test]
    fn timestamps_are_read_with_any_offset_and_nothing_else_is() {
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
