//! How answers of the API look to people: columns, ages, texts on one line.
//!
//! Texts of others are cleaned of control characters first, so that a payload or a reference cannot
//! control the terminal.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::failure::Failure;
use crate::span;
use crate::terminal::{Style, Terminal};

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
    // Days of the proleptic Gregorian calendar: months are counted from March, so that leap days end years.
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
    // Days since 0000-03-01, in eras of 400 years; months are counted from March, so that leap days end years.
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

/// Rows in columns as wide as their widest cell; those named right-aligned.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these heads; one that ends in `>` is of numbers, and right-aligned.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// One more row: a cell for each head.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, the heads' first.
    fn lines(&self) -> Vec<String> {
        let bare = |head: &'static str| head.strip_suffix('>').unwrap_or(head);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(bare(self.heads[column]).len())
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, head), width) in cells.zip(&self.heads).zip(&widths) {
                if !text.is_empty() {
                    text.push_str("  ");
                }
                let padding = width.saturating_sub(cell.chars().count());
                if head.ends_with('>') {
                    text.push_str(&" ".repeat(padding));
                    text.push_str(cell);
                } else {
                    text.push_str(cell);
                    text.push_str(&" ".repeat(padding));
                }
            }
            text.trim_end().to_owned()
        };
        let mut lines = vec![line(&mut self.heads.iter().map(|head| bare(head)))];
        lines.extend(self.rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
        lines
    }

    /// Writes the lines, the heads faintly.
    pub(crate) fn print(&self, terminal: &Terminal) -> Result<(), Failure> {
        for (place, line) in self.lines().iter().enumerate() {
            if place == 0 {
                terminal.data(&terminal.out(Style::Faint, line).to_string())?;
            } else {
                terminal.data(line)?;
            }
        }
        Ok(())
    }
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

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["queue", "due>"]);
        table.row(vec!["mails".into(), "7".into()]);
        table.row(vec!["a-long-name".into(), "1,000".into()]);
        assert_eq!(table.lines(), ["queue          due", "mails            7", "a-long-name  1,000"]);
    }
}
