//! Fragments of the peer, put together or handed out as they come (Fragmentation and Reassembly).
//!
//! What is put together stands in [`Partials`](super::partial::Partials), within its bound. A stream whose
//! payload is unfinished is marked so in its state, and the next PAYLOAD on it belongs to that
//! payload. A payload that is larger than configured fails in the same way whether it comes in
//! fragments or in one frame.

use std::borrow::Cow;

use crate::frame::{self, Completes, ErrorCode, Frame, Interaction, More, Next};

use super::partial::{Partial, TooMuch};
use super::receive::{COLLIDES, Incoming, Request};
use super::streams::{State, Stream};
use super::{Assembly, Connection, Event, Payload, Reassembly, Role, Tag, Violation};

impl Connection {
    /// A request that comes in fragments begins.
    #[cold]
    pub(super) fn on_first_fragment<'a>(
        &mut self,
        request: Request<'a>,
        out: &mut Vec<u8>,
    ) -> Option<Event<'a>> {
        let Request { stream, interaction, initial, completes, more, payload } = request;
        let mut state = State::UNDELIVERED.with(State::REASSEMBLING);
        // Whether a channel's requester sends more is known with the last fragment.
        if interaction != Interaction::RequestChannel {
            state.set(State::HEARD_ALL);
        }
        let opened = Stream { id: stream, tag: Tag(0), credit: initial, demand: 0, interaction, state };
        if self.streams.insert(opened).is_err() {
            self.refuse_request(stream, ErrorCode::REJECTED, COLLIDES, out);
            return None;
        }
        self.peers_streams += 1;
        self.partials.get_or_insert_default().begin(stream);
        self.reassemble(Incoming { stream, more, completes, next: Next::Value, payload }, out)
    }

    /// A PAYLOAD that is not alone: the first fragment of a value, or a later one of anything.
    #[cold]
    pub(super) fn on_fragment<'a>(&mut self, incoming: Incoming<'a>, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let Incoming { stream, more, payload, .. } = incoming;
        let found = self.stream_mut(stream)?;
        if found.state.has(State::REASSEMBLING) {
            return self.reassemble(incoming, out);
        }
        if found.state.has(State::PIECING) {
            return self.hand_out_piece(incoming);
        }
        if found.state.has(State::HEARD_ALL) {
            return None;
        }
        if found.demand == 0 {
            return Some(self.violate(Violation::Overrun(stream), out));
        }
        found.demand = Stream::take(found.demand);
        if found.state.has(State::PIECES) {
            found.state.set(State::PIECING);
            let (tag, next, completes, payload) = (found.tag, Next::Value, Completes::No, payload.into());
            return Some(Event::Payload { stream, tag, next, completes, payload, more });
        }
        found.state.set(State::REASSEMBLING);
        self.partials.get_or_insert_default().begin(stream);
        self.reassemble(incoming, out)
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
    fn reassemble<'a>(&mut self, incoming: Incoming<'a>, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let Incoming { stream, more, completes, payload, .. } = incoming;
        let found = self.stream(stream).copied()?;
        let partials = self.partials.as_mut()?;
        let added = partials.add(stream, &payload, completes, self.config.payload_bytes_max);
        let partial = match added {
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
            opened.state.clear(State::UNDELIVERED.with(State::REASSEMBLING));
            opened.state.set(State::PIECES.with(State::PIECING));
            if partial.completes.is_yes() {
                opened.state.set(State::HEARD_ALL);
            }
            return Some(request_event(&found, partial, Completes::No, more));
        }
        let partial = partials.finish(stream)?;
        let opened = self.stream_mut(stream)?;
        opened.state.clear(State::REASSEMBLING);
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

    /// Whether a request that is too large to be put together would be handed out in pieces, if it came in
    /// fragments. One that fits a frame needs no more memory than its frame did.
    #[cold]
    pub(super) fn takes_pieces(&self, interaction: Interaction, payload: &frame::Payload<'_>) -> bool {
        match &self.config.reassembly {
            Reassembly::Pieces(decide) => decide(interaction, payload.metadata) == Assembly::Pieces,
            Reassembly::Whole => false,
        }
    }

    /// A request in one frame is larger than we take. The driver never hears of it.
    #[cold]
    pub(super) fn refuse_large_request<'a>(
        &mut self,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Event<'a>> {
        // Nobody waits for the answer of a fire-and-forget.
        if request.interaction != Interaction::FireAndForget {
            self.refuse_request(request.stream, ErrorCode::INVALID, TOO_LARGE, out);
        }
        None
    }

    /// The peer sends more than we take: that stream ends.
    #[cold]
    pub(super) fn too_much<'a>(&mut self, found: &Stream, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let text = if found.role() == Role::Requester { ANSWER_TOO_LARGE } else { TOO_LARGE };
        let (stream, tag, code) = (found.id, found.tag, ErrorCode::INVALID);
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

/// The error that a peer gets whose payload has more bytes than
/// [`Config::payload_bytes_max`](super::Config).
const TOO_LARGE: &str = "payload is larger than this side takes";

/// The text of [`Event::Failed`] where it was this side that did not take what its own request was answered with: the
/// responder has done its work.
pub const ANSWER_TOO_LARGE: &str = "answer is larger than this side takes";

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
