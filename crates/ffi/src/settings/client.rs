//! The settings of a client.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use stadium_discovery::Versions;
use stadium_rpc::client::Source;
use stadium_rpc::metadata::authentication::{self, Authentication};
use stadium_rpc::{ClientConfig, ResumeSettings};

use super::{CallTls, Place, set, set_ms, within};
use crate::error::Error;

/// A client's settings. One of `instances` and `discovery` is needed.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientSettings {
    /// Instances that serve every service that is called, `HOST:PORT` each.
    pub instances: Vec<String>,
    /// Where instances are found instead.
    pub discovery: Option<Place>,
    /// The version of services to call, with discovery. Default any.
    pub version: Option<String>,
    /// The deadline of a call that names none. 1 to 86,400,000 ms, default 5,000.
    pub deadline_ms: Option<u64>,
    /// Connections to each instance. 1 to 1,000, default 1.
    pub connections_per_instance: Option<usize>,
    /// Instances of a service that are connected to. 1 to 10,000, default 20.
    pub subset: Option<usize>,
    /// The zone of this client: instances in it are preferred.
    pub zone: Option<String>,
    /// Attempts of a call, the first included. 1 to 10, default 3.
    pub attempts: Option<u32>,
    /// Whether slow calls to idempotent methods get a copy at another instance. Default true.
    pub hedging: Option<bool>,
    /// Whether calls outlive a lost connection. Default false.
    pub resumption: Option<bool>,
    /// Whether to send no request without a lease. Default false.
    pub leases: Option<bool>,
    /// Calls of a service that may wait for a connection. 0 to 1,000,000, default 10,000.
    pub waiting_max: Option<usize>,
    /// How long calls wait where no instance can be reached. 0 to 600,000 ms, default 1,000.
    pub unreachable_grace_ms: Option<u64>,
    /// The largest payload. 1 to 1,073,741,824 bytes, default 16,777,216.
    pub payload_bytes_max: Option<usize>,
    /// How long the loop spins before it sleeps. 0 to 1,000 us, default 50.
    pub busy_poll_us: Option<u64>,
    /// A bearer token that every request carries.
    pub bearer: Option<String>,
    /// TLS.
    pub tls: Option<CallTls>,
    /// The name of the client's thread.
    pub name: Option<String>,
}

impl ClientSettings {
    /// Reads them from JSON.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the place in the text.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        super::read(json)
    }

    /// Checks them, and starts discovery where it is wanted.
    pub fn config(&self) -> Result<ClientConfig, Error> {
        self.check()?;
        let mut config = match &self.discovery {
            None => ClientConfig::at_names(self.instances.clone()),
            Some(place) => ClientConfig::discovered(place.start()?),
        };
        if let (Source::Discovery { versions, .. }, Some(version)) = (&mut config.source, &self.version) {
            *versions = Versions::Exactly(version.clone());
        }
        set_ms(&mut config.deadline, self.deadline_ms);
        set(&mut config.connections_per_instance, self.connections_per_instance);
        set(&mut config.balance.subset_size, self.subset);
        set(&mut config.balance.zone, self.zone.clone());
        set(&mut config.retry.attempts_max, self.attempts);
        if self.hedging == Some(false) {
            config.hedge = None;
        }
        if self.resumption == Some(true) {
            config.resume = Some(ResumeSettings::default());
        }
        set(&mut config.leases, self.leases);
        set(&mut config.waiting_max, self.waiting_max);
        set_ms(&mut config.unreachable_grace, self.unreachable_grace_ms);
        set(&mut config.payload_bytes_max, self.payload_bytes_max);
        set(&mut config.busy_poll, self.busy_poll_us.map(Duration::from_micros));
        set(&mut config.name, self.name.clone());
        if let Some(token) = &self.bearer {
            authentication::write(&mut config.metadata, Authentication::Bearer(token));
        }
        config.tls = self.tls.as_ref().map(CallTls::open).transpose()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Error> {
        if self.instances.is_empty() == self.discovery.is_none() {
            return Err(Error::invalid("a client needs one of `instances` and `discovery`"));
        }
        if self.version.is_some() && self.discovery.is_none() {
            return Err(Error::invalid("`version` needs `discovery`"));
        }
        within("deadline_ms", self.deadline_ms, (1, 86_400_000))?;
        within("connections_per_instance", self.connections_per_instance, (1, 1_000))?;
        within("subset", self.subset, (1, 10_000))?;
        within("attempts", self.attempts, (1, 10))?;
        within("waiting_max", self.waiting_max, (0, 1_000_000))?;
        within("unreachable_grace_ms", self.unreachable_grace_ms, (0, 600_000))?;
        within("payload_bytes_max", self.payload_bytes_max, (1, 1 << 30))?;
        within("busy_poll_us", self.busy_poll_us, (0, 1_000))
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSettings")
            .field("instances", &self.instances)
            .field("discovery", &self.discovery)
            .finish_non_exhaustive()
    }
}
