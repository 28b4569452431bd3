//! The names of instances of a client that has its own list: discovery's resolver looks them up and
//! notifies the loop.

use std::net::SocketAddr;
use std::time::Duration;

use stadium_discovery::{HostPort, Lookup, Resolver};
use stadium_reactor::LoopHandle;

use super::config::{ClientConfig, Source};
use super::item::Item;

/// How often names are looked up although no connection failed.
const EVERY: Duration = Duration::from_secs(60);

/// Starts looking names up, where the client is one of names.
pub(crate) fn resolver(
    config: &ClientConfig,
    handle: &LoopHandle<Item>,
) -> std::io::Result<Option<Resolver>> {
    let Source::Names(names) = &config.source else { return Ok(None) };
    let refused = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
    let read = |name: &String| name.parse::<HostPort>().map_err(refused);
    let places = names.iter().map(read).collect::<std::io::Result<Vec<HostPort>>>()?;
    let handle = handle.clone();
    let on_change = move |known: &[Lookup]| handle.send_beyond_bound(Item::Resolved(Found::of(known)));
    Resolver::start(places, config.resolve.clone(), EVERY, on_change).map(Some)
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) addresses: Vec<SocketAddr>,
    /// The names that were not found, and why.
    pub(crate) trouble: Option<String>,
}

impl Found {
    fn of(known: &[Lookup]) -> Self {
        let addresses = known.iter().flat_map(|one| &one.addresses).copied().collect();
        let troubles = known.iter().filter_map(|one| one.trouble.as_ref()).map(|(_, why)| why.as_str());
        let troubles: Vec<&str> = troubles.collect();
        Self { addresses, trouble: (!troubles.is_empty()).then(|| troubles.join(", ")) }
    }
}
