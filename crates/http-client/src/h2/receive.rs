//! What the server sends, frame by frame. RFC 9113, 6.
//!
//! A stream that is not open any more (it was reset, or its answer was whole) may still be sent to
//! for a while: frames that come for it are ignored, but count in the connection's window and go
//! through the header decompression.

use super::answer::{self, Block};
use super::frame::{
    Frame, WINDOW_MAX, code, flag, kind, write_goaway, write_header, write_reset, write_window_update,
};
use super::settings::write_acknowledgement;
use super::{BlockOpen, H2, Phase, StreamId};
use crate::event::Processed;
use crate::hpack::Refused;
use crate::{Event, HEAD_BYTES_MAX, Head, Malformed, Version};

impl H2 {
    /// Takes bytes, beginning with those that the last call left unused, and hands `sink` their
    /// events, stream by stream. Answers to the server's SETTINGS and PING, windows, and bodies
    /// that had to wait are appended to `out`.
    ///
    /// Returns how many bytes were used: whole frames; at most 16,392 bytes remain. After an error
    /// the connection is of no more use: GOAWAY, which states the reason, was appended to `out`,
    /// and [`ended`](H2::ended) notifies the open streams.
    pub fn received(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<usize, Malformed> {
        self.frames(bytes, out, sink).inspect_err(|reason| {
            self.going_away = true;
            write_goaway(
                out,
                match reason {
                    Malformed::FrameSize => code::FRAME_SIZE_ERROR,
                    Malformed::FlowControl => code::FLOW_CONTROL_ERROR,
                    Malformed::Compression => code::COMPRESSION_ERROR,
                    Malformed::HeadTooLong => code::ENHANCE_YOUR_CALM,
                    _ => code::PROTOCOL_ERROR,
                },
            );
        })
    }

    fn frames(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<usize, Malformed> {
        let mut used = 0;
        loop {
            let frame = Frame::read(&bytes[used..]);
            if !self.peer.greeted {
                let settings = |frame: &Frame<'_>| frame.kind == kind::SETTINGS && !frame.has(flag::ACK);
                match &frame {
                    Ok(None) if bytes.get(3).is_none_or(|&kind| kind == kind::SETTINGS) => {}
                    Ok(Some((frame, _))) if settings(frame) => {}
                    _ => return Err(Malformed::NotHttp2),
                }
            }
            let Some((frame, length)) = frame? else { return Ok(used) };
            if self.block_open.is_some() && frame.kind != kind::CONTINUATION {
                return Err(Malformed::Frame);
            }
            self.frame(&frame, out, sink)?;
            used += length;
        }
    }

    fn frame(
        &mut self,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        // Of the connection are these, of a stream the others.
        match frame.kind {
            kind::SETTINGS | kind::PING | kind::GOAWAY if frame.stream != 0 => return Err(Malformed::Frame),
            kind::DATA | kind::HEADERS | kind::RST_STREAM | kind::CONTINUATION => {
                self.opened(frame.stream)?
            }
            _ => {}
        }
        match frame.kind {
            kind::DATA => self.data(frame, out, sink),
            kind::HEADERS => self.headers(frame, out, sink),
            kind::CONTINUATION => self.continuation(frame, out, sink),
            kind::PRIORITY => frame.exactly::<5>().map(|_| ()),
            kind::RST_STREAM => {
                let code = u32::from_be_bytes(frame.exactly()?);
                if self.remove(frame.stream) {
                    let processed =
                        if code == code::REFUSED_STREAM { Processed::No } else { Processed::Perhaps };
                    sink(StreamId(frame.stream), Event::Reset { code, processed });
                }
                Ok(())
            }
            kind::SETTINGS => self.settings(frame, out),
            // We announced that we take none, 6.6.
            kind::PUSH_PROMISE => Err(Malformed::Frame),
            kind::PING => {
                let opaque = frame.exactly::<8>()?;
                if !frame.has(flag::ACK) {
                    write_header(out, opaque.len(), kind::PING, flag::ACK, 0);
                    out.extend_from_slice(&opaque);
                }
                Ok(())
            }
            kind::GOAWAY => self.go_away(frame, sink),
            kind::WINDOW_UPDATE => self.window_update(frame, out, sink),
            // 5.5: frames of extensions are ignored.
            _ => Ok(()),
        }
    }

    /// Whether we opened this stream, now or once. Frames on others make no sense, 5.1.
    fn opened(&self, stream: u32) -> Result<(), Malformed> {
        if stream % 2 == 1 && stream < self.next { Ok(()) } else { Err(Malformed::Frame) }
    }

    fn data(
        &mut self,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        let data = frame.unpadded()?;
        // The padding counts, 6.9.1. The payload's length is bounded by its frame.
        let length = frame.payload.len() as u32;
        self.receive_window = self.receive_window.checked_sub(length).ok_or(Malformed::FlowControl)?;
        let full = self.settings.connection_window;
        if self.receive_window < full / 2 {
            write_window_update(out, 0, full - self.receive_window);
            self.receive_window = full;
        }
        let id = frame.stream;
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        let Some(window) = stream.receive_window.checked_sub(length) else {
            return self.refuse(id, Malformed::FlowControl, out, sink);
        };
        stream.receive_window = window;
        if stream.phase == Phase::Head {
            return self.refuse(id, Malformed::Frame, out, sink);
        }
        let ends = frame.has(flag::END_STREAM);
        if let Some(missing) = stream.missing {
            match missing.checked_sub(data.len() as u64) {
                Some(rest) if rest == 0 || !ends => stream.missing = Some(rest),
                _ => return self.refuse(id, Malformed::BodyLength, out, sink),
            }
        }
        let full = self.settings.stream_window;
        if !ends && window < full / 2 {
            write_window_update(out, id, full - window);
            stream.receive_window = full;
        }
        if !data.is_empty() {
            sink(StreamId(id), Event::Body(data));
        }
        if ends {
            self.end(id, out, sink);
        }
        Ok(())
    }

    fn headers(
        &mut self,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        let mut block = frame.unpadded()?;
        if frame.has(flag::PRIORITY) {
            block = block.get(5..).ok_or(Malformed::FrameSize)?;
        }
        let open = BlockOpen { stream: frame.stream, ends_stream: frame.has(flag::END_STREAM) };
        if frame.has(flag::END_HEADERS) {
            return self.block(open, block, out, sink);
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.block_open = Some(open);
        Ok(())
    }

    fn continuation(
        &mut self,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        let open = self.block_open.filter(|open| open.stream == frame.stream).ok_or(Malformed::Frame)?;
        if self.block.len() + frame.payload.len() > HEAD_BYTES_MAX {
            return Err(Malformed::HeadTooLong);
        }
        self.block.extend_from_slice(frame.payload);
        if frame.has(flag::END_HEADERS) {
            self.block_open = None;
            let block = std::mem::take(&mut self.block);
            self.block(open, &block, out, sink)?;
            self.block = block;
        }
        Ok(())
    }

    /// A header block, whole.
    fn block(
        &mut self,
        BlockOpen { stream: id, ends_stream }: BlockOpen,
        block: &[u8],
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        self.decoder.decode(block, &mut self.fields).map_err(|refused| match refused {
            Refused::Malformed => Malformed::Compression,
            Refused::TooLong => Malformed::HeadTooLong,
        })?;
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        match answer::read(&self.fields, stream, ends_stream) {
            Ok(Block::Informational) => return Ok(()),
            Ok(Block::Head { missing: Some(1..), .. }) if ends_stream => {
                return self.refuse(id, Malformed::BodyLength, out, sink);
            }
            Ok(Block::Head { status, missing }) => {
                stream.phase = Phase::Body;
                stream.missing = missing;
                answer::with_headers(&self.fields, |headers| {
                    sink(StreamId(id), Event::Head(Head { status, version: Version::Http2, headers }));
                });
            }
            Ok(Block::Trailers) if stream.missing.is_some_and(|missing| missing > 0) => {
                return self.refuse(id, Malformed::BodyLength, out, sink);
            }
            Ok(Block::Trailers) if self.fields.len() == 0 => {}
            Ok(Block::Trailers) => {
                answer::with_headers(&self.fields, |headers| sink(StreamId(id), Event::Trailers(headers)));
            }
            Err(reason) => return self.refuse(id, reason, out, sink),
        }
        if ends_stream {
            self.end(id, out, sink);
        }
        Ok(())
    }

    /// The answer on a stream is whole.
    fn end(&mut self, id: u32, out: &mut Vec<u8>, sink: &mut impl FnMut(StreamId, Event<'_>)) {
        // The server has sent its whole answer: nobody needs the rest of the request, 8.1.
        if self.streams.get(&id).is_some_and(super::Stream::is_sending) {
            write_reset(out, id, code::CANCEL);
        }
        self.remove(id);
        sink(StreamId(id), Event::End { reusable: self.is_reusable() });
    }

    /// The answer on a stream broke the rules: the stream is reset, the connection goes on. 5.4.2.
    fn refuse(
        &mut self,
        id: u32,
        reason: Malformed,
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        let flow = reason == Malformed::FlowControl;
        write_reset(out, id, if flow { code::FLOW_CONTROL_ERROR } else { code::PROTOCOL_ERROR });
        self.remove(id);
        sink(StreamId(id), Event::Malformed(reason));
        Ok(())
    }

    fn settings(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
        if frame.has(flag::ACK) {
            return frame.exactly::<0>().map(|_| ());
        }
        let before = i64::from(self.peer.stream_window);
        self.peer.apply(frame)?;
        self.encoder.peer_table_bytes(self.peer.table_bytes);
        // 6.9.2: streams that are open change by the difference, and may owe bytes then.
        let more = i64::from(self.peer.stream_window) - before;
        if more != 0 {
            for stream in self.streams.values_mut() {
                stream.send_window += more;
                if stream.send_window > WINDOW_MAX {
                    return Err(Malformed::FlowControl);
                }
            }
        }
        write_acknowledgement(out);
        self.send_waiting(out);
        Ok(())
    }

    fn go_away(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        let (&[a, b, c, d, ref code @ ..], _) =
            frame.payload.split_first_chunk::<8>().ok_or(Malformed::FrameSize)?;
        let last = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
        let code = u32::from_be_bytes(*code);
        self.going_away = true;
        sink(StreamId::CONNECTION, Event::GoAway { code });
        let mut unanswered: Vec<u32> = self.streams.keys().copied().filter(|&id| id > last).collect();
        unanswered.sort_unstable();
        for id in unanswered {
            self.remove(id);
            sink(StreamId(id), Event::Reset { code, processed: Processed::No });
        }
        Ok(())
    }

    fn window_update(
        &mut self,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        sink: &mut impl FnMut(StreamId, Event<'_>),
    ) -> Result<(), Malformed> {
        let increment = i64::from(u32::from_be_bytes(frame.exactly()?) & 0x7fff_ffff);
        let id = frame.stream;
        if id == 0 {
            self.send_window += increment;
            if increment == 0 {
                return Err(Malformed::Frame);
            }
            if self.send_window > WINDOW_MAX {
                return Err(Malformed::FlowControl);
            }
        } else {
            self.opened(id)?;
            let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
            stream.send_window += increment;
            if increment == 0 {
                return self.refuse(id, Malformed::Frame, out, sink);
            }
            if stream.send_window > WINDOW_MAX {
                return self.refuse(id, Malformed::FlowControl, out, sink);
            }
        }
        self.send_waiting(out);
        Ok(())
    }
}
