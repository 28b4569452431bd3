//! What the peer sends.
//!
//! A frame that makes no sense where it comes is ignored (Handling the Unexpected), unless ignoring it would
//! let a peer spend our memory or confuse two streams; then the connection ends.

use std::borrow::Cow;

use crate::frame::{
    self, Completes, Error, ErrorCode, Frame, Ignorable, Interaction, More, Next, StreamId, decode, flag,
};

use super::partial::{Partial, TooMuch};
use super::streams::{State, Stream};
use super::{
    Assembly, Closed, Connection, Event, Payload, Phase, Reassembly, Received, Role, Scope, Side, Tag,
    Violation,
};

/// A request that has come, or its first fragment.
struct Request<'a> {
    stream: StreamId,
    interaction: Interaction,
    initial: u32,
    completes: Completes,
    more: More,
    payload: frame::Payload<'a>,
}

/// A PAYLOAD that has come.
struct Incoming<'a> {
    stream: StreamId,
    more: More,
    completes: Completes,
    next: Next,
    payload: frame::Payload<'a>,
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
        self.heard_ms = now_ms;
        match frame::split(bytes, limit) {
            Ok(Some((frame, used))) => Received { used, event: self.take(frame, out) },
            Ok(None) => Received { used: 0, event: None },
            Err(error) => {
                let violation = match self.phase {
                    Phase::New => Violation::FirstFrame,
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
                Phase::New => Violation::FirstFrame,
                _ => Violation::Frame(Error::TooLarge { bytes }),
            };
            return (Taken::Yes, Some(self.violate(violation, out)));
        }
        (Taken::Yes, self.take(frame, out))
    }

    /// The request handed out last was not answered at once: its stream stays.
    ///
    /// Where the table has no place for its id, which no honest peer brings about, the peer is told and the
    /// driver finds the stream unknown.
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

    #[inline]
    fn take<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> Option<Event<'a>> {
        match self.phase {
            Phase::New => return Some(self.on_first_frame(bytes, out)),
            Phase::Resuming => return self.on_resuming(bytes, out),
            _ => {}
        }
        if let Some(session) = &mut self.session
            && !bytes.starts_with(&[0; 4])
        {
            session.heard(bytes.len());
        }
        let frame = match decode(bytes) {
            Ok(frame) => frame,
            Err(error) => return self.on_unreadable(error, bytes, out),
        };
        if !self.established && !matches!(frame, Frame::Error { .. }) {
            self.established = true;
        }
        match frame {
            Frame::RequestResponse { stream, more, payload } => {
                let (interaction, initial, completes) = (Interaction::RequestResponse, 1, Completes::Yes);
                self.on_request(Request { stream, interaction, initial, completes, more, payload }, out)
            }
            Frame::Payload { stream, more, completes, next, payload } => {
                self.on_payload(Incoming { stream, more, completes, next, payload }, out)
            }
            Frame::RequestFireAndForget { stream, more, payload } => {
                let (interaction, initial, completes) = (Interaction::FireAndForget, 0, Completes::Yes);
                self.on_request(Request { stream, interaction, initial, completes, more, payload }, out)
            }
            Frame::RequestStream { stream, more, initial, payload } => {
                let (interaction, completes) = (Interaction::RequestStream, Completes::Yes);
                self.on_request(Request { stream, interaction, initial, completes, more, payload }, out)
            }
            Frame::RequestChannel { stream, more, completes, initial, payload } => {
                let interaction = Interaction::RequestChannel;
                self.on_request(Request { stream, interaction, initial, completes, more, payload }, out)
            }
            Frame::RequestN { stream, n } => self.on_request_n(stream, n),
            Frame::Cancel { stream } => self.on_cancel(stream),
            Frame::Error { stream: StreamId::CONNECTION, code, data } => self.on_connection_error(code, data),
            Frame::Error { stream, code, data } => self.on_stream_error(stream, code, data),
            Frame::KeepAlive { respond, last_received_position, data } => {
                if bytes.starts_with(&[0; 4]) {
                    self.on_keepalive(respond, last_received_position, data, out);
                }
                None
            }
            Frame::Lease { ttl_ms, requests, .. } if bytes.starts_with(&[0; 4]) => {
                self.on_lease(ttl_ms, requests)
            }
            Frame::MetadataPush { metadata } if bytes.starts_with(&[0; 4]) => {
                Some(Event::MetadataPush(metadata))
            }
            Frame::Resume(_) if self.side == Side::Server => Some(self.violate(Violation::LateResume, out)),
            Frame::Extension { flags, extended_type, .. } if flags & flag::IGNORE == 0 => {
                Some(self.violate(Violation::Extension(extended_type), out))
            }
            // A late or a misplaced one.
            Frame::Lease { .. }
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
            // A late SETUP is ignored, whatever it says.
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
        if found.role() == Role::Requester && found.interaction != Interaction::RequestChannel {
            return None;
        }
        self.end(stream);
        self.refuse_request(stream, ErrorCode::INVALID, text, out);
        let (tag, code) = (found.tag, ErrorCode::INVALID);
        Some(Event::Failed { stream, tag, code, text: text.as_bytes() })
    }

    /// Answers a request that never became a stream, or no longer is one.
    #[cold]
    fn refuse_request(&mut self, stream: StreamId, code: ErrorCode, text: &str, out: &mut Vec<u8>) {
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
    /// an id that is older than the newest one is fine if it has not been used. The last 64 are remembered;
    /// of older ones only those that are open.
    #[inline]
    fn use_id(&mut self, stream: StreamId) -> Result<(), Violation> {
        let is_odd = stream.0 & 1 == 1;
        if stream == StreamId::CONNECTION || is_odd != (self.side == Side::Server) {
            return Err(Violation::StreamParity(stream));
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
        } else if self.stream(stream).is_some() {
            return Err(Violation::StreamReused(stream));
        }
        Ok(())
    }

    #[inline]
    fn on_request<'a>(&mut self, request: Request<'a>, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let Request { stream, interaction, initial, completes, more, payload } = request;
        if let Err(violation) = self.use_id(stream) {
            return Some(self.violate(violation, out));
        }
        if let Err(text) = self.admit() {
            // Nobody waits for the answer of a fire-and-forget.
            if interaction != Interaction::FireAndForget {
                self.refuse_request(stream, ErrorCode::REJECTED, &text, out);
            }
            return None;
        }
        let state = if completes.is_yes() { State::HEARD_ALL } else { State::NEW };
        let mut opened = Stream { id: stream, tag: Tag(0), credit: initial, demand: 0, interaction, state };
        if more == More::Follows {
            opened.state.set(State::UNDELIVERED.with(State::GATHERING));
            // Whether it is all the requester sends is known with the last fragment.
            if interaction == Interaction::RequestChannel {
                opened.state.clear(State::HEARD_ALL);
            }
            if self.streams.insert(opened).is_err() {
                self.refuse_request(stream, ErrorCode::REJECTED, COLLIDES, out);
                return None;
            }
            self.peers_streams += 1;
            self.partials.get_or_insert_default().begin(stream);
            return self.gather(Incoming { stream, more, completes, next: Next::Value, payload }, out);
        }
        if interaction != Interaction::FireAndForget {
            self.fresh = opened;
        }
        Some(Event::Request { stream, interaction, initial, completes, payload: payload.into(), more })
    }

    /// Whether one more request of the peer is served; the reason if not, in the words of a Busy.
    #[inline]
    fn admit(&mut self) -> Result<(), String> {
        if self.phase == Phase::Closing {
            return Err("BUSY retry_after_ms=0: connection is closing".into());
        }
        if self.peers_streams >= self.config.streams_max {
            return Err(format!("BUSY retry_after_ms=0: {} streams are open", self.peers_streams));
        }
        if let Some(leases) = &mut self.leases {
            leases
                .peers
                .take(self.now_ms)
                .map_err(|ms| format!("BUSY retry_after_ms={ms}: lease is used up or over"))?;
        }
        Ok(())
    }

    #[inline]
    fn on_payload<'a>(&mut self, incoming: Incoming<'a>, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let Incoming { stream, more, next, payload, .. } = incoming;
        let mut completes = incoming.completes;
        let found = self.stream_mut(stream)?;
        if found.state.has(State::GATHERING) {
            return self.gather(incoming, out);
        }
        if found.state.has(State::PIECING) {
            return self.hand_out_piece(incoming);
        }
        if found.state.has(State::HEARD_ALL) {
            return None;
        }
        if next == Next::Nothing && more == More::Whole && !completes.is_yes() {
            // Neither a value nor a completion. Only for a request-response it has a meaning: the end.
            if found.interaction != Interaction::RequestResponse {
                return None;
            }
        }
        if next == Next::Value || more == More::Follows {
            if found.demand == 0 {
                return Some(self.violate(Violation::Overrun(stream), out));
            }
            found.demand = Stream::take(found.demand);
        }
        if found.interaction == Interaction::RequestResponse && more == More::Whole {
            completes = Completes::Yes;
        }
        let tag = found.tag;
        if more == More::Follows {
            if found.state.has(State::PIECES) {
                found.state.set(State::PIECING);
                let payload = payload.into();
                let next = Next::Value;
                return Some(Event::Payload { stream, tag, next, completes: Completes::No, payload, more });
            }
            found.state.set(State::GATHERING);
            self.partials.get_or_insert_default().begin(stream);
            return self.gather(incoming, out);
        }
        if completes.is_yes() {
            self.heard_all(stream);
        }
        Some(Event::Payload { stream, tag, next, completes, payload: payload.into(), more })
    }

    /// The peer's side is complete; the stream ends if ours is.
    #[inline]
    fn heard_all(&mut self, id: StreamId) {
        let Some(stream) = self.stream_mut(id) else { return };
        stream.state.set(State::HEARD_ALL);
        if stream.is_over() {
            self.end(id);
        }
    }

    /// A fragment of a payload that is handed out piece by piece.
    fn hand_out_piece<'a>(&mut self, incoming: Incoming<'a>) -> Option<Event<'a>> {
        let Incoming { stream, more, payload, .. } = incoming;
        let mut completes = incoming.completes;
        let found = self.stream_mut(stream)?;
        let tag = found.tag;
        if more == More::Whole {
            found.state.clear(State::PIECING);
            let is_first = found.role() == Role::Responder && found.state.has(State::HEARD_ALL);
            let is_answer =
                found.role() == Role::Requester && found.interaction == Interaction::RequestResponse;
            if is_first || is_answer {
                completes = Completes::Yes;
            }
            if found.interaction == Interaction::FireAndForget {
                self.end(stream);
            } else if completes.is_yes() {
                self.heard_all(stream);
            }
        }
        let (metadata, data) = (payload.metadata, payload.data);
        Some(Event::Piece { stream, tag, metadata, data, more, completes })
    }

    /// A fragment of a payload that is handed out whole, or whose metadata is not complete yet.
    fn gather<'a>(&mut self, incoming: Incoming<'a>, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let Incoming { stream, more, completes, payload, .. } = incoming;
        let found = self.stream(stream).copied()?;
        let partials = self.partials.as_mut()?;
        let gathered = partials.add(stream, &payload, completes, self.config.payload_bytes_max);
        let partial = match gathered {
            Ok(partial) => partial?,
            Err(TooMuch) => return self.too_much(&found, out),
        };
        if more == More::Follows {
            let is_metadata_complete = payload.metadata.is_none() || !payload.data.is_empty();
            if !found.state.has(State::UNDELIVERED) || partial.is_whole || !is_metadata_complete {
                return None;
            }
            let Reassembly::Pieces(decide) = &self.config.reassembly else { return None };
            if decide(found.interaction, partial.metadata.as_deref()) == Assembly::Whole {
                partial.is_whole = true;
                return None;
            }
            let partial = partials.finish(stream)?;
            let opened = self.stream_mut(stream)?;
            opened.state.clear(State::UNDELIVERED.with(State::GATHERING));
            opened.state.set(State::PIECES.with(State::PIECING));
            if partial.completes.is_yes() {
                opened.state.set(State::HEARD_ALL);
            }
            return Some(request_event(&found, partial, Completes::No, more));
        }
        let partial = partials.finish(stream)?;
        let opened = self.stream_mut(stream)?;
        opened.state.clear(State::GATHERING);
        if found.state.has(State::UNDELIVERED) {
            opened.state.clear(State::UNDELIVERED);
            let completes = match found.interaction {
                Interaction::RequestChannel => partial.completes,
                _ => Completes::Yes,
            };
            if found.interaction == Interaction::FireAndForget {
                self.end(stream);
            } else if completes.is_yes() {
                self.heard_all(stream);
            }
            return Some(request_event(&found, partial, completes, more));
        }
        let completes = match found.interaction {
            Interaction::RequestResponse => Completes::Yes,
            _ => partial.completes,
        };
        if completes.is_yes() {
            self.heard_all(stream);
        }
        let (tag, next, payload) = (found.tag, Next::Value, owned(partial));
        Some(Event::Payload { stream, tag, next, completes, payload, more })
    }

    /// The peer sends more than we gather: that stream ends.
    #[cold]
    fn too_much(&mut self, found: &Stream, out: &mut Vec<u8>) -> Option<Event<'static>> {
        let (stream, tag, code) = (found.id, found.tag, ErrorCode::INVALID);
        let text = "payload is larger than this side gathers";
        self.end(stream);
        if found.role() == Role::Requester && found.interaction != Interaction::RequestChannel {
            let start = out.len();
            frame::encode(&Frame::Cancel { stream }, out);
            self.sent(start, out);
        } else if found.interaction != Interaction::FireAndForget {
            self.refuse_request(stream, code, text, out);
        }
        let is_known = !found.state.has(State::UNDELIVERED);
        is_known.then_some(Event::Failed { stream, tag, code, text: text.as_bytes() })
    }
}

/// Why a request is refused whose id the table has no place for.
const COLLIDES: &str = "BUSY retry_after_ms=0: stream ids collide";

fn owned<'a>(partial: Partial) -> Payload<'a> {
    Payload { metadata: partial.metadata.map(Cow::Owned), data: Cow::Owned(partial.data) }
}

fn request_event<'a>(found: &Stream, partial: Partial, completes: Completes, more: More) -> Event<'a> {
    Event::Request {
        stream: found.id,
        interaction: found.interaction,
        initial: found.credit,
        completes,
        payload: owned(partial),
        more,
    }
}

/// Whether a frame was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is done with.
    Yes,
    /// It has to be given again, once the SETUP is answered.
    No,
}
