//! Settings of a client.
//!
//! Each states its unit, and what is beyond its bound. [`Config::default`] has every default.

use std::sync::Arc;
use std::time::Duration;

use crate::address::Address;
use crate::credentials::Credentials;
use crate::driver::Settings;
use crate::error::Error;
use crate::observer::Observer;
use crate::protocol::{Dialect, KEY_BYTES_MAX};
#[cfg(feature = "tls")]
use crate::tls::{Tls, TlsConfig};

/// The least [`Config::compress_from`]: a number of the server's has up to 20 digits, and stays one.
const COMPRESS_FROM_MIN: usize = 32;

/// The rule that assigns keys to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Routing {
    /// Rendezvous hashing: the server whose hash with the key is the greatest. A server that comes or
    /// goes moves its share of the keys only.
    #[default]
    Rendezvous,
    /// The ring of ketama with 160 points a server, as libmemcached has it with
    /// `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`: for servers that other clients use as well.
    Ketama,
}

/// The destination of operations on an ejected server's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failover {
    /// Nowhere: they fail at once with [`Error::Disconnected`]. No value is ever read from a server
    /// that missed writes.
    #[default]
    Off,
    /// To the next server of the key. When the ejected one is back it has values from before.
    Next,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its address.
    pub address: Address,
    /// Its share of the keys beside the other servers', 1 to 100.
    pub weight: u32,
    /// Its UDP port, for [`Client::lossy_get`](crate::Client::lossy_get), on the same host
    /// (`memcached -U`).
    pub udp: Option<u16>,
}

/// Settings of a [`Client`](crate::Client).
#[derive(Debug, Clone)]
pub struct Config {
    /// The servers; with ketama, in an order of no importance.
    pub servers: Vec<ServerConfig>,
    /// The rule that assigns keys to servers.
    pub routing: Routing,
    /// The destination of operations on an ejected server's keys.
    pub failover: Failover,
    /// Timeouts and lost connections in a row after which a server is ejected; 0 for never. A single
    /// server is never ejected.
    pub eject_after: u32,
    /// Time for which it is ejected. Then one operation each such time is a trial; one success ends it.
    pub eject_for: Duration,
    /// Put before every key: the namespace. It counts against the length of a key.
    pub prefix: Vec<u8>,
    /// The time that an operation may take.
    pub timeout: Duration,
    /// The time after which a get over UDP is lost.
    pub udp_timeout: Duration,
    /// The time that connecting may take, with the first answer.
    pub connect_timeout: Duration,
    /// A server that owes answers and sends nothing for so long is disconnected.
    pub stall: Duration,
    /// Time for which a waiting caller spins on the socket before it sleeps. It costs processor time and
    /// saves a wake-up; zero turns it off.
    pub spin: Duration,
    /// The first delay after a connect that failed; it doubles with each, with jitter.
    pub backoff_min: Duration,
    /// The longest such delay.
    pub backoff_max: Duration,
    /// Bytes of a value at most, as the servers have it (`memcached -I`).
    pub value_bytes_max: usize,
    /// Bytes from which a value is compressed, 32 at least; without it, none is. Values that are
    /// compressed are read in any case. It costs processor time, and allocates.
    pub compress_from: Option<usize>,
    /// Bytes that wait for a server at most; then [`Error::Busy`].
    ///
    /// Four values of the greatest size: more only delays the news that the server is too slow.
    pub unsent_bytes_max: usize,
    /// Operations of a server that are not done, or whose result was not taken; then [`Error::Busy`].
    ///
    /// 16,384 are some 100 ms of one server's work.
    pub operations_max: usize,
    /// The protocol; without one, meta where the server knows it, otherwise classic.
    pub dialect: Option<Dialect>,
    /// The user and the password for each connection, where servers want them (`memcached -Y`). Without
    /// TLS they can be read on the network.
    pub credentials: Option<Credentials>,
    /// TLS to the servers, where they have it (`memcached -Z`).
    #[cfg(feature = "tls")]
    pub tls: Option<TlsConfig>,
    /// Called when an operation ends.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            routing: Routing::default(),
            failover: Failover::default(),
            eject_after: 5,
            eject_for: Duration::from_secs(1),
            prefix: Vec::new(),
            timeout: Duration::from_secs(1),
            udp_timeout: Duration::from_millis(50),
            connect_timeout: Duration::from_millis(500),
            stall: Duration::from_secs(2),
            spin: Duration::from_micros(100),
            backoff_min: Duration::from_millis(10),
            backoff_max: Duration::from_secs(1),
            value_bytes_max: 1 << 20,
            compress_from: None,
            unsent_bytes_max: 4 << 20,
            operations_max: 16_384,
            dialect: None,
            credentials: None,
            #[cfg(feature = "tls")]
            tls: None,
            observer: None,
        }
    }
}

impl Config {
    /// Settings for servers of equal weight, each `host`, `host:port` or the path of a Unix socket.
    ///
    /// # Errors
    ///
    /// A text is no address.
    pub fn for_servers<T: AsRef<str>>(servers: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let server = |text: T| Ok(ServerConfig { address: text.as_ref().parse()?, weight: 1, udp: None });
        Ok(Self {
            servers: servers.into_iter().map(server).collect::<Result<_, Error>>()?,
            ..Self::default()
        })
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Config(text.into()));
        if self.servers.is_empty() {
            return wrong("there is no server");
        }
        if self.servers.iter().any(|server| !(1..=100).contains(&server.weight)) {
            return wrong("a weight is 1 to 100");
        }
        if self.servers.iter().any(|server| server.udp == Some(0)) {
            return wrong("a UDP port is 0");
        }
        #[cfg(feature = "tls")]
        if self.tls.is_some() && self.servers.iter().any(|server| server.udp.is_some()) {
            return wrong("UDP has no TLS");
        }
        if self.credentials.is_some() && self.servers.iter().any(|server| server.udp.is_some()) {
            return wrong("UDP has no login");
        }
        if self.prefix.len() >= KEY_BYTES_MAX {
            return wrong("the prefix leaves no room for a key");
        }
        if self.compress_from.is_some_and(|bytes| bytes < COMPRESS_FROM_MIN) {
            return wrong("compress_from is 32 at least: shorter values may be numbers");
        }
        if self.operations_max == 0 {
            return wrong("operations_max is 0");
        }
        Ok(())
    }

    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings {
            credentials: self.credentials.clone(),
            #[cfg(feature = "tls")]
            tls: self.tls.as_ref().map(Tls::load).transpose()?,
            dialect: self.dialect,
            observer: self.observer.clone(),
            connect_timeout: self.connect_timeout,
            stall: self.stall,
            spin: self.spin,
            backoff_min: self.backoff_min,
            backoff_max: self.backoff_max,
            value_bytes_max: self.value_bytes_max,
            unsent_bytes_max: self.unsent_bytes_max,
            operations_max: self.operations_max,
        })
    }
}
