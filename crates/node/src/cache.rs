//! The memcached servers of `[cache]`, asked one by one for `stadium doctor`.
//!
//! A client of each server alone: routing and ejection would hide one that is away.

use std::time::Duration;

use stadium_memcache::{Client, Config, Error, Pending};

use crate::mapping;
use crate::settings::{Cache, Settings};

/// The longest time that connecting may take, and that an answer may.
const PATIENCE: Duration = Duration::from_secs(2);

/// A key that no entry of the cache has.
const NO_KEY: &str = "doctor";

/// The version of each memcached server of the settings, or the reason for which the cache cannot
/// use it, in their order. Nothing is written.
#[must_use]
pub fn ask_cache(settings: &Settings) -> Vec<(String, Result<String, Error>)> {
    let cache = &settings.cache;
    let each = cache.servers.iter().map(|server| {
        let alone = Cache { servers: vec![server.clone()], weights: Vec::new(), ..cache.clone() };
        (server.clone(), ask(&alone))
    });
    each.collect()
}

fn ask(cache: &Cache) -> Result<String, Error> {
    let login = mapping::cache::login(cache);
    let credentials = login.map(|login| login.credentials()).transpose();
    let client = Client::with(Config {
        // Longer than connecting: its failure says more than a deadline that passed.
        timeout: 2 * PATIENCE,
        connect_timeout: PATIENCE,
        credentials: credentials.map_err(|error| Error::Config(error.to_string().into()))?,
        ..mapping::cache::client(cache)?
    })?;
    let versions = client.versions().into_iter().map(|(_, version)| version);
    let version = versions.last().unwrap_or(Err(Error::Timeout))?;
    // Entries need the meta protocol; there is no such item.
    client.invalidate(NO_KEY, None).and_then(Pending::wait)?;
    Ok(version)
}
