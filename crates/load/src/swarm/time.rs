//! Times as people write them: `200ms`, `1.5m`; and times of chance: `5s..60s`, `~30s`.
//!
//! A [`Span`] is drawn with a number between 0 and 1 that the caller has from a [`Dice`], so that a device draws the
//! same times in each run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest run of a swarm and the longest of its times: 30 days, in milliseconds.
pub(super) const TIME_MS_MAX: u64 = 30 * 24 * 3_600_000;
/// An exponential time is cut off at so many times its mean: one draw in 22,000 would be longer.
const EXPONENTIAL_MEANS_MAX: f64 = 10.0;

/// Reads `5s`, `200ms`, `1.5m`, `2h`, `1d` or plain seconds, as microseconds.
pub(super) fn microseconds(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" | "" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        "d" => 86_400e6,
        unit => return Err(format!("no unit {unit:?}; use us, ms, s, m, h or d")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("{digits:?} is no number; write 5s or 200ms"))?;
    let value = number * factor;
    if !(0.0..=1e15).contains(&value) {
        return Err("a time is between 0 and 30 years".to_owned());
    }
    Ok(value as u64)
}

/// The same, as milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    microseconds(text).map(|us| us / 1_000)
}

/// A time that chance decides, in milliseconds. As text: `30s` is always that, `5s..60s` anything between, each as
/// likely, and `~30s` exponential with that mean (cut off at ten times it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Span {
    /// Always the same.
    Fixed {
        /// The time.
        ms: u64,
    },
    /// Each time between the two is as likely.
    Uniform {
        /// The shortest.
        min_ms: u64,
        /// The longest.
        max_ms: u64,
    },
    /// Exponential.
    Exponential {
        /// The mean.
        mean_ms: u64,
    },
}

impl Span {
    /// The time for a number drawn from 0 up to, but not including, 1.
    pub fn at(self, drawn: f64) -> u64 {
        match self {
            Span::Fixed { ms } => ms,
            Span::Uniform { min_ms, max_ms } => min_ms + ((max_ms - min_ms + 1) as f64 * drawn) as u64,
            Span::Exponential { mean_ms } => {
                (mean_ms as f64 * (-(1.0 - drawn).ln()).min(EXPONENTIAL_MEANS_MAX)) as u64
            }
        }
    }

    /// The longest time that it can be, in milliseconds.
    pub fn max_ms(self) -> u64 {
        match self {
            Span::Fixed { ms } => ms,
            Span::Uniform { max_ms, .. } => max_ms,
            Span::Exponential { mean_ms } => mean_ms.saturating_mul(EXPONENTIAL_MEANS_MAX as u64),
        }
    }

    /// The same, so many times faster; never shorter than a millisecond.
    pub fn faster(self, speed: f64) -> Span {
        let scale = |ms: u64| ((ms as f64 / speed) as u64).max(1);
        match self {
            Span::Fixed { ms } => Span::Fixed { ms: scale(ms) },
            Span::Uniform { min_ms, max_ms } => {
                Span::Uniform { min_ms: scale(min_ms), max_ms: scale(max_ms) }
            }
            Span::Exponential { mean_ms } => Span::Exponential { mean_ms: scale(mean_ms) },
        }
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(mean) = text.strip_prefix('~') {
            return Ok(Span::Exponential { mean_ms: milliseconds(mean)? });
        }
        let Some((min, max)) = text.split_once("..") else {
            return Ok(Span::Fixed { ms: milliseconds(text)? });
        };
        let (min_ms, max_ms) = (milliseconds(min)?, milliseconds(max)?);
        if min_ms > max_ms {
            return Err(format!("{text:?} ends before it begins"));
        }
        Ok(Span::Uniform { min_ms, max_ms })
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::Fixed { ms } => write!(f, "{ms}ms"),
            Span::Uniform { min_ms, max_ms } => write!(f, "{min_ms}ms..{max_ms}ms"),
            Span::Exponential { mean_ms } => write!(f, "~{mean_ms}ms"),
        }
    }
}

/// Draws that depend on a seed, a device and what is drawn, and on nothing else: so that runs repeat, however devices
/// are dealt to loops and processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dice {
    pub(crate) seed: u64,
}

/// What a draw that happens once for a device is for; the others count on from [`Dice::REPEATED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Once {
    Profile = 0,
    KeepAlive = 1,
    CarrierForgets = 2,
}

impl Dice {
    /// The first number of draws that repeat.
    pub(crate) const REPEATED: u64 = 16;
    /// Storms count from here, so that they share no draw with anything else.
    pub(crate) const STORMS: u64 = 1 << 32;

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn draw(self, device: u32, what: u64) -> f64 {
        // SplitMix64's finish over three words (Steele, Lea, Flood 2014).
        let mut word = 0_u64;
        for part in [self.seed, u64::from(device), what] {
            word = (word ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
            word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^= word >> 31;
        }
        (word >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A draw that is made once for a device, always with the same result.
    pub(crate) fn once(self, device: u32, what: Once) -> f64 {
        self.draw(device, what as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        let table =
            [("5s", 5_000_000), ("200ms", 200_000), ("1.5m", 90_000_000), ("7", 7_000_000), ("250us", 250)];
        for (text, expected) in table {
            assert_eq!(microseconds(text), Ok(expected), "{text}");
        }
        for text in ["", "s", "-1s", "5 parsecs", "1e300d"] {
            assert!(microseconds(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn spans_are_read_and_written() {
        let table = [
            ("30s", Span::Fixed { ms: 30_000 }),
            ("5s..1m", Span::Uniform { min_ms: 5_000, max_ms: 60_000 }),
            ("~1.5s", Span::Exponential { mean_ms: 1_500 }),
        ];
        for (text, expected) in table {
            let span: Span = text.parse().expect("a span");
            assert_eq!(span, expected, "{text}");
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        for text in ["", "~", "5s..", "1m..5s", "soon"] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_span_keeps_to_its_bounds_and_mean() {
        let dice = Dice { seed: 7 };
        for text in ["2s", "1s..3s", "~2s"] {
            let span: Span = text.parse().expect("a span");
            let times: Vec<u64> = (0..20_000).map(|device| span.at(dice.draw(device, 99))).collect();
            assert!(times.iter().all(|&ms| ms <= span.max_ms()), "{text}");
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
            assert!((1_950.0..2_050.0).contains(&mean), "{text}: {mean}");
        }
        assert_eq!("1s..3s".parse::<Span>().expect("a span").at(0.999_999_9), 3_000);
        assert_eq!("1m..2m".parse::<Span>().expect("a span").faster(60.0).to_string(), "1000ms..2000ms");
    }

    #[test]
    fn draws_repeat_and_differ() {
        let (one, other) = (Dice { seed: 1 }, Dice { seed: 2 });
        assert_eq!(one.draw(5, 3), one.draw(5, 3));
        let all = [one.draw(5, 3), one.draw(5, 4), one.draw(6, 3), other.draw(5, 3)];
        for (at, drawn) in all.iter().enumerate() {
            assert!((0.0..1.0).contains(drawn) && !all[..at].contains(drawn), "{all:?}");
        }
    }
}
