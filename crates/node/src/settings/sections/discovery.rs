//! `[discovery]`: where services are found, and what this process says of itself there.
//!
//! The tree is `/services/NAME/VERSION/HOST:PORT`; docs/discovery.md describes it.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::settings::define::group;
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
    /// Where it listens.
    pub address: SocketAddr,
}

impl Value for ListedService {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let misfit = || {
            Misfit::Kind("expected \"NAME/VERSION=HOST:PORT\", such as \"geo/1=127.0.0.1:7801\"".to_owned())
        };
        let text = String::read(raw, bounds)?;
        let (service, address) = text.split_once('=').ok_or_else(misfit)?;
        let (name, version) = service.split_once('/').ok_or_else(misfit)?;
        if name.is_empty() || version.is_empty() || version.contains('/') {
            return Err(misfit());
        }
        let address = address.parse().map_err(|_| misfit())?;
        Ok(Self { name: name.to_owned(), version: version.to_owned(), address })
    }

    fn shown(&self) -> toml::Value {
        toml::Value::String(format!("{}/{}={}", self.name, self.version, self.address))
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
        endpoints: Vec<String> = Vec::new();
        /// The list for `backend = "static"`, one entry for each instance: `"NAME/VERSION=HOST:PORT"`.
        services: Vec<ListedService> = Vec::new();
        /// The root of the tree.
        prefix: String = "/services".to_owned();
        /// How long a registration outlives its process (etcd's lease, ZooKeeper's session).
        session_ttl_s: u32 = 10, unit "s", in 1..=600, cost "instances that died are called for longer; less costs more keep-alives";
        /// How often what is known is compared with the backend although nothing was announced.
        refresh_s: u32 = 60, unit "s", in 1..=3_600;
        /// Shortest time between two writes of a registration's load factor.
        update_interval_ms: u32 = 1_000, unit "ms", in 100..=600_000;
        /// Longest pause between two attempts to reach a backend that is away.
        retry_delay_max_ms: u32 = 5_000, unit "ms", in 100..=60_000;
        /// The user to log in as. Empty logs in as nobody.
        user: Option<String> = None;
        /// The file with that user's password, one line.
        password_file: Option<PathBuf> = None;
        /// Authorities that may sign etcd's certificate, PEM; for `https` endpoints.
        ca: Option<PathBuf> = None;
        /// Our certificate towards etcd, PEM.
        certificate: Option<PathBuf> = None;
        /// Its private key, PEM.
        key: Option<PathBuf> = None;
        /// The address under which this process is registered. Off registers the first address of `rpc.listen`, unless that
        /// is every network (`0.0.0.0`), which nobody can call.
        advertise: Option<SocketAddr> = None;
        /// The zone of this process: callers prefer instances of their own.
        zone: Option<String> = None;
        /// This process's share of the calls in proportion to other instances', 100 being the usual one.
        weight: u32 = 100, unit "%", in 0..=10_000;
    }
}
