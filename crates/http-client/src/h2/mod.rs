//! HTTP/2 from the client's side, RFC 9113: one connection, many streams.
//!
//! It begins alike with prior knowledge and after ALPN `h2`. Everything that the server sends is
//! reported as it comes and held nowhere; windows are opened again in large steps. Of a request's
//! body, what the server's windows do not admit yet is kept and follows when they open. Server push
//! is refused, priorities are ignored, tunnels (CONNECT) are not offered.

mod answer;
mod frame;
mod receive;
mod send;
mod settings;

use std::collections::VecDeque;
use std::fmt;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::hpack::{Decoder, Encoder, Fields};
use crate::{Event, HEAD_BYTES_MAX, Malformed, Unsendable};

pub use frame::code_name;
pub use settings::H2Settings;

use settings::Peer;

/// Names a stream of one connection; never used again on it. RFC 9113, 5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The connection itself.
    pub const CONNECTION: StreamId = StreamId(0);
}

/// Why a request was not sent; nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSent {
    /// It has bytes that do not belong in a request.
    Unsendable(Unsendable),
    /// The server takes no more streams at a time; one must end first.
    Full,
    /// The server goes away, or all ids are used: a new connection is needed.
    Closing,
    /// CONNECT is not offered over HTTP/2.
    Connect,
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSent::Unsendable(reason) => reason.fmt(f),
            NotSent::Full => f.write_str("the server takes no more streams at a time"),
            NotSent::Closing => f.write_str("the connection takes no new streams"),
            NotSent::Connect => f.write_str("CONNECT is not offered over HTTP/2"),
        }
    }
}

impl std::error::Error for NotSent {}

/// One connection, after its TCP or TLS handshake.
#[derive(Debug)]
pub struct H2 {
    settings: H2Settings,
    peer: Peer,
    encoder: Encoder,
    decoder: Decoder,
    /// The fields of the last block.
    fields: Fields,
    /// A header block whose CONTINUATION is awaited, and what it is.
    block: Vec<u8>,
    block_open: Option<BlockOpen>,
    /// Streams whose answers are not whole.
    streams: HashMap<u32, Stream, FixedState>,
    /// The id of the next stream.
    next: u32,
    /// Bytes of bodies that the server takes on all streams together.
    send_window: i64,
    /// Bytes of bodies that the server may still send on all streams together.
    receive_window: u32,
    /// Streams with unsent bytes, in the order in which they get their turns.
    waiting: VecDeque<u32>,
    /// Memory of bodies that were sent, for those to come.
    spare: Vec<Vec<u8>>,
    going_away: bool,
}

#[derive(Debug, Clone, Copy)]
struct BlockOpen {
    stream: u32,
    ends_stream: bool,
}

/// A request whose answer is not whole.
#[derive(Debug)]
struct Stream {
    /// What the answer's next block is.
    phase: Phase,
    /// Whether the request was HEAD.
    head: bool,
    send_window: i64,
    receive_window: u32,
    /// Bytes of the body that must still come, if its length is known.
    missing: Option<u64>,
    /// The request's body, if it did not fit the windows, and how much of it was sent.
    body: Vec<u8>,
    sent: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Body,
}

impl H2 {
    /// Begins a connection: appends the preface and our settings. Requests may follow in the same write.
    pub fn new(settings: H2Settings, out: &mut Vec<u8>) -> H2 {
        let settings = settings.bounded();
        settings.write_preface(out);
        H2 {
            settings,
            peer: Peer::new(),
            encoder: Encoder::new(),
            decoder: Decoder::new(HEAD_BYTES_MAX),
            fields: Fields::default(),
            block: Vec::new(),
            block_open: None,
            streams: HashMap::default(),
            next: 1,
            send_window: i64::from(frame::WINDOW_INITIAL),
            receive_window: settings.connection_window,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            going_away: false,
        }
    }

    /// Whether [`request`](H2::request) would find room for another stream.
    pub fn can_open(&self) -> bool {
        self.is_reusable() && self.streams.len() < self.peer.streams_max as usize
    }

    /// Whether the connection takes requests, now or when a stream has ended.
    pub fn is_reusable(&self) -> bool {
        !self.going_away && self.next <= 0x7fff_ffff
    }

    /// How many answers are awaited or under way.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether the server has answered the preface.
    pub fn is_greeted(&self) -> bool {
        self.peer.greeted
    }

    /// Gives up a stream: appends RST_STREAM with CANCEL. Nothing more is reported of it; unknown
    /// ones are ignored.
    pub fn reset(&mut self, stream: StreamId, out: &mut Vec<u8>) {
        if self.remove(stream.0) {
            frame::write_reset(out, stream.0, frame::code::CANCEL);
        }
    }

    /// Closes in an orderly way: appends GOAWAY with NO_ERROR. Answers under way may still be read.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.going_away = true;
        frame::write_goaway(out, frame::code::NO_ERROR);
    }

    /// The server closed: reports of each open stream, in the order of their ids, that its answer
    /// will not be whole.
    pub fn ended(&mut self, sink: &mut impl FnMut(StreamId, Event<'_>)) {
        self.going_away = true;
        let mut open: Vec<u32> = self.streams.keys().copied().collect();
        open.sort_unstable();
        for id in open {
            let begun = self.streams.get(&id).is_some_and(|stream| stream.phase == Phase::Body);
            self.remove(id);
            let reason = if begun { Malformed::Truncated } else { Malformed::NoAnswer };
            sink(StreamId(id), Event::Malformed(reason));
        }
    }

    /// Forgets a stream; false if it was not open.
    fn remove(&mut self, id: u32) -> bool {
        let Some(stream) = self.streams.remove(&id) else { return false };
        if stream.is_sending() {
            self.waiting.retain(|&waiting| waiting != id);
        }
        self.keep_memory(stream.body);
        true
    }
}

impl Stream {
    /// Whether a part of the request's body is unsent.
    fn is_sending(&self) -> bool {
        self.sent < self.body.len()
    }
}
