//! The MIME type of one stream's data (`message/x.rsocket.mime-type.v0`), and those that its requester can
//! read (`message/x.rsocket.accept-mime-types.v0`).
//!
//! They stand in for the data MIME type of SETUP on that stream.

use super::{Malformed, Mime, mime, write_entry_with};

/// Walks the MIME types of an entry of either kind, in the sender's order of preference. After a malformed
/// one there are no others.
pub const fn mimes(content: &[u8]) -> Mimes<'_> {
    Mimes { rest: content }
}

/// See [`mimes`].
#[derive(Debug, Clone)]
pub struct Mimes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Mimes<'a> {
    type Item = Result<Mime<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = mime::read(self.rest);
        self.rest = read.map_or(&[], |(_, rest)| rest);
        Some(read.map(|(mime, _)| mime).ok_or(Malformed))
    }
}

impl std::iter::FusedIterator for Mimes<'_> {}

/// Appends an entry that states the MIME type of the stream's data.
pub fn write_mime_type(out: &mut Vec<u8>, mime: Mime<'_>) {
    write_entry_with(out, Mime::MIME_TYPE, |out| mime::write(out, mime));
}

/// Appends an entry that states the MIME types that the requester can read.
pub fn write_accept<'a>(out: &mut Vec<u8>, accepted: impl IntoIterator<Item = Mime<'a>>) {
    write_entry_with(out, Mime::ACCEPT_MIME_TYPES, |out| {
        for mime in accepted {
            mime::write(out, mime);
        }
    });
}
