//! Amounts as people write them: `12.50` of an asset with two digits behind the point is 1,250 minor units.

/// Reads a decimal number with so many digits behind its point at most. Exact, or an error.
///
/// # Errors
///
/// What is no such number, in words.
pub fn parse(text: &str, scale: u8) -> Result<i64, String> {
    let wrong = |what: &str| Err(format!("{text:?} is no amount: {what}"));
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && part.is_empty() {
        return wrong("it has no digits");
    }
    if !whole.bytes().chain(part.bytes()).all(|digit| digit.is_ascii_digit()) {
        return wrong("write it as in -1250.99, without spaces, currency signs and separators of thousands");
    }
    let scale = usize::from(scale);
    let (kept, rest) = part.split_at(part.len().min(scale));
    if rest.bytes().any(|digit| digit != b'0') {
        return wrong(&format!("the asset has {scale} digits behind the point"));
    }
    let digits = format!("0{whole}{kept:0<scale$}");
    match digits.parse::<i64>() {
        Ok(value) => Ok(sign * value),
        Err(_) => wrong("it is too large"),
    }
}

/// Minor units as a decimal number.
pub fn show(amount: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let sign = if amount < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", amount.unsigned_abs(), scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn amounts_are_exact() {
        for (text, scale, amount) in [
            ("12.50", 2, 1_250),
            ("12.5", 2, 1_250),
            ("12", 2, 1_200),
            ("-0.01", 2, -1),
            (".5", 1, 5),
            ("+3", 0, 3),
            ("7.000", 0, 7),
            ("92233720368547758.07", 2, i64::MAX),
        ] {
            assert_eq!(parse(text, scale), Ok(amount), "{text}");
        }
        for (text, scale) in [
            ("", 2),
            ("-", 2),
            (".", 2),
            ("1.005", 2),
            ("1,000.00", 2),
            ("EUR 5", 2),
            ("1e3", 2),
            ("92233720368547758.08", 2),
        ] {
            assert!(parse(text, scale).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_with_their_scale() {
        assert_eq!(show(1_250, 2), "12.50");
        assert_eq!(show(-1, 2), "-0.01");
        assert_eq!(show(0, 0), "0");
        assert_eq!(show(i128::from(i64::MAX), 18), "9.223372036854775807");
    }
}
