//! How a server is set up.
//!
//! Every bound names its unit and what happens beyond it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_discovery::Discovery;
use stadium_reactor::tls::ServerTls;
use stadium_reactor::{ConnectionLimits, SocketSettings, WebSocketSettings};
use stadium_rsocket::metadata::authentication::Authentication;
use subtle::ConstantTimeEq as _;

use crate::answer::Refusal;
use crate::service::Call;

/// Reads or sets the process's log level for `NAME/log-level`: `None` asks, `Some` sets. Levels are `error`,
/// `warn`, `info`, `debug`, `trace`, `off`. Returns the level in force.
pub type LogLevelControl = Arc<dyn Fn(Option<&str>) -> Result<String, String> + Send + Sync>;

/// Lets a caller use the operating methods, or returns why not. Called on the loop; must not block.
pub type Authorise = Arc<dyn Fn(&Call<'_>) -> Result<(), Refusal> + Send + Sync>;

/// Who may use the operating methods of a server's services: `NAME/quiesce` and `NAME/log-level`. Whoever may
/// can end the server, so nobody may unless the server names how they are known.
#[derive(Clone, Default)]
pub enum Operations {
    /// Nobody: each call is rejected as RPC-012.
    #[default]
    Off,
    /// Callers that this lets through.
    Authorised(Authorise),
}

impl Operations {
    /// Callers that show this token as a bearer token in their request's authentication metadata. Without TLS
    /// everybody who can read the connection learns it. An empty token lets nobody through.
    #[must_use]
    pub fn bearer(token: impl Into<String>) -> Self {
        let token = token.into();
        Self::Authorised(Arc::new(move |call: &Call<'_>| {
            let shown = match call.authentication() {
                Some(Authentication::Bearer(shown)) => shown,
                _ => "",
            };
            // The comparison takes as long wherever the two differ.
            if !token.is_empty() && bool::from(token.as_bytes().ct_eq(shown.as_bytes())) {
                return Ok(());
            }
            Err(Refusal::rejected("RPC-012", format!("{} needs the operators' bearer token", call.route())))
        }))
    }

    /// May this caller use them?
    pub(crate) fn authorise(&self, call: &Call<'_>) -> Result<(), Refusal> {
        match self {
            Self::Off => {
                let text = format!("{} is off: this server names no operators", call.route());
                Err(Refusal::rejected("RPC-012", text))
            }
            Self::Authorised(authorise) => authorise(call),
        }
    }
}

/// An address and what is spoken there.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Where. Port 0 takes a free one.
    pub address: SocketAddr,
    /// TLS, where wanted.
    pub tls: Option<ServerTls>,
    /// RSocket over WebSocket instead of TCP, where wanted.
    pub websocket: Option<Arc<WebSocketSettings>>,
}

impl Listen {
    /// RSocket over plain TCP.
    #[must_use]
    pub fn tcp(address: SocketAddr) -> Self {
        Self { address, tls: None, websocket: None }
    }
}

/// The amount of work that the server takes on before it answers Busy.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionSettings {
    /// How long a request for an inline function may wait for its turn on the loop before it gets
    /// Busy. More smooths bursts and lets latency grow to about twice of it under overload.
    pub inline_wait_max: Duration,
    /// The number of requests that asynchronous and blocking functions work on at once before anything was measured, for
    /// each loop. It doubles while latency stays flat, so a low one costs a fraction of a second of Busy answers; a high one
    /// lets calls queue where functions calculate, until the limit has fallen.
    pub concurrency_initial: u32,
    /// The least number of requests that asynchronous and blocking functions work on at once, for each loop.
    pub concurrency_min: u32,
    /// The most; between the two the limit follows the measured latency.
    pub concurrency_max: u32,
    /// Requests that may wait for asynchronous and blocking functions, for each loop; the next gets
    /// Busy.
    pub queue_max: usize,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        Self {
            inline_wait_max: Duration::from_millis(10),
            concurrency_initial: 200,
            concurrency_min: 4,
            concurrency_max: 10_000,
            queue_max: 1_000,
        }
    }
}

/// A server's settings; the default ones listen nowhere.
#[derive(Clone)]
pub struct ServerConfig {
    /// Where to listen.
    pub listen: Vec<Listen>,
    /// A UDP address for unary and one-way requests of inline functions; each must fit a datagram and may be lost.
    pub udp: Option<SocketAddr>,
    /// Event loops, one thread each; 1 to 64.
    pub loops: usize,
    /// The processor that the first loop is pinned to, the next one the next; `None` leaves it to the system.
    pub first_cpu: Option<usize>,
    /// How long a loop spins after something happened before it sleeps; zero for not at all. It
    /// saves waking up where calls follow each other closely, and costs processor time there. Where
    /// it does not find anything it soon gives up looking, and tries again now and then.
    pub busy_poll: Duration,
    /// The deadline of a request that names none.
    pub deadline: Duration,
    /// The longest deadline that a request may name; a longer one is cut to it.
    pub deadline_max: Duration,
    /// The Tokio runtime that functions may use: it is entered on the threads of the loops and of the pool, so that its
    /// timers and sockets, and `tokio::spawn`, work inside. Functions stay on their loop all the same. `None` enters
    /// none, and `tokio::time::sleep` panics there; [`sleep`](crate::sleep) works always.
    #[cfg(feature = "tokio")]
    pub runtime: Option<tokio::runtime::Handle>,
    /// What is taken on.
    pub admission: AdmissionSettings,
    /// Whether clients that ask for leases get them; the others are served without.
    pub leases: bool,
    /// Threads for blocking functions.
    pub blocking_threads: usize,
    /// The largest frame, in bytes; at most 16,777,215.
    pub frame_bytes_max: usize,
    /// The largest fragment that the server sends, in bytes.
    pub fragment_bytes: usize,
    /// The largest payload, in bytes, put together from its fragments. It bounds each connection's memory.
    pub payload_bytes_max: usize,
    /// Connections that the server may have; more are closed as they come, and counted. Each costs some hundred bytes
    /// and a descriptor, and what the other bounds allow.
    pub connections_max: usize,
    /// Bytes that all connections of the server may hold together of what is unfinished: frames that have not come
    /// whole, and payloads whose last fragment has not come. Beyond it connections are cut, the one that holds most
    /// first, and counted. It bounds what callers can cost that begin much and end nothing.
    pub partial_bytes_max: usize,
    /// Streams that a connection may have open.
    pub streams_max: u32,
    /// Bytes of what was sent that are kept for each connection whose client may resume it, so that it can be
    /// sent again; the oldest are dropped beyond it, and a client that missed them cannot resume. Zero turns
    /// resumption off. Only clients that ask for it cost anything.
    pub resume_bytes_max: usize,
    /// How long a lost connection may be resumed. Its calls go on for as long.
    pub resume_within: Duration,
    /// Lost connections that are kept, for each loop; beyond it the one that was lost first is ended.
    pub resume_sessions_max: usize,
    /// Bytes that lost connections may hold together, for each loop, with what they may still store; beyond it the
    /// one that was lost first is ended.
    pub resume_waiting_bytes_max: usize,
    /// Milliseconds between two beats of a connection's ticking streams: what is due between them waits for the second
    /// and leaves in one write. More costs lateness and saves processor time; 1 to 1,000.
    pub tick_ms: u64,
    /// Socket options.
    pub socket: SocketSettings,
    /// What one connection may make the loop hold.
    pub limits: ConnectionLimits,
    /// Where the instance registers itself, if anywhere.
    pub discovery: Option<Discovery>,
    /// The address to register; without it the first one that is listened on.
    pub advertise: Option<SocketAddr>,
    /// The zone to register.
    pub zone: Option<String>,
    /// The weight to register: an instance of weight 200 gets twice the calls of one of 100.
    pub weight: u32,
    /// The operators, who may use `NAME/quiesce` and `NAME/log-level`. None by default.
    pub operations: Operations,
    /// What `NAME/log-level` does; without it the route answers that it cannot.
    pub log_level: Option<LogLevelControl>,
    /// How long a quiesce that names no time may take.
    pub quiesce_within: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            udp: None,
            loops: 1,
            first_cpu: None,
            busy_poll: Duration::from_micros(50),
            deadline: Duration::from_secs(5),
            deadline_max: Duration::from_secs(600),
            #[cfg(feature = "tokio")]
            runtime: None,
            admission: AdmissionSettings::default(),
            leases: true,
            blocking_threads: 4,
            frame_bytes_max: 16_777_215,
            fragment_bytes: 64 * 1024,
            payload_bytes_max: 16 * 1024 * 1024,
            connections_max: 50_000,
            partial_bytes_max: 256 * 1024 * 1024,
            streams_max: 100_000,
            resume_bytes_max: 256 * 1024,
            resume_within: Duration::from_secs(60),
            resume_sessions_max: 1_000,
            resume_waiting_bytes_max: 256 * 1024 * 1024,
            tick_ms: 64,
            socket: SocketSettings::default(),
            limits: ConnectionLimits {
                carry_bytes_max: 16 * 1024 * 1024 + 64,
                write_queue_bytes_max: 16 * 1024 * 1024,
                write_stall_ms: 30_000,
                write_progress_bytes: 64 * 1024,
            },
            discovery: None,
            advertise: None,
            zone: None,
            weight: 100,
            operations: Operations::Off,
            log_level: None,
            quiesce_within: Duration::from_secs(30),
        }
    }
}

/// A runtime to be entered on the threads of a server, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Runtime {
    #[cfg(feature = "tokio")]
    handle: Option<tokio::runtime::Handle>,
}

impl ServerConfig {
    pub(crate) fn runtime(&self) -> Runtime {
        Runtime {
            #[cfg(feature = "tokio")]
            handle: self.runtime.clone(),
        }
    }
}

impl Runtime {
    /// Enters it on this thread, for as long as what is returned is kept.
    #[cfg(feature = "tokio")]
    pub(crate) fn enter(&self) -> Option<tokio::runtime::EnterGuard<'_>> {
        self.handle.as_ref().map(tokio::runtime::Handle::enter)
    }

    /// Enters it on this thread, for as long as what is returned is kept.
    #[cfg(not(feature = "tokio"))]
    pub(crate) fn enter(&self) -> Option<()> {
        None
    }
}
