//! The static table, RFC 7541, appendix A: fields that every peer knows from the start.

/// The fields; the first has index 1.
#[rustfmt::skip]
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

/// The index of a field with this name, and whether its value is this one too.
pub(super) fn find(name: &[u8], value: &[u8]) -> Option<(usize, bool)> {
    let named = |&(_, entry): &(usize, &(&str, &str))| entry.0.as_bytes() == name;
    let mut entries = STATIC.iter().enumerate().filter(named);
    let (first, entry) = entries.next()?;
    if entry.1.as_bytes() == value {
        return Some((first + 1, true));
    }
    let whole = entries.find(|(_, entry)| entry.1.as_bytes() == value);
    Some(whole.map_or((first + 1, false), |(at, _)| (at + 1, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whole_where_they_are_and_by_name_where_not() {
        assert_eq!(find(b":status", b"404"), Some((13, true)));
        assert_eq!(find(b":status", b"429"), Some((8, false)));
        assert_eq!(find(b"www-authenticate", b""), Some((61, true)));
        assert_eq!(find(b"x-own", b""), None);
    }
}
