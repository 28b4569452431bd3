//! The HTTP/1.1 upgrade that opens a WebSocket (RFC 6455, 4), on both sides.
//!
//! A request or response must fit in 4 KB. A request that cannot be upgraded gets an HTTP answer that
//! says why, and the connection is closed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::{Masks, Mode};
use crate::settings::{WebSocketRequest, WebSocketSettings};

/// The longest request or response, in bytes.
const HEAD_BYTES_MAX: usize = 4 * 1024;
/// Header lines of one head.
const HEADERS_MAX: usize = 64;

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Upgrade {
    /// There is more to come.
    Partial,
    /// Upgraded: the bytes of the request that were used, the answer, and what the path is for.
    Accepted { used: usize, answer: Vec<u8>, mode: Mode },
    /// Refused with this answer.
    Refused(Vec<u8>),
}

/// What becomes of a response to our request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Partial,
    Accepted { used: usize },
    Refused,
}

/// A new `Sec-WebSocket-Key` (RFC 6455, 4.1).
pub fn new_key(masks: &mut Masks) -> String {
    STANDARD.encode(masks.nonce())
}

/// The value that a server sends in `Sec-WebSocket-Accept` to a request with this
/// `Sec-WebSocket-Key` (RFC 6455, 4.2.2).
pub fn accept_key(key: &[u8]) -> String {
    let mut text = key.to_vec();
    text.extend_from_slice(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &text))
}

fn refusal(status: &str, extra: &str, text: &str) -> Upgrade {
    Upgrade::Refused(
        format!(
            "HTTP/1.1 {status}\r\n{extra}Content-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
        .into_bytes(),
    )
}

/// Whether one of a header's comma-separated words is `word`.
fn has_word(headers: &[httparse::Header<'_>], name: &str, word: &str) -> bool {
    values(headers, name).any(|value| value.eq_ignore_ascii_case(word))
}

/// The comma-separated words of all headers of a name, in order.
fn values<'a>(headers: &'a [httparse::Header<'a>], name: &'a str) -> impl Iterator<Item = &'a str> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .filter_map(|header| std::str::from_utf8(header.value).ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Whether the page that asks may do so (RFC 6455, 10.2): it is of this host, or of a listed
/// origin.
///
/// A browser always sends `Origin`, and a page cannot change it. A client that sends none is no
/// browser, so no page can have led it here.
fn origin_is_allowed(headers: &[httparse::Header<'_>], listed: &[String]) -> bool {
    let mut origins = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("origin"));
    let (Some(origin), None) = (origins.next(), origins.next()) else {
        return !headers.iter().any(|header| header.name.eq_ignore_ascii_case("origin"));
    };
    let Ok(origin) = std::str::from_utf8(origin.value) else { return false };
    stadium_addresses::origin_is_allowed(origin.trim(), values(headers, "host").next(), listed)
}

/// Answers a request, or waits for the rest of it.
pub(crate) fn answer_request(bytes: &[u8], settings: &WebSocketSettings) -> Upgrade {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    let used = match request.parse(head) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Upgrade::Partial,
        Ok(httparse::Status::Partial) => {
            return refusal("431 Request Header Fields Too Large", "", "The request head is over 4 KB.\n");
        }
        Err(_) => return refusal("400 Bad Request", "", "This is not an HTTP/1.1 request.\n"),
    };
    let target = request.path.unwrap_or("");
    let path = target.split('?').next().unwrap_or(target);
    let mode = if path == settings.path {
        settings.messages.into()
    } else if settings.echo_path.as_deref() == Some(path) {
        Mode::Echo
    } else {
        return refusal("404 Not Found", "", "There is no WebSocket at this path.\n");
    };
    if request.method != Some("GET") || request.version != Some(1) {
        return refusal(
            "405 Method Not Allowed",
            "Allow: GET\r\n",
            "A WebSocket is opened by GET and HTTP/1.1.\n",
        );
    }
    let headers = &*request.headers;
    if !has_word(headers, "upgrade", "websocket") || !has_word(headers, "connection", "upgrade") {
        return refusal("426 Upgrade Required", "Upgrade: websocket\r\n", "This path speaks WebSocket.\n");
    }
    if !has_word(headers, "sec-websocket-version", "13") {
        let extra = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
        return refusal("426 Upgrade Required", extra, "This path speaks version 13.\n");
    }
    if !origin_is_allowed(headers, &settings.origins) {
        return refusal(
            "403 Forbidden",
            "",
            "A page of this origin may not open a WebSocket here; server.allowed_origins lists those that may.\n",
        );
    }
    let Some(key) = values(headers, "sec-websocket-key")
        .next()
        .filter(|key| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16))
    else {
        return refusal("400 Bad Request", "", "Sec-WebSocket-Key is missing or not 16 bytes in base64.\n");
    };
    let chosen = settings
        .subprotocols
        .iter()
        .find(|ours| values(headers, "sec-websocket-protocol").any(|theirs| theirs == ours.as_str()));
    if mode != Mode::Echo && chosen.is_none() && !settings.subprotocols.is_empty() {
        return refusal("400 Bad Request", "", "Sec-WebSocket-Protocol names none that is spoken here.\n");
    }
    let mut answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
        accept_key(key.as_bytes())
    );
    if let Some(chosen) = chosen {
        answer.push_str("Sec-WebSocket-Protocol: ");
        answer.push_str(chosen);
        answer.push_str("\r\n");
    }
    answer.push_str("\r\n");
    Upgrade::Accepted { used, answer: answer.into_bytes(), mode }
}

/// Writes our request, and returns the key that the response must prove to know.
pub(crate) fn write_request(request: &WebSocketRequest, masks: &mut Masks, out: &mut Vec<u8>) -> String {
    let key = new_key(masks);
    let mut text = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n",
        request.path, request.host
    );
    if let Some(subprotocol) = &request.subprotocol {
        text.push_str(&format!("Sec-WebSocket-Protocol: {subprotocol}\r\n"));
    }
    text.push_str("\r\n");
    out.extend_from_slice(text.as_bytes());
    key
}

/// Reads the response to our request.
pub(crate) fn read_response(bytes: &[u8], request: &WebSocketRequest, key: &str) -> Answer {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let head = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    let used = match response.parse(head) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Answer::Partial,
        _ => return Answer::Refused,
    };
    let headers = &*response.headers;
    let proved = values(headers, "sec-websocket-accept").next() == Some(accept_key(key.as_bytes()).as_str());
    let subprotocol = values(headers, "sec-websocket-protocol").next();
    let agreed = subprotocol == request.subprotocol.as_deref();
    if response.code == Some(101) && proved && agreed && has_word(headers, "upgrade", "websocket") {
        Answer::Accepted { used }
    } else {
        Answer::Refused
    }
}
