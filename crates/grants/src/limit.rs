//! A limit of a grant, and the bucket that keeps to it.
//!
//! Time comes from the caller.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::invalid::Invalid;

/// Time for which an unused limit saves up: a burst is as much as that time allows.
const BURST: Duration = Duration::from_secs(1);

/// The bounds on the use of one grant. At least one of them is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Requests a second, from 1.
    pub requests: Option<u32>,
    /// Bytes of requests' bodies a second, from 1.
    pub bytes: Option<u64>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(requests) = self.requests {
            write!(f, "{requests}/s")?;
        }
        match (self.requests, self.bytes) {
            (Some(_), Some(bytes)) => write!(f, ",{bytes}B/s"),
            (None, Some(bytes)) => write!(f, "{bytes}B/s"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Limit {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong =
            || Invalid(format!("a limit is `100/s`, `1000000B/s` or `100/s,1000000B/s`, not `{text}`"));
        let mut limit = Self::default();
        for part in text.split(',') {
            let rate = part.strip_suffix("/s").ok_or_else(wrong)?;
            match rate.strip_suffix('B') {
                Some(bytes) if limit.bytes.is_none() => limit.bytes = Some(number(bytes).ok_or_else(wrong)?),
                None if limit.requests.is_none() => {
                    let requests = number(rate).and_then(|rate| u32::try_from(rate).ok());
                    limit.requests = Some(requests.ok_or_else(wrong)?);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(limit)
    }
}

/// A number from 1, written with digits alone.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number > 0)
}

/// The use of a limit, shared by all requests of its principal.
///
/// Each rate is one word, the time at which its bucket is full again (the generic cell rate
/// algorithm).
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    requests_full_ns: AtomicU64,
    bytes_full_ns: AtomicU64,
}

impl Bucket {
    /// Takes one request of so many bytes.
    ///
    /// # Errors
    /// The time until there is room. Nothing is taken then.
    pub(crate) fn take(&self, limit: Limit, bytes: u64, now: Duration) -> Result<(), Duration> {
        if let Some(rate) = limit.requests {
            take(&self.requests_full_ns, u64::from(rate), 1, now)?;
        }
        let Some(rate) = limit.bytes else { return Ok(()) };
        let taken = take(&self.bytes_full_ns, rate, bytes, now);
        if taken.is_err()
            && let Some(rate) = limit.requests
        {
            self.requests_full_ns.fetch_sub(nanoseconds(1, u64::from(rate)), Ordering::Relaxed);
        }
        taken
    }
}

/// The time in which a rate allows so many.
fn nanoseconds(count: u64, rate: u64) -> u64 {
    let second = u128::from(Duration::from_secs(1).as_nanos() as u64);
    u64::try_from(u128::from(count) * second / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

fn take(full: &AtomicU64, rate: u64, count: u64, now: Duration) -> Result<(), Duration> {
    let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let latest = now.saturating_add(BURST.as_nanos() as u64);
    let step = nanoseconds(count, rate);
    let mut wait = 0;
    let taken = full.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full| {
        let since = full.max(now);
        // One request with more bytes than a burst passes if nothing was used before it.
        let next = since.saturating_add(step);
        if since > now && next > latest {
            wait = next - latest;
            return None;
        }
        Some(next)
    });
    taken.map(drop).map_err(|_| Duration::from_nanos(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_written() {
        for text in ["100/s", "1000000B/s", "5/s,9B/s"] {
            assert_eq!(text.parse::<Limit>().expect("right").to_string(), text);
        }
        for wrong in ["", "100", "0/s", "-1/s", "+1/s", "1/s,2/s", "1B/s,2B/s", "B/s", "4294967296/s", "1/m"]
        {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_second_has_as_many_requests_as_the_limit_and_no_more() {
        let (bucket, limit) = (Bucket::default(), Limit { requests: Some(10), bytes: None });
        let at = |ms| Duration::from_millis(ms);
        let taken = (0..100).filter(|_| bucket.take(limit, 0, at(5_000)).is_ok()).count();
        assert_eq!(taken, 10, "the burst of a second");
        let wait = bucket.take(limit, 0, at(5_000)).expect_err("it is empty");
        assert_eq!(wait, at(100));
        assert!(bucket.take(limit, 0, at(5_000) + wait).is_ok());
        let taken = (0..=2_000).filter(|ms| bucket.take(limit, 0, at(6_000 + ms)).is_ok()).count();
        assert_eq!(taken, 29, "ten saved up less the one before, and twenty of two seconds");
    }

    #[test]
    fn a_refusal_for_its_bytes_costs_no_request() {
        let (bucket, limit) = (Bucket::default(), Limit { requests: Some(2), bytes: Some(100) });
        let now = Duration::from_secs(9);
        assert!(bucket.take(limit, 100, now).is_ok());
        assert!(bucket.take(limit, 50, now).is_err());
        assert!(bucket.take(limit, 0, now).is_ok(), "the second request is still there");
        assert!(bucket.take(limit, 0, now).is_err());
    }
}
