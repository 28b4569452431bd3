//! What a connection allows and offers. One [`Config`] is shared by all connections of a listener or of a
//! client.

use std::fmt;
use std::sync::Arc;

use crate::frame::{FRAME_BYTES_MAX, Interaction, Payload};

/// What a connection allows and offers.
#[derive(Debug, Clone)]
pub struct Config {
    /// The longest frame that is read, in bytes without its length; at most 16,777,215. A longer one ends the
    /// connection as soon as its length shows.
    pub frame_bytes_max: usize,
    /// The longest frame that is sent, in bytes without its length: a payload that needs more is sent in
    /// fragments. At least 64; 0 sends no fragments, and a payload that needs a longer frame is refused.
    pub fragment_bytes: usize,
    /// Bytes of metadata and data that one payload may have, sent or received, in one frame or in fragments, and
    /// that all unfinished payloads of a connection may hold together. A peer that sends more has that stream ended
    /// with INVALID. What is sent or handed out in pieces is not bounded: it is never put together.
    pub payload_bytes_max: usize,
    /// The longest frame that is read before a SETUP was accepted, in bytes: what a stranger may cost.
    pub setup_bytes_max: usize,
    /// Streams that each side may have open at a time. A peer's request above it gets REJECTED, one of our own
    /// [`RequestError::StreamsMax`](super::RequestError::StreamsMax).
    pub streams_max: u32,
    /// Client: milliseconds between two KEEPALIVE frames; more than 0.
    pub keepalive_interval_ms: u32,
    /// Client: milliseconds without a sign of life after which either side holds the other for dead. A server
    /// takes the client's value from its SETUP.
    pub lifetime_ms: u32,
    /// Server: milliseconds in which a SETUP must have come and been accepted.
    pub setup_ms: u32,
    /// Whether requests need leases.
    pub lease: Lease,
    /// Whether a session outlives its transport connection.
    pub resume: Option<ResumeConfig>,
    /// Whether payloads in fragments are handed out whole.
    pub reassembly: Reassembly,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            frame_bytes_max: FRAME_BYTES_MAX,
            fragment_bytes: 64 * 1024,
            payload_bytes_max: 16 * 1024 * 1024,
            setup_bytes_max: 4096,
            streams_max: 10_000,
            keepalive_interval_ms: 20_000,
            lifetime_ms: 90_000,
            setup_ms: 10_000,
            lease: Lease::Off,
            resume: None,
            reassembly: Reassembly::Whole,
        }
    }
}

/// Whether requests need leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// No. A client does not ask for them, and a server refuses a client that does (UNSUPPORTED_SETUP).
    Off,
    /// Client: asks for them, and sends no request without one.
    Honour,
    /// Server: grants them to clients that ask, and serves the others without.
    Grant,
}

/// Whether a session outlives its transport connection, and what that may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumeConfig {
    /// Bytes of sent frames that are kept until the peer has acknowledged them. When more are unacknowledged
    /// the oldest are dropped, and the session can no longer be resumed where the peer still needs them.
    pub store_bytes_max: usize,
    /// Milliseconds that a session waits for its client to come back.
    pub session_ms: u32,
}

/// Decides how a request is handed out, by its interaction and its metadata.
pub type Decide = dyn Fn(Interaction, Option<&[u8]>) -> Assembly + Send + Sync;

/// Whether payloads that come in fragments are handed out whole.
#[derive(Clone)]
pub enum Reassembly {
    /// Always.
    Whole,
    /// As this function decides for each request that comes in fragments, once its metadata is
    /// complete.
    Pieces(Arc<Decide>),
}

impl fmt::Debug for Reassembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "Whole",
            Self::Pieces(_) => "Pieces",
        })
    }
}

/// How one request that comes in fragments is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assembly {
    /// When its last fragment is there.
    Whole,
    /// With its first fragment, and each later one as [`Event::Piece`](super::Event::Piece).
    Pieces,
}

/// The data of a client about itself when it connects.
#[derive(Debug, Clone, Copy)]
pub struct SetupOptions<'a> {
    /// MIME type of all metadata, at most 255 bytes.
    pub metadata_mime: &'a str,
    /// MIME type of all data, at most 255 bytes.
    pub data_mime: &'a str,
    /// The session's token, at most 65,535 bytes that nobody can guess; needed where [`Config::resume`] is set,
    /// and unused elsewhere.
    pub resume_token: Option<&'a [u8]>,
    /// Authentication, for example.
    pub payload: Payload<'a>,
}

impl Default for SetupOptions<'_> {
    fn default() -> Self {
        Self {
            metadata_mime: "message/x.rsocket.composite-metadata.v0",
            data_mime: "application/vnd.google.protobuf",
            resume_token: None,
            payload: Payload { metadata: None, data: &[] },
        }
    }
}
