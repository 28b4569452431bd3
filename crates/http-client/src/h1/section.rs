//! When a head or trailer section that comes in pieces is worth another parse.
//!
//! A parser that begins anew with each piece would take quadratic time for a head that trickles in. A long incomplete
//! section is parsed again only once its end is there, or once it has doubled, so that garbage is still found early.

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

    /// Notes what there is by now, and tells whether to parse it. An error if the section is too long.
    pub(super) fn worth_parsing(&mut self, bytes: &[u8]) -> Result<bool, Malformed> {
        // The empty line may have begun in what was seen before.
        let from = (self.seen as usize).saturating_sub(2).min(bytes.len());
        let within = bytes.len().min(HEAD_BYTES_MAX + 1);
        self.seen = within as u32;
        let short = within <= SHORT_BYTES;
        // The first time, the section is most likely whole.
        if !short
            && self.parsed != 0
            && within < 2 * self.parsed as usize
            && !has_end(&bytes[from.min(within)..within])
        {
            return self.incomplete().map(|()| false);
        }
        self.parsed = self.seen;
        Ok(true)
    }

    /// The section has no end yet: an error if it cannot get one any more.
    pub(super) fn incomplete(&self) -> Result<(), Malformed> {
        if self.seen as usize > HEAD_BYTES_MAX { Err(Malformed::HeadTooLong) } else { Ok(()) }
    }
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
