//! Times as people write them: `250ms`, `10s`, `1m 30s`, `1.5h`.
//!
//! Numbers with units, added up; in nanoseconds.

use crate::mistake::Mistake;

/// Units and their nanoseconds. The longer stand before those that they begin with.
const UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 6e10),
    ("m", 6e10),
    ("h", 3.6e12),
    ("d", 8.64e13),
];

/// The longest time: a year and a day.
const MAX_NS: f64 = 366.0 * 8.64e13;

/// Reads a time, in nanoseconds.
///
/// # Errors
/// Where a number has no unit, the unit is unknown, or it is longer than a year.
pub fn parse(text: &str) -> Result<u64, Mistake> {
    let mut total = 0.0;
    let mut at = 0;
    let whole = 0..text.len();
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        let rest = &text[at..];
        if rest.is_empty() {
            break;
        }
        let length = rest.find(|digit: char| !digit.is_ascii_digit() && digit != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..length].parse::<f64>() else {
            return Err(Mistake::new(whole, format!("`{text}` is not a time"))
                .hint("a time is written as \"250ms\", \"10s\" or \"1m 30s\""));
        };
        let after = &rest[length..];
        let blanks = after.len() - after.trim_start().len();
        let after = after.trim_start();
        let unit_length = after.find(|letter: char| !letter.is_alphabetic()).unwrap_or(after.len());
        let unit = &after[..unit_length];
        let Some((_, ns)) = UNITS.iter().find(|(known, _)| *known == unit) else {
            let mistake = if unit.is_empty() {
                Mistake::new(whole, format!("`{text}` has no unit"))
            } else {
                Mistake::new(
                    at + length + blanks..at + length + blanks + unit_length,
                    format!("`{unit}` is not a unit of time"),
                )
            };
            return Err(mistake.hint("units are `ns`, `us`, `ms`, `s`, `m`, `h`, `d`"));
        };
        total += number * ns;
        at += length + blanks + unit_length;
    }
    if text.trim().is_empty() {
        return Err(Mistake::new(whole, "a time is missing"));
    }
    if total > MAX_NS {
        return Err(Mistake::new(whole, format!("`{text}` is longer than a year")));
    }
    Ok(total.round() as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_add_up() {
        for (text, ns) in [
            ("250ms", 250_000_000),
            ("1m 30s", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            ("2 min", 120_000_000_000),
            ("1h1s", 3_601_000_000_000),
            ("0s", 0),
            ("7us", 7_000),
        ] {
            assert_eq!(super::parse(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_time_is_refused_with_a_reason() {
        for (text, says) in [
            ("10", "no unit"),
            ("10 parsecs", "`parsecs` is not a unit"),
            ("soon", "not a time"),
            ("", "missing"),
            ("1.2.3s", "not a time"),
            ("500d", "year"),
            ("-1s", "not a time"),
        ] {
            let mistake = super::parse(text).unwrap_err();
            assert!(mistake.message.contains(says), "{text}: {mistake}");
        }
    }
}
