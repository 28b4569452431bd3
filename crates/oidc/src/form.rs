//! Names and values as HTML forms and queries carry them (`application/x-www-form-urlencoded`).

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// The characters that are written as `%XX`: all but the unreserved ones (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One value. A blank becomes `%20`, which every decoder reads as one.
pub(crate) fn encode(value: &str) -> impl std::fmt::Display {
    utf8_percent_encode(value, ESCAPED)
}

/// Adds a query to a URL, behind the one that it may have.
pub(crate) fn with_query(url: &str, pairs: &[(&str, &str)]) -> String {
    let mut text = url.to_owned();
    for (name, value) in pairs {
        let separator = match text.contains('?') {
            false => "?",
            true if text.ends_with(['?', '&']) => "",
            true => "&",
        };
        text += &format!("{separator}{name}={}", encode(value));
    }
    text
}

/// The pairs of a query, decoded. An error where a value is not UTF-8.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), &'static str>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decode(name)?, decode(value)?))
    })
}

fn decode(text: &str) -> Result<String, &'static str> {
    let text = match text.contains('+') {
        true => Cow::Owned(text.replace('+', " ")),
        false => Cow::Borrowed(text),
    };
    let decoded = percent_decode(text.as_bytes()).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| "holds a value that is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_added_behind_another() {
        let added = |url| with_query(url, &[("a", "b c&d"), ("e", "ü")]);
        assert_eq!(added("https://x/y"), "https://x/y?a=b%20c%26d&e=%C3%BC");
        assert_eq!(added("https://x/y?z=1"), "https://x/y?z=1&a=b%20c%26d&e=%C3%BC");
        assert_eq!(added("https://x/y?"), "https://x/y?a=b%20c%26d&e=%C3%BC");
    }

    #[test]
    fn pairs_are_read_back() {
        let read: Result<Vec<_>, _> = pairs("a=b+c%26d&&e=%C3%BC&f").collect();
        let read = read.expect("UTF-8");
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(read, [("a", "b c&d"), ("e", "ü"), ("f", "")]);
        assert!(pairs("a=%FF").next().expect("a pair").is_err());
    }
}
