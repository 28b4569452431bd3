//! Rates and counts that are held to a bound: for the node, an address, a connection.
//!
//! Time comes from the caller, in the node's milliseconds. Addresses are shared by all loops behind a lock
//! that is taken only where a bound on them is set, and only to connect and to leave.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::config::AddressLimits;

/// Addresses that are watched at once. More are let in unwatched: the table must not become the attack.
const ADDRESSES_MAX: usize = 1 << 20;

/// Lets `rate` through in a second, with a burst of one second's worth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    /// Thousandths of a token.
    milli: u64,
    last_ms: u64,
}

impl TokenBucket {
    /// A full one.
    pub(crate) fn full(rate: u32, now_ms: u64) -> Self {
        Self { milli: u64::from(rate) * 1000, last_ms: now_ms }
    }

    /// Takes a token if there is one.
    pub(crate) fn take(&mut self, rate: u32, now_ms: u64) -> bool {
        self.refill(rate, now_ms);
        if self.milli < 1000 {
            return false;
        }
        self.milli -= 1000;
        true
    }

    /// Whole tokens that are there.
    pub(crate) fn tokens(&mut self, rate: u32, now_ms: u64) -> u64 {
        self.refill(rate, now_ms);
        self.milli / 1000
    }

    /// Takes `tokens` as soon as any is there, going into debt; returns how long until the debt is
    /// paid.
    pub(crate) fn spend(&mut self, tokens: u64, rate: u32, now_ms: u64) -> Option<u64> {
        self.refill(rate, now_ms);
        let wanted = tokens * 1000;
        if self.milli >= wanted {
            self.milli -= wanted;
            return None;
        }
        let debt = wanted - self.milli;
        self.milli = 0;
        let wait_ms = debt.div_ceil(u64::from(rate.max(1)));
        self.last_ms = now_ms + wait_ms;
        Some(wait_ms)
    }

    fn refill(&mut self, rate: u32, now_ms: u64) {
        let elapsed_ms = now_ms.saturating_sub(self.last_ms);
        let full = u64::from(rate) * 1000;
        self.milli = full.min(self.milli.saturating_add(elapsed_ms.saturating_mul(u64::from(rate))));
        self.last_ms = self.last_ms.max(now_ms);
    }
}

#[derive(Debug)]
struct Watched {
    connections: u32,
    bucket: TokenBucket,
}

/// What each peer address does, for all loops.
#[derive(Debug)]
pub(crate) struct Addresses {
    limits: AddressLimits,
    watched: Mutex<HashMap<IpAddr, Watched>>,
}

impl Addresses {
    pub(crate) fn new(limits: AddressLimits) -> Self {
        Self { limits, watched: Mutex::default() }
    }

    /// Whether nothing is watched, and nobody need call.
    pub(crate) fn is_off(&self) -> bool {
        self.limits.is_off()
    }

    /// One more connection from this address, if it may.
    pub(crate) fn enter(&self, address: IpAddr, now_ms: u64) -> bool {
        let AddressLimits { connections_max, connects_per_second } = self.limits;
        let mut watched = self.watched.lock();
        if watched.len() >= ADDRESSES_MAX && !watched.contains_key(&address) {
            watched.retain(|_, one| one.connections > 0);
            if watched.len() >= ADDRESSES_MAX {
                return true;
            }
        }
        let one = watched.entry(address).or_insert_with(|| Watched {
            connections: 0,
            bucket: TokenBucket::full(connects_per_second, now_ms),
        });
        if connections_max > 0 && one.connections >= connections_max {
            return false;
        }
        if connects_per_second > 0 && !one.bucket.take(connects_per_second, now_ms) {
            return false;
        }
        one.connections += 1;
        true
    }

    /// A connection from this address has ended.
    pub(crate) fn leave(&self, address: IpAddr) {
        let mut watched = self.watched.lock();
        if let Some(one) = watched.get_mut(&address) {
            one.connections = one.connections.saturating_sub(1);
            if one.connections == 0 && self.limits.connects_per_second == 0 {
                watched.remove(&address);
            }
        }
    }
}

/// Bytes that connections hold before they are authenticated, beyond what each may hold anyway; for all loops.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    max: usize,
    held: AtomicUsize,
}

/// A connection's part of [`HeldBytes`], given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldPart {
    of: Arc<HeldBytes>,
    bytes: usize,
}

impl HeldBytes {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, held: AtomicUsize::new(0) })
    }

    /// So many bytes for one connection, if there is room.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<HeldPart> {
        let more = |held: usize| held.checked_add(bytes).filter(|&held| held <= self.max);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(HeldPart { of: Arc::clone(self), bytes })
    }
}

impl HeldPart {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for HeldPart {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_held_before_authentication_have_one_bound_for_all() {
        let held = HeldBytes::new(100);
        let one = held.take(60).expect("there is room");
        assert!(held.take(41).is_none());
        let other = held.take(40).expect("there is room");
        assert!(held.take(1).is_none());
        drop(one);
        assert_eq!(held.take(60).map(|part| part.bytes()), Some(60), "given back at once");
        drop(other);
        assert!(held.take(usize::MAX).is_none());
    }

    #[test]
    fn a_bucket_lets_its_rate_through() {
        let mut bucket = TokenBucket::full(10, 0);
        assert_eq!((0..20).filter(|_| bucket.take(10, 0)).count(), 10);
        assert_eq!((0..20).filter(|_| bucket.take(10, 500)).count(), 5);
        assert_eq!((0..99).filter(|_| bucket.take(10, 60_000)).count(), 10);
    }

    #[test]
    fn a_debt_is_paid_by_waiting() {
        let mut bucket = TokenBucket::full(1_000, 0);
        assert_eq!(bucket.spend(1_000, 1_000, 0), None);
        assert_eq!(bucket.spend(500, 1_000, 0), Some(500));
        assert_eq!(bucket.spend(1, 1_000, 501), None);
    }

    #[test]
    fn an_address_has_so_many_connections_and_no_more() {
        let addresses = Addresses::new(AddressLimits { connections_max: 2, connects_per_second: 0 });
        let peer = IpAddr::from([192, 0, 2, 1]);
        assert!(addresses.enter(peer, 0) && addresses.enter(peer, 0));
        assert!(!addresses.enter(peer, 0));
        addresses.leave(peer);
        assert!(addresses.enter(peer, 0));
        assert!(addresses.enter(IpAddr::from([192, 0, 2, 2]), 0));
    }
}
