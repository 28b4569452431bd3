//! The address that a request came from, and the bound on its requests without an API key.
//!
//! A request with a key is bounded by what its key may do. One without costs CPU all the same, and
//! nobody vouches for it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{StatusCode, header};
use stadium_addresses::{Buckets, Limit};

use crate::request::problem::{Problem, REQUESTS_TOO_MANY};

/// Seconds of the rate that an address may use at once: a page with its files and its first reads.
const BURST_SECONDS: u32 = 5;

/// How long an address that has used them up is refused.
const PAUSE: Duration = Duration::from_secs(1);

/// The address that a request came from.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The bound on requests without a valid key, by address.
pub(crate) struct Keyless(Option<Buckets>);

impl Keyless {
    /// So many a second from each address; 0 for no bound.
    pub(crate) fn new(per_second: u32) -> Self {
        let limit = (per_second > 0).then(|| Limit {
            burst: per_second.saturating_mul(BURST_SECONDS),
            refill: Duration::from_secs(1) / per_second,
            ban: PAUSE,
        });
        Self(limit.map(|limit| Buckets::new(limit, Instant::now())))
    }

    /// Takes a request, or refuses it. One that shows something is let through: it counts when its
    /// key turns out to be wrong, see [`Keyless::answered`].
    pub(crate) fn check(&self, request: &Request) -> Result<(), Problem> {
        let (Some(buckets), Some(Peer(address))) = (&self.0, request.extensions().get()) else {
            return Ok(());
        };
        // The pages of the sign-in never look at a key, so none lets a request to them through.
        let has_key = request.headers().contains_key(header::AUTHORIZATION);
        if has_key && !request.uri().path().starts_with("/auth/") {
            return Ok(());
        }
        let now = Instant::now();
        if !buckets.is_banned(*address, now) && !buckets.take(*address, now) {
            return Ok(());
        }
        let detail = "your address asks too often without an API key; send a key, or fewer requests \
                      (http.keyless_requests_per_second_max)";
        Err(Problem::new(REQUESTS_TOO_MANY, detail).retry_after(PAUSE))
    }

    /// Counts a request whose key was wrong.
    pub(crate) fn answered(&self, peer: Option<Peer>, status: StatusCode) {
        if let (Some(buckets), Some(Peer(address)), StatusCode::UNAUTHORIZED) = (&self.0, peer, status) {
            buckets.take(address, Instant::now());
        }
    }
}
