//! Routing metadata (`message/x.rsocket.routing.v0`): tags of at most 255 bytes each.
//!
//! A request of Stadium's RPC has one tag, `SERVICE/METHOD`.

use super::{Malformed, Mime, write_entry_with};

/// Bytes of a tag that its 8-bit length can hold.
pub const TAG_BYTES_MAX: usize = 255;

/// Walks the tags of a routing entry. After a malformed tag there are no others.
#[inline]
pub const fn routes(content: &[u8]) -> Routes<'_> {
    Routes { rest: content }
}

/// See [`routes`].
#[derive(Debug, Clone)]
pub struct Routes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Routes<'a> {
    type Item = Result<&'a str, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&length, rest) = self.rest.split_first()?;
        let Some((tag, rest)) = rest.split_at_checked(usize::from(length)) else {
            self.rest = &[];
            return Some(Err(Malformed));
        };
        let tag = std::str::from_utf8(tag).map_err(|_| Malformed);
        self.rest = if tag.is_ok() { rest } else { &[] };
        Some(tag)
    }
}

impl std::iter::FusedIterator for Routes<'_> {}

/// Appends a routing entry with one tag, cut to 255 bytes.
#[inline]
pub fn write_route(out: &mut Vec<u8>, route: &str) {
    write_routes(out, [route]);
}

/// Appends a routing entry with several tags, each cut to 255 bytes (at a character's boundary).
pub fn write_routes<'a>(out: &mut Vec<u8>, routes: impl IntoIterator<Item = &'a str>) {
    write_entry_with(out, Mime::ROUTING, |out| {
        for route in routes {
            let route = &route[..route.floor_char_boundary(TAG_BYTES_MAX)];
            out.push(route.len() as u8);
            out.extend_from_slice(route.as_bytes());
        }
    });
}
