//! How often an address may fail before it is refused unheard.
//!
//! A fixed table of token buckets, one for each IPv4 address and each IPv6 /64, which is what one subscriber
//! gets. It never grows: an address that does not fit takes the place of the least guilty of its eight
//! neighbours, so an attacker with many addresses cannot flush a ban without spending more failures on it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::FailureLimit;

/// Sets of the table, a power of two.
const SETS: usize = 2048;
/// Addresses in a set. 2048 x 8 addresses of 48 bytes are 0.8 MB, whatever comes.
const WAYS: usize = 8;

/// The failures of all addresses that failed lately.
pub(super) struct Failures {
    limit: FailureLimit,
    hasher: RandomState,
    start: Instant,
    slots: Mutex<Box<[Slot]>>,
}

/// One address. All times are since the table's start.
#[derive(Clone, Copy, Default)]
struct Slot {
    address: Option<Prefix>,
    /// When the bucket will be full again: each failure moves it by one refill time. (The generic cell rate
    /// algorithm: a bucket in one word.)
    full_at: Duration,
    banned_until: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Prefix {
    V4(u32),
    V6(u64),
}

impl Failures {
    pub(super) fn new(limit: FailureLimit, now: Instant) -> Self {
        let slots = vec![Slot::default(); SETS * WAYS].into_boxed_slice();
        Self { limit, hasher: RandomState::new(), start: now, slots: Mutex::new(slots) }
    }

    /// Whether this address is refused now.
    pub(super) fn is_banned(&self, address: IpAddr, now: Instant) -> bool {
        let address = Prefix::of(address);
        let now = now.saturating_duration_since(self.start);
        let first = self.first_slot(address);
        let slots = self.slots.lock();
        let slot = slots[first..first + WAYS].iter().find(|slot| slot.address == Some(address));
        slot.is_some_and(|slot| now < slot.banned_until)
    }

    /// Counts a failure; whether the address is banned from now on by it.
    pub(super) fn record(&self, address: IpAddr, now: Instant) -> bool {
        let address = Prefix::of(address);
        let now = now.saturating_duration_since(self.start);
        let first = self.first_slot(address);
        let mut slots = self.slots.lock();
        let set = &mut slots[first..first + WAYS];
        let at = set.iter().position(|slot| slot.address == Some(address)).unwrap_or_else(|| {
            let guilt = |at: &usize| set[*at].full_at.max(set[*at].banned_until);
            let least = (0..WAYS).min_by_key(guilt).unwrap_or(0);
            set[least] = Slot { address: Some(address), ..Slot::default() };
            least
        });
        let slot = &mut set[at];
        slot.full_at = slot.full_at.max(now) + self.limit.refill;
        let spent = slot.full_at - now;
        if spent <= self.limit.refill.saturating_mul(self.limit.burst) {
            return false;
        }
        slot.banned_until = now + self.limit.ban;
        // The ban answers for the last failure, so that one more after it does not ban again at once.
        slot.full_at = now + self.limit.refill.saturating_mul(self.limit.burst.saturating_sub(1));
        true
    }

    fn first_slot(&self, address: Prefix) -> usize {
        // Keyed, so that nobody can choose addresses that share a set. SETS is far below 2^32.
        (self.hasher.hash_one(address) as usize % SETS) * WAYS
    }
}

impl Prefix {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const LIMIT: FailureLimit =
        FailureLimit { burst: 3, refill: Duration::from_secs(10), ban: Duration::from_secs(60) };

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_is_banned_after_its_burst_and_only_for_a_while() {
        let start = Instant::now();
        let failures = Failures::new(LIMIT, start);
        let (guilty, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let bans: Vec<_> = (0..4).map(|_| failures.record(guilty, start)).collect();
        assert_eq!(bans, [false, false, false, true]);
        assert!(failures.is_banned(guilty, start));
        assert!(!failures.is_banned(other, start));
        assert!(failures.is_banned(guilty, start + Duration::from_secs(59)));
        assert!(!failures.is_banned(guilty, start + Duration::from_secs(60)));
    }

    #[test]
    fn slow_failures_are_never_banned() {
        let start = Instant::now();
        let failures = Failures::new(LIMIT, start);
        let device = address("192.0.2.1");
        assert!((0..100).all(|at| !failures.record(device, start + LIMIT.refill * at)));
    }

    #[test]
    fn one_ipv6_subscriber_is_one_address_and_mapped_ipv4_is_ipv4() {
        let start = Instant::now();
        let failures = Failures::new(LIMIT, start);
        for host in 1..=4 {
            failures.record(address(&format!("2001:db8:0:1::{host}")), start);
        }
        assert!(failures.is_banned(address("2001:db8:0:1:ffff::9"), start));
        assert!(!failures.is_banned(address("2001:db8:0:2::1"), start));
        for _ in 0..4 {
            failures.record(address("::ffff:192.0.2.1"), start);
        }
        assert!(failures.is_banned(address("192.0.2.1"), start));
    }

    #[test]
    fn a_flood_of_addresses_does_not_flush_a_ban() {
        let start = Instant::now();
        let failures = Failures::new(LIMIT, start);
        let guilty = address("192.0.2.1");
        for _ in 0..4 {
            failures.record(guilty, start);
        }
        for flood in 0..200_000_u32 {
            failures.record(IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 + flood)), start);
        }
        assert!(failures.is_banned(guilty, start));
        assert_eq!(failures.slots.lock().len(), SETS * WAYS);
    }
}
