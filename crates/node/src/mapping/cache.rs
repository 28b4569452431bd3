//! `[cache]` as the client of memcached takes it.
//!
//! The settings are checked when they are read: see the conflicts.

use std::time::Duration;

use stadium_memcache::{Config, Error, Routing};

use crate::settings::{Cache, CacheRouting};

/// Bytes of a namespace: a key has 250 at most, and the longest of ours has 48.
pub(crate) const NAMESPACE_BYTES_MAX: usize = 128;

/// The client of the cache.
pub(crate) fn client(cache: &Cache) -> Result<Config, Error> {
    Ok(Config {
        routing: match cache.routing {
            CacheRouting::Rendezvous => Routing::Rendezvous,
            CacheRouting::Ketama => Routing::Ketama,
        },
        prefix: cache.namespace.clone().into_bytes(),
        timeout: Duration::from_millis(u64::from(cache.timeout_ms)),
        ..Config::for_servers(&cache.servers)?
    })
}
