//! What the peer sends.
//!
//! A frame that makes no sense where it comes is ignored (Handling the Unexpected), unless ignoring it would
//! let a peer spend our memory or confuse two streams; then the connection ends.

use std::fmt;

use crate::frame::{
    self, Completes, Error, ErrorCode, Frame, Ignorable, Interaction, More, Next, StreamId, decode, flag,
};

use super::streams::{State, Stream};
use super::{Closed, Connection, Event, Phase, Received, Role, Scope, Side, Tag, Violation, find_mut};

/// A request that has come, or its first fragment.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub stream: StreamId,
    pub interaction: Interaction,
    pub initial: u32,
    pub completes: Completes,
    pub more: More,
    pub payload: frame::Payload<'a>,
}

/// A PAYLOAD that has come.
#[derive(Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub stream: StreamId,
    pub more: More,
    pub completes: Completes,
    pub next: Next,
    pub payload: frame::Payload<'a>,
}

impl Connection {
    /// Takes the next frame out of `bytes`, which stand as they came on TCP.
    ///
    /// Call it again with what follows [`used`](Received::used) bytes until nothing is used and nothing
    /// happened: then more bytes are needed, or a SETUP has to be answered. After [`Event::Closed`]
    /// everything is used. What has to be sent at once is appended to `out`, which is left alone by most
    /// frames.
    #[inline]
    pub fn receive<'a>(&mut self, now_ms: u64, bytes: &'a [u8], out: &mut Vec<u8>) -> Received<'a> {
        self.keep_fresh(out);
        let limit = match self.phase {
            Phase::Open | Phase::Closing | Phase::Resuming => self.config.frame_bytes_max,
            Phase::New => self.config.setup_bytes_max.min(self.config.frame_bytes_max),
            Phase::Deciding => return Received { used: 0, event: None },
            Phase::Suspended | Phase::Closed => return Received { used: bytes.len(), event: None },
        };
        self.now_ms = now_ms;
        match frame::split(bytes, limit) {
            Ok(Some((frame, used))) => {
                self.heard_ms = now_ms;
                self.begun_bytes = 0;
                self.take(frame, used, out)
            }
            Ok(None) => {
                // The beginning of a frame may be shown again without a byte more: that is no sign of life.
                let begun_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                if begun_bytes > self.begun_bytes {
                    self.heard_ms = now_ms;
                }
                self.begun_bytes = begun_bytes;
                Received { used: 0, event: None }
            }
            Err(error) => {
                let violation = match (self.phase, error) {
                    (Phase::New, Error::TooLarge { bytes }) => self.setup_too_large(bytes),
                    (Phase::New, _) => Violation::FirstFrame,
                    _ => Violation::Frame(error),
                };
                Received { used: bytes.len(), event: Some(self.violate(violation, out)) }
            }
        }
    }

    /// Takes one frame without a length before it, as a WebSocket message brings it. While a SETUP waits for
    /// its answer the frame is not taken, and `None` comes back with [`Taken::No`].
    pub fn receive_frame<'a>(
        &mut self,
        now_ms: u64,
        frame: &'a [u8],
        out: &mut Vec<u8>,
    ) -> (Taken, Option<Event<'a>>) {
        self.keep_fresh(out);
        let limit = match self.phase {
            Phase::Open | Phase::Closing | Phase::Resuming => self.config.frame_bytes_max,
            Phase::New => self.config.setup_bytes_max.min(self.config.frame_bytes_max),
            Phase::Deciding => return (Taken::No, None),
            Phase::Suspended | Phase::Closed => return (Taken::Yes, None),
        };
        self.now_ms = now_ms;
        self.heard_ms = now_ms;
        if frame.len() > limit {
            let bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            let violation = match self.phase {
                Phase::New => self.setup_too_large(bytes),
                _ => Violation::Frame(Error::TooLarge { bytes }),
            };
            return (Taken::Yes, Some(self.violate(violation, out)));
        }
        (Taken::Yes, self.take(frame, frame.len(), out).event)
    }

    #[cold]
    fn setup_too_large(&self, bytes: u32) -> Violation {
        let bytes_max = self.config.setup_bytes_max.min(self.config.frame_bytes_max);
        Violation::SetupTooLarge { bytes, bytes_max: u32::try_from(bytes_max).unwrap_or(u32::MAX) }
    }

    /// The request handed out last was not answered at once: its stream stays.
    ///
    /// Where the table has no place for its id, which no honest peer brings about, the peer is
    /// notified and the driver finds the stream unknown.
    #[inline]
    pub(super) fn keep_fresh(&mut self, out: &mut Vec<u8>) {
        if self.fresh.is_some() {
            let fresh = std::mem::replace(&mut self.fresh, Stream::NONE);
            match self.streams.insert(fresh) {
                Ok(()) => self.peers_streams += 1,
                Err(_) => self.refuse_request(fresh.id, ErrorCode::REJECTED, COLLIDES, out),
            }
        }
    }

    /// Takes a frame that stands in `used` bytes.
    ///
    /// The most frequent case takes the shortest way: an event is written once, where the caller
    /// wants it.
    #[inline]
    fn take<'a>(&mut self, bytes: &'a [u8], used: usize, out: &mut Vec<u8>) -> Received<'a> {
        match self.phase {
            Phase::New => return Received { used, event: Some(self.on_first_frame(bytes, out)) },
            Phase::Resuming => return Received { used, event: self.on_resuming(bytes, out) },
            _ => {}
        }
        if let Some(session) = &mut self.session
            && !is_of_connection(bytes)
        {
            session.heard(bytes.len());
        }
        // Matched in place: to copy a frame right after it was written costs as much as to decode it.
        let decoded = decode(bytes);
        if !self.established && !matches!(decoded, Err(_) | Ok(Frame::Error { .. })) {
            self.established = true;
        }
        match decoded {
            Ok(Frame::RequestResponse { stream, more, payload }) => {
                let (interaction, initial, completes) = (Interaction::RequestResponse, 1, Completes::Yes);
                let request = Request { stream, interaction, initial, completes, more, payload };
                self.on_request(request, used, out)
            }
            Ok(Frame::Payload { stream, more, completes, next, payload }) => {
                self.on_payload(Incoming { stream, more, completes, next, payload }, used, out)
            }
            Ok(frame) => Received { used, event: self.on_other(frame, bytes, out) },
            Err(error) => Received { used, event: self.on_unreadable(error, bytes, out) },
        }
    }

    /// Anything but a request-response and a payload.
    fn on_other<'a>(&mut self, frame: Frame<'a>, bytes: &'a [u8], out: &mut Vec<u8>) -> Option<Event<'a>> {
        match frame {
            Frame::RequestResponse { .. } | Frame::Payload { .. } => None,
            Frame::RequestFireAndForget { stream, more, payload } => {
                let (interaction, initial, completes) = (Interaction::FireAndForget, 0, Completes::Yes);
                let request = Request { stream, interaction, initial, completes, more, payload };
                self.on_request(request, 0, out).event
            }
            Frame::RequestStream { stream, more, initial, payload } => {
                let (interaction, completes) = (Interaction::RequestStream, Completes::Yes);
                let request = Request { stream, interaction, initial, completes, more, payload };
                self.on_request(request, 0, out).event
            }
            Frame::RequestChannel { stream, more, completes, initial, payload } => {
                let interaction = Interaction::RequestChannel;
                let request = Request { stream, interaction, initial, completes, more, payload };
                self.on_request(request, 0, out).event
            }
            Frame::RequestN { stream, n } => self.on_request_n(stream, n),
            Frame::Cancel { stream } => self.on_cancel(stream),
            Frame::Error { stream: StreamId::CONNECTION, code, data } => self.on_connection_error(code, data),
            Frame::Error { stream, code, data } => self.on_stream_error(stream, code, data),
            Frame::KeepAlive { respond, last_received_position, data } if is_of_connection(bytes) => {
                self.on_keepalive(respond, last_received_position, data, out);
                None
            }
            Frame::Lease { ttl_ms, requests, .. } if is_of_connection(bytes) => {
                self.on_lease(ttl_ms, requests)
            }
            Frame::MetadataPush { metadata } if is_of_connection(bytes) => {
                Some(Event::MetadataPush(metadata))
            }
            Frame::Resume(_) if self.side == Side::Server => Some(self.violate(Violation::LateResume, out)),
            Frame::Extension { flags, extended_type, .. } if flags & flag::IGNORE == 0 => {
                Some(self.violate(Violation::Extension(extended_type), out))
            }
            // A late or a misplaced one.
            Frame::KeepAlive { .. }
            | Frame::Lease { .. }
            | Frame::MetadataPush { .. }
            | Frame::Setup(_)
            | Frame::Resume(_)
            | Frame::ResumeOk { .. }
            | Frame::Extension { .. } => None,
        }
    }

    #[cold]
    fn on_unreadable<'a>(&mut self, error: Error, bytes: &'a [u8], out: &mut Vec<u8>) -> Option<Event<'a>> {
        match error {
            // "If Metadata Length is greater than this value, the entire frame MUST be ignored."
            Error::MetadataLength | Error::UnknownType { ignorable: Ignorable::Yes, .. } => None,
            // A late SETUP is ignored, with any contents.
            Error::ZeroTime => None,
            Error::RequestN => {
                let &[a, b, c, d] = bytes.first_chunk::<4>()?;
                self.on_bad_request_n(StreamId(u32::from_be_bytes([a, b, c, d])), bytes, out)
            }
            error => Some(self.violate(Violation::Frame(error), out)),
        }
    }

    /// Nobody may ask for nothing. A request that does is refused, a stream where it happens fails.
    fn on_bad_request_n<'a>(
        &mut self,
        stream: StreamId,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Option<Event<'a>> {
        let text = "request n must be between 1 and 2147483647";
        if bytes.get(4).is_some_and(|byte| byte >> 2 != frame::kind::REQUEST_N) {
            if let Err(violation) = self.use_id(stream) {
                return Some(self.violate(violation, out));
            }
            self.refuse_request(stream, ErrorCode::INVALID, text, out);
            return None;
        }
        let found = self.stream(stream).copied()?;
        if found.state.has(State::UNDELIVERED) {
            self.end(stream);
            self.refuse_request(stream, ErrorCode::INVALID, text, out);
            return None;
        }
        let sends_values = match found.role() {
            Role::Requester => found.interaction == Interaction::RequestChannel,
            Role::Responder => found.interaction != Interaction::RequestResponse,
        };
        if !sends_values {
            return None;
        }
        self.end(stream);
        self.refuse_request(stream, ErrorCode::INVALID, text, out);
        let (tag, code) = (found.tag, ErrorCode::INVALID);
        Some(Event::Failed { stream, tag, code, text: text.as_bytes() })
    }

    /// Answers a request that never became a stream, or no longer is one.
    #[cold]
    pub(super) fn refuse_request(
        &mut self,
        stream: StreamId,
        code: ErrorCode,
        text: &str,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        self.write_error(stream, code, text, out);
        self.sent(start, out);
    }

    /// Client: until RESUME_OK there is nothing else to hear.
    fn on_resuming<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> Option<Event<'a>> {
        match decode(bytes) {
            Ok(Frame::ResumeOk { last_received_client_position }) => {
                Some(self.on_resume_ok(last_received_client_position, out))
            }
            Ok(Frame::Error { stream: StreamId::CONNECTION, code, data }) => {
                // "On receiving an ERROR[REJECTED_RESUME] frame, the client MUST NOT attempt resumption again."
                let is_final = code == ErrorCode::REJECTED_RESUME;
                self.phase = if is_final { Phase::Closed } else { Phase::Suspended };
                Some(Event::Closed(Closed::Peer { code, text: data }))
            }
            _ => None,
        }
    }

    fn on_connection_error<'a>(&mut self, code: ErrorCode, text: &'a [u8]) -> Option<Event<'a>> {
        if code.is_of_setup() && self.established {
            return None;
        }
        if code == ErrorCode::CONNECTION_CLOSE {
            self.phase = Phase::Closing;
            return Some(Event::Closing { text });
        }
        self.phase = Phase::Closed;
        Some(Event::Closed(Closed::Peer { code, text }))
    }

    fn on_stream_error<'a>(
        &mut self,
        stream: StreamId,
        code: ErrorCode,
        text: &'a [u8],
    ) -> Option<Event<'a>> {
        let found = self.stream(stream).copied()?;
        // A responder hears an ERROR only from the requester of a channel.
        if found.role() == Role::Responder && found.interaction != Interaction::RequestChannel {
            return None;
        }
        self.end(stream);
        let is_known = !found.state.has(State::UNDELIVERED);
        is_known.then_some(Event::Failed { stream, tag: found.tag, code, text })
    }

    fn on_request_n(&mut self, stream: StreamId, n: u32) -> Option<Event<'static>> {
        let found = self.stream_mut(stream)?;
        let sends_values =
            matches!(found.interaction, Interaction::RequestStream | Interaction::RequestChannel);
        if !sends_values || found.state.has(State::SENT_ALL) {
            return None;
        }
        found.credit = Stream::add(found.credit, n);
        if found.state.has(State::UNDELIVERED) {
            return None;
        }
        Some(Event::Credit { stream, tag: found.tag, n })
    }

    fn on_cancel(&mut self, stream: StreamId) -> Option<Event<'static>> {
        let found = self.stream_mut(stream)?;
        let tag = found.tag;
        if found.role() == Role::Responder {
            let is_known = !found.state.has(State::UNDELIVERED);
            self.end(stream);
            return is_known.then_some(Event::Cancelled { stream, tag, scope: Scope::Stream });
        }
        // A responder that wants no more of a channel goes on sending itself.
        if found.interaction != Interaction::RequestChannel || found.state.has(State::SENT_ALL) {
            return None;
        }
        found.state.set(State::SENT_ALL);
        found.state.clear(State::SENDING);
        found.credit = 0;
        let scope = if found.is_over() { Scope::Stream } else { Scope::Sending };
        if scope == Scope::Stream {
            self.end(stream);
        }
        Some(Event::Cancelled { stream, tag, scope })
    }

    /// Notes that the peer opens a stream, and refuses ids that are not the peer's or that it has used.
    ///
    /// A requester that sends from several threads may send its newest ids in another order than it took them:
    /// an id that is older than the newest one is fine if it has not been used. The last 64 are remembered, and
    /// older ones count as used. A requester that has used its last id begins again with its lowest (Stream
    /// Identifiers, Lifetime): from then on only ids of open streams and the last 64 are refused.
    #[inline]
    fn use_id(&mut self, stream: StreamId) -> Result<(), Violation> {
        let is_odd = stream.0 & 1 == 1;
        if stream == StreamId::CONNECTION || is_odd != (self.side == Side::Server) {
            return Err(Violation::StreamParity(stream));
        }
        if self.peers_ids_again && self.stream(stream).is_some() {
            return Err(Violation::StreamReused(stream));
        }
        if stream.0 > self.peers_highest {
            let distance = (stream.0 - self.peers_highest).div_ceil(2);
            self.peers_used = if distance < 64 { self.peers_used << distance | 1 } else { 1 };
            self.peers_highest = stream.0;
            return Ok(());
        }
        let distance = (self.peers_highest - stream.0) / 2;
        if distance < 64 {
            if self.peers_used >> distance & 1 == 1 {
                return Err(Violation::StreamReused(stream));
            }
            self.peers_used |= 1 << distance;
            return Ok(());
        }
        self.use_id_again(stream)
    }

    /// An id that is older than the last 64 is one of a requester that begins again, or has been used.
    #[cold]
    fn use_id_again(&mut self, stream: StreamId) -> Result<(), Violation> {
        let begins_again = self.peers_highest > StreamId::MAX.0 - 128 && stream.0 < StreamId::MAX.0 / 2;
        if !begins_again || self.stream(stream).is_some() {
            return Err(Violation::StreamReused(stream));
        }
        (self.peers_highest, self.peers_used, self.peers_ids_again) = (stream.0, 1, true);
        Ok(())
    }

    #[inline]
    fn on_request<'a>(&mut self, request: Request<'a>, used: usize, out: &mut Vec<u8>) -> Received<'a> {
        let Request { stream, interaction, initial, completes, more, payload } = request;
        if let Err(violation) = self.use_id(stream) {
            return Received { used, event: Some(self.violate(violation, out)) };
        }
        if let Err(busy) = self.admit() {
            // Nobody waits for the answer of a fire-and-forget.
            if interaction != Interaction::FireAndForget {
                self.refuse_request(stream, ErrorCode::REJECTED, &busy.to_string(), out);
            }
            return Received { used, event: None };
        }
        if more == More::Follows {
            return Received { used, event: self.on_first_fragment(request, out) };
        }
        if payload.bytes() > self.config.payload_bytes_max && !self.takes_pieces(interaction, &payload) {
            return Received { used, event: self.refuse_large_request(&request, out) };
        }
        if interaction != Interaction::FireAndForget {
            let state = if completes.is_yes() { State::HEARD_ALL } else { State::NEW };
            self.fresh = Stream { id: stream, tag: Tag(0), credit: initial, demand: 0, interaction, state };
        }
        let payload = payload.into();
        Received {
            used,
            event: Some(Event::Request {
                stream,
                interaction,
                initial,
                completes,
                payload,
                more: More::Whole,
            }),
        }
    }

    /// Whether one more request of the peer is served.
    #[inline]
    fn admit(&mut self) -> Result<(), Busy> {
        if self.phase == Phase::Closing {
            return Err(Busy::Closing);
        }
        if self.peers_streams >= self.config.streams_max {
            return Err(Busy::Streams(self.peers_streams));
        }
        if let Some(leases) = &mut self.leases {
            leases.peers.take(self.now_ms).map_err(Busy::Lease)?;
        }
        Ok(())
    }

    #[inline]
    fn on_payload<'a>(&mut self, incoming: Incoming<'a>, used: usize, out: &mut Vec<u8>) -> Received<'a> {
        let Incoming { stream, more, next, payload, completes } = incoming;
        let Some(found) = find_mut(&mut self.fresh, &mut self.streams, stream) else {
            return Received { used, event: None };
        };
        if more == More::Follows || found.state.has_any(State::REASSEMBLING.with(State::PIECING)) {
            return Received { used, event: self.on_fragment(incoming, out) };
        }
        // "If a PAYLOAD for a REQUEST_RESPONSE is received that does not have a COMPLETE flag set, the
        // implementation MUST assume it is set." Elsewhere neither value nor completion means nothing.
        let is_answer = found.interaction == Interaction::RequestResponse;
        let completes = if is_answer { Completes::Yes } else { completes };
        let is_nothing = next == Next::Nothing && !completes.is_yes();
        if found.state.has(State::HEARD_ALL) || is_nothing {
            return Received { used, event: None };
        }
        if next == Next::Value {
            if found.demand == 0 {
                return Received { used, event: Some(self.violate(Violation::Overrun(stream), out)) };
            }
            found.demand = Stream::take(found.demand);
            if payload.bytes() > self.config.payload_bytes_max && !found.state.has(State::PIECES) {
                let found = *found;
                return Received { used, event: self.too_much(&found, out) };
            }
        }
        let tag = found.tag;
        if completes.is_yes() {
            self.heard_all(stream);
        }
        let payload = payload.into();
        let event = Event::Payload { stream, tag, next, completes, payload, more: More::Whole };
        Received { used, event: Some(event) }
    }

    /// The peer's side is complete; the stream ends if ours is.
    #[inline]
    pub(super) fn heard_all(&mut self, id: StreamId) {
        let Some(stream) = self.stream_mut(id) else { return };
        stream.state.set(State::HEARD_ALL);
        if stream.is_over() {
            self.end(id);
        }
    }
}

/// Whether a frame is of the connection, not of a stream.
#[inline]
fn is_of_connection(frame: &[u8]) -> bool {
    frame.starts_with(&StreamId::CONNECTION.0.to_be_bytes())
}

/// Why a request is not served now. The peer gets it as the text of a Busy.
enum Busy {
    Closing,
    /// So many are open.
    Streams(u32),
    /// Milliseconds after which the lease is over, 0 without one.
    Lease(u32),
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closing => f.write_str("BUSY retry_after_ms=0: connection is closing"),
            Self::Streams(open) => write!(f, "BUSY retry_after_ms=0: {open} streams are open"),
            Self::Lease(ms) => write!(f, "BUSY retry_after_ms={ms}: lease is used up or over"),
        }
    }
}

/// Why a request is refused whose id the table has no place for.
pub(super) const COLLIDES: &str = "BUSY retry_after_ms=0: stream ids collide";

/// Whether a frame was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is done with.
    Yes,
    /// It has to be given again, once the SETUP is answered.
    No,
}
