//! When a head or trailer section that comes in pieces is worth another parse.
//!
//! A parser that begins anew with each piece would take quadratic time for a head that trickles in. A long incomplete
//! section is parsed again only once its end is there, once it has doubled, or once it is too long. A malformed line
//! is thus refused before the section is twice as long as at that line. If the connection closes before that, the
//! section counts as truncated.

use memchr::memchr_iter;

use crate::{HEAD_BYTES_MAX, Malformed};

/// Sections up to here are parsed whenever something came: that costs less than to be clever.
const SHORT_BYTES: usize = 1024;

/// How far an incomplete section was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    seen: u32,
    parsed: u32,
}

impl Section {
    pub(super) const fn new() -> Section {
        Section { seen: 0, parsed: 0 }
    }

    /// Whether none of its bytes came.
    pub(super) fn is_untouched(&self) -> bool {
        self.seen == 0
    }

    /// Notes the bytes that are there by now, and returns whether to parse them.
    pub(super) fn worth_parsing(&mut self, bytes: &[u8]) -> bool {
        // The empty line may have begun in what was seen before.
        let from = (self.seen as usize).saturating_sub(2).min(bytes.len());
        let within = bytes.len().min(HEAD_BYTES_MAX + 1);
        self.seen = within as u32;
        let short = within <= SHORT_BYTES;
        // The first time, the section is most likely whole.
        if !short
            && self.parsed != 0
            && within <= HEAD_BYTES_MAX
            && within < 2 * self.parsed as usize
            && !has_end(&bytes[from.min(within)..within])
        {
            return false;
        }
        self.parsed = self.seen;
        true
    }

    /// The section has no end yet: an error if it cannot get one any more.
    pub(super) fn incomplete(&self) -> Result<(), Malformed> {
        if self.seen as usize > HEAD_BYTES_MAX { Err(Malformed::HeadTooLong) } else { Ok(()) }
    }
}

/// The bytes that decide about a section. Whether it is refused, and why, must not depend on the bytes that happen to
/// have come behind them.
pub(super) fn within(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD_BYTES_MAX)]
}

/// Whether an empty line stands in `bytes`.
fn has_end(bytes: &[u8]) -> bool {
    memchr_iter(b'\n', bytes).any(|at| matches!(bytes[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

/// What the parser refused, in our words.
pub(super) fn refused(error: httparse::Error) -> Malformed {
    use httparse::Error::{HeaderName, HeaderValue, NewLine, TooManyHeaders};
    match error {
        TooManyHeaders => Malformed::TooManyHeaders,
        HeaderName | HeaderValue | NewLine => Malformed::HeaderLine,
        _ => Malformed::StatusLine,
    }
}
