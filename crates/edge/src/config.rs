//! The configuration of the edge, from the code that composes the node: plain structs, every bound
//! with its unit.
//!
//! Nothing here reads a file: the node fills it in from the settings, whose reference page states
//! what raising each bound costs.

use std::net::SocketAddr;
use std::sync::Arc;

use stadium_mqtt::broker;
use stadium_reactor::{ListenerSettings, LoopSettings};
use stadium_telemetry::Tracer;

use crate::auth::Authenticator;
use crate::requests::Services;
use crate::streams::StreamLimits;

/// The edge of one node.
#[derive(Clone)]
pub struct Config {
    /// Event loops, 1 to 64; one for each core that the edge may use.
    pub loops: usize,
    /// Processors to pin the loops to, in order; loops beyond the list are not pinned.
    pub cpu_affinity: Vec<usize>,
    /// Each loop's bounds. Its name and processor are filled in by the edge.
    pub loop_settings: LoopSettings,
    /// Where devices connect.
    pub listeners: Vec<Listener>,
    /// The rules for sockets that [`EdgeHandle::adopt`](crate::EdgeHandle::adopt) is given; its
    /// address is not listened on.
    pub handed_over: Option<Listener>,
    /// What every broker promises its clients. `sessions_max` is for the node and divided by loops.
    pub broker: broker::Config,
    /// Bounds of the retained messages.
    pub retained: broker::RetainedLimits,
    /// Bounds of what is kept for devices that are away, for each loop.
    pub mailboxes: broker::MailboxLimits,
    /// What a connection may cost before it is authenticated.
    pub before_authentication: BeforeAuthentication,
    /// Devices connected to the node; one more is asked to reconnect later. The reactor's own bound
    /// is above it.
    pub devices_max: usize,
    /// How many CONNECTs a second are answered; the rest is asked to reconnect later.
    pub connect_budget: ConnectBudget,
    /// Bounds for each peer address.
    pub addresses: AddressLimits,
    /// Bounds for each connection.
    pub rates: ConnectionRates,
    /// Bytes a connection may have unsent before messages at QoS 0 to it are dropped.
    pub congested_bytes: usize,
    /// Publications waiting for the mailbox of another loop before publishers are read more slowly.
    pub forwards_waiting_max: usize,
    /// Live pushes whose records are kept; the oldest is forgotten first.
    pub pushes_max: usize,
    /// Who may connect, and what they may do.
    pub authenticator: Arc<Authenticator>,
    /// Who takes devices' requests, i.e. what they publish to `rpc/SERVICE/METHOD`. Without it such a
    /// topic is like any other.
    pub services: Option<Services>,
    /// Bounds of streams.
    pub streams: StreamLimits,
    /// Milliseconds between two publications of the server's figures in `$SYS/...`; 0 for none.
    pub sys_interval_ms: u64,
    /// Records the spans of deliveries.
    pub tracer: Tracer,
}

/// An address where devices connect.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The reactor's part. Its tag is the listener's place in [`Config::listeners`].
    pub settings: ListenerSettings,
    /// What is spoken there, for people to read.
    pub transport: Transport,
}

/// How MQTT is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Plain TCP.
    Tcp,
    /// TLS.
    Tls,
    /// WebSocket.
    Ws,
    /// WebSocket over TLS.
    Wss,
}

impl Transport {
    /// `tcp`, `tls`, `ws` or `wss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Ws => "ws",
            Self::Wss => "wss",
        }
    }
}

/// What a connection may cost before it is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeforeAuthentication {
    /// Bytes of its CONNECT, header included.
    pub bytes: u32,
    /// Bytes that all connections of the node hold together, those of connections that hold no more than
    /// [`CONNECT_BYTES_FREE`] left out.
    pub held_bytes: usize,
    /// Milliseconds from its acceptance to the end of authentication.
    pub ms: u64,
}

/// Bytes that every connection may hold before it is authenticated: the CONNECT of nearly every device.
pub const CONNECT_BYTES_FREE: u32 = 4_096;

impl Default for BeforeAuthentication {
    fn default() -> Self {
        Self { bytes: 393_216, held_bytes: 16 << 20, ms: 10_000 }
    }
}

/// How fast a herd is let in. Zero is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectBudget {
    /// CONNECTs a second for the node, with a burst of one second's worth.
    pub per_second: u32,
    /// The longest delay that a device over the budget is given, in milliseconds. Delays are spread
    /// between half of it and all of it, so that the herd does not come back as one.
    pub retry_after_ms: u64,
}

impl Default for ConnectBudget {
    fn default() -> Self {
        Self { per_second: 0, retry_after_ms: 10_000 }
    }
}

/// Bounds for each peer address; zero is no bound. Carriers put thousands of phones behind one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressLimits {
    /// Connections open at once.
    pub connections_max: u32,
    /// Connections a second, with a burst of one second's worth.
    pub connects_per_second: u32,
}

impl AddressLimits {
    /// Whether any bound is set.
    pub const fn is_off(&self) -> bool {
        self.connections_max == 0 && self.connects_per_second == 0
    }
}

/// What one connection may send; zero is no bound. The excess waits in the device's socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionRates {
    /// PUBLISH packets a second, with a burst of one second's worth.
    pub messages_per_second: u32,
    /// Bytes a second, with a burst of one second's worth.
    pub bytes_per_second: u32,
}

impl ConnectionRates {
    /// Whether any bound is set.
    pub const fn is_off(&self) -> bool {
        self.messages_per_second == 0 && self.bytes_per_second == 0
    }
}

impl Config {
    /// An edge with the defaults: one loop, no listener yet.
    pub fn new(authenticator: Arc<Authenticator>) -> Self {
        Self {
            loops: 1,
            cpu_affinity: Vec::new(),
            loop_settings: LoopSettings::default(),
            listeners: Vec::new(),
            handed_over: None,
            broker: broker::Config::default(),
            retained: broker::RetainedLimits::default(),
            mailboxes: broker::MailboxLimits::default(),
            before_authentication: BeforeAuthentication::default(),
            devices_max: 1_000_000,
            connect_budget: ConnectBudget::default(),
            addresses: AddressLimits::default(),
            rates: ConnectionRates::default(),
            congested_bytes: 512 * 1024,
            forwards_waiting_max: 65_536,
            pushes_max: 1_024,
            authenticator,
            services: None,
            streams: StreamLimits::default(),
            sys_interval_ms: 10_000,
            tracer: Tracer::off(),
        }
    }

    /// The listener that a connection came by; the one after the last stands for sockets handed over.
    pub(crate) fn listener(&self, place: usize) -> Option<&Listener> {
        self.listeners
            .get(place)
            .or_else(|| self.handed_over.as_ref().filter(|_| place == self.listeners.len()))
    }

    pub(crate) fn handed_over_tag(&self) -> stadium_reactor::ListenerTag {
        stadium_reactor::ListenerTag(u16::try_from(self.listeners.len()).unwrap_or(u16::MAX))
    }

    /// The same with a plain TCP listener.
    #[must_use]
    pub fn listen_tcp(mut self, address: SocketAddr) -> Self {
        let tag = stadium_reactor::ListenerTag(u16::try_from(self.listeners.len()).unwrap_or(u16::MAX));
        let settings = ListenerSettings::new(address, tag);
        self.listeners.push(Listener { settings, transport: Transport::Tcp });
        self
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("loops", &self.loops)
            .field("listeners", &self.listeners)
            .finish_non_exhaustive()
    }
}
