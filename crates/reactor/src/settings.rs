//! Plain structs that define how loops, listeners and connections behave.
//!
//! Every time is in milliseconds, every size in bytes, and `None` or zero means what its field
//! describes. The reactor reads no configuration: the code that composes the parts fills these in.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls_pki_types::CertificateDer;
use stadium_addresses::Networks;

use crate::id::ListenerTag;
use crate::tls::{ClientTls, ServerTls};

/// One loop.
#[derive(Clone, Debug)]
pub struct LoopSettings {
    /// The thread's name, at most 15 bytes of it visible to the system.
    pub name: String,
    /// The processor to pin the loop's thread to; `None` leaves it to the system.
    pub cpu: Option<usize>,
    /// Messages that the loop's mailbox holds; the next sender gets "full".
    pub mailbox_messages_max: usize,
    /// Connections of this loop, incoming and outgoing; above it, listeners leave peers in the
    /// kernel's queue.
    pub connections_max: usize,
    /// Readiness events handled in one turn; more wait for the next. 12 bytes each. A loop that has
    /// something to do on time handles few, so that its turns are short.
    pub events_max: usize,
    /// Bytes read from one connection before the others get their turn; also the size of the shared
    /// read buffer.
    pub read_bytes_max: usize,
    /// Connections accepted in one turn before those that are open get theirs.
    pub accept_batch: usize,
    /// How long a closed connection may take to receive what was sent before, in milliseconds.
    pub linger_ms: u64,
    /// How long the loop goes on looking after a short turn (of less than half this time), before
    /// it sleeps, in microseconds; zero sleeps at once. It saves the time of being woken (some 5 to
    /// 50 µs for each round trip) and costs up to a whole core while events follow each other more
    /// closely than this. Where they don't, the loop finds nothing, and looks ever more seldom.
    pub busy_poll_us: u64,
}

impl Default for LoopSettings {
    fn default() -> Self {
        LoopSettings {
            name: "loop".to_owned(),
            cpu: None,
            mailbox_messages_max: 65_536,
            connections_max: 4_000_000,
            events_max: 4096,
            read_bytes_max: 256 * 1024,
            accept_batch: 128,
            linger_ms: 2_000,
            busy_poll_us: 0,
        }
    }
}

/// TCP keep-alive probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe, in milliseconds (the system counts whole seconds).
    pub idle_ms: u64,
    /// Between probes, in milliseconds (the system counts whole seconds).
    pub interval_ms: u64,
    /// Probes without an answer after which the connection is dead.
    pub count: u32,
}

/// Options of a TCP socket, listening or connecting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketSettings {
    /// Connections that the kernel holds for a listener that is busy. More survives a herd; costs
    /// kernel memory then.
    pub backlog: u32,
    /// How long an outgoing connection may take, in milliseconds.
    pub connect_timeout_ms: u64,
    /// SO_SNDBUF; `None` lets the kernel grow it as needed.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF; `None` lets the kernel grow it as needed.
    pub receive_buffer_bytes: Option<usize>,
    /// TCP_NODELAY: true sends at once. The loop already joins what belongs together.
    pub nodelay: bool,
    /// SO_REUSEADDR: lets a listener take its port while old connections are in TIME_WAIT.
    pub reuse_address: bool,
    /// Keep-alive probes; `None` for none.
    pub keepalive: Option<KeepAlive>,
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged, in milliseconds; `None` for
    /// the system's (about 15 minutes).
    pub user_timeout_ms: Option<u32>,
    /// How old a connection may become, in milliseconds; `None` for any age.
    pub maximum_age_ms: Option<u64>,
    /// How long nothing may be received, in milliseconds; `None` for any time.
    pub maximum_idle_ms: Option<u64>,
}

impl Default for SocketSettings {
    fn default() -> Self {
        SocketSettings {
            backlog: 16_384,
            connect_timeout_ms: 10_000,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            nodelay: true,
            reuse_address: true,
            keepalive: None,
            user_timeout_ms: Some(30_000),
            maximum_age_ms: None,
            maximum_idle_ms: None,
        }
    }
}

/// What one connection may make the loop hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Bytes that the handler may leave unconsumed. A handler raises it once it knows the peer.
    pub carry_bytes_max: u32,
    /// Bytes waiting for a peer that reads slowly; beyond it the connection is closed.
    pub write_queue_bytes_max: u32,
    /// How long a peer may take less than `write_progress_bytes` of what waits for it, in
    /// milliseconds; zero for any time.
    pub write_stall_ms: u64,
    /// What a peer must take of what waits for it within `write_stall_ms`, where more is waiting:
    /// the least rate of a slow reader, in bytes. With 1, any byte is progress.
    pub write_progress_bytes: u32,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits {
            carry_bytes_max: 256 * 1024,
            write_queue_bytes_max: 1024 * 1024,
            write_stall_ms: 30_000,
            write_progress_bytes: 1,
        }
    }
}

/// Whether a proxy in front reports the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProxyProtocol {
    /// No header; bytes are the protocol's own.
    #[default]
    Off,
    /// Each connection must start with a PROXY protocol version 2 header. Only those from
    /// [`ListenerSettings::proxy_networks`] are accepted: whoever writes the header chooses the
    /// address that all bounds and logs see.
    Required,
}

/// How fast a listener lets peers in. Peers over the budget wait in the kernel's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AcceptBudget {
    /// Accepts a second, with a burst of a tenth of it; zero for any number.
    pub accepts_per_second: u32,
    /// Connections of this loop that are between accept and established; zero for any number.
    pub handshakes_max: u32,
}

/// How the handler's bytes and WebSocket's messages go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Messages {
    /// Binary messages are one stream of bytes, wherever they end, as MQTT wants it.
    #[default]
    Stream,
    /// Each binary message is one of the handler's, as RSocket wants it: the handler reads and writes
    /// three bytes of length, big-endian, before each message, as on TCP, and on the WebSocket they
    /// are missing. A message that comes in fragments is held until it is whole, within the
    /// connection's `carry_bytes_max`; longer ones are refused with code 1009.
    LengthPrefixed24,
}

/// WebSocket on a listener (RFC 6455).
#[derive(Clone, Debug)]
pub struct WebSocketSettings {
    /// The path that upgrades, for example `/mqtt`.
    pub path: String,
    /// Subprotocols we speak, in our order of preference. Where not empty, the peer must offer one
    /// of them.
    pub subprotocols: Vec<String>,
    /// A path where text and binary messages are echoed, for conformance suites; the handler sees
    /// nothing of it.
    pub echo_path: Option<String>,
    /// The largest frame, in bytes.
    pub frame_bytes_max: u64,
    /// The largest message, in bytes, on the echo path and with [`Messages::LengthPrefixed24`], where
    /// it is 16,777,215 at most; otherwise messages are one stream of bytes.
    pub message_bytes_max: u64,
    /// How the handler's bytes and messages go together.
    pub messages: Messages,
    /// Origins of web pages that may open it besides those of its own host, such as
    /// `https://app.example.org`; `*` for all. A client that is no browser sends none and is not
    /// asked.
    pub origins: Vec<String>,
}

impl Default for WebSocketSettings {
    fn default() -> Self {
        WebSocketSettings {
            path: "/mqtt".to_owned(),
            subprotocols: vec!["mqtt".to_owned()],
            echo_path: None,
            frame_bytes_max: 64 * 1024 * 1024,
            message_bytes_max: 64 * 1024 * 1024,
            messages: Messages::Stream,
            origins: Vec::new(),
        }
    }
}

/// A listening address.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// Where to listen. Port zero takes a free one, which [`crate::Io::listen`] returns.
    pub address: SocketAddr,
    /// Given back with each connection.
    pub tag: ListenerTag,
    /// Listening sockets that this loop opens on the address (SO_REUSEPORT); each has a backlog of
    /// its own.
    pub sockets: usize,
    /// Whether another listener of this server has the address already.
    pub sharing: Sharing,
    /// Socket options, inherited by each accepted connection.
    pub socket: SocketSettings,
    /// What each connection may hold.
    pub limits: ConnectionLimits,
    /// TLS, where wanted.
    pub tls: Option<ServerTls>,
    /// WebSocket, where wanted.
    pub websocket: Option<Arc<WebSocketSettings>>,
    /// PROXY protocol.
    pub proxy: ProxyProtocol,
    /// Networks of the proxies whose header is believed; with [`ProxyProtocol::Required`] a
    /// connection from elsewhere is refused at once.
    pub proxy_networks: Networks,
    /// Time for PROXY header, TLS handshake and WebSocket upgrade together, in milliseconds.
    pub handshake_timeout_ms: u64,
    /// How fast peers are let in.
    pub budget: AcceptBudget,
}

/// Whether a socket is the first of its address in this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sharing {
    /// It is: fails where anybody else listens on an overlapping address, in this process or
    /// another. Once it listens, sockets that join may share the address. See
    /// [`Claims`](crate::Claims).
    #[default]
    Claims,
    /// A socket of this server has claimed the address; the kernel spreads peers over all of them
    /// (SO_REUSEPORT).
    Joins,
}

impl ListenerSettings {
    /// A plain TCP listener with the defaults.
    pub fn new(address: SocketAddr, tag: ListenerTag) -> Self {
        ListenerSettings {
            address,
            tag,
            sockets: 1,
            sharing: Sharing::Claims,
            socket: SocketSettings::default(),
            limits: ConnectionLimits::default(),
            tls: None,
            websocket: None,
            proxy: ProxyProtocol::Off,
            proxy_networks: Networks::private(),
            handshake_timeout_ms: 10_000,
            budget: AcceptBudget::default(),
        }
    }
}

/// A WebSocket to open on an outgoing connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSocketRequest {
    /// The Host header.
    pub host: String,
    /// The path, starting with a slash.
    pub path: String,
    /// The subprotocol to ask for; the server must choose it.
    pub subprotocol: Option<String>,
    /// How the handler's bytes and messages go together.
    pub messages: Messages,
}

/// An outgoing connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// Local address to connect from; port zero lets the system choose at connect time, so that
    /// ports are reused across peers.
    pub bind: Option<SocketAddr>,
    /// Socket options, connect timeout (which covers TLS and WebSocket too), maximum age and idle.
    pub socket: SocketSettings,
    /// What the connection may hold.
    pub limits: ConnectionLimits,
    /// TLS, where wanted.
    pub tls: Option<ClientTls>,
    /// WebSocket, where wanted.
    pub websocket: Option<Arc<WebSocketRequest>>,
    /// Given back by `connected`.
    pub tag: u64,
}

/// What an adopted connection carries.
#[derive(Clone, Debug, Default)]
pub enum Carries {
    /// The handler's own bytes.
    #[default]
    Bytes,
    /// WebSocket, whose upgrade an HTTP server has answered.
    WebSocket(Arc<WebSocketSettings>),
    /// WebSocket, whose upgrade request is unread and answered by the loop.
    WebSocketRequest {
        /// The rules of the upgrade and after it.
        settings: Arc<WebSocketSettings>,
        /// Time for the upgrade, in milliseconds.
        within_ms: u64,
    },
}

/// A connection that was accepted, and maybe upgraded, elsewhere; see [`crate::LoopHandle::adopt`].
#[derive(Debug, Default)]
pub struct Adopt {
    /// The tag to present it under.
    pub listener: ListenerTag,
    /// What it carries.
    pub carries: Carries,
    /// Bytes that the other server had read beyond what it used.
    pub leftover: Vec<u8>,
    /// The TLS that the other server has shaken hands for. `leftover` is ciphertext then.
    pub tls: Option<AdoptedTls>,
    /// What the connection may hold.
    pub limits: ConnectionLimits,
}

/// TLS of an adopted connection, open, and the plaintext that was read of it.
pub struct AdoptedTls {
    /// The keys, and how far each direction has come.
    pub secrets: rustls::ExtractedSecrets,
    /// The secrets for key updates.
    pub kernel: rustls::kernel::KernelConnection<rustls::server::ServerConnectionData>,
    /// The plaintext that the other server has decrypted and not used.
    pub plain: Vec<u8>,
    /// The leaf certificate that the peer showed, verified.
    pub certificate: Option<CertificateDer<'static>>,
}

impl std::fmt::Debug for AdoptedTls {
    /// Without the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdoptedTls").field("plain", &self.plain.len()).finish_non_exhaustive()
    }
}

/// A UDP socket.
#[derive(Clone, Debug, Default)]
pub struct UdpSettings {
    /// SO_SNDBUF; `None` for the system's.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF; `None` for the system's.
    pub receive_buffer_bytes: Option<usize>,
    /// Whether other loops bind the same address; the kernel spreads peers over them.
    pub share: UdpSharing,
}

/// Whether a UDP address belongs to one loop or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UdpSharing {
    /// One socket owns the address.
    #[default]
    Alone,
    /// Several sockets of this server own it; this is the first, or joins the first.
    Shared(Sharing),
}
