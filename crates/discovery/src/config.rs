//! The settings of discovery, checked once when it starts.
//!
//! Names, prefix and durations that pass [`Config::check`] are never looked at again. Reading files and
//! the environment is the node's business.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::Error;
use crate::host_port::HostPort;
use crate::instance::WEIGHT_DEFAULT;
use crate::name;
use crate::resolver::Resolve;

/// How discovery works.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where services are found.
    pub backend: Backend,
    /// The root of the tree: `/` and segments of letters, digits, `.`, `_` and `-`. Default `/services`.
    pub prefix: String,
    /// How long a registration outlives its process: etcd's lease, ZooKeeper's session. 1 s to 10 min, default 10 s.
    ///
    /// Lower finds dead instances sooner, costs more keep-alives, and forgives shorter pauses. Both backends have a
    /// floor of their own (etcd: 1.5 election time-outs; ZooKeeper: 2 ticks). Keep-alives go out three times in it.
    pub session_ttl: Duration,
    /// How often what is known and what is registered is compared with the backend although nothing was announced, and
    /// how often names in a static list are looked up although no connection failed. 1 s to 1 h, default 60 s; each time
    /// is moved by up to a tenth at random.
    pub refresh: Duration,
    /// The shortest time between two writes of one registration's load factor. 100 ms to 10 min, default 1 s.
    pub update_interval: Duration,
    /// The longest pause between two attempts to reach a backend that is away. 100 ms to 1 min, default 5 s.
    pub retry_delay_max: Duration,
    /// How names in a static list are looked up.
    pub resolve: Resolve,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            backend: Backend::None,
            prefix: "/services".to_owned(),
            session_ttl: Duration::from_secs(10),
            refresh: Duration::from_secs(60),
            update_interval: Duration::from_secs(1),
            retry_delay_max: Duration::from_secs(5),
            resolve: Resolve::default(),
        }
    }
}

/// Where services are found.
#[derive(Clone, Debug)]
pub enum Backend {
    /// Nowhere: every list is empty, registrations are kept to oneself.
    None,
    /// In this list. It changes only where it has names, whose addresses may change.
    Static(Vec<StaticService>),
    /// In etcd 3.4 or newer, over its gRPC API.
    Etcd {
        /// `http://HOST:PORT` or `https://HOST:PORT` of members, 1 to 32.
        endpoints: Vec<String>,
        /// The user to log in as, where authentication is on.
        user: Option<Credentials>,
        /// What `https` needs.
        tls: Option<Tls>,
    },
    /// In ZooKeeper 3.6 or newer.
    ZooKeeper {
        /// `HOST:PORT,HOST:PORT`, with an optional `/chroot` at the end.
        connect: String,
        /// The user of the `digest` scheme: the nodes we make are then his, and for others to read only.
        user: Option<Credentials>,
    },
}

impl Backend {
    /// What it is called in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Static(_) => "static",
            Self::Etcd { .. } => "etcd",
            Self::ZooKeeper { .. } => "zookeeper",
        }
    }
}

/// A user and his password.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// The password; never shown by `Debug`.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// TLS towards etcd. Files are read at every connection, so that renewed certificates are found.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The authorities that may sign etcd's certificate, PEM.
    pub authorities: PathBuf,
    /// Our certificate and its key, PEM, where etcd asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that etcd's certificate must carry; without it, the endpoint's host.
    pub server_name: Option<String>,
}

/// One version of a service in a static list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticService {
    /// The service's name, as `geo`.
    pub name: String,
    /// Its version, as `1`.
    pub version: String,
    /// Where it runs.
    pub instances: Vec<StaticInstance>,
}

/// An instance in a static list; its load factor counts as 0 and it always serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticInstance {
    /// Where it listens. A name that has several addresses is several instances.
    pub place: HostPort,
    /// The zone it runs in; of a name, each of its instances.
    pub zone: Option<String>,
    /// Its share of the calls in proportion to others', 100 being usual; of a name, each of its instances has it.
    pub weight: u32,
}

impl From<HostPort> for StaticInstance {
    fn from(place: HostPort) -> Self {
        Self { place, zone: None, weight: WEIGHT_DEFAULT }
    }
}

impl From<SocketAddr> for StaticInstance {
    fn from(address: SocketAddr) -> Self {
        HostPort::from(address).into()
    }
}

impl Config {
    /// Whether everything is within its bounds.
    pub(crate) fn check(&self) -> Result<(), Error> {
        name::check_prefix(&self.prefix)?;
        let within = |setting, value: Duration, (min, max): (Duration, Duration)| {
            if value < min || value > max {
                let what = format!("{setting} is {value:?}, which is not between {min:?} and {max:?}");
                return Err(Error::Setting(what));
            }
            Ok(())
        };
        let seconds = Duration::from_secs;
        let millis = Duration::from_millis;
        within("session_ttl", self.session_ttl, (seconds(1), seconds(600)))?;
        within("refresh", self.refresh, (seconds(1), seconds(3600)))?;
        within("update_interval", self.update_interval, (millis(100), seconds(600)))?;
        within("retry_delay_max", self.retry_delay_max, (millis(100), seconds(60)))?;
        match &self.backend {
            Backend::None => Ok(()),
            Backend::Static(services) => services.iter().try_for_each(|service| {
                name::check_name(&service.name)?;
                name::check_version(&service.version)
            }),
            #[cfg(not(feature = "etcd"))]
            Backend::Etcd { .. } => Err(absent("etcd")),
            Backend::ZooKeeper { .. } if !cfg!(feature = "zookeeper") => Err(absent("zookeeper")),
            #[cfg(feature = "etcd")]
            Backend::Etcd { endpoints, user, tls } => {
                access(endpoints, user.as_ref(), tls.as_ref()).check().map_err(Error::Setting)
            }
            Backend::ZooKeeper { connect, .. } if connect.trim().is_empty() => {
                Err(Error::Setting("connect names no ZooKeeper server".to_owned()))
            }
            Backend::ZooKeeper { .. } => Ok(()),
        }
    }
}

/// This program has not been built with that backend.
fn absent(feature: &str) -> Error {
    Error::Setting(format!("this program was built without the feature `{feature}` of stadium-discovery"))
}

/// How etcd is reached by these settings.
#[cfg(feature = "etcd")]
pub(crate) fn access(
    endpoints: &[String],
    user: Option<&Credentials>,
    tls: Option<&Tls>,
) -> stadium_etcd::Access {
    stadium_etcd::Access {
        endpoints: endpoints.to_vec(),
        user: user.map(|one| stadium_etcd::User { name: one.user.clone(), password: one.password.clone() }),
        tls: tls.map(|one| stadium_etcd::Tls {
            authorities: one.authorities.clone(),
            identity: one.identity.clone(),
            server_name: one.server_name.clone(),
        }),
    }
}
