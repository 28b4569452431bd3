//! Requests: HEADERS, CONTINUATION and DATA, as far as the server's windows admit. RFC 9113, 5.2 and 8.
//! Requests are checked before their block is begun: a block that does not reach the server leaves the tables apart.

use super::frame::{flag, kind, patch_header, write_header};
use super::{H2, NotSent, Phase, Stream, StreamId};
use crate::request::Request;

/// Buffers of sent bodies that a connection keeps for the next ones; few bodies wait at a time.
const SPARE_MAX: usize = 8;

/// Beyond this a buffer is given back instead: one large upload should not cost memory for ever.
const SPARE_BYTES_MAX: usize = 1 << 20;

impl H2 {
    /// Appends a request on a new stream: its head, and of its body what the windows admit. The rest is copied and
    /// follows out of [`received`](H2::received) as the server opens its windows.
    pub fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Result<StreamId, NotSent> {
        request.check().map_err(NotSent::Unsendable)?;
        if request.method == "CONNECT" {
            return Err(NotSent::Connect);
        }
        if !self.is_reusable() {
            return Err(NotSent::Closing);
        }
        if !self.can_open() {
            return Err(NotSent::Full);
        }
        let id = self.next;
        self.next += 2;
        self.write_head(id, request, out);
        let mut stream = Stream {
            phase: Phase::Head,
            head: request.method == "HEAD",
            send_window: i64::from(self.peer.stream_window),
            receive_window: self.settings.stream_window,
            missing: None,
            body: Vec::new(),
            sent: 0,
        };
        let body = request.body;
        let sent =
            write_body(id, body, &mut stream.send_window, &mut self.send_window, self.peer.payload_max, out);
        if sent < body.len() {
            stream.body = self.spare.pop().unwrap_or_default();
            stream.body.extend_from_slice(&body[sent..]);
            self.waiting.push_back(id);
        }
        self.streams.insert(id, stream);
        Ok(StreamId(id))
    }

    /// HEADERS, and CONTINUATION where the block is longer than a frame of the server's.
    fn write_head(&mut self, id: u32, request: &Request<'_>, out: &mut Vec<u8>) {
        let ends = if request.body.is_empty() { flag::END_STREAM } else { 0 };
        let at = out.len();
        write_header(out, 0, kind::HEADERS, ends, id);
        let block = out.len();
        self.write_block(request, out);
        let length = out.len() - block;
        if length <= self.peer.payload_max {
            patch_header(out, at, length, flag::END_HEADERS);
            return;
        }
        let whole = out.split_off(block);
        let (first, rest) = whole.split_at(self.peer.payload_max);
        patch_header(out, at, first.len(), 0);
        out.extend_from_slice(first);
        let mut pieces = rest.chunks(self.peer.payload_max).peekable();
        while let Some(piece) = pieces.next() {
            let ends = if pieces.peek().is_none() { flag::END_HEADERS } else { 0 };
            write_header(out, piece.len(), kind::CONTINUATION, ends, id);
            out.extend_from_slice(piece);
        }
    }

    /// The header block: pseudo-header fields first, 8.3.1; nothing that belongs to a connection, 8.2.2.
    fn write_block(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        let encoder = &mut self.encoder;
        let host = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
        let authority = host.map_or(request.authority.as_bytes(), |header| header.value);
        encoder.begin(out);
        encoder.field(":method", request.method.as_bytes(), out);
        encoder.field(":scheme", request.scheme.as_bytes(), out);
        if !authority.is_empty() {
            encoder.field(":authority", authority, out);
        }
        encoder.field(":path", request.target.as_bytes(), out);
        for header in request.own_headers() {
            if !is_of_connection(header.name, header.value) {
                encoder.field(header.name, header.value.trim_ascii(), out);
            }
        }
        if let Some(length) = request.content_length() {
            let mut digits = [0; 20];
            encoder.field("content-length", decimal(length, &mut digits), out);
        }
    }

    /// Sends what the windows admit by now, each stream in its turn.
    pub(super) fn send_waiting(&mut self, out: &mut Vec<u8>) {
        for _ in 0..self.waiting.len() {
            if self.send_window <= 0 {
                return;
            }
            let Some(id) = self.waiting.pop_front() else { return };
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            let rest = &stream.body[stream.sent..];
            stream.sent += write_body(
                id,
                rest,
                &mut stream.send_window,
                &mut self.send_window,
                self.peer.payload_max,
                out,
            );
            if stream.is_sending() {
                self.waiting.push_back(id);
            } else {
                let body = std::mem::take(&mut stream.body);
                stream.sent = 0;
                self.keep_memory(body);
            }
        }
    }

    /// Keeps a buffer for a body to come.
    pub(super) fn keep_memory(&mut self, mut body: Vec<u8>) {
        if self.spare.len() < SPARE_MAX && (1..=SPARE_BYTES_MAX).contains(&body.capacity()) {
            body.clear();
            self.spare.push(body);
        }
    }
}

/// Appends as much of `body` as both windows admit, ending the stream with its last byte. Returns how much.
fn write_body(
    id: u32,
    body: &[u8],
    stream_window: &mut i64,
    connection_window: &mut i64,
    payload_max: usize,
    out: &mut Vec<u8>,
) -> usize {
    let mut sent = 0;
    while sent < body.len() {
        let window = usize::try_from((*stream_window).min(*connection_window)).unwrap_or(0);
        if window == 0 {
            break;
        }
        let piece = (body.len() - sent).min(window).min(payload_max);
        let ends = if sent + piece == body.len() { flag::END_STREAM } else { 0 };
        write_header(out, piece, kind::DATA, ends, id);
        out.extend_from_slice(&body[sent..sent + piece]);
        sent += piece;
        *stream_window -= piece as i64;
        *connection_window -= piece as i64;
    }
    sent
}

/// Whether a field has no place in HTTP/2; `Host` has become `:authority`.
fn is_of_connection(name: &str, value: &[u8]) -> bool {
    const NAMES: [&str; 5] = ["connection", "host", "keep-alive", "proxy-connection", "upgrade"];
    NAMES.iter().any(|of_connection| name.eq_ignore_ascii_case(of_connection))
        || name.eq_ignore_ascii_case("http2-settings")
        || (name.eq_ignore_ascii_case("te") && !value.eq_ignore_ascii_case(b"trailers"))
}

fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}
