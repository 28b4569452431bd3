//! Figures as people read them: a unit always, three digits that mean something, groups of three.
//!
//! Groups are separated by a comma; a page turns that into a thin space. Nothing here rounds to a
//! figure that would mean something else: a number other than zero never reads as zero, a share
//! below 100% never as 100%.

/// A count: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A plain number with three digits that mean something: `0.0123`, `1.23`, `12.3`, `1,234`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    if size >= 99.95 {
        let sign = if value < 0.0 { "-" } else { "" };
        // Above 2^64 a float is no count any more; nothing measured comes near.
        return format!("{sign}{}", count(size.round() as u64));
    }
    let places = match size {
        _ if size == 0.0 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ => (2 - size.log10().floor() as i32).clamp(3, 9) as usize,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A rate: `20,314/s`.
pub fn rate(value: f64) -> String {
    format!("{}/s", number(value))
}

/// A time given in nanoseconds: `850 ns`, `61.2 ms`, `1.5 s`, `2 min 5 s`.
pub fn time(ns: f64) -> String {
    let size = ns.abs();
    match size {
        _ if !size.is_finite() => "-".to_owned(),
        _ if size == 0.0 => "0 ms".to_owned(),
        _ if size < 999.5 => format!("{} ns", number(ns)),
        _ if size < 999.5e3 => format!("{} µs", number(ns / 1e3)),
        _ if size < 999.5e6 => format!("{} ms", number(ns / 1e6)),
        _ if size < 119.95e9 => format!("{} s", number(ns / 1e9)),
        _ => seconds(ns / 1e9),
    }
}

/// A time in nanoseconds, as histograms count them.
pub fn nanoseconds(ns: u64) -> String {
    time(ns as f64)
}

/// A length of time given in seconds: `8.4 s`, `2 min 5 s`, `1 h 20 min`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return "-".to_owned();
    }
    if value < 119.95 {
        return format!("{} s", number((value * 10.0).round() / 10.0));
    }
    let whole = value.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let mut parts = Vec::new();
    for (amount, unit) in [(hours, "h"), (minutes, "min"), (rest, "s")] {
        if amount > 0 {
            parts.push(format!("{} {unit}", count(amount)));
        }
    }
    parts.join(" ")
}

/// A share given as 0 to 1: `0.12%`, `99.98%`. Only what is none reads as 0%, only what is all as 100%.
pub fn share(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let percent = value * 100.0;
    if percent > 99.9 && percent < 100.0 {
        let missing = 100.0 - percent;
        let places = (1 - missing.log10().floor() as i32).clamp(2, 8) as usize;
        let text = format!("{percent:.places$}");
        let text = if text.starts_with("100") { format!("{:.8}", 99.999_999_99) } else { text };
        return format!("{}%", text.trim_end_matches('0').trim_end_matches('.'));
    }
    format!("{}%", number(percent))
}

/// Bytes: `512 B`, `1.5 MB`; thousands, as networks count.
pub fn bytes(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut size = value;
    let mut unit = 0;
    while size.abs() >= 999.5 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    format!("{} {}", number(size), units[unit])
}

/// How much larger: `+12%`, `-3.1%`, `x 4.2` where it is several times as much.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "-".to_owned();
    }
    if ratio >= 3.0 {
        return format!("x {}", number(ratio));
    }
    let percent = (ratio - 1.0) * 100.0;
    let places = if percent.abs() < 9.95 { 1 } else { 0 };
    format!("{percent:+.places$}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_their_unit_and_three_digits() {
        for (found, expected) in [
            (count(0), "0"),
            (count(999), "999"),
            (count(1_234_567), "1,234,567"),
            (number(0.012_34), "0.0123"),
            (number(1.0), "1"),
            (number(99.97), "100"),
            (number(-1234.4), "-1,234"),
            (rate(20_314.2), "20,314/s"),
            (time(850.0), "850 ns"),
            (time(61_234_000.0), "61.2 ms"),
            (time(1_500_000_000.0), "1.5 s"),
            (time(125e9), "2 min 5 s"),
            (seconds(8.41), "8.4 s"),
            (seconds(4800.0), "1 h 20 min"),
            (bytes(1_530_000.0), "1.53 MB"),
            (change(1.123), "+12%"),
            (change(0.969), "-3.1%"),
            (change(4.2), "x 4.2"),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_share_reads_as_all_or_nothing_only_where_it_is() {
        assert_eq!(share(0.0), "0%");
        assert_eq!(share(1.0), "100%");
        assert_eq!(share(0.000_001), "0.0001%");
        assert_eq!(share(0.999_99), "99.999%");
        assert_eq!(share(0.001_2), "0.12%");
        assert_ne!(share(1.0 - 1e-14), "100%");
    }
}
