//! How many requests each client may send until the next grant (RSocket 1.0, LEASE).
//!
//! What the instance can do until then is divided so that nobody who asks for little gets less than that, and
//! those who ask for more get equal shares of the rest. What nobody asked for is given out evenly on top, so
//! that a client which wakes up can begin at once. A quiescing instance grants nothing.

/// What [`Leases`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct LeaseSettings {
    /// How long a grant holds (default 5,000 ms). Grant anew in half of that time, so that none runs dry.
    pub ttl_ms: u32,
    /// How much more than was used a client is thought to want next (default 2.0).
    pub growth: f64,
    /// Requests that each client may send in any case (default 1, unless quiescing).
    pub client_min: u32,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self { ttl_ms: 5_000, growth: 2.0, client_min: 1 }
    }
}

/// What the instance can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// Requests each second; see [`super::Limiter::capacity_per_s`].
    PerSecond(f64),
    /// It is leaving: grant nothing.
    Quiescing,
}

/// A client that wants a grant.
#[derive(Clone, Copy, Debug)]
pub struct Asker<K> {
    /// Which connection it is.
    pub key: K,
    /// Requests it has sent during the last grant.
    pub used: u32,
}

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<K> {
    /// Which connection it is for.
    pub key: K,
    /// Requests it may send while the grant holds.
    pub requests: u32,
    /// How long it holds, in milliseconds.
    pub ttl_ms: u32,
}

/// The division of an instance's capacity among its clients.
#[derive(Clone, Debug)]
pub struct Leases<K> {
    settings: LeaseSettings,
    /// Wishes, from the smallest; kept for its space.
    wishes: Vec<(u32, K)>,
    grants: Vec<Grant<K>>,
}

impl<K: Copy> Leases<K> {
    /// Nobody has a grant yet.
    pub fn new(settings: LeaseSettings) -> Self {
        Self { settings, wishes: Vec::new(), grants: Vec::new() }
    }

    /// Divides `capacity` among `clients`. The order of the grants is not that of the clients.
    ///
    /// The sum never exceeds what the capacity allows for the grant's time, except for `client_min` each.
    /// Nothing is allocated while there are no more clients than before.
    pub fn grant(&mut self, capacity: Capacity, clients: impl Iterator<Item = Asker<K>>) -> &[Grant<K>] {
        let ttl_ms = self.settings.ttl_ms;
        self.grants.clear();
        let per_second = match capacity {
            Capacity::PerSecond(per_second) if per_second.is_finite() => per_second.max(0.0),
            Capacity::PerSecond(_) => 0.0,
            Capacity::Quiescing => {
                self.grants.extend(clients.map(|client| Grant { key: client.key, requests: 0, ttl_ms }));
                return &self.grants;
            }
        };
        let least = self.settings.client_min;
        self.wishes.clear();
        self.wishes.extend(clients.map(|client| {
            let wish = (f64::from(client.used) * self.settings.growth).ceil() as u32;
            (wish.max(least), client.key)
        }));
        self.wishes.sort_unstable_by_key(|(wish, _)| *wish);

        // From the smallest wish up: a peer that wishes less than an equal share of the rest gets
        // its wish.
        let mut left = (per_second * f64::from(ttl_ms) / 1_000.0).min(MOST) as u64;
        let mut clients_left = self.wishes.len() as u64;
        for &(wish, key) in &self.wishes {
            let requests = u64::from(wish).min(left / clients_left);
            left -= requests;
            clients_left -= 1;
            self.grants.push(Grant { key, requests: requests as u32, ttl_ms });
        }
        let extra = left.checked_div(self.grants.len() as u64).unwrap_or(0);
        for grant in &mut self.grants {
            let requests = (u64::from(grant.requests) + extra).min(REQUESTS_MAX);
            grant.requests = (requests as u32).max(least);
        }
        &self.grants
    }
}

/// RSocket counts requests in 31 bits.
const REQUESTS_MAX: u64 = 0x7fff_ffff;
/// Beyond this nobody counts.
const MOST: f64 = 1e15;
