//! The frames of RSocket 1.0 as types that borrow from the bytes they were read from; nothing is allocated.
//!
//! [`split`] finds a frame in a TCP stream (a WebSocket message is a frame already), [`decode()`] reads it,
//! [`encode()`] writes it. What comes out obeys the layout of its frame; rules that need the connection (a
//! stream in use, credit, a lease) belong to [`crate::connection`].
//!
//! ```text
//! |0|  stream id (31)  |  type (6)  |I|M|  flags (8)  |  depends on the type ...
//! ```

mod decode;
mod encode;
mod error;

pub use decode::{decode, split};
pub use encode::encode;
pub(crate) use encode::{Head, seal};
pub use error::{Error, ErrorCode, Ignorable};

/// The longest frame that a 24-bit length can hold, in bytes.
pub const FRAME_BYTES_MAX: usize = 0xFF_FFFF;

/// Bytes of a frame's header: stream id, then type and flags.
pub const HEADER_BYTES: usize = 6;

/// Bytes of the length that stands before each frame on TCP.
pub const PREFIX_BYTES: usize = 3;

/// The greatest number of payloads that one REQUEST_N can ask for, and the greatest sum of credit.
pub const REQUEST_N_MAX: u32 = 0x7FFF_FFFF;

/// One stream of a connection; 0 is the connection itself. Clients count 1, 3, 5…, servers 2, 4, 6….
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The connection itself.
    pub const CONNECTION: Self = Self(0);
    /// The greatest stream id.
    pub const MAX: Self = Self(0x7FFF_FFFF);
}

/// A frame's type, the upper six bits of its fifth and sixth byte.
pub mod kind {
    /// SETUP, sent by the client to begin.
    pub const SETUP: u8 = 0x01;
    /// LEASE, sent by a responder to grant requests.
    pub const LEASE: u8 = 0x02;
    /// KEEPALIVE.
    pub const KEEPALIVE: u8 = 0x03;
    /// REQUEST_RESPONSE.
    pub const REQUEST_RESPONSE: u8 = 0x04;
    /// REQUEST_FNF, fire and forget.
    pub const REQUEST_FNF: u8 = 0x05;
    /// REQUEST_STREAM.
    pub const REQUEST_STREAM: u8 = 0x06;
    /// REQUEST_CHANNEL.
    pub const REQUEST_CHANNEL: u8 = 0x07;
    /// REQUEST_N, more credit.
    pub const REQUEST_N: u8 = 0x08;
    /// CANCEL.
    pub const CANCEL: u8 = 0x09;
    /// PAYLOAD.
    pub const PAYLOAD: u8 = 0x0A;
    /// ERROR, of a stream or of the connection.
    pub const ERROR: u8 = 0x0B;
    /// METADATA_PUSH.
    pub const METADATA_PUSH: u8 = 0x0C;
    /// RESUME, in place of SETUP.
    pub const RESUME: u8 = 0x0D;
    /// RESUME_OK.
    pub const RESUME_OK: u8 = 0x0E;
    /// EXT, everything that is not of RSocket 1.0.
    pub const EXT: u8 = 0x3F;
}

/// The flags, the lower ten bits of a frame's fifth and sixth byte.
pub mod flag {
    /// Ignore the frame if it is not understood.
    pub const IGNORE: u16 = 0x200;
    /// The frame has metadata.
    pub const METADATA: u16 = 0x100;
    /// REQUEST_* and PAYLOAD: more fragments follow.
    pub const FOLLOWS: u16 = 0x80;
    /// SETUP: the client asks for resumption, and its token stands in the frame.
    pub const RESUME: u16 = 0x80;
    /// KEEPALIVE: the receiver has to answer.
    pub const RESPOND: u16 = 0x80;
    /// REQUEST_CHANNEL and PAYLOAD: the sender's direction of the stream is complete.
    pub const COMPLETE: u16 = 0x40;
    /// SETUP: the client honours leases and wants one.
    pub const LEASE: u16 = 0x40;
    /// PAYLOAD: there is a value (not only the completion).
    pub const NEXT: u16 = 0x20;
}

/// Metadata and data of a frame. Metadata that is absent and metadata of no bytes are different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Payload<'a> {
    /// As the metadata MIME type of SETUP states; composite metadata here, see [`crate::metadata`].
    pub metadata: Option<&'a [u8]>,
    /// As the data MIME type of SETUP states.
    pub data: &'a [u8],
}

impl Payload<'_> {
    /// Bytes of metadata and data together.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.metadata.map_or(0, <[u8]>::len) + self.data.len()
    }
}

/// How a requester and a responder talk on one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interaction {
    /// One request, one answer.
    RequestResponse,
    /// One request, no answer and no stream.
    FireAndForget,
    /// One request, any number of payloads as the requester grants credit.
    RequestStream,
    /// Payloads both ways, each side granting credit to the other.
    RequestChannel,
}

/// Whether the sender's direction of a stream ends with this frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completes {
    /// More payloads may come.
    No,
    /// This was the last.
    Yes,
}

impl Completes {
    /// As the type states.
    #[inline]
    pub const fn is_yes(self) -> bool {
        matches!(self, Self::Yes)
    }

    #[inline]
    pub(crate) const fn of(flags: u16) -> Self {
        if flags & flag::COMPLETE != 0 { Self::Yes } else { Self::No }
    }
}

/// Whether fragments of the same payload follow in later frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum More {
    /// The payload ends here.
    Whole,
    /// Fragments follow.
    Follows,
}

impl More {
    #[inline]
    pub(crate) const fn of(flags: u16) -> Self {
        if flags & flag::FOLLOWS != 0 { Self::Follows } else { Self::Whole }
    }
}

/// Whether a PAYLOAD carries a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// A value, which may be of no bytes.
    Value,
    /// No value: the frame only completes the stream.
    Nothing,
}

/// Whether a KEEPALIVE wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Respond {
    /// The receiver sends the data back.
    Yes,
    /// This is the answer.
    No,
}

/// Whether a client honours leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WantsLease {
    /// Neither side waits for a LEASE.
    No,
    /// Both sides send no request without one.
    Yes,
}

/// A protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// The first half.
    pub major: u16,
    /// The second half.
    pub minor: u16,
}

impl Version {
    /// The version that this crate speaks.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
}

/// SETUP: the client's first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup<'a> {
    /// Protocol version.
    pub version: Version,
    /// Milliseconds between two KEEPALIVE frames of the client; more than 0.
    pub keepalive_interval_ms: u32,
    /// Milliseconds without a sign of life after which a side holds the other for dead; more than 0.
    pub lifetime_ms: u32,
    /// Whether the client honours leases.
    pub lease: WantsLease,
    /// The token under which the client would like to resume, at most 65,535 bytes.
    pub resume_token: Option<&'a [u8]>,
    /// MIME type of all metadata, at most 255 bytes.
    pub metadata_mime: &'a [u8],
    /// MIME type of all data, at most 255 bytes.
    pub data_mime: &'a [u8],
    /// Data of the client about itself: authentication, for example.
    pub payload: Payload<'a>,
}

/// RESUME: the client's first frame on a new transport connection of an old session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume<'a> {
    /// Protocol version. rsocket-js sends the halves the wrong way round.
    pub version: Version,
    /// The token of the SETUP.
    pub token: &'a [u8],
    /// What the client has received of the server's resumable frames, in bytes.
    pub last_received_server_position: u64,
    /// The first of the client's resumable bytes that it could send again.
    pub first_available_client_position: u64,
}

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The client begins.
    Setup(Setup<'a>),
    /// A responder grants requests.
    Lease {
        /// Milliseconds that the grant lasts from its arrival.
        ttl_ms: u32,
        /// Requests that may be sent.
        requests: u32,
        /// Anything else, without a length of its own.
        metadata: Option<&'a [u8]>,
    },
    /// A sign of life.
    KeepAlive {
        /// Whether it wants an answer.
        respond: Respond,
        /// What the sender has received of the other's resumable frames, in bytes; 0 without resumption.
        last_received_position: u64,
        /// To be sent back as it is.
        data: &'a [u8],
    },
    /// Request with one answer.
    RequestResponse {
        /// The new stream.
        stream: StreamId,
        /// Whether fragments follow.
        more: More,
        /// The request, or its first fragment.
        payload: Payload<'a>,
    },
    /// Request without an answer.
    RequestFireAndForget {
        /// The new stream.
        stream: StreamId,
        /// Whether fragments follow.
        more: More,
        /// The request, or its first fragment.
        payload: Payload<'a>,
    },
    /// Request with a stream of answers.
    RequestStream {
        /// The new stream.
        stream: StreamId,
        /// Whether fragments follow.
        more: More,
        /// Payloads that the responder may send at first.
        initial: u32,
        /// The request, or its first fragment.
        payload: Payload<'a>,
    },
    /// Request with streams both ways.
    RequestChannel {
        /// The new stream.
        stream: StreamId,
        /// Whether fragments follow.
        more: More,
        /// Whether this is all that the requester sends.
        completes: Completes,
        /// Payloads that the responder may send at first.
        initial: u32,
        /// The requester's first payload, or its first fragment.
        payload: Payload<'a>,
    },
    /// More credit.
    RequestN {
        /// The stream.
        stream: StreamId,
        /// Payloads that the receiver may send on top.
        n: u32,
    },
    /// The sender wants no more.
    Cancel {
        /// The stream.
        stream: StreamId,
    },
    /// A value, a completion, a fragment.
    Payload {
        /// The stream.
        stream: StreamId,
        /// Whether fragments follow.
        more: More,
        /// Whether the sender's direction is complete.
        completes: Completes,
        /// Whether there is a value.
        next: Next,
        /// The value, or a fragment of it.
        payload: Payload<'a>,
    },
    /// Failure of a stream, or of the connection (stream 0).
    Error {
        /// The stream, or 0.
        stream: StreamId,
        /// What kind of failure.
        code: ErrorCode,
        /// UTF-8 by convention, not by rule.
        data: &'a [u8],
    },
    /// Metadata of the connection.
    MetadataPush {
        /// It has no length of its own: it ends with the frame.
        metadata: &'a [u8],
    },
    /// The client takes up an old session.
    Resume(Resume<'a>),
    /// The server has taken it up.
    ResumeOk {
        /// What the server has received of the client's resumable frames, in bytes.
        last_received_client_position: u64,
    },
    /// What RSocket 1.0 does not define.
    Extension {
        /// The stream, or 0.
        stream: StreamId,
        /// All ten flags; [`flag::IGNORE`] states whether it may be ignored.
        flags: u16,
        /// What extension it is.
        extended_type: u32,
        /// The rest, metadata included.
        body: &'a [u8],
    },
}
