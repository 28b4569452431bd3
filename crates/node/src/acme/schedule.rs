//! When a certificate is renewed, and when a failed order is tried again. No clock, no randomness:
//! the caller gives both.

/// The longest delay after failures: an ACME server that was away is asked at least that often.
const RETRY_S_MAX: u64 = 6 * 3_600;

/// Growth of the delay from one failure to the next.
const RETRY_FACTOR: u64 = 3;

/// A window in which the ACME server wants the certificate to be renewed (RFC 9773), in seconds
/// since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suggested {
    pub(super) from_s: u64,
    pub(super) until_s: u64,
}

/// When a certificate that is good from one time until another is renewed: at two thirds of its
/// life, and up to a fiftieth of it later, so that servers that were set up together do not all come
/// at once. A suggestion of the ACME server counts instead, and at the latest at nine tenths of the
/// life. `random` is from 0 to 1.
pub(super) fn renew_at_s(from_s: u64, until_s: u64, suggested: Option<Suggested>, random: f64) -> u64 {
    let life = until_s.saturating_sub(from_s);
    let part = |of: u64| (of as f64 * random) as u64;
    match suggested {
        Some(Suggested { from_s: start, until_s: end }) => {
            let wanted = start.saturating_add(part(end.saturating_sub(start)));
            wanted.min(from_s + life / 10 * 9)
        }
        None => from_s + life / 3 * 2 + part(life / 50),
    }
}

/// Seconds until an order is tried again after so many failures in a row: three times as long after
/// each, up to six hours, each by up to a fifth longer at random.
pub(super) fn retry_after_s(failures: u32, first_s: u64, random: f64) -> u64 {
    if failures == 0 {
        return 0;
    }
    let grown = RETRY_FACTOR.checked_pow(failures - 1).and_then(|factor| first_s.checked_mul(factor));
    let delay = grown.unwrap_or(RETRY_S_MAX).min(RETRY_S_MAX);
    delay + (delay as f64 / 5.0 * random) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    #[test]
    fn a_certificate_is_renewed_at_two_thirds_of_its_life() {
        assert_eq!(renew_at_s(100 * DAY, 190 * DAY, None, 0.0), 160 * DAY);
        assert_eq!(renew_at_s(100 * DAY, 190 * DAY, None, 1.0), 160 * DAY + 90 * DAY / 50);
        // Six days, as short-lived certificates have.
        assert_eq!(renew_at_s(0, 6 * DAY, None, 0.0), 4 * DAY);
        assert_eq!(renew_at_s(50, 10, None, 1.0), 50, "one that ended before it began");
    }

    #[test]
    fn a_suggestion_counts_unless_it_is_too_late() {
        let suggested = |from_s, until_s| Some(Suggested { from_s, until_s });
        assert_eq!(renew_at_s(0, 90 * DAY, suggested(10 * DAY, 12 * DAY), 0.5), 11 * DAY, "it was revoked");
        assert_eq!(renew_at_s(0, 90 * DAY, suggested(70 * DAY, 72 * DAY), 0.0), 70 * DAY);
        assert_eq!(renew_at_s(0, 90 * DAY, suggested(89 * DAY, 95 * DAY), 1.0), 81 * DAY);
        assert_eq!(
            renew_at_s(0, 90 * DAY, suggested(20 * DAY, 10 * DAY), 1.0),
            20 * DAY,
            "a window backwards"
        );
    }

    #[test]
    fn delays_grow_up_to_six_hours() {
        let delays: Vec<u64> = (0..9).map(|failures| retry_after_s(failures, 60, 0.0)).collect();
        assert_eq!(delays, [0, 60, 180, 540, 1_620, 4_860, 14_580, 21_600, 21_600]);
        assert_eq!(retry_after_s(u32::MAX, 60, 1.0), RETRY_S_MAX + RETRY_S_MAX / 5);
        assert_eq!(retry_after_s(1, 60, 1.0), 72);
    }
}
