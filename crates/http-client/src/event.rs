//! The parts of an answer, as its reader reports them: a head, pieces of the body, trailers, the
//! end.
//!
//! Everything borrows from the bytes that came and is gone when the sink returns. HTTP/1.1 and
//! HTTP/2 report the same events, so that one sink reads both.

/// A header line: `name` as it came (HTTP/2: in lower case), `value` without the blanks around it.
pub use httparse::Header;

use crate::Malformed;

/// One piece of news about an answer, in order: [`Head`](Event::Head), any number of [`Body`](Event::Body), at most
/// one [`Trailers`](Event::Trailers), then [`End`](Event::End), or [`Reset`](Event::Reset) or
/// [`Malformed`](Event::Malformed) in place of what is missing.
///
/// Informational answers (1xx) are skipped, RFC 9110, 15.2.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The head of the answer.
    Head(Head<'a>),
    /// The head of an answer after which the connection speaks another protocol: 101, or 2xx to CONNECT.
    ///
    /// No other event follows, and what stands behind the head is not used: it is the other protocol's. HTTP/1.1 only.
    Upgraded(Head<'a>),
    /// A piece of the body, never empty. How it was cut means nothing.
    Body(&'a [u8]),
    /// The trailers, never empty.
    Trailers(&'a [Header<'a>]),
    /// The answer is whole.
    End {
        /// Whether the connection takes another request.
        reusable: bool,
    },
    /// HTTP/2: the stream ended without its answer being whole, RFC 9113, 5.4.2. Nothing more comes for it.
    Reset {
        /// The error code of RFC 9113, 7.
        code: u32,
        /// Whether the server vouches that it did nothing with the request, so that it may be sent again.
        processed: Processed,
    },
    /// HTTP/2: the answer on this stream broke the rules, or the connection ended before it was whole. Nothing more
    /// comes for it; other streams are not touched. RFC 9113, 8.1.1.
    Malformed(Malformed),
    /// HTTP/2, of the connection: the server takes no new streams, RFC 9113, 6.8. Streams it will not answer are
    /// reset one by one beside this.
    GoAway {
        /// The error code of RFC 9113, 7; 0 is an orderly end.
        code: u32,
    },
}

/// Whether a server may have acted on a request that it did not answer, RFC 9113, 8.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processed {
    /// It may have.
    Perhaps,
    /// It reports that it did not.
    No,
}

/// Which HTTP an answer came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

/// The head of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The status code, 100 to 999.
    pub status: u16,
    /// Which HTTP it came in.
    pub version: Version,
    /// The header lines in the order in which they came.
    pub headers: &'a [Header<'a>],
}

impl<'a> Head<'a> {
    /// The value of the first line of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        find_header(self.headers, name)
    }
}

/// The value of the first line of this name, in any case.
pub fn find_header<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a [u8]> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

/// Whether a comma-separated list such as that of `Connection` holds the token, in any case. RFC 9110, 5.6.1.
pub fn has_token(list: &[u8], token: &str) -> bool {
    list.split(|&byte| byte == b',').any(|member| member.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_in_any_case() {
        let headers = [Header { name: "Etag", value: b"1" }, Header { name: "ETAG", value: b"2" }];
        let head = Head { status: 200, version: Version::Http11, headers: &headers };
        assert_eq!(head.header("etag"), Some(&b"1"[..]));
        assert_eq!(head.header("age"), None);
    }

    #[test]
    fn tokens_stand_alone_in_a_list() {
        assert!(has_token(b"Keep-Alive , Close", "close"));
        assert!(!has_token(b"closed, not-close", "close"));
        assert!(!has_token(b"", "close"));
    }
}
