//! Leases: how many requests a side may send, and until when (Lease Semantics).
//!
//! They exist on a connection whose SETUP has the L flag, and then both ways. A requester counts its
//! requests down; the responder counts too, and rejects what goes beyond.

use crate::frame::{Frame, encode};

use super::{Connection, Event, Phase};

/// The leases of both directions.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// What the peer lets us send.
    pub ours: Grant,
    /// What we let the peer send.
    pub peers: Grant,
}

/// What is left of a lease.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Grant {
    until_ms: u64,
    requests: u32,
}

impl Grant {
    /// Counts one request, or returns after how many milliseconds the lease is over.
    #[inline]
    pub fn take(&mut self, now_ms: u64) -> Result<(), u32> {
        if now_ms >= self.until_ms {
            return Err(0);
        }
        if self.requests == 0 {
            // A lease's time is a 31-bit number of milliseconds.
            return Err((self.until_ms - now_ms) as u32);
        }
        self.requests -= 1;
        Ok(())
    }

    /// Whether a request may be sent, without counting it.
    pub fn peek(mut self, now_ms: u64) -> Result<(), u32> {
        self.take(now_ms)
    }
}

impl Leases {
    /// When the next lease that still allows something is over.
    pub fn deadline_ms(&self) -> Option<u64> {
        [self.ours, self.peers].iter().filter(|grant| grant.requests > 0).map(|grant| grant.until_ms).min()
    }

    /// Forgets what is over.
    pub fn advance(&mut self, now_ms: u64) {
        for grant in [&mut self.ours, &mut self.peers] {
            if now_ms >= grant.until_ms {
                *grant = Grant::default();
            }
        }
    }
}

impl Connection {
    /// Lets the peer send `requests` requests within `ttl_ms` milliseconds; replaces what is left of an
    /// earlier lease, and 0 of either stops the peer.
    ///
    /// Nothing is sent to a peer that does without leases: it may always send.
    pub fn grant_lease(&mut self, ttl_ms: u32, requests: u32, out: &mut Vec<u8>) {
        if !matches!(self.phase, Phase::Open | Phase::Closing) {
            return;
        }
        let Some(leases) = &mut self.leases else { return };
        let (ttl_ms, requests) = (ttl_ms.min(i32::MAX as u32), requests.min(i32::MAX as u32));
        leases.peers = Grant { until_ms: self.now_ms + u64::from(ttl_ms), requests };
        encode(&Frame::Lease { ttl_ms, requests, metadata: None }, out);
    }

    /// Whether the peer needs leases from us.
    pub const fn is_leased(&self) -> bool {
        self.leases.is_some()
    }

    /// A LEASE came. Where nobody asked for leases it means nothing.
    pub(super) fn on_lease(&mut self, ttl_ms: u32, requests: u32) -> Option<Event<'static>> {
        let leases = self.leases.as_mut()?;
        leases.ours = Grant { until_ms: self.now_ms + u64::from(ttl_ms), requests };
        Some(Event::Lease { ttl_ms, requests })
    }
}
