//! Why a server's bytes were refused: one value and one word for each reason, so that a report can count them.
//!
//! After any of them the connection is of no more use and is closed.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident, $word:literal, $says:literal;)*) => {
        /// Why bytes that a server sent are no HTTP that we take.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Malformed {
            $($(#[$doc])* $name,)*
        }

        impl Malformed {
            /// Every reason.
            pub const ALL: &[Malformed] = &[$(Malformed::$name,)*];

            /// A stable word for tables and reports.
            pub fn word(self) -> &'static str {
                match self { $(Malformed::$name => $word,)* }
            }
        }

        impl fmt::Display for Malformed {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Malformed::$name => $says,)* })
            }
        }
    };
}

reasons! {
    /// Bytes came while no request was under way.
    Unasked, "unasked", "bytes came that no request had asked for";
    /// The first line is no status line, RFC 9112, 4; HTTP/2: `:status` is missing or no status, RFC 9113, 8.3.2.
    StatusLine, "status-line", "the answer does not begin with a well-formed HTTP status";
    /// A header line breaks RFC 9112, 5; folded lines are among them. HTTP/2: RFC 9113, 8.2.
    HeaderLine, "header-line", "a header line is malformed or folded";
    /// A head is longer than [`HEAD_BYTES_MAX`](crate::HEAD_BYTES_MAX).
    HeadTooLong, "head-too-long", "the head is longer than 64 KiB";
    /// A head has more than [`HEADERS_MAX`](crate::HEADERS_MAX) lines.
    TooManyHeaders, "too-many-headers", "the head has more than 256 header lines";
    /// `Content-Length` is no number.
    ContentLength, "content-length", "Content-Length is not a number";
    /// `Content-Length` came twice and differs, RFC 9112, 6.3.
    ContentLengthDiffers, "content-length-differs", "Content-Length came twice with different values";
    /// `Content-Length` beside `Transfer-Encoding`: what some take for smuggling, RFC 9112, 6.3.
    BothLengths, "both-lengths", "Content-Length and Transfer-Encoding came together";
    /// `Transfer-Encoding` in HTTP/1.0, or `chunked` twice or before another coding, RFC 9112, 6.1.
    TransferEncoding, "transfer-encoding", "Transfer-Encoding is not one that can be read";
    /// A chunk's line or end breaks RFC 9112, 7.1.
    Chunk, "chunk", "a chunk is malformed";
    /// 101 to a request that had not asked for another protocol.
    UnaskedUpgrade, "unasked-upgrade", "101 came to a request that had not asked to upgrade";
    /// HTTP/2: the body is not as long as `Content-Length` says, RFC 9113, 8.1.1.
    BodyLength, "body-length", "the body is not as long as Content-Length says";
    /// HTTP/2: the server does not begin with SETTINGS, RFC 9113, 3.4: it speaks something else.
    NotHttp2, "not-http2", "the server does not speak HTTP/2";
    /// HTTP/2: a frame of a type, on a stream or at a time that is not allowed, RFC 9113, 6.
    Frame, "frame", "a frame breaks the rules of HTTP/2";
    /// HTTP/2: a frame's length is not one that its type has, or above 16,384 bytes, RFC 9113, 4.2.
    FrameSize, "frame-size", "a frame has a length that it may not have";
    /// HTTP/2: more came than the windows allow, or a window grew beyond 2^31 - 1, RFC 9113, 6.9.
    FlowControl, "flow-control", "the server broke the flow control";
    /// HTTP/2: a header block cannot be decompressed, RFC 7541.
    Compression, "compression", "a header block cannot be decompressed";
    /// The server closed before the first byte of an answer.
    NoAnswer, "no-answer", "the server closed without an answer";
    /// The server closed in the midst of an answer.
    Truncated, "truncated", "the server closed in the midst of an answer";
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        for (at, reason) in Malformed::ALL.iter().enumerate() {
            assert!(!reason.to_string().is_empty());
            assert!(Malformed::ALL[at + 1..].iter().all(|other| other.word() != reason.word()), "{reason:?}");
        }
    }
}
