//! The server of a key: rendezvous hashing, or the ring of ketama. Integers only where servers
//! are compared, so that every implementation chooses the same.

use md5::{Digest as _, Md5};

use crate::address::Address;
use crate::config::{Routing, ServerConfig};
use crate::hash::{fnv1a, mix};

/// Points of a server of average weight on the ring, four from each digest.
const POINTS: f32 = 160.0;

/// The servers, arranged for choosing.
#[derive(Debug)]
pub(crate) enum Router {
    /// One: nothing is hashed.
    Single,
    /// For each server a hash of its address for each unit of its weight.
    Rendezvous(Vec<Vec<u64>>),
    /// Points in order, each with its server.
    Ketama(Vec<(u32, u32)>),
}

impl Router {
    pub(crate) fn new(routing: Routing, servers: &[ServerConfig]) -> Self {
        match routing {
            _ if servers.len() == 1 => Self::Single,
            Routing::Rendezvous => Self::Rendezvous(servers.iter().map(hashes).collect()),
            Routing::Ketama => Self::Ketama(ring(servers)),
        }
    }

    /// The first server of the key that is usable.
    pub(crate) fn choose(&self, key: &[u8], mut is_usable: impl FnMut(usize) -> bool) -> Option<usize> {
        match self {
            Self::Single => is_usable(0).then_some(0),
            Self::Rendezvous(servers) => {
                let key = fnv1a(key);
                let score = |server: &Vec<u64>| server.iter().map(|one| mix(key ^ one)).max().unwrap_or(0);
                let first = (0..servers.len()).max_by_key(|at| (score(&servers[*at]), *at))?;
                if is_usable(first) {
                    return Some(first);
                }
                let mut others: Vec<usize> = (0..servers.len()).filter(|at| *at != first).collect();
                others.sort_by_key(|at| std::cmp::Reverse((score(&servers[*at]), *at)));
                others.into_iter().find(|at| is_usable(*at))
            }
            Self::Ketama(points) => {
                let digest: [u8; 16] = Md5::digest(key).into();
                let hash = word(&digest, 0);
                let begin = points.partition_point(|(point, _)| *point < hash);
                let mut tried = Vec::new();
                for (_, server) in points[begin..].iter().chain(&points[..begin]) {
                    let server = *server as usize;
                    if tried.contains(&server) {
                        continue;
                    }
                    if is_usable(server) {
                        return Some(server);
                    }
                    tried.push(server);
                }
                None
            }
        }
    }
}

fn hashes(server: &ServerConfig) -> Vec<u64> {
    let address = server.address.to_string();
    (0..server.weight).map(|unit| mix(fnv1a(address.as_bytes()).wrapping_add(u64::from(unit)))).collect()
}

/// The ring as libmemcached builds it: a server is named `host:port`, or `host` at the usual port.
fn ring(servers: &[ServerConfig]) -> Vec<(u32, u32)> {
    let total: u32 = servers.iter().map(|server| server.weight).sum();
    let mut points = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let name = match &server.address {
            Address::Tcp { host, port: 11_211 } => host.clone(),
            Address::Tcp { host, port } => format!("{host}:{port}"),
            Address::Unix(path) => format!("{}:0", path.display()),
        };
        let share = server.weight as f32 / total as f32;
        let digests = (share * POINTS / 4.0 * servers.len() as f32 + 0.000_000_000_1).floor() as u32;
        for digest_at in 0..digests {
            let digest: [u8; 16] = Md5::digest(format!("{name}-{digest_at}")).into();
            points.extend((0..4).map(|part| (word(&digest, part), at as u32)));
        }
    }
    points.sort_unstable();
    points
}

/// A part of a digest, little-endian.
fn word(digest: &[u8; 16], part: usize) -> u32 {
    let at = part * 4;
    u32::from_le_bytes([digest[at], digest[at + 1], digest[at + 2], digest[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(weights: &[u32]) -> Vec<ServerConfig> {
        let server = |(at, weight): (usize, &u32)| ServerConfig {
            address: format!("10.0.0.{at}").parse().unwrap(),
            weight: *weight,
            udp: None,
        };
        weights.iter().enumerate().map(server).collect()
    }

    fn chosen(router: &Router, number: usize) -> usize {
        router.choose(format!("key:{number}").as_bytes(), |_| true).unwrap()
    }

    #[test]
    fn shares_follow_weights() {
        for routing in [Routing::Rendezvous, Routing::Ketama] {
            let router = Router::new(routing, &servers(&[1, 2, 5]));
            let mut counts = [0; 3];
            (0..8_000).for_each(|number| counts[chosen(&router, number)] += 1);
            for (count, share) in counts.into_iter().zip([1_000, 2_000, 5_000]) {
                assert!((share * 7 / 10..share * 13 / 10).contains(&count), "{routing:?} {counts:?}");
            }
        }
    }

    #[test]
    fn a_server_that_goes_moves_its_own_keys_only() {
        for routing in [Routing::Rendezvous, Routing::Ketama] {
            let router = Router::new(routing, &servers(&[1; 4]));
            for number in 0..2_000 {
                let key = format!("key:{number}");
                let before = chosen(&router, number);
                let after = router.choose(key.as_bytes(), |at| at != 2).unwrap();
                assert!(before == after || before == 2, "{routing:?}");
                assert_ne!(after, 2);
            }
            assert_eq!(router.choose(b"key", |_| false), None);
        }
    }
}
