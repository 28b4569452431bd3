//! A token bucket for each address, and a ban for the address that has emptied it.
//!
//! A fixed table, one place for each IPv4 address and each IPv6 /64. It never grows: an address
//! that does not fit takes the place of the least guilty of its eight neighbours, so an attacker
//! with many addresses cannot flush a ban without spending more tokens on it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Prefix;

/// Sets of the table, a power of two.
const SETS: usize = 2048;
/// Addresses in a set. 2048 x 8 addresses of 48 bytes are 0.8 MB, whatever comes.
const WAYS: usize = 8;

/// The bound on one address.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Tokens that an address may take at once.
    pub burst: u32,
    /// Time after which it gets one more.
    pub refill: Duration,
    /// How long an address without any left is banned.
    pub ban: Duration,
}

/// The buckets of all addresses that took tokens lately.
pub struct Buckets {
    limit: Limit,
    hasher: RandomState,
    start: Instant,
    slots: Mutex<Box<[Slot]>>,
}

/// One address. All times are since the table's start.
#[derive(Clone, Copy, Default)]
struct Slot {
    address: Option<Prefix>,
    /// When the bucket will be full again: each token moves it by one refill time. (The generic
    /// cell rate algorithm: a bucket in one word.)
    full_at: Duration,
    banned_until: Duration,
}

impl Buckets {
    /// Full buckets.
    pub fn new(limit: Limit, now: Instant) -> Self {
        let slots = vec![Slot::default(); SETS * WAYS].into_boxed_slice();
        Self { limit, hasher: RandomState::new(), start: now, slots: Mutex::new(slots) }
    }

    /// Whether this address is banned now.
    pub fn is_banned(&self, address: IpAddr, now: Instant) -> bool {
        let address = Prefix::of(address);
        let now = now.saturating_duration_since(self.start);
        let first = self.first_slot(address);
        let slots = self.slots.lock();
        let slot = slots[first..first + WAYS].iter().find(|slot| slot.address == Some(address));
        slot.is_some_and(|slot| now < slot.banned_until)
    }

    /// Takes a token; whether the address is banned from now on, because there was none left.
    pub fn take(&self, address: IpAddr, now: Instant) -> bool {
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
        // The ban answers for the last token, so that one more after it does not ban again at once.
        slot.full_at = now + self.limit.refill.saturating_mul(self.limit.burst.saturating_sub(1));
        true
    }

    fn first_slot(&self, address: Prefix) -> usize {
        // Keyed, so that nobody can choose addresses that share a set. SETS is far below 2^32.
        (self.hasher.hash_one(address) as usize % SETS) * WAYS
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const LIMIT: Limit = Limit { burst: 3, refill: Duration::from_secs(10), ban: Duration::from_secs(60) };

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_is_banned_after_its_burst_and_only_for_a_while() {
        let start = Instant::now();
        let buckets = Buckets::new(LIMIT, start);
        let (guilty, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let bans: Vec<_> = (0..4).map(|_| buckets.take(guilty, start)).collect();
        assert_eq!(bans, [false, false, false, true]);
        assert!(buckets.is_banned(guilty, start));
        assert!(!buckets.is_banned(other, start));
        assert!(buckets.is_banned(guilty, start + Duration::from_secs(59)));
        assert!(!buckets.is_banned(guilty, start + Duration::from_secs(60)));
    }

    #[test]
    fn slow_requests_are_never_banned() {
        let start = Instant::now();
        let buckets = Buckets::new(LIMIT, start);
        let device = address("192.0.2.1");
        assert!((0..100).all(|at| !buckets.take(device, start + LIMIT.refill * at)));
    }

    #[test]
    fn one_ipv6_subscriber_is_one_address_and_mapped_ipv4_is_ipv4() {
        let start = Instant::now();
        let buckets = Buckets::new(LIMIT, start);
        for host in 1..=4 {
            buckets.take(address(&format!("2001:db8:0:1::{host}")), start);
        }
        assert!(buckets.is_banned(address("2001:db8:0:1:ffff::9"), start));
        assert!(!buckets.is_banned(address("2001:db8:0:2::1"), start));
        for _ in 0..4 {
            buckets.take(address("::ffff:192.0.2.1"), start);
        }
        assert!(buckets.is_banned(address("192.0.2.1"), start));
    }

    #[test]
    fn a_flood_of_addresses_does_not_flush_a_ban() {
        let start = Instant::now();
        let buckets = Buckets::new(LIMIT, start);
        let guilty = address("192.0.2.1");
        for _ in 0..4 {
            buckets.take(guilty, start);
        }
        for flood in 0..200_000_u32 {
            buckets.take(IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 + flood)), start);
        }
        assert!(buckets.is_banned(guilty, start));
        assert_eq!(buckets.slots.lock().len(), SETS * WAYS);
    }
}
