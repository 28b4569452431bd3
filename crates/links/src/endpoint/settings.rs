//! The settings of an endpoint, and why it does not start.
//!
//! The options of sockets and listeners follow from them.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use stadium_reactor::tls::TlsError;
use stadium_reactor::{
    AcceptBudget, ConnectOptions, ConnectionLimits, ListenerSettings, ListenerTag, SocketSettings,
};

use super::tls::TlsSettings;
use crate::link::{Bounds, ClusterId, Incarnation, NodeName, Range, Timing};

/// Another node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub node: NodeName,
    /// Where it listens for links; tried in turn.
    pub addresses: Vec<SocketAddr>,
    /// The latest incarnation that is known. Connections with earlier ones are refused.
    pub incarnation: Incarnation,
}

/// The settings of an endpoint.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cluster.
    pub cluster: ClusterId,
    /// This node. Its certificate carries the name as its only DNS name.
    pub node: NodeName,
    /// Which of its starts.
    pub incarnation: Incarnation,
    /// Feature levels that it reads and writes.
    pub levels: Range<u32>,
    /// Where it listens. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Loops, each with a thread and one connection to each other node. At least 1, at most 64.
    pub loops: usize,
    /// Certificate, key and authorities.
    pub tls: TlsSettings,
    /// Times, and the size of messages.
    pub timing: Timing,
    /// What each link for data may have on its way; also what this node lets others have. More
    /// hides the round trip of a distant node, and costs as much memory for each link.
    pub credit: Bounds,
    /// The same of the control connection.
    pub control_credit: Bounds,
    /// What all links that this node dials may have on their way together.
    pub node_credit: Bounds,
    /// Bytes of answers that may wait for a node that reads slowly, for each of its connections.
    /// Beyond it their outcomes are unknown there.
    pub answer_bytes_max: usize,
    /// Connections of a loop, dialled and accepted.
    pub connections_max: usize,
    /// The longest wait before a node is dialled again, in milliseconds. Waits begin at 50 ms and
    /// are drawn at random.
    pub redial_ms_max: u64,
}

impl Settings {
    /// The defaults: 1 loop, 8,192 messages and 8 MiB for each link, 64 MiB for the node.
    pub fn new(
        cluster: ClusterId,
        node: NodeName,
        incarnation: Incarnation,
        listen: SocketAddr,
        tls: TlsSettings,
    ) -> Self {
        Self {
            cluster,
            node,
            incarnation,
            levels: Range { first: 1, last: 1 },
            listen,
            loops: 1,
            tls,
            timing: Timing::default(),
            credit: Bounds { messages: 8_192, bytes: 8 * MIB },
            control_credit: Bounds { messages: 256, bytes: 2 * MIB },
            node_credit: Bounds { messages: 65_536, bytes: 64 * MIB },
            answer_bytes_max: 8 * MIB as usize,
            connections_max: 4_096,
            redial_ms_max: 2_000,
        }
    }

    pub(super) fn check(&self) -> Result<(), StartError> {
        let body = self.timing.body_bytes() as u64;
        let frame = body + 64;
        let write_queue = self.credit.bytes.max(self.answer_bytes_max as u64);
        let wrong = [
            (!(1..=64).contains(&self.loops), "there are 1 to 64 loops"),
            (body == 0, "the longest body has at least 1 byte"),
            (
                [self.credit, self.control_credit, self.node_credit]
                    .iter()
                    .any(|bounds| bounds.bytes < frame || bounds.messages == 0),
                "each credit has room for the longest message",
            ),
            (self.answer_bytes_max < self.timing.body_bytes(), "the longest answer may wait"),
            (write_queue > u64::from(u32::MAX / 2), "credit and answers of a link have less than 2 GiB"),
            (
                self.timing.ping_ms == 0 || self.timing.silence_ms < self.timing.ping_ms.saturating_mul(2),
                "two pings fit into the time that a link may be silent",
            ),
            (self.timing.setup_ms == 0, "the handshake has time"),
            (self.levels.first > self.levels.last, "the first feature level is not above the last"),
        ];
        match wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, rule)) => Err(StartError::Setting(rule)),
            None => Ok(()),
        }
    }

    fn socket(&self) -> SocketSettings {
        SocketSettings {
            connect_timeout_ms: self.timing.setup_ms.into(),
            user_timeout_ms: Some(self.timing.silence_ms),
            ..SocketSettings::default()
        }
    }

    /// The bounds of a connection whose other half is trusted.
    fn limits(&self) -> ConnectionLimits {
        let queued = self.credit.bytes.max(self.answer_bytes_max as u64) + MIB;
        ConnectionLimits {
            carry_bytes_max: self.carry_bytes_max(),
            // Checked to fit.
            write_queue_bytes_max: queued as u32,
            ..ConnectionLimits::default()
        }
    }

    /// Bytes of an unfinished frame that a connection holds.
    pub(super) fn carry_bytes_max(&self) -> u32 {
        // A frame has at most 24 bits of length.
        self.timing.frame_bytes_max() as u32
    }

    /// The listener, without TLS.
    pub(super) fn listener(&self, address: SocketAddr) -> ListenerSettings {
        ListenerSettings {
            sharing: stadium_reactor::Sharing::Joins,
            socket: self.socket(),
            // Until the other half is known it holds no more than a SETUP.
            limits: ConnectionLimits { carry_bytes_max: STRANGER_BYTES_MAX, ..self.limits() },
            handshake_timeout_ms: self.timing.setup_ms.into(),
            budget: AcceptBudget { accepts_per_second: 1_000, handshakes_max: 128 },
            ..ListenerSettings::new(address, ListenerTag(0))
        }
    }

    /// How a node is dialled, without TLS.
    pub(super) fn dialling(&self) -> ConnectOptions {
        ConnectOptions { socket: self.socket(), limits: self.limits(), ..ConnectOptions::default() }
    }
}

const MIB: u64 = 1024 * 1024;

/// Bytes that a connection may leave unconsumed before its other half is known.
const STRANGER_BYTES_MAX: u32 = 4 * 1024;

/// Why an endpoint does not start.
#[derive(Debug)]
pub enum StartError {
    /// A setting is out of its bounds: the rule that it breaks.
    Setting(&'static str),
    /// Certificate, key or authorities are not usable.
    Tls(TlsError),
    /// Nobody can listen on the address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system gives no descriptors or no thread.
    Loop(io::Error),
}

impl From<TlsError> for StartError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(rule) => write!(f, "a setting of the links is wrong: {rule}"),
            Self::Tls(error) => write!(f, "TLS of the links: {error}"),
            Self::Listen { address, error } => write!(f, "links cannot listen on {address}: {error}"),
            Self::Loop(error) => write!(f, "a loop of the links cannot start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
