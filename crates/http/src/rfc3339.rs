//! Moments as text: `2026-11-21T21:09:03.250Z` (RFC 3339), always UTC, milliseconds.

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
}
