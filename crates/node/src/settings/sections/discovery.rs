//! `[discovery]`: where services are found, and what this process registers there.
//!
//! The tree is `/services/NAME/VERSION/HOST:PORT`; docs/discovery.md describes it.

use std::net::SocketAddr;

use stadium_discovery::{HostPort, HostPortError};

use crate::settings::define::group;
use crate::settings::sections::access::Access;
use crate::settings::value::{Bounds, Misfit, Raw, Value, words};

words! {
    /// Where services are found.
    pub enum DiscoveryBackend {
        /// Nowhere but in this process.
        None = "none",
        /// In the list `services`.
        Static = "static",
        /// In etcd.
        Etcd = "etcd",
        /// In ZooKeeper.
        ZooKeeper = "zookeeper",
    }
}

/// An instance of a service in the list: `"NAME/VERSION=HOST:PORT"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedService {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where it listens. A name that has several addresses is several instances.
    pub place: HostPort,
}

impl Value for ListedService {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let expected = "expected \"NAME/VERSION=HOST:PORT\", such as \"geo/1=geo.internal:7801\"";
        let misfit = || Misfit::Kind(expected.to_owned());
        let text = String::read(raw, bounds)?;
        let (service, place) = text.split_once('=').ok_or_else(misfit)?;
        let (name, version) = service.split_once('/').ok_or_else(misfit)?;
        if name.is_empty() || version.is_empty() || version.contains('/') {
            return Err(misfit());
        }
        let place = place.parse().map_err(|why: HostPortError| Misfit::Kind(format!("{why}; {expected}")))?;
        Ok(Self { name: name.to_owned(), version: version.to_owned(), place })
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(format!("{}/{}={}", self.name, self.version, self.place))
    }

    fn kind() -> String {
        "service instance".to_owned()
    }
}

group! {
    /// Where services are found, and what this process registers of its own.
    pub struct Discovery {
        /// Where services are found.
        backend: DiscoveryBackend = DiscoveryBackend::None;
        /// etcd: `http://HOST:PORT` or `https://HOST:PORT` of its members. ZooKeeper: `HOST:PORT` of its servers.
        /// `https` needs `ca`.
        endpoints: Vec<String> = Vec::new();
        /// The list for `backend = "static"`, one entry for each instance: `"NAME/VERSION=HOST:PORT"`. HOST is an IP address,
        /// or a name, which is looked up. A name that has several addresses is several instances.
        services: Vec<ListedService> = Vec::new();
        /// The root of the tree.
        prefix: String = "/services".to_owned();
        /// How long a registration outlives its process (etcd's lease, ZooKeeper's session).
        session_ttl_s: u32 = 10, unit "s", in 1..=600, cost "instances that died are called for longer; less costs more keep-alives";
        /// How often what is known is compared with the backend although nothing was announced, and how often names in
        /// `services` are looked up although no connection failed.
        refresh_s: u32 = 60, unit "s", in 1..=3_600;
        /// Shortest time between two writes of a registration's load factor.
        update_interval_ms: u32 = 1_000, unit "ms", in 100..=600_000;
        /// Longest pause between two attempts to reach a backend that is away.
        retry_delay_max_ms: u32 = 5_000, unit "ms", in 100..=60_000;
        /// The address under which this process is registered. Off registers the first address of `rpc.listen`, unless that
        /// is every network (`0.0.0.0`), which nobody can call.
        advertise: Option<SocketAddr> = None;
        /// The zone of this process: callers prefer instances of their own.
        zone: Option<String> = None;
        /// This process's share of the calls in proportion to other instances', 100 being the usual one.
        weight: u32 = 100, unit "%", in 0..=10_000;
    }
    with {
        /// How etcd or ZooKeeper know this process.
        access: Access,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ListedService, Misfit> {
        ListedService::read(&Raw::Word(text.to_owned()), &Bounds::Free)
    }

    #[test]
    fn an_instance_is_listed_by_address_or_by_name() {
        for text in ["geo/1=127.0.0.1:7801", "geo/1=[::1]:7801", "geo/1=geo.internal:7801"] {
            let shown = read(text).expect(text).shown();
            assert_eq!(shown, toml::Value::String(text.to_owned()));
        }
    }

    #[test]
    fn an_instance_that_cannot_be_called_is_refused_with_the_reason() {
        for (text, part) in [
            ("geo/1", "expected \"NAME/VERSION=HOST:PORT\""),
            ("geo=geo.internal:7801", "expected \"NAME/VERSION=HOST:PORT\""),
            ("geo/1=geo.internal", "the port is missing; expected"),
            ("geo/1=:7800", "the host is missing"),
            ("geo/1=geo.internal:0", "from 1 to 65535"),
            ("geo/1=geo.internal:70000", "from 1 to 65535"),
            ("geo/1=geo internal:7800", "letters, digits"),
        ] {
            match read(text) {
                Err(Misfit::Kind(message)) => assert!(message.contains(part), "{message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
