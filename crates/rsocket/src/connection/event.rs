//! The events of a connection for its driver, and what it answers to the driver's calls.
//!
//! Events borrow from the bytes that were received, so a driver deals with one before it takes the next. An
//! error of a call means that nothing was written.

use std::borrow::Cow;
use std::fmt;

use crate::frame::{self, Completes, ErrorCode, Interaction, More, Next, Resume, Setup, StreamId};

/// The driver's own name for a stream. It comes back in every event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tag(pub u32);

/// Which side of a stream we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// We sent the request.
    Requester,
    /// The peer did.
    Responder,
}

/// What [`Connection::receive`](super::Connection::receive) took.
#[derive(Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Bytes that are done with. 0 without an event: a whole frame needs more bytes, or a SETUP needs an answer.
    pub used: usize,
    /// What happened, if the driver has to know.
    pub event: Option<Event<'a>>,
}

/// Metadata and data. Borrowed from the bytes received, owned where they came in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Composite metadata, usually.
    pub metadata: Option<Cow<'a, [u8]>>,
    /// The message.
    pub data: Cow<'a, [u8]>,
}

impl Payload<'_> {
    /// The metadata, absent and empty alike.
    #[inline]
    pub fn metadata(&self) -> &[u8] {
        self.metadata.as_deref().unwrap_or_default()
    }
}

impl<'a> From<frame::Payload<'a>> for Payload<'a> {
    #[inline]
    fn from(payload: frame::Payload<'a>) -> Self {
        Self { metadata: payload.metadata.map(Cow::Borrowed), data: Cow::Borrowed(payload.data) }
    }
}

/// What happened.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Server: a client begins. Answer with [`accept`](super::Connection::accept) or
    /// [`refuse`](super::Connection::refuse); nothing else is received until then.
    Setup(Setup<'a>),
    /// Server: a client takes up an old session. Find the suspended connection by the token and call its
    /// [`resume_server`](super::Connection::resume_server), which takes this one's place, or
    /// [`refuse`](super::Connection::refuse) with REJECTED_RESUME.
    Resume(Resume<'a>),
    /// Client: the session goes on. What the server missed is in `out`.
    Resumed,
    /// The peer asks. Everything but [`Interaction::FireAndForget`] wants an answer.
    Request {
        /// The new stream.
        stream: StreamId,
        /// What kind of request.
        interaction: Interaction,
        /// Payloads that we may send at first; 1 for a request-response.
        initial: u32,
        /// Whether this is all that the requester sends; [`Completes::No`] only on a channel.
        completes: Completes,
        /// The request.
        payload: Payload<'a>,
        /// Whether the rest comes as [`Event::Piece`]; never without [`Reassembly::Pieces`](super::Reassembly).
        more: More,
    },
    /// A value, or the completion, or both.
    Payload {
        /// The stream; it is gone if both sides are complete.
        stream: StreamId,
        /// The driver's name for it.
        tag: Tag,
        /// Whether there is a value; the payload is empty without.
        next: Next,
        /// Whether it was the last.
        completes: Completes,
        /// The value.
        payload: Payload<'a>,
        /// Whether the rest comes as [`Event::Piece`]; only on streams with
        /// [`pieces`](super::Connection::pieces).
        more: More,
    },
    /// The next fragment of a payload that is handed out in pieces.
    Piece {
        /// The stream; it is gone if both sides are complete.
        stream: StreamId,
        /// The driver's name for it.
        tag: Tag,
        /// More of the metadata, which comes completely before the data.
        metadata: Option<&'a [u8]>,
        /// More of the data.
        data: &'a [u8],
        /// Whether other pieces of the same payload follow.
        more: More,
        /// Whether the payload was the peer's last one.
        completes: Completes,
    },
    /// The peer grants credit on a stream where we send.
    Credit {
        /// The stream.
        stream: StreamId,
        /// The driver's name for it.
        tag: Tag,
        /// How much more.
        n: u32,
    },
    /// The peer wants no more.
    Cancelled {
        /// The stream.
        stream: StreamId,
        /// The driver's name for it.
        tag: Tag,
        /// What of it ends.
        scope: Scope,
    },
    /// The stream failed and is gone.
    Failed {
        /// The stream.
        stream: StreamId,
        /// The driver's name for it.
        tag: Tag,
        /// What kind of failure.
        code: ErrorCode,
        /// The peer's words; UTF-8 by convention.
        text: &'a [u8],
    },
    /// Metadata of the connection.
    MetadataPush(&'a [u8]),
    /// The peer lets us send requests. It replaces what was left of an earlier lease.
    Lease {
        /// Milliseconds from now.
        ttl_ms: u32,
        /// How many.
        requests: u32,
    },
    /// The peer takes no more requests, and closes when the streams have ended (CONNECTION_CLOSE).
    Closing {
        /// The peer's words.
        text: &'a [u8],
    },
    /// The connection has ended: send what is in `out` and close the transport.
    Closed(Closed<'a>),
}

/// What of a stream ends with a CANCEL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All of it: it is gone.
    Stream,
    /// What we send on a channel. What the peer sends goes on.
    Sending,
}

/// Why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed<'a> {
    /// The peer reports it.
    Peer {
        /// Why.
        code: ErrorCode,
        /// In its words.
        text: &'a [u8],
    },
    /// The peer broke the protocol; the ERROR that reports it to the peer is in `out`.
    Violation(Violation),
    /// No sign of life for the lifetime that SETUP states. With resumption the session is
    /// suspended: close the transport and wait for, or try, a new one.
    KeepAliveTimeout {
        /// That lifetime.
        lifetime_ms: u32,
    },
    /// No SETUP came, or none was accepted in time.
    SetupTimeout,
    /// A suspended session was not resumed in time. There is no transport to close.
    SessionExpired,
}

/// How a peer broke the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// Bytes that are no frame.
    Frame(frame::Error),
    /// A first frame that is neither SETUP nor RESUME on stream 0.
    FirstFrame,
    /// A first frame, or its length, that is more than a SETUP may have.
    SetupTooLarge {
        /// The value of its length, in bytes.
        bytes: u32,
        /// What is taken, in bytes.
        bytes_max: u32,
    },
    /// A SETUP that is not on stream 0.
    SetupOnStream(StreamId),
    /// A SETUP that cannot be read, and where.
    Setup(SetupPart),
    /// A version that is not 1.0.
    Version(frame::Version),
    /// A SETUP that asks for leases, where there are none.
    LeaseUnsupported,
    /// A SETUP that asks for resumption, where there is none.
    ResumeUnsupported,
    /// A RESUME where there is no resumption.
    NoSessions,
    /// A RESUME on a connection that has been set up.
    LateResume,
    /// A request on a stream id that is not the peer's to use.
    StreamParity(StreamId),
    /// A request on a stream id that has been used.
    StreamReused(StreamId),
    /// More payloads on a stream than were asked for.
    Overrun(StreamId),
    /// An extension that we do not know and that may not be ignored.
    Extension(u32),
    /// A position in a RESUME_OK that is not ours, or is no longer stored.
    ResumePosition(u64),
}

/// The part of a SETUP that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupPart {
    /// It ends in its version.
    Version,
    /// It ends in its times, or one of them has more than 31 bits.
    Times,
    /// The keep-alive interval is 0.
    KeepAlive,
    /// The lifetime is 0.
    Lifetime,
    /// The resume token goes beyond the frame.
    ResumeToken,
    /// The metadata MIME type goes beyond the frame.
    MetadataMime,
    /// The data MIME type goes beyond the frame.
    DataMime,
    /// The metadata goes beyond the frame; authentication stands in it.
    Metadata,
}

impl fmt::Display for SetupPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "the frame ends in its version",
            Self::Times => "keep-alive interval and lifetime are not two numbers of 31 bits",
            Self::KeepAlive => "the keep-alive interval must be more than 0",
            Self::Lifetime => "the lifetime must be more than 0",
            Self::ResumeToken => "the frame ends in the resume token that its flag promises",
            Self::MetadataMime => "the frame ends in the metadata MIME type",
            Self::DataMime => "the frame ends in the data MIME type",
            Self::Metadata => "the metadata, such as authentication, is longer than the frame",
        })
    }
}

impl Violation {
    /// The code of the ERROR frame that notifies the peer.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::FirstFrame
            | Self::SetupTooLarge { .. }
            | Self::SetupOnStream(_)
            | Self::Setup(_)
            | Self::Version(_) => ErrorCode::INVALID_SETUP,
            Self::LeaseUnsupported => ErrorCode::UNSUPPORTED_SETUP,
            Self::ResumeUnsupported => ErrorCode::REJECTED_SETUP,
            Self::NoSessions => ErrorCode::REJECTED_RESUME,
            _ => ErrorCode::CONNECTION_ERROR,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(error) => fmt::Display::fmt(error, f),
            Self::FirstFrame => f.write_str("the first frame must be SETUP or RESUME on stream 0"),
            Self::SetupTooLarge { bytes, bytes_max } => {
                write!(f, "the first frame has {bytes} bytes, a SETUP may have {bytes_max}")
            }
            Self::SetupOnStream(stream) => write!(f, "SETUP is on stream {}, and belongs on 0", stream.0),
            Self::Setup(part) => write!(f, "SETUP: {part}"),
            Self::Version(version) => {
                write!(f, "version {}.{} is not supported, 1.0 is", version.major, version.minor)
            }
            Self::LeaseUnsupported => {
                f.write_str("lease is not supported: connect without asking for leases")
            }
            Self::ResumeUnsupported => f.write_str("resume is not supported: connect without a resume token"),
            Self::NoSessions => f.write_str("there is no such session"),
            Self::LateResume => f.write_str("RESUME must be the first frame"),
            Self::StreamParity(stream) => write!(f, "stream {} is not the sender's to open", stream.0),
            Self::StreamReused(stream) => write!(f, "stream {} has been used", stream.0),
            Self::Overrun(stream) => write!(f, "stream {} got more payloads than it asked for", stream.0),
            Self::Extension(kind) => write!(f, "extension {kind} is not known"),
            Self::ResumePosition(position) => write!(f, "position {position} is not available"),
        }
    }
}

impl std::error::Error for Violation {}

/// Why a request was not sent. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// There is no lease, or it is used up or over.
    NoLease {
        /// Milliseconds after which the lease is over and a new one may have come; 0 if there is none.
        retry_after_ms: u32,
    },
    /// As many streams are open as [`Config::streams_max`](super::Config) allows.
    StreamsMax,
    /// All stream ids have been used: a new connection has to take over (Stream Identifiers, Lifetime).
    IdsExhausted,
    /// Metadata and data do not fit what the configuration allows.
    TooLarge,
    /// The connection takes no requests: it is not set up yet, is closing, or has ended.
    Closed,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLease { retry_after_ms } => write!(f, "no lease for {retry_after_ms} ms"),
            Self::StreamsMax => f.write_str("too many open streams"),
            Self::IdsExhausted => f.write_str("all stream ids have been used"),
            Self::TooLarge => f.write_str("payload is too large"),
            Self::Closed => f.write_str("connection takes no requests"),
        }
    }
}

impl std::error::Error for RequestError {}

/// Why a frame was not sent on a stream. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// The peer has to grant credit first.
    NoCredit,
    /// There is no such stream (any more), or our side of it is complete, or its interaction has no such frame.
    UnknownStream,
    /// Metadata and data do not fit what the configuration allows.
    TooLarge,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCredit => "no credit",
            Self::UnknownStream => "no such stream, or not this frame on it",
            Self::TooLarge => "payload is too large",
        })
    }
}

impl std::error::Error for SendError {}

/// Why a session cannot be resumed. The ERROR that notifies the client is in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeRefused {
    /// The client needs frames that are no longer stored here.
    Lost {
        /// What the client has received, in bytes.
        received: u64,
        /// The first byte that is stored here.
        available: u64,
    },
    /// The client no longer has frames that are missing here.
    PeerLost {
        /// What has been received here, in bytes.
        received: u64,
        /// The first byte that the client has.
        available: u64,
    },
    /// The session has ended, or has no resumption.
    Ended,
}

impl fmt::Display for ResumeRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { received, available } => {
                write!(f, "position {received} is not available, frames are kept from {available}")
            }
            Self::PeerLost { received, available } => {
                write!(f, "position {received} is needed, the client has frames from {available}")
            }
            Self::Ended => f.write_str("there is no such session"),
        }
    }
}

impl std::error::Error for ResumeRefused {}
