//! Why a connection ended, sorted by who must act.
//!
//! Each reason has a stable name for metrics and logs, and an index for tables of counts.

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The peer closed (FIN, or TLS close_notify, or a WebSocket close frame). Nothing to do.
    PeerClosed,
    /// The peer reset the connection.
    Reset,
    /// Nothing came back: keep-alive or `TCP_USER_TIMEOUT` ran out. The network lost the peer.
    Unresponsive,
    /// The network reports that the peer cannot be reached.
    Unreachable,
    /// An outgoing connection was refused.
    ConnectRefused,
    /// An outgoing connection was not made in time.
    ConnectTimeout,
    /// TLS, WebSocket or PROXY header were not finished in time.
    HandshakeTimeout,
    /// Nothing was received for the listener's `maximum_idle`.
    Idle,
    /// The connection is older than the listener's `maximum_age`.
    MaximumAge,
    /// More was waiting for the peer than its write queue may hold.
    SlowReader,
    /// Something was waiting for the peer, and for `write_stall_ms` it took less than `write_progress_bytes` of it.
    WriteStall,
    /// The handler left more bytes unconsumed than `carry_bytes_max`.
    CarryFull,
    /// The PROXY header is missing or wrong.
    Proxy,
    /// The WebSocket upgrade was refused.
    Upgrade,
    /// The peer broke the WebSocket protocol; the close code that it was sent.
    WebSocket(u16),
    /// TLS failed; the alert's description (RFC 8446, 6), ours or the peer's.
    Tls(u8),
    /// The loop that should have taken the connection over had no room.
    Overloaded,
    /// The handler asked, by [`crate::Io::close`].
    Asked,
    /// The handler asked, by [`crate::Io::abort`].
    Aborted,
    /// The loop stopped.
    Stopped,
    /// The operating system failed the socket with this error number.
    System(i32),
}

impl CloseReason {
    /// How many different names there are.
    pub const COUNT: usize = 21;

    /// The names, in the order of [`CloseReason::index`].
    pub const NAMES: [&'static str; Self::COUNT] = [
        "peer_closed",
        "reset",
        "unresponsive",
        "unreachable",
        "connect_refused",
        "connect_timeout",
        "handshake_timeout",
        "idle",
        "maximum_age",
        "slow_reader",
        "write_stall",
        "carry_full",
        "proxy",
        "upgrade",
        "websocket",
        "tls",
        "overloaded",
        "asked",
        "aborted",
        "stopped",
        "system",
    ];

    /// Place in a table of counts, below [`CloseReason::COUNT`].
    pub const fn index(self) -> usize {
        match self {
            CloseReason::PeerClosed => 0,
            CloseReason::Reset => 1,
            CloseReason::Unresponsive => 2,
            CloseReason::Unreachable => 3,
            CloseReason::ConnectRefused => 4,
            CloseReason::ConnectTimeout => 5,
            CloseReason::HandshakeTimeout => 6,
            CloseReason::Idle => 7,
            CloseReason::MaximumAge => 8,
            CloseReason::SlowReader => 9,
            CloseReason::WriteStall => 10,
            CloseReason::CarryFull => 11,
            CloseReason::Proxy => 12,
            CloseReason::Upgrade => 13,
            CloseReason::WebSocket(_) => 14,
            CloseReason::Tls(_) => 15,
            CloseReason::Overloaded => 16,
            CloseReason::Asked => 17,
            CloseReason::Aborted => 18,
            CloseReason::Stopped => 19,
            CloseReason::System(_) => 20,
        }
    }

    /// Stable name for metrics and logs.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// The close reason of a socket error.
    pub(crate) fn from_errno(errno: i32) -> CloseReason {
        match errno {
            libc::ECONNRESET | libc::EPIPE => CloseReason::Reset,
            libc::ECONNREFUSED => CloseReason::ConnectRefused,
            libc::ETIMEDOUT => CloseReason::Unresponsive,
            libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN | libc::ENETDOWN => {
                CloseReason::Unreachable
            }
            other => CloseReason::System(other),
        }
    }
}
