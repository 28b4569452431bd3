//! What the driver sends: requests, payloads, completions, errors, credit, cancellations.
//!
//! Each call either writes whole frames to the end of `out` or, with an error, nothing. Data is written by
//! the caller's function right into `out`; the length is filled in afterwards.

use crate::frame::{
    Completes, ErrorCode, FRAME_BYTES_MAX, Frame, HEADER_BYTES, Head, Interaction, More, PREFIX_BYTES,
    REQUEST_N_MAX, StreamId, encode, flag, kind, seal,
};

use super::fragment::{self, FRAGMENT_BYTES_MIN, Written};
use super::streams::{State, Stream};
use super::{Config, Connection, Phase, RequestError, Role, SendError, Tag, find_mut};

/// One fragment of a payload that is sent in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// More of the metadata; only before any data has been sent.
    pub metadata: Option<&'a [u8]>,
    /// More of the data.
    pub data: &'a [u8],
    /// Whether other pieces follow.
    pub more: More,
    /// With the last piece: whether the payload is our last one.
    pub completes: Completes,
}

/// The frame does not fit what the configuration allows.
struct TooLarge;

/// Where no value and no completion can be sent: all has been sent, a value is being sent in pieces, or the
/// request has not been handed out.
const NOT_SENDING: State = State::SENT_ALL.with(State::SENDING).with(State::UNDELIVERED);

impl Connection {
    /// Sends a request.
    ///
    /// `initial` is how many payloads the responder may send at first, at least 1 (0 counts as 1); of no
    /// meaning where there is one answer or none. `completes` states, on a channel, that this is
    /// all that we send; it is of no meaning elsewhere. `metadata` is composite metadata, and
    /// `encode` appends the data. A fire-and-forget is done when it is written, and its stream
    /// exists no more.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of one frame, and its output")]
    #[inline]
    pub fn request(
        &mut self,
        interaction: Interaction,
        initial: u32,
        completes: Completes,
        tag: Tag,
        metadata: Option<&[u8]>,
        encode: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Result<StreamId, RequestError> {
        self.may_request()?;
        let id = StreamId(self.next_id);
        let initial = initial.clamp(1, REQUEST_N_MAX);
        let (kind, demand, state) = match interaction {
            Interaction::RequestResponse => (kind::REQUEST_RESPONSE, 1, State::SENT_ALL),
            Interaction::FireAndForget => (kind::REQUEST_FNF, 0, State::SENT_ALL),
            Interaction::RequestStream => (kind::REQUEST_STREAM, initial, State::SENT_ALL),
            Interaction::RequestChannel if completes.is_yes() => {
                (kind::REQUEST_CHANNEL, initial, State::SENT_ALL)
            }
            Interaction::RequestChannel => (kind::REQUEST_CHANNEL, initial, State::REQUESTER),
        };
        let mut flags = if metadata.is_some() { flag::METADATA } else { 0 };
        if interaction == Interaction::RequestChannel && completes.is_yes() {
            flags |= flag::COMPLETE;
        }
        let mut written = Written {
            start: out.len(),
            stream: id,
            kind,
            flags,
            extra: 0,
            metadata: metadata.map(<[u8]>::len),
        };
        Head::new(id, kind, flags).write(out);
        if matches!(interaction, Interaction::RequestStream | Interaction::RequestChannel) {
            out.extend_from_slice(&initial.to_be_bytes());
            written.extra = 4;
        }
        finish(&self.config, &written, metadata, encode, out).map_err(|TooLarge| RequestError::TooLarge)?;
        if interaction != Interaction::FireAndForget {
            let state = state.with(State::REQUESTER);
            let stream = Stream { id, tag, credit: 0, demand, interaction, state };
            if self.streams.insert(stream).is_err() {
                out.truncate(written.start);
                return Err(RequestError::StreamsMax);
            }
        }
        // Nothing can go wrong any more: the id and the lease are used.
        self.next_id += 2;
        if let Some(leases) = &mut self.leases {
            let _ = leases.ours.take(self.now_ms);
        }
        self.sent(written.start, out);
        Ok(id)
    }

    /// Begins a request-response whose data should not be in memory whole: it follows as [`piece`](Self::piece)s.
    ///
    /// `metadata` has to fit one frame. An answer may come before the last piece: [`cancel`](Self::cancel) the rest
    /// of the request then.
    pub fn request_pieces(
        &mut self,
        tag: Tag,
        metadata: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<StreamId, RequestError> {
        let bytes = HEADER_BYTES + metadata.map_or(0, |metadata| metadata.len() + 3);
        if bytes > frame_bytes_limit(&self.config) {
            return Err(RequestError::TooLarge);
        }
        let start = out.len();
        let id = self.open_request(tag)?;
        let flags = flag::FOLLOWS | if metadata.is_some() { flag::METADATA } else { 0 };
        Head::new(id, kind::REQUEST_RESPONSE, flags).write(out);
        write_metadata(metadata, out);
        seal(start, out);
        self.sent(start, out);
        Ok(id)
    }

    /// Whether a request may be sent now.
    #[inline]
    fn may_request(&self) -> Result<(), RequestError> {
        if !matches!(self.phase, Phase::Open | Phase::Suspended | Phase::Resuming) {
            return Err(RequestError::Closed);
        }
        if self.next_id > StreamId::MAX.0 {
            return Err(RequestError::IdsExhausted);
        }
        if self.streams.len() - self.peers_streams >= self.config.streams_max {
            return Err(RequestError::StreamsMax);
        }
        if let Some(leases) = &self.leases {
            leases
                .ours
                .peek(self.now_ms)
                .map_err(|retry_after_ms| RequestError::NoLease { retry_after_ms })?;
        }
        Ok(())
    }

    /// A request-response that has begun, and whose data is being sent.
    fn open_request(&mut self, tag: Tag) -> Result<StreamId, RequestError> {
        self.may_request()?;
        let (id, interaction) = (StreamId(self.next_id), Interaction::RequestResponse);
        let state = State::REQUESTER.with(State::SENDING);
        let stream = Stream { id, tag, credit: 0, demand: 1, interaction, state };
        self.streams.insert(stream).map_err(|_| RequestError::StreamsMax)?;
        self.next_id += 2;
        if let Some(leases) = &mut self.leases {
            let _ = leases.ours.take(self.now_ms);
        }
        Ok(id)
    }

    /// The most data that a [`Piece`] without metadata may have, in bytes.
    pub fn piece_bytes_max(&self) -> usize {
        frame_bytes_limit(&self.config) - HEADER_BYTES
    }

    /// Sends a value: the answer of a request-response (which it always completes, and which needs no
    /// credit), or the next one on a stream or a channel (which takes one of the credit).
    #[inline]
    pub fn payload(
        &mut self,
        stream: StreamId,
        completes: Completes,
        metadata: Option<&[u8]>,
        encode: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        if self.phase == Phase::Closed {
            return Err(SendError::UnknownStream);
        }
        let found = find_mut(&mut self.fresh, &mut self.streams, stream).ok_or(SendError::UnknownStream)?;
        if found.state.has_any(NOT_SENDING) {
            return Err(SendError::UnknownStream);
        }
        let completes = match found.interaction {
            Interaction::RequestResponse => Completes::Yes,
            _ if found.credit == 0 => return Err(SendError::NoCredit),
            _ => completes,
        };
        let mut flags = flag::NEXT;
        if metadata.is_some() {
            flags |= flag::METADATA;
        }
        if completes.is_yes() {
            flags |= flag::COMPLETE;
        }
        let metadata_bytes = metadata.map(<[u8]>::len);
        let start = out.len();
        let written =
            Written { start, stream, kind: kind::PAYLOAD, flags, extra: 0, metadata: metadata_bytes };
        Head::new(stream, kind::PAYLOAD, flags).write(out);
        finish(&self.config, &written, metadata, encode, out).map_err(|TooLarge| SendError::TooLarge)?;
        if completes.is_yes() {
            found.state.set(State::SENT_ALL);
            found.credit = 0;
            if found.is_over() {
                self.end(stream);
            }
        } else {
            found.credit = Stream::take(found.credit);
        }
        self.sent(start, out);
        Ok(())
    }

    /// Sends a fragment of a value as it is, for a value that should not be in memory whole, or of a request that
    /// [`request_pieces`](Self::request_pieces) began. The first one
    /// takes one of the credit; until the last one nothing else can be sent on the stream but
    /// [`error`](Self::error), [`cancel`](Self::cancel) and [`request_n`](Self::request_n).
    pub fn piece(&mut self, stream: StreamId, piece: Piece<'_>, out: &mut Vec<u8>) -> Result<(), SendError> {
        let found = *self.live(stream)?;
        if found.state.has_any(State::SENT_ALL.with(State::UNDELIVERED)) {
            return Err(SendError::UnknownStream);
        }
        let is_first = !found.state.has(State::SENDING);
        let is_single = found.interaction == Interaction::RequestResponse;
        let is_answer = is_single && found.role() == Role::Responder;
        if is_first && !is_answer && found.credit == 0 {
            return Err(SendError::NoCredit);
        }
        let bytes = HEADER_BYTES + piece.metadata.map_or(0, |metadata| metadata.len() + 3) + piece.data.len();
        if bytes > frame_bytes_limit(&self.config) {
            return Err(SendError::TooLarge);
        }
        let mut flags = flag::NEXT;
        if piece.metadata.is_some() {
            flags |= flag::METADATA;
        }
        let completes = if is_single { Completes::Yes } else { piece.completes };
        match piece.more {
            More::Follows => flags |= flag::FOLLOWS,
            // A request states with its kind that it is the only one.
            More::Whole if completes.is_yes() && (is_answer || !is_single) => flags |= flag::COMPLETE,
            More::Whole => {}
        }
        let start = out.len();
        Head::new(stream, kind::PAYLOAD, flags).write(out);
        write_metadata(piece.metadata, out);
        out.extend_from_slice(piece.data);
        seal(start, out);
        if let Some(found) = self.stream_mut(stream) {
            if is_first && !is_answer {
                found.credit = Stream::take(found.credit);
            }
            match piece.more {
                More::Follows => found.state.set(State::SENDING),
                More::Whole => {
                    found.state.clear(State::SENDING);
                    if completes.is_yes() {
                        self.sent_all(stream);
                    }
                }
            }
        }
        self.sent(start, out);
        Ok(())
    }

    /// Completes our side of a stream without another value.
    pub fn complete(&mut self, stream: StreamId, out: &mut Vec<u8>) -> Result<(), SendError> {
        if self.live(stream)?.state.has_any(NOT_SENDING) {
            return Err(SendError::UnknownStream);
        }
        let start = out.len();
        Head::new(stream, kind::PAYLOAD, flag::COMPLETE).write(out);
        seal(start, out);
        self.sent_all(stream);
        self.sent(start, out);
        Ok(())
    }

    /// Ends a stream with a failure: a responder any of its streams, a requester a channel.
    ///
    /// Of `text` as much is sent as fits one frame.
    pub fn error(
        &mut self,
        stream: StreamId,
        code: ErrorCode,
        text: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        let found = self.live(stream)?;
        if found.role() == Role::Requester && found.interaction != Interaction::RequestChannel {
            return Err(SendError::UnknownStream);
        }
        self.end(stream);
        let start = out.len();
        self.write_error(stream, code, text, out);
        self.sent(start, out);
        Ok(())
    }

    /// Writes an ERROR of a stream.
    pub(super) fn write_error(&self, stream: StreamId, code: ErrorCode, text: &str, out: &mut Vec<u8>) {
        let text = &text[..text.floor_char_boundary(frame_bytes_limit(&self.config) - HEADER_BYTES - 4)];
        encode(&Frame::Error { stream, code, data: text.as_bytes() }, out);
    }

    /// Lets the peer send `n` more payloads on a stream; 0 does nothing.
    pub fn request_n(&mut self, stream: StreamId, n: u32, out: &mut Vec<u8>) -> Result<(), SendError> {
        let found = self.live(stream)?;
        if found.state.has(State::HEARD_ALL) || found.interaction == Interaction::RequestResponse {
            return Err(SendError::UnknownStream);
        }
        if n == 0 {
            return Ok(());
        }
        let n = n.min(REQUEST_N_MAX);
        found.demand = Stream::add(found.demand, n);
        let start = out.len();
        encode(&Frame::RequestN { stream, n }, out);
        self.sent(start, out);
        Ok(())
    }

    /// Wants no more: a requester ends the whole stream with it, a responder of a channel what the requester
    /// sends.
    pub fn cancel(&mut self, stream: StreamId, out: &mut Vec<u8>) -> Result<(), SendError> {
        let found = self.live(stream)?;
        match found.role() {
            Role::Requester => self.end(stream),
            Role::Responder if found.state.has(State::HEARD_ALL) => return Err(SendError::UnknownStream),
            Role::Responder => {
                found.state.set(State::HEARD_ALL);
                found.state.clear(State::PIECING);
                let reassembling = found.state.has(State::REASSEMBLING);
                found.state.clear(State::REASSEMBLING);
                if found.is_over() {
                    self.end(stream);
                }
                if reassembling && let Some(partials) = &mut self.partials {
                    partials.forget(stream);
                }
            }
        }
        let start = out.len();
        encode(&Frame::Cancel { stream }, out);
        self.sent(start, out);
        Ok(())
    }

    /// From now on the stream's payloads that come in fragments are handed out as
    /// [`Event::Piece`](super::Event::Piece)s.
    pub fn pieces(&mut self, stream: StreamId) {
        if let Some(stream) = self.stream_mut(stream) {
            stream.state.set(State::PIECES);
        }
    }

    /// A stream of a connection that has not ended.
    #[inline]
    fn live(&mut self, stream: StreamId) -> Result<&mut Stream, SendError> {
        if self.phase == Phase::Closed {
            return Err(SendError::UnknownStream);
        }
        self.stream_mut(stream).ok_or(SendError::UnknownStream)
    }

    /// Our side is complete; the stream ends if the peer's is.
    #[inline]
    fn sent_all(&mut self, id: StreamId) {
        let Some(stream) = self.stream_mut(id) else { return };
        stream.state.set(State::SENT_ALL);
        stream.credit = 0;
        if stream.is_over() {
            self.end(id);
        }
    }

    /// Frames of streams have been written: they are kept where the session can be resumed, and wait for it
    /// where the transport is gone.
    #[inline]
    pub(super) fn sent(&mut self, start: usize, out: &mut Vec<u8>) {
        if let Some(session) = &mut self.session {
            session.keep(&out[start..]);
            if matches!(self.phase, Phase::Suspended | Phase::Resuming) {
                out.truncate(start);
            }
        }
    }
}

/// The longest frame that we send.
#[inline]
fn frame_bytes_limit(config: &Config) -> usize {
    match config.fragment_bytes {
        0 => FRAME_BYTES_MAX,
        bytes => bytes.clamp(FRAGMENT_BYTES_MIN, FRAME_BYTES_MAX),
    }
}

/// Writes metadata and data after a header, then the length; in fragments where it has to be. Without room
/// nothing is left of it.
#[inline]
fn finish(
    config: &Config,
    written: &Written,
    metadata: Option<&[u8]>,
    encode: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    write_metadata(metadata, out);
    encode(out);
    let length = out.len() - written.start - PREFIX_BYTES;
    let payload = length - HEADER_BYTES - written.extra - metadata.map_or(0, |_| 3);
    let limit = frame_bytes_limit(config);
    let is_one_frame = length <= limit;
    if payload > config.payload_bytes_max || (!is_one_frame && config.fragment_bytes == 0) {
        out.truncate(written.start);
        return Err(TooLarge);
    }
    if is_one_frame {
        seal(written.start, out);
        return Ok(());
    }
    fragment::split(written, limit, out);
    Ok(())
}

#[inline]
fn write_metadata(metadata: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(metadata) = metadata else { return };
    // More than 24 bits can hold does not fit a frame, and is refused or fragmented before it is
    // sealed.
    let [_, a, b, c] = (metadata.len() as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c]);
    out.extend_from_slice(metadata);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::connection::{Config, SetupOptions};

    /// [ID-7]
    #[test]
    fn a_connection_whose_ids_are_used_up_takes_no_requests() {
        let mut out = Vec::new();
        let mut client =
            Connection::client(Arc::new(Config::default()), &SetupOptions::default(), 0, &mut out);
        client.next_id = 0x7FFF_FFFD;
        let mut ask =
            |interaction| client.request(interaction, 1, Completes::No, Tag(1), None, |_| {}, &mut out);
        assert_eq!(ask(Interaction::FireAndForget), Ok(StreamId(0x7FFF_FFFD)));
        assert_eq!(ask(Interaction::RequestResponse), Ok(StreamId(0x7FFF_FFFF)));
        assert_eq!(ask(Interaction::RequestResponse), Err(RequestError::IdsExhausted));
        // What is open goes on.
        assert_eq!(client.cancel(StreamId(0x7FFF_FFFF), &mut out), Ok(()));
    }
}
