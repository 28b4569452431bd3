//! Server-sent events: `text/event-stream`, WHATWG HTML, 9.2.
//!
//! [`EventStream`] takes pieces of a body as they come and reports the events in them. A line that
//! lies whole in a piece is read where it stands; only what a piece leaves open is kept. An event
//! that never ends is refused at a bound. Text is reported as its bytes: the server promises that
//! they are UTF-8, and nothing checks it.

use std::fmt;

use memchr::memchr2;

/// The longest event that is taken unless another bound is given, in bytes.
///
/// Browsers have none; a mebibyte is far above what feeds send and bounds what a broken server can make us hold.
pub const EVENT_BYTES_MAX: usize = 1 << 20;

/// One event, dispatched by its empty line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEvent<'a> {
    /// Its type; `message` where the server named none.
    pub event: &'a [u8],
    /// Its data, lines joined by line feeds. Never absent, but it may be empty (`data` alone on a line).
    pub data: &'a [u8],
    /// The last event id of the stream, which stays until another comes: the value of
    /// `Last-Event-ID` after a reconnect.
    pub id: &'a [u8],
    /// How long to wait before a reconnect, in milliseconds, if the server ever stated it.
    pub retry_ms: Option<u64>,
}

/// An event is longer than the bound; the stream is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong {
    /// The bound, in bytes.
    pub bytes_max: usize,
}

impl fmt::Display for EventTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a server-sent event is longer than {} bytes", self.bytes_max)
    }
}

impl std::error::Error for EventTooLong {}

/// The reader of one event stream.
#[derive(Debug)]
pub struct EventStream {
    /// A line whose end is awaited.
    line: Vec<u8>,
    /// The data so far, each line with its line feed.
    data: Vec<u8>,
    event: Vec<u8>,
    id: Vec<u8>,
    /// The id that the next dispatch makes the stream's: an event cut off by a reconnect leaves none.
    next_id: Vec<u8>,
    retry_ms: Option<u64>,
    /// The last byte was a carriage return: a line feed next belongs to it.
    returned: bool,
    /// No line came yet: the first may begin with a byte order mark.
    first: bool,
    bytes_max: usize,
}

impl Default for EventStream {
    fn default() -> Self {
        EventStream::new(EVENT_BYTES_MAX)
    }
}

impl EventStream {
    /// A stream at its beginning, whose events have at most so many bytes.
    pub fn new(bytes_max: usize) -> EventStream {
        EventStream {
            line: Vec::new(),
            data: Vec::new(),
            event: Vec::new(),
            id: Vec::new(),
            next_id: Vec::new(),
            retry_ms: None,
            returned: false,
            first: true,
            bytes_max,
        }
    }

    /// Takes a piece of the body and hands `sink` the events that it completes.
    pub fn received(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), EventTooLong> {
        if std::mem::take(&mut self.returned) {
            match bytes {
                [] => self.returned = true,
                [b'\n', rest @ ..] => bytes = rest,
                _ => {}
            }
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            self.bounded(end)?;
            if self.line.is_empty() {
                self.line(&bytes[..end], sink);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.line(&line, sink);
                line.clear();
                self.line = line;
            }
            let feed = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
            self.returned = bytes[end] == b'\r' && end + 1 == bytes.len();
            bytes = &bytes[end + 1 + usize::from(feed)..];
        }
        self.bounded(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The connection is made anew: what was incomplete is forgotten, the last event id and the waiting time stay.
    pub fn reconnected(&mut self) {
        self.line.clear();
        self.forget();
        self.next_id.clone_from(&self.id);
        self.returned = false;
        self.first = true;
    }

    /// The last event id: the value of `Last-Event-ID` in the request that reconnects. Empty for
    /// none.
    pub fn last_id(&self) -> &[u8] {
        &self.id
    }

    /// How long to wait before a reconnect, in milliseconds, if the server ever stated it.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn bounded(&self, more: usize) -> Result<(), EventTooLong> {
        let held = self.line.len() + self.data.len() + self.event.len() + self.next_id.len();
        if held + more > self.bytes_max { Err(EventTooLong { bytes_max: self.bytes_max }) } else { Ok(()) }
    }

    /// One line without its end. 9.2.6.
    fn line(&mut self, mut line: &[u8], sink: &mut impl FnMut(ServerEvent<'_>)) {
        if std::mem::take(&mut self.first) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.next_id.clear();
                self.next_id.extend_from_slice(value);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = value.iter().map(|&byte| u64::from(byte - b'0'));
                let ms = digits.fold(0u64, |number, digit| number.saturating_mul(10).saturating_add(digit));
                self.retry_ms = Some(ms);
            }
            // A comment (nothing before the colon), or a field of a later day.
            _ => {}
        }
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(ServerEvent<'_>)) {
        if self.id != self.next_id {
            self.id.clone_from(&self.next_id);
        }
        if let Some((_, data)) = self.data.split_last() {
            let event: &[u8] = if self.event.is_empty() { b"message" } else { &self.event };
            sink(ServerEvent { event, data, id: &self.id, retry_ms: self.retry_ms });
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.data.clear();
        self.event.clear();
    }
}
