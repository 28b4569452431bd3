//! One connection, both roles: either side may be requester and responder at once.
//!
//! A [`Connection`] takes bytes and the current time in [`receive`](Connection::receive), and returns
//! [`Event`]s; what it has to send by itself (KEEPALIVE, ERROR, RESUME_OK) and what the driver
//! sends through it is appended to an `out` that the driver writes to its socket. Frames in `out`
//! have their length before them, as on TCP; over WebSocket [`crate::frame::split`] takes it off.
//! The driver calls [`advance`](Connection::advance) at [`deadline_ms`](Connection::deadline_ms).
//!
//! A request that is answered before the next `receive` never enters the table of streams. Nothing is
//! allocated for a message once the table is large enough for the streams that are open at a time.

mod config;
mod event;
mod fragment;
mod keepalive;
mod lease;
mod partial;
mod reassemble;
mod receive;
mod resume;
mod send;
mod setup;
mod streams;

use std::sync::Arc;

pub use config::{Assembly, Config, Decide, Lease, Reassembly, ResumeConfig, SetupOptions};
pub use event::{
    Closed, Event, Payload, Received, RequestError, ResumeRefused, Role, Scope, SendError, SetupPart, Tag,
    Violation,
};
pub use reassemble::ANSWER_TOO_LARGE;
pub use receive::Taken;
pub use resume::Suspended;
pub use send::Piece;

use crate::frame::{ErrorCode, Frame, StreamId, encode};
use lease::Leases;
use partial::Partials;
use resume::Session;
use streams::{Stream, Streams};

/// One connection. Without open streams it is one small block of memory.
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    /// The request that was handed out last, until the next call to `receive`.
    fresh: Stream,
    streams: Streams,
    side: Side,
    phase: Phase,
    /// Client: the server has shown that it accepted our SETUP.
    established: bool,
    /// Milliseconds of the driver's clock at its last call.
    now_ms: u64,
    /// When the last bytes came, or the connection began.
    heard_ms: u64,
    /// Bytes that have come of a frame that is not whole.
    begun_bytes: u32,
    /// Client: when the next KEEPALIVE is due. Server: until when a SETUP must have been accepted, then never.
    due_ms: u64,
    /// From SETUP.
    lifetime_ms: u32,
    /// The stream of our next request.
    next_id: u32,
    /// Streams in the table that the peer opened; the others are ours.
    peers_streams: u32,
    /// The greatest stream id that the peer has used.
    peers_highest: u32,
    /// Bit n: the peer has used the n-th id of its own below `peers_highest`, counted from itself.
    peers_used: u64,
    /// The peer has used its last id, and has begun again.
    peers_ids_again: bool,
    /// Where SETUP states that requests need leases.
    leases: Option<Box<Leases>>,
    /// Payloads that come in fragments and are not whole yet.
    partials: Option<Box<Partials>>,
    /// Where SETUP states that the session can be resumed.
    session: Option<Box<Session>>,
}

/// Which side of the connection we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Server: the first frame has not come.
    New,
    /// Server: the driver has to answer a SETUP or a RESUME.
    Deciding,
    /// Requests go both ways.
    Open,
    /// One side has sent CONNECTION_CLOSE: streams end, none begin.
    Closing,
    /// The transport is gone; the session waits.
    Suspended,
    /// Client: RESUME is sent, RESUME_OK has not come.
    Resuming,
    /// Nothing is sent or received.
    Closed,
}

// Ten thousand idle connections are 2 MB.
const _: () = assert!(size_of::<Connection>() <= 200);

impl Connection {
    /// The server's half of a connection that has just been accepted.
    pub fn server(config: Arc<Config>, now_ms: u64) -> Self {
        Self::new(config, Side::Server, Phase::New, now_ms)
    }

    /// The client's half of a connection that has just been made. Appends the SETUP; requests may follow at
    /// once, unless they need leases.
    pub fn client(config: Arc<Config>, setup: &SetupOptions<'_>, now_ms: u64, out: &mut Vec<u8>) -> Self {
        let mut connection = Self::new(config, Side::Client, Phase::Open, now_ms);
        connection.write_setup(setup, out);
        connection
    }

    fn new(config: Arc<Config>, side: Side, phase: Phase, now_ms: u64) -> Self {
        Self {
            lifetime_ms: config.lifetime_ms,
            due_ms: now_ms.saturating_add(u64::from(config.setup_ms)),
            config,
            fresh: Stream::NONE,
            streams: Streams::new(),
            side,
            phase,
            established: side == Side::Server,
            now_ms,
            heard_ms: now_ms,
            begun_bytes: 0,
            next_id: match side {
                Side::Client => 1,
                Side::Server => 2,
            },
            peers_streams: 0,
            peers_highest: 0,
            peers_used: 0,
            peers_ids_again: false,
            leases: None,
            partials: None,
            session: None,
        }
    }

    /// Whether nothing is sent or received any more.
    pub const fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Whether requests may be sent; [`request`](Self::request) returns what else prevents one.
    pub const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// The driver's name for a stream, `None` where there is no such stream.
    #[inline]
    pub fn tag(&self, stream: StreamId) -> Option<Tag> {
        self.stream(stream).map(|stream| stream.tag)
    }

    /// Gives a stream the driver's name. It is [`Tag`] 0 until then, for a peer's request. A stream that is
    /// gone has no name.
    #[inline]
    pub fn set_tag(&mut self, stream: StreamId, tag: Tag) {
        if let Some(stream) = self.stream_mut(stream) {
            stream.tag = tag;
        }
    }

    /// How many payloads the peer lets us send on a stream now. 2^31-1 is without an end.
    #[inline]
    pub fn credit(&self, stream: StreamId) -> u32 {
        self.stream(stream).map_or(0, |stream| stream.credit)
    }

    /// How many streams are open, the peer's and ours.
    pub fn streams_open(&self) -> usize {
        self.streams.len() as usize + usize::from(self.fresh.is_some())
    }

    /// Reads the state of these streams into the processor's caches. A driver that is about to send on
    /// many streams waits for memory once instead of once for each.
    #[inline]
    pub fn prefetch(&self, streams: impl Iterator<Item = StreamId>) {
        self.streams.prefetch(streams);
    }

    /// All streams that the driver knows of, in no order. When the transport is gone for good these are the
    /// calls that have failed.
    pub fn streams(&self) -> impl Iterator<Item = (StreamId, Tag, Role)> {
        let fresh = self.fresh.is_some().then_some(&self.fresh);
        self.streams
            .iter()
            .chain(fresh)
            .filter(|stream| !stream.state.has(streams::State::UNDELIVERED))
            .map(|stream| (stream.id, stream.tag, stream.role()))
    }

    /// Bytes that are held of payloads whose last fragment has not come.
    #[inline]
    pub fn partial_bytes(&self) -> usize {
        self.partials.as_ref().map_or(0, |partials| partials.bytes())
    }

    /// Bytes of memory that the connection holds, itself included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.streams.memory_bytes()
            + self.leases.as_ref().map_or(0, |_| size_of::<Leases>())
            + self.partials.as_ref().map_or(0, |partials| size_of::<Partials>() + partials.bytes())
            + self.session.as_ref().map_or(0, |session| session.memory_bytes())
    }

    /// Ends the connection with an ERROR on stream 0.
    ///
    /// With CONNECTION_CLOSE the streams that are open may end first and new requests are refused both ways;
    /// the driver closes the transport when [`streams_open`](Self::streams_open) is 0. With any other code
    /// nothing is sent or received after it.
    pub fn close(&mut self, code: ErrorCode, text: &str, out: &mut Vec<u8>) {
        match self.phase {
            Phase::Closed => return,
            Phase::Suspended => {}
            _ => encode(&Frame::Error { stream: StreamId::CONNECTION, code, data: text.as_bytes() }, out),
        }
        self.phase =
            if code == ErrorCode::CONNECTION_CLOSE && matches!(self.phase, Phase::Open | Phase::Closing) {
                Phase::Closing
            } else {
                Phase::Closed
            };
    }

    /// Reports to the peer what broke the protocol, and ends the connection.
    #[cold]
    fn violate(&mut self, violation: Violation, out: &mut Vec<u8>) -> Event<'static> {
        self.close(violation.code(), &violation.to_string(), out);
        self.phase = Phase::Closed;
        Event::Closed(Closed::Violation(violation))
    }

    #[inline]
    fn stream(&self, id: StreamId) -> Option<&Stream> {
        if self.fresh.id == id && self.fresh.is_some() { Some(&self.fresh) } else { self.streams.stream(id) }
    }

    #[inline]
    fn stream_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        find_mut(&mut self.fresh, &mut self.streams, id)
    }

    /// Forgets a stream.
    #[inline]
    fn end(&mut self, id: StreamId) {
        if self.fresh.id == id && self.fresh.is_some() {
            self.fresh = Stream::NONE;
            return;
        }
        let Some(stream) = self.streams.remove(id) else { return };
        if stream.role() == Role::Responder {
            self.peers_streams -= 1;
        }
        if stream.state.has(streams::State::REASSEMBLING)
            && let Some(partials) = &mut self.partials
        {
            partials.forget(id);
        }
    }
}

/// The stream called `id`, which is the one handed out last or in the table.
#[inline]
fn find_mut<'a>(fresh: &'a mut Stream, streams: &'a mut Streams, id: StreamId) -> Option<&'a mut Stream> {
    if fresh.id == id && fresh.is_some() { Some(fresh) } else { streams.stream_mut(id) }
}
