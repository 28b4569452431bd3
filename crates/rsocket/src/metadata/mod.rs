//! Composite metadata (`message/x.rsocket.composite-metadata.v0`): several kinds of metadata in one frame.
//!
//! [`entries`] walks it without copying, [`write_entry`] appends to it. What the common kinds hold is read
//! and written by [`routing`], [`authentication`], [`tracing`] and [`mime_type`]. An entry of a kind that
//! the reader does not know is skipped. Nothing here allocates.
//!
//! ```text
//! |1|  id   |  or  |0|length-1| MIME type ... |   then   | length (24) | content ...
//! ```

pub mod authentication;
pub mod mime;
pub mod mime_type;
pub mod routing;
pub mod tracing;

use std::fmt;

pub use mime::Mime;
pub use routing::{routes, write_route};

/// The metadata ends before what it announces, or names a MIME type that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata ends before what it announces")
    }
}

impl std::error::Error for Malformed {}

/// One kind of metadata of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it is.
    pub mime: Mime<'a>,
    /// Its contents.
    pub content: &'a [u8],
}

/// Walks composite metadata in the order of its entries. After a malformed entry there are no others.
#[inline]
pub const fn entries(bytes: &[u8]) -> Entries<'_> {
    Entries { rest: bytes }
}

/// See [`entries`].
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = read_entry(self.rest);
        self.rest = entry.map_or(&[], |(_, rest)| rest);
        Some(entry.map(|(entry, _)| entry).ok_or(Malformed))
    }
}

impl std::iter::FusedIterator for Entries<'_> {}

#[inline]
fn read_entry(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (mime, rest) = mime::read(bytes)?;
    let (length, rest) = rest.split_first_chunk::<3>()?;
    let length = u32::from_be_bytes([0, length[0], length[1], length[2]]);
    let (content, rest) = rest.split_at_checked(length as usize)?;
    Some((Entry { mime, content }, rest))
}

/// The content of the first entry of kind `mime`, `None` where there is none before the end or before what
/// is malformed.
#[inline]
pub fn find<'a>(bytes: &'a [u8], mime: Mime<'_>) -> Option<&'a [u8]> {
    entries(bytes).map_while(Result::ok).find(|entry| entry.mime == mime).map(|entry| entry.content)
}

/// Appends an entry.
///
/// A name is cut to 128 bytes and a content to 16,777,215, which is what their lengths can hold;
/// both are far beyond what a frame of the default size holds.
#[inline]
pub fn write_entry(out: &mut Vec<u8>, mime: Mime<'_>, content: &[u8]) {
    let content = &content[..content.len().min(CONTENT_BYTES_MAX)];
    mime::write(out, mime);
    let [_, a, b, c] = (content.len() as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c]);
    out.extend_from_slice(content);
}

/// Bytes of one entry's content that its 24-bit length can hold.
pub const CONTENT_BYTES_MAX: usize = 0xFF_FFFF;

/// Writes an entry whose content `write` appends; the length is filled in afterwards.
pub(crate) fn write_entry_with(out: &mut Vec<u8>, mime: Mime<'_>, write: impl FnOnce(&mut Vec<u8>)) {
    mime::write(out, mime);
    let start = out.len();
    out.extend_from_slice(&[0; 3]);
    write(out);
    out.truncate(start + 3 + CONTENT_BYTES_MAX);
    let [_, a, b, c] = ((out.len() - start - 3) as u32).to_be_bytes();
    out[start..start + 3].copy_from_slice(&[a, b, c]);
}
