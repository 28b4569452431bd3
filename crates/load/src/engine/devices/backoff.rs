//! When a device that was refused or cut tries again.
//!
//! Each failure in a row doubles the wait, and chance spreads it over its upper half, so that devices cut together
//! do not come back together. A broker that names a time is obeyed, with up to a tenth more.

use crate::swarm::config::Reconnect;

/// Why the device is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Away {
    /// Refused or cut, the broker did not state when to reconnect.
    Failed,
    /// The broker is busy and did not state for how long: longer than for a failure.
    Busy,
    /// The broker named a time.
    Named { after_ms: u32 },
    /// The swarm cut it, to see how fast it is back.
    Storm,
    /// Its address changed: it is back at once.
    Moved,
    /// It went to the background, for so long.
    Background { after_ms: u32 },
}

impl Away {
    /// Whether nothing failed: such a device never gives up, and its failures are not counted.
    pub(crate) fn is_wanted(self) -> bool {
        matches!(self, Away::Storm | Away::Moved | Away::Background { .. })
    }
}

/// How long to wait, in milliseconds; `None` to give up. `failures` in a row, this one included.
pub(crate) fn delay_ms(
    policy: &Reconnect,
    away: Away,
    failures: u16,
    random: &mut fastrand::Rng,
) -> Option<u64> {
    if policy.attempts_max > 0 && failures >= policy.attempts_max && !away.is_wanted() {
        return None;
    }
    // Busy counts as two failures more: four times the wait.
    let doublings = match away {
        Away::Busy => u32::from(failures).saturating_add(1),
        _ => u32::from(failures).saturating_sub(1),
    };
    Some(match away {
        Away::Storm | Away::Moved => 0,
        Away::Background { after_ms } => u64::from(after_ms),
        Away::Named { after_ms } => u64::from(after_ms) + random.u64(0..=u64::from(after_ms) / 10),
        Away::Failed | Away::Busy => {
            let factor = 1_u64 << doublings.min(32);
            let longest = policy.delay_min_ms.saturating_mul(factor).min(policy.delay_max_ms);
            random.u64(longest / 2..=longest)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Reconnect = Reconnect { delay_min_ms: 100, delay_max_ms: 5_000, attempts_max: 0 };

    #[test]
    fn waits_grow_and_stay_within_their_bounds() {
        let mut random = fastrand::Rng::with_seed(1);
        let table = [
            (Away::Failed, 1, 50..=100),
            (Away::Failed, 2, 100..=200),
            (Away::Failed, 20, 2_500..=5_000),
            (Away::Failed, u16::MAX, 2_500..=5_000),
            (Away::Busy, 1, 200..=400),
            (Away::Named { after_ms: 3_000 }, 9, 3_000..=3_300),
            (Away::Storm, 9, 0..=0),
            (Away::Moved, 9, 0..=0),
            (Away::Background { after_ms: 7 }, 9, 7..=7),
        ];
        for (away, failures, expected) in table {
            for _ in 0..100 {
                let delay = delay_ms(&POLICY, away, failures, &mut random).expect("it never gives up");
                assert!(expected.contains(&delay), "{away:?} after {failures}: {delay} ms");
            }
        }
    }

    #[test]
    fn a_device_gives_up_where_it_may() {
        let policy = Reconnect { attempts_max: 3, ..POLICY };
        let mut random = fastrand::Rng::with_seed(1);
        assert!(delay_ms(&policy, Away::Failed, 2, &mut random).is_some());
        assert!(delay_ms(&policy, Away::Failed, 3, &mut random).is_none());
        assert!(delay_ms(&policy, Away::Storm, 3, &mut random).is_some());
    }
}
