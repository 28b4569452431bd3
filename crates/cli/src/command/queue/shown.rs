//! How jobs and queues look to people: columns, ages, payloads on one line.
//!
//! Everything that comes from a job is cleaned of control characters first, so that a payload cannot write to the
//! terminal what it likes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::span;
use crate::terminal::{Style, Styled, Terminal};

/// Characters of a payload in a list.
const PAYLOAD_CHARS: usize = 60;

/// A field's text; `-` where there is none.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("-")
}

/// A field's number; 0 where there is none.
pub(super) fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}

/// A list's items; none where it is not there.
pub(super) fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// A job's payload on one line, cut to what a list has room for.
pub(super) fn payload(job: &Value) -> String {
    match (job.get("payload").and_then(Value::as_str), job.get("payload_base64").and_then(Value::as_str)) {
        (Some(text), _) => clean(text, PAYLOAD_CHARS),
        (None, Some(base64)) => format!("base64:{}", clean(base64, PAYLOAD_CHARS)),
        (None, None) => "-".to_owned(),
    }
}

/// Text on one line without control characters, cut where it is longer.
pub(super) fn clean(text: &str, chars_max: usize) -> String {
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

/// A state in its colour.
pub(super) fn state<'a>(terminal: &Terminal, word: &'a str) -> Styled<&'a str> {
    let style = match word {
        "due" => Style::Good,
        "reserved" => Style::Name,
        "buried" => Style::Warning,
        "dead" => Style::Bad,
        _ => Style::Faint,
    };
    terminal.out(style, word)
}

/// How long ago a moment was, or how far off it is: `3m ago`, `in 2h5m`.
pub(super) fn when(moment: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    match milliseconds(moment) {
        None => moment.to_owned(),
        Some(at) if at > now => format!("in {}", span::shown(at - now)),
        Some(at) => format!("{} ago", span::shown(now - at)),
    }
}

/// Milliseconds since 1970 of a moment as the API writes it: `2030-01-01T20:00:00.000Z`.
fn milliseconds(moment: &str) -> Option<u64> {
    let (date, time) = moment.strip_suffix('Z')?.split_once('T')?;
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

/// Rows in columns as wide as their widest cell; those named right-aligned.
pub(super) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these heads; one that ends in `>` is of numbers, and right-aligned.
    pub(super) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// One more row: a cell for each head.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, the heads' first.
    pub(super) fn lines(&self) -> Vec<String> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
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
