//! The settings of a server.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use stadium_rpc::{Listen, Operations, ServerConfig};

use super::{ListenTls, Place, set, set_ms, within};
use crate::error::Error;

/// A server's settings. `listen` is needed.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// Addresses, `IP:PORT` each; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// TLS of all addresses.
    pub tls: Option<ListenTls>,
    /// Event loops, a thread each. 1 to 64, default 1.
    pub loops: Option<usize>,
    /// How long a loop spins before it sleeps. 0 to 1,000 us, default 50.
    pub busy_poll_us: Option<u64>,
    /// The deadline of a request that names none. 1 to 86,400,000 ms, default 5,000.
    pub deadline_ms: Option<u64>,
    /// The longest deadline that a request may name. 1 to 86,400,000 ms, default 600,000.
    pub deadline_max_ms: Option<u64>,
    /// The amount of work that is taken on.
    pub admission: Admission,
    /// Whether clients that ask for leases get them. Default true.
    pub leases: Option<bool>,
    /// The largest payload. 1 to 1,073,741,824 bytes, default 16,777,216.
    pub payload_bytes_max: Option<usize>,
    /// Connections. 1 to 1,000,000, default 50,000.
    pub connections_max: Option<usize>,
    /// Where the instance registers itself. Default nowhere.
    pub discovery: Option<Place>,
    /// The address to register. Default the first one that is listened on.
    pub advertise: Option<SocketAddr>,
    /// The zone to register.
    pub zone: Option<String>,
    /// The weight to register. 1 to 10,000, default 100.
    pub weight: Option<u32>,
    /// The bearer token of operators, who may quiesce the server. Default: nobody may.
    pub operators_bearer: Option<String>,
    /// How long a quiesce that an operator asks for may take. 0 to 3,600,000 ms, default 30,000.
    pub quiesce_within_ms: Option<u64>,
}

/// Limits of the requests that are worked on at once, for each loop.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Admission {
    /// The limit before anything was measured. Default 200.
    pub concurrency_initial: Option<u32>,
    /// The least that the limit falls to. Default 4.
    pub concurrency_min: Option<u32>,
    /// The most that it grows to. Default 10,000.
    pub concurrency_max: Option<u32>,
    /// Requests that may wait; the next gets Busy. Default 1,000.
    pub queue_max: Option<usize>,
}

impl ServerSettings {
    /// Reads them from JSON.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the place in the text.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        super::read(json)
    }

    /// Checks them, and starts discovery where it is wanted.
    pub fn config(&self) -> Result<ServerConfig, Error> {
        self.check()?;
        let tls = self.tls.as_ref().map(ListenTls::open).transpose()?;
        let listen = |address: &SocketAddr| Listen { tls: tls.clone(), ..Listen::tcp(*address) };
        let mut config =
            ServerConfig { listen: self.listen.iter().map(listen).collect(), ..ServerConfig::default() };
        set(&mut config.loops, self.loops);
        set(&mut config.busy_poll, self.busy_poll_us.map(Duration::from_micros));
        set_ms(&mut config.deadline, self.deadline_ms);
        set_ms(&mut config.deadline_max, self.deadline_max_ms);
        set(&mut config.admission.concurrency_initial, self.admission.concurrency_initial);
        set(&mut config.admission.concurrency_min, self.admission.concurrency_min);
        set(&mut config.admission.concurrency_max, self.admission.concurrency_max);
        set(&mut config.admission.queue_max, self.admission.queue_max);
        set(&mut config.leases, self.leases);
        set(&mut config.payload_bytes_max, self.payload_bytes_max);
        set(&mut config.connections_max, self.connections_max);
        config.discovery = self.discovery.as_ref().map(Place::start).transpose()?;
        config.advertise = self.advertise;
        config.zone.clone_from(&self.zone);
        set(&mut config.weight, self.weight);
        if let Some(token) = &self.operators_bearer {
            config.operations = Operations::bearer(token.clone());
        }
        set_ms(&mut config.quiesce_within, self.quiesce_within_ms);
        Ok(config)
    }

    fn check(&self) -> Result<(), Error> {
        if self.listen.is_empty() {
            return Err(Error::invalid("a server needs `listen`, such as [\"127.0.0.1:7800\"]"));
        }
        within("loops", self.loops, (1, 64))?;
        within("busy_poll_us", self.busy_poll_us, (0, 1_000))?;
        within("deadline_ms", self.deadline_ms, (1, 86_400_000))?;
        within("deadline_max_ms", self.deadline_max_ms, (1, 86_400_000))?;
        let concurrency = |name, value| within(name, value, (1, 1_000_000));
        concurrency("admission.concurrency_initial", self.admission.concurrency_initial)?;
        concurrency("admission.concurrency_min", self.admission.concurrency_min)?;
        concurrency("admission.concurrency_max", self.admission.concurrency_max)?;
        within("admission.queue_max", self.admission.queue_max, (0, 1_000_000))?;
        within("payload_bytes_max", self.payload_bytes_max, (1, 1 << 30))?;
        within("connections_max", self.connections_max, (1, 1_000_000))?;
        within("weight", self.weight, (1, 10_000))?;
        within("quiesce_within_ms", self.quiesce_within_ms, (0, 3_600_000))
    }
}

impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings")
            .field("listen", &self.listen)
            .field("discovery", &self.discovery)
            .finish_non_exhaustive()
    }
}
