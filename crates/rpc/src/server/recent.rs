//! The route of the request before: most requests of a loop have the same one.
//!
//! Composite metadata that begins with the same routing entry has the same route; the table is not asked.

/// A route and how metadata spells it.
#[derive(Debug, Default)]
pub(crate) struct RecentRoute {
    entry: Vec<u8>,
    place: u16,
}

/// First byte of an entry whose MIME type is the well-known one of routing.
const ROUTING: u8 = 0x80 | 0x7E;
/// Bytes of an entry before its content: MIME type and length.
const HEADER_BYTES: usize = 4;

impl RecentRoute {
    /// The method's place and the metadata behind the route, where the route is the one before.
    #[inline]
    pub(crate) fn find<'a>(&self, metadata: &'a [u8], composite: bool) -> Option<(u16, &'a [u8])> {
        if self.entry.is_empty() || !composite {
            return None;
        }
        metadata.strip_prefix(self.entry.as_slice()).map(|rest| (self.place, rest))
    }

    /// Remembers a route that was found in the table.
    pub(crate) fn remember(&mut self, place: u16, metadata: &[u8], composite: bool) {
        if let [ROUTING, a, b, c, ..] = *metadata
            && composite
        {
            let length = u32::from_be_bytes([0, a, b, c]) as usize + HEADER_BYTES;
            if let Some(entry) = metadata.get(..length) {
                self.entry.clear();
                self.entry.extend_from_slice(entry);
                self.place = place;
            }
        }
    }
}
