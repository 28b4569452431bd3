//! Spans as people write them: `250ms`, `90s`, `1h30m`, `14d`.
//!
//! Inside they are milliseconds, as in the API.

/// Units, from the longest, in milliseconds.
const UNITS: [(&str, u64); 6] = [
    ("w", 7 * 24 * 3_600_000),
    ("d", 24 * 3_600_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Milliseconds of a span.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let expected = || format!("{text:?} is no span such as 250ms, 90s, 10m, 1h30m or 14d");
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(expected());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(expected)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let (_, milliseconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?;
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*milliseconds));
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(expected)?;
        rest = after;
    }
    Ok(total)
}

/// A span in the two largest units that it fills.
pub(crate) fn shown(milliseconds: u64) -> String {
    if milliseconds < 1_000 {
        return format!("{milliseconds}ms");
    }
    let mut rest = milliseconds;
    let mut text = String::new();
    let mut parts = 0;
    for (unit, size) in UNITS {
        // Of what lasts for minutes, milliseconds are noise.
        if rest >= size && parts < 2 && (unit != "ms" || milliseconds < 10_000) {
            text.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
            parts += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        let table = [
            ("0", 0),
            ("250ms", 250),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("14d", 14 * 86_400_000),
            ("1w1ms", 7 * 86_400_000 + 1),
        ];
        for (text, milliseconds) in table {
            assert_eq!(parse(text), Ok(milliseconds), "{text}");
        }
        for wrong in ["", "7", "-5s", "1.5s", "s", "10 s", "5y", "99999999999999999999s", "9999999999999999w"]
        {
            assert!(parse(wrong).is_err_and(|message| message.contains("1h30m")), "{wrong}");
        }
    }

    #[test]
    fn spans_are_shown_in_their_largest_units() {
        let table = [
            (0, "0ms"),
            (999, "999ms"),
            (1_500, "1s500ms"),
            (30_000, "30s"),
            (12_345, "12s"),
            (5_400_000, "1h30m"),
            (14 * 86_400_000, "2w"),
            (90_061_000, "1d1h"),
        ];
        for (milliseconds, text) in table {
            assert_eq!(shown(milliseconds), text);
        }
    }
}
