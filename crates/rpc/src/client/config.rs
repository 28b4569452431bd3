//! How a client is set up, and what one call may ask for.
//!
//! The guards (deadlines, ejection, budgets, hedging) are on by default.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_discovery::{Discovery, Resolve, Versions};
use stadium_reactor::tls::ClientTls;
use stadium_reactor::{LoopSettings, SocketSettings, WebSocketRequest};

use crate::balance::{BalanceSettings, BudgetSettings, ClientId, HedgeSettings, RetryRule};

/// Where a client learns of instances.
#[derive(Clone)]
pub enum Source {
    /// These addresses serve every service that is called.
    Static(Vec<SocketAddr>),
    /// The instances at these names, `HOST:PORT`, serve every service that is called. Each name may have several addresses,
    /// which are an instance each. Names are looked up again when a connection fails or ends, and each minute.
    Names(Vec<String>),
    /// Discovery knows.
    Discovery {
        /// The handle.
        discovery: Discovery,
        /// Which versions to call.
        versions: Versions,
    },
}

/// How far a client's calls outlive a lost connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeSettings {
    /// Bytes of what was sent that each connection keeps until the server has it; the oldest are dropped beyond
    /// it, and the connection cannot be resumed where the server missed them. Each connection may cost as much.
    pub bytes_max: usize,
    /// How long the client tries. Calls that were under way fail after that, or at their deadlines.
    pub within: Duration,
}

impl Default for ResumeSettings {
    fn default() -> Self {
        Self { bytes_max: 256 * 1024, within: Duration::from_secs(30) }
    }
}

/// A client's settings.
#[derive(Clone)]
pub struct ClientConfig {
    /// Where instances are learnt of.
    pub source: Source,
    /// How names of [`Source::Names`] are looked up. Discovery has [`stadium_discovery::Config::resolve`].
    pub resolve: Resolve,
    /// How one is chosen. Each client has a random identity and seed of its own.
    pub balance: BalanceSettings,
    /// When a call is made again.
    pub retry: RetryRule,
    /// How many extra calls that may make.
    pub budget: BudgetSettings,
    /// When a copy of a slow call to an idempotent method is sent; `None` never.
    pub hedge: Option<HedgeSettings>,
    /// The deadline of a unary call that names none, and how long a stream that names none may wait for a
    /// connection. Every call has one.
    pub deadline: Duration,
    /// Connections to each instance. One carries any number of calls; more help where one core of the server
    /// is not enough.
    pub connections_per_instance: usize,
    /// Calls that may wait for a connection, for each service; the next fails as unavailable.
    pub waiting_max: usize,
    /// How long calls wait where every instance failed when it was last tried, or none is known; then they end as
    /// unavailable, and so do new ones until a connection is there. More rides out longer restarts, less fails faster.
    pub unreachable_grace: Duration,
    /// The same while discovery has not answered at all, from the first call on.
    pub discovery_grace: Duration,
    /// Between two signs of life that each connection asks for.
    pub keepalive_interval: Duration,
    /// How long a connection may show none before it is given up.
    pub keepalive_lifetime: Duration,
    /// Whether calls outlive a lost connection: the client then takes it up again where it was, at the same
    /// instance. The server must offer resumption, otherwise it refuses the connection; Stadium's do by default.
    pub resume: Option<ResumeSettings>,
    /// Whether to send no request without a lease. The server must grant them.
    pub leases: bool,
    /// The largest frame, in bytes; at most 16,777,215.
    pub frame_bytes_max: usize,
    /// The largest fragment that is sent, in bytes.
    pub fragment_bytes: usize,
    /// The largest payload, in bytes, put together from its fragments.
    pub payload_bytes_max: usize,
    /// Streams that a connection may have open.
    pub streams_max: u32,
    /// Socket options.
    pub socket: SocketSettings,
    /// TLS, where wanted.
    pub tls: Option<ClientTls>,
    /// RSocket over WebSocket instead of TCP, where wanted.
    pub websocket: Option<Arc<WebSocketRequest>>,
    /// Composite metadata added to every SETUP, such as authentication.
    pub setup_metadata: Vec<u8>,
    /// Composite metadata added to every request, such as authentication.
    pub metadata: Vec<u8>,
    /// How long the loop spins after something happened before it sleeps; zero for not at all. See
    /// [`crate::ServerConfig::busy_poll`].
    pub busy_poll: Duration,
    /// The thread's name.
    pub name: String,
}

impl ClientConfig {
    /// A client of instances at fixed addresses.
    #[must_use]
    pub fn at(addresses: Vec<SocketAddr>) -> Self {
        Self::from_source(Source::Static(addresses))
    }

    /// A client of instances at names, `HOST:PORT`.
    #[must_use]
    pub fn at_names<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::from_source(Source::Names(names.into_iter().map(Into::into).collect()))
    }

    /// A client of all that discovery knows, of any version.
    #[must_use]
    pub fn discovered(discovery: Discovery) -> Self {
        Self::from_source(Source::Discovery { discovery, versions: Versions::Any })
    }

    fn from_source(source: Source) -> Self {
        Self {
            source,
            resolve: Resolve::default(),
            balance: BalanceSettings {
                client: ClientId(own_seed()),
                seed: own_seed(),
                ..BalanceSettings::default()
            },
            retry: RetryRule::default(),
            budget: BudgetSettings::default(),
            hedge: Some(HedgeSettings::default()),
            deadline: Duration::from_secs(5),
            connections_per_instance: 1,
            waiting_max: 10_000,
            unreachable_grace: Duration::from_secs(1),
            discovery_grace: Duration::from_secs(2),
            keepalive_interval: Duration::from_secs(2),
            keepalive_lifetime: Duration::from_secs(8),
            resume: None,
            leases: false,
            frame_bytes_max: 16_777_215,
            fragment_bytes: 64 * 1024,
            payload_bytes_max: 16 * 1024 * 1024,
            streams_max: 1_000_000,
            socket: SocketSettings {
                connect_timeout_ms: 2_000,
                user_timeout_ms: Some(10_000),
                ..SocketSettings::default()
            },
            tls: None,
            websocket: None,
            setup_metadata: Vec::new(),
            metadata: Vec::new(),
            busy_poll: Duration::from_micros(50),
            name: "rpc-client".to_owned(),
        }
    }

    /// The settings of its loop.
    pub(super) fn loop_settings(&self) -> LoopSettings {
        LoopSettings {
            name: self.name.clone(),
            busy_poll_us: self.busy_poll.as_micros() as u64,
            ..LoopSettings::default()
        }
    }
}

/// A number that another client hardly has: clients choose apart from each other. It protects nothing.
fn own_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// What one call asks for beyond its method and request.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions<'a> {
    /// The longest that the caller waits; `None` for the client's default. A stream is bounded only where this
    /// is given.
    pub deadline: Option<Duration>,
    /// Calls with the same key go to the same instance while it lives.
    pub key: Option<&'a [u8]>,
    /// Composite metadata added to the request.
    pub metadata: &'a [u8],
    /// The caller's own name for the call, which a [`super::LocalClient`] returns again when it is
    /// done.
    pub tag: u64,
}
