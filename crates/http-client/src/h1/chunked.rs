//! The chunked coding, RFC 9112, 7.1: chunks in any pieces, their extensions skipped, trailers.
//!
//! Lines of chunks end with CR LF and nothing else: what others take for a line end and we do not, or the reverse,
//! is how answers are smuggled.

use httparse::{EMPTY_HEADER, Status};

use super::section::{self, Section};
use crate::{Event, HEADERS_MAX, Malformed};

/// The longest line of a chunk, in bytes: sixteen digits and what extensions there are.
const LINE_BYTES_MAX: u16 = 4096;

/// Where in a chunked body the next byte stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    step: Step,
    /// Bytes of the line so far.
    line: u16,
    /// The chunk's size as far as it was read, then what is missing of its data.
    missing: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Size,
    Extension,
    LineFeed,
    Data,
    DataReturn,
    DataFeed,
    Trailers,
}

impl Chunked {
    pub(super) const fn new() -> Chunked {
        Chunked { step: Step::Size, line: 0, missing: 0 }
    }

    /// Takes bytes; how many were used, and whether the body and its trailers are whole with them.
    pub(super) fn received(
        &mut self,
        bytes: &[u8],
        section: &mut Section,
        sink: &mut impl FnMut(Event<'_>),
    ) -> Result<(usize, bool), Malformed> {
        let mut at = 0;
        while at < bytes.len() {
            match self.step {
                Step::Data => {
                    let rest = &bytes[at..];
                    let piece = rest.len().min(usize::try_from(self.missing).unwrap_or(usize::MAX));
                    self.missing -= piece as u64;
                    at += piece;
                    if self.missing == 0 {
                        self.step = Step::DataReturn;
                    }
                    sink(Event::Body(&rest[..piece]));
                }
                Step::Trailers => {
                    let length = trailers(&bytes[at..], section, sink)?;
                    return Ok((at + length, length > 0));
                }
                _ => {
                    self.byte(bytes[at])?;
                    at += 1;
                }
            }
        }
        Ok((at, false))
    }

    /// One byte of a chunk's line, or of the line end behind its data.
    fn byte(&mut self, byte: u8) -> Result<(), Malformed> {
        self.step = match (self.step, byte) {
            (Step::Size, b'\r') if self.line > 0 => Step::LineFeed,
            (Step::Size, b';' | b' ' | b'\t') if self.line > 0 => Step::Extension,
            (Step::Size, _) => {
                let digit = (byte as char).to_digit(16).ok_or(Malformed::Chunk)?;
                if self.missing >> 60 != 0 {
                    return Err(Malformed::Chunk);
                }
                self.missing = self.missing << 4 | u64::from(digit);
                Step::Size
            }
            (Step::Extension, b'\r') => Step::LineFeed,
            (Step::Extension, b'\t' | b' '..=b'~' | 0x80..) => Step::Extension,
            (Step::LineFeed, b'\n') => {
                self.line = 0;
                self.step = if self.missing == 0 { Step::Trailers } else { Step::Data };
                return Ok(());
            }
            (Step::DataReturn, b'\r') => Step::DataFeed,
            (Step::DataFeed, b'\n') => {
                self.step = Step::Size;
                return Ok(());
            }
            _ => return Err(Malformed::Chunk),
        };
        if matches!(self.step, Step::Size | Step::Extension) {
            self.line += 1;
            if self.line > LINE_BYTES_MAX {
                return Err(Malformed::Chunk);
            }
        }
        Ok(())
    }
}

/// The trailer section with the empty line that ends it; zero if it is not whole.
fn trailers(
    bytes: &[u8],
    section: &mut Section,
    sink: &mut impl FnMut(Event<'_>),
) -> Result<usize, Malformed> {
    if bytes.starts_with(b"\r\n") {
        *section = Section::new();
        return Ok(2);
    }
    if !section.worth_parsing(bytes) {
        return Ok(0);
    }
    // Rare enough to pay for clearing the space.
    let mut space = [EMPTY_HEADER; HEADERS_MAX];
    match httparse::parse_headers(section::within(bytes), &mut space).map_err(section::refused)? {
        Status::Complete((length, headers)) => {
            *section = Section::new();
            if !headers.is_empty() {
                sink(Event::Trailers(headers));
            }
            Ok(length)
        }
        Status::Partial => section.incomplete().map(|()| 0),
    }
}
