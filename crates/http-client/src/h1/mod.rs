//! HTTP/1.1 from the client's side, RFC 9112: one connection, one request at a time.
//!
//! [`H1`] keeps no bytes: what it could not use yet stays with the caller, who gives it again with what follows. An
//! answer that lies whole in the bytes given costs one pass over its head. Refused are folded lines, heads above
//! [`HEAD_BYTES_MAX`](crate::HEAD_BYTES_MAX), two lengths that differ, and `Content-Length` beside `Transfer-Encoding`.

mod chunked;
mod framing;
mod section;

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Response, Status};

use crate::{Event, HEADERS_MAX, Head, Malformed, Version};
use chunked::Chunked;
use framing::Framing;
pub(crate) use framing::digits;
use section::Section;

/// What a request asked for, as far as the reading of its answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// An answer with a body, where its status allows one.
    Answer,
    /// HEAD: an answer without a body, whatever its headers state.
    Head,
    /// Another protocol: 101 ends HTTP on this connection. Any other status is an ordinary answer.
    Upgrade,
    /// CONNECT: a status of 2xx ends HTTP on this connection.
    Tunnel,
}

impl Asked {
    /// The kind of answer to a request with this method. Only its headers show whether it asks for
    /// an upgrade.
    pub fn by(method: &str) -> Asked {
        match method {
            "HEAD" => Asked::Head,
            "CONNECT" => Asked::Tunnel,
            _ => Asked::Answer,
        }
    }
}

/// The reading side of one connection.
#[derive(Debug)]
pub struct H1 {
    state: State,
    section: Section,
    asked: Asked,
    reusable: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// No request is under way.
    Idle,
    /// The head is awaited or incomplete.
    Head,
    /// So many bytes of the body are missing.
    Counted(u64),
    Chunked(Chunked),
    /// The body ends where the connection does.
    UntilClose,
    /// What comes is another protocol's.
    Upgraded,
}

impl Default for H1 {
    fn default() -> Self {
        H1::new()
    }
}

impl H1 {
    /// A connection on which nothing was asked yet.
    pub const fn new() -> H1 {
        H1 { state: State::Idle, section: Section::new(), asked: Asked::Answer, reusable: true }
    }

    /// A request was sent; its answer is read next. An answer that was under way is forgotten.
    pub fn begin(&mut self, asked: Asked) {
        *self = H1 { state: State::Head, section: Section::new(), asked, reusable: true };
    }

    /// Whether no answer is awaited or under way.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Whether the connection speaks another protocol now.
    pub fn is_upgraded(&self) -> bool {
        matches!(self.state, State::Upgraded)
    }

    /// Takes bytes, beginning with those that the last call left unused, and hands `sink` their
    /// events.
    ///
    /// Returns how many were used. After [`Event::End`] and [`Event::Upgraded`] nothing more is: what remains after an
    /// end was not asked for (the connection should be closed), what remains after an upgrade is the other protocol's.
    /// At most [`HEAD_BYTES_MAX`](crate::HEAD_BYTES_MAX) bytes remain unused. After an error the connection is of no more use.
    pub fn received(&mut self, bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) -> Result<usize, Malformed> {
        if self.is_idle() && !bytes.is_empty() {
            return Err(Malformed::Unasked);
        }
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if rest.is_empty() {
                return Ok(used);
            }
            match &mut self.state {
                State::Idle | State::Upgraded => return Ok(used),
                State::Head => match self.head(rest, sink)? {
                    0 => return Ok(used),
                    length => used += length,
                },
                State::Counted(missing) => {
                    let piece = rest.len().min(usize::try_from(*missing).unwrap_or(usize::MAX));
                    *missing -= piece as u64;
                    let done = *missing == 0;
                    used += piece;
                    sink(Event::Body(&rest[..piece]));
                    if done {
                        self.end(sink);
                    }
                }
                State::Chunked(chunked) => {
                    let (length, done) = chunked.received(rest, &mut self.section, sink)?;
                    used += length;
                    if !done {
                        return Ok(used);
                    }
                    self.end(sink);
                }
                State::UntilClose => {
                    sink(Event::Body(rest));
                    return Ok(bytes.len());
                }
            }
        }
    }

    /// The server closed. Whether that ended an answer well: one without a length ends so.
    ///
    /// `false` if nothing was under way. An error if an answer was: [`Malformed::NoAnswer`] if it had not begun, which
    /// on a connection that had idled means that the two crossed each other (RFC 9112, 9.3.1).
    pub fn ended(&mut self, sink: &mut impl FnMut(Event<'_>)) -> Result<bool, Malformed> {
        match self.state {
            State::Idle | State::Upgraded => Ok(false),
            State::UntilClose => {
                self.reusable = false;
                self.end(sink);
                Ok(true)
            }
            State::Head if self.section.is_untouched() => Err(Malformed::NoAnswer),
            State::Head | State::Counted(_) | State::Chunked(_) => Err(Malformed::Truncated),
        }
    }

    /// Reads a head; zero if it is not whole.
    fn head(&mut self, bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) -> Result<usize, Malformed> {
        if !self.section.worth_parsing(bytes) {
            return Ok(0);
        }
        let mut space = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut response = Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            section::within(bytes),
            &mut space,
        );
        let length = match parsed.map_err(section::refused)? {
            Status::Complete(length) => length,
            Status::Partial => return self.section.incomplete().map(|()| 0),
        };
        self.section = Section::new();
        let (Some(status), Some(minor)) = (response.code, response.version) else {
            return Err(Malformed::StatusLine);
        };
        let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
        let head = Head { status, version, headers: response.headers };
        self.begin_body(head, sink)?;
        Ok(length)
    }

    /// What follows a head. RFC 9112, 6.3.
    fn begin_body(&mut self, head: Head<'_>, sink: &mut impl FnMut(Event<'_>)) -> Result<(), Malformed> {
        match head.status {
            0..=99 => return Err(Malformed::StatusLine),
            101 if self.asked == Asked::Upgrade => return self.upgrade(head, sink),
            101 => return Err(Malformed::UnaskedUpgrade),
            100..=199 => return Ok(()),
            200..=299 if self.asked == Asked::Tunnel => return self.upgrade(head, sink),
            _ => {}
        }
        let framing = Framing::of(&head)?;
        self.reusable = framing.keep_alive;
        let bodiless = self.asked == Asked::Head || matches!(head.status, 204 | 304);
        sink(Event::Head(head));
        if bodiless {
            self.end(sink);
            return Ok(());
        }
        match framing.length {
            framing::Length::Counted(0) => self.end(sink),
            framing::Length::Counted(length) => self.state = State::Counted(length),
            framing::Length::Chunked => self.state = State::Chunked(Chunked::new()),
            framing::Length::UntilClose => {
                self.reusable = false;
                self.state = State::UntilClose;
            }
        }
        Ok(())
    }

    fn upgrade(&mut self, head: Head<'_>, sink: &mut impl FnMut(Event<'_>)) -> Result<(), Malformed> {
        self.state = State::Upgraded;
        sink(Event::Upgraded(head));
        Ok(())
    }

    fn end(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        self.state = State::Idle;
        sink(Event::End { reusable: self.reusable });
    }
}

// There are tens of thousands of them.
const _: () = assert!(size_of::<H1>() <= 40);
