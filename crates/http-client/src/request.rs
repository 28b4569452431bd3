//! A request as its user gives it, and its bytes in HTTP/1.1.
//!
//! What would break the framing is refused here, in both versions: values often come out of other answers, and a line
//! break in one would be a header of its own. `Content-Length` and `Transfer-Encoding` are ours to write.

use std::fmt;
use std::io::Write;

use crate::Header;

/// A request with its body whole.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// `http` or `https`; only HTTP/2 sends it.
    pub scheme: &'a str,
    /// Host and, where it is not the scheme's own, port. A `Host` among the headers goes in its place.
    pub authority: &'a str,
    /// Path and query; `*` or, for CONNECT, the authority.
    pub target: &'a str,
    /// More headers. `Content-Length` and `Transfer-Encoding` are left out: the body decides them. In HTTP/2 those of
    /// the connection are left out too, RFC 9113, 8.2.2.
    pub headers: &'a [Header<'a>],
    /// The body, empty for none.
    pub body: &'a [u8],
}

impl Default for Request<'_> {
    /// A GET of `/` without an authority.
    fn default() -> Self {
        Request { method: "GET", scheme: "http", authority: "", target: "/", headers: &[], body: &[] }
    }
}

/// Why a request cannot be sent: what in it has bytes that do not belong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsendable {
    /// The method is no token, RFC 9110, 9.1.
    Method,
    /// The target is empty or has a blank, a control character or a byte above 126.
    Target,
    /// The authority has a blank, a control character or a byte above 126.
    Authority,
    /// A header's name is no token, RFC 9110, 5.1.
    HeaderName,
    /// A header's value has a line break, a zero or another control character, RFC 9110, 5.5.
    HeaderValue,
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsendable::Method => "the method is not a token",
            Unsendable::Target => "the target is empty or has a character that must be percent-encoded",
            Unsendable::Authority => "the authority has a character that no host has",
            Unsendable::HeaderName => "a header's name is not a token",
            Unsendable::HeaderValue => "a header's value has a line break or another control character",
        })
    }
}

impl std::error::Error for Unsendable {}

impl<'a> Request<'a> {
    /// Whether every part may be sent.
    pub fn check(&self) -> Result<(), Unsendable> {
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token(self.method) {
            return Err(Unsendable::Method);
        }
        if self.target.is_empty() || !visible(self.target) {
            return Err(Unsendable::Target);
        }
        if !visible(self.authority) {
            return Err(Unsendable::Authority);
        }
        for header in self.headers {
            if !is_token(header.name) {
                return Err(Unsendable::HeaderName);
            }
            if !is_value(header.value) {
                return Err(Unsendable::HeaderValue);
            }
        }
        Ok(())
    }

    /// The headers that are the user's to send: without those that frame the body.
    pub(crate) fn own_headers(&self) -> impl Iterator<Item = &Header<'a>> + use<'_, 'a> {
        self.headers.iter().filter(|header| match header.name.len() {
            14 => !header.name.eq_ignore_ascii_case("content-length"),
            17 => !header.name.eq_ignore_ascii_case("transfer-encoding"),
            _ => true,
        })
    }

    /// The length to announce; an empty body is announced where the method expects one, RFC 9110, 8.6.
    pub(crate) fn content_length(&self) -> Option<usize> {
        let expected = !self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH");
        expected.then_some(self.body.len())
    }
}

/// Appends a request in HTTP/1.1: request line, `Host`, headers, `Content-Length`, body. RFC 9112, 3.
///
/// On an error nothing was appended.
pub fn write_request(out: &mut Vec<u8>, request: &Request<'_>) -> Result<(), Unsendable> {
    request.check()?;
    let Request { method, authority, target, headers, body, .. } = *request;
    let lines: usize = headers.iter().map(|header| header.name.len() + header.value.len() + 4).sum();
    out.reserve(method.len() + target.len() + authority.len() + lines + body.len() + 64);
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    // The first line, as RFC 9112, 3.2 asks for.
    let host = headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
    write_line(out, "Host", host.map_or(authority.as_bytes(), |header| header.value));
    for header in request.own_headers().filter(|header| !header.name.eq_ignore_ascii_case("host")) {
        write_line(out, header.name, header.value);
    }
    if let Some(length) = request.content_length() {
        write!(out, "Content-Length: {length}\r\n").expect("a Vec takes all");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    Ok(())
}

fn write_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// RFC 9110, 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(token)
}

/// RFC 9110, 5.5: visible characters, blanks, tabs, and bytes above 127.
pub(crate) fn is_value(value: &[u8]) -> bool {
    value.iter().all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(request: Request<'_>) -> String {
        let mut out = Vec::new();
        write_request(&mut out, &request).expect("it may be sent");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_get_has_a_host_and_no_length() {
        let headers = [Header { name: "Accept", value: b"*/*" }];
        let request =
            Request { authority: "a.test:81", target: "/x?y=1", headers: &headers, ..Request::default() };
        assert_eq!(written(request), "GET /x?y=1 HTTP/1.1\r\nHost: a.test:81\r\nAccept: */*\r\n\r\n");
    }

    #[test]
    fn the_body_decides_the_length_whatever_the_headers_state() {
        let headers = [
            Header { name: "content-length", value: b"7" },
            Header { name: "Transfer-Encoding", value: b"chunked" },
            Header { name: "host", value: b"other" },
        ];
        let post = Request { method: "POST", authority: "a", headers: &headers, ..Request::default() };
        assert_eq!(written(post), "POST / HTTP/1.1\r\nHost: other\r\nContent-Length: 0\r\n\r\n");
        let put = Request { method: "PUT", headers: &[], body: b"hello", ..post };
        assert_eq!(written(put), "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    }

    #[test]
    fn what_would_break_the_framing_is_refused_and_nothing_is_written() {
        let name = [Header { name: "a b", value: b"" }];
        let value = [Header { name: "a", value: b"1\r\nHost: evil" }];
        let good = Request::default();
        for (request, expected) in [
            (Request { method: "GE T", ..good }, Unsendable::Method),
            (Request { method: "", ..good }, Unsendable::Method),
            (Request { target: "/a b", ..good }, Unsendable::Target),
            (Request { target: "", ..good }, Unsendable::Target),
            (Request { target: "/\u{fc}", ..good }, Unsendable::Target),
            (Request { authority: "a\r\nb", ..good }, Unsendable::Authority),
            (Request { headers: &name, ..good }, Unsendable::HeaderName),
            (Request { headers: &value, ..good }, Unsendable::HeaderValue),
        ] {
            let mut out = b"before".to_vec();
            assert_eq!(write_request(&mut out, &request), Err(expected), "{request:?}");
            assert_eq!(out, b"before");
        }
    }
}
