//! How calls look in RSocket: metadata entries, error codes and their texts.
//!
//! A request's composite metadata holds the route, the time that is left, and what the caller added. Errors
//! carry their meaning in the RSocket code and a text that people and plain RSocket clients can read.

use std::time::Duration;

use stadium_rsocket::frame::ErrorCode;
use stadium_rsocket::metadata::{self, Mime};

use crate::answer::{CallError, Refusal};

/// The data MIME type of SETUP.
pub const DATA_MIME: &str = "application/vnd.google.protobuf";
/// The metadata MIME type of SETUP.
pub const METADATA_MIME: &str = "message/x.rsocket.composite-metadata.v0";
/// Four bytes, big-endian: milliseconds that are left for the call.
pub const DEADLINE_MIME: &[u8] = b"message/x.stadium.deadline.v1";
/// The key whose calls go to one instance.
pub const KEY_MIME: &[u8] = b"message/x.stadium.key.v1";
/// In SETUP's metadata: the client understands [`LOAD_MIME`].
pub const PEER_MIME: &[u8] = b"message/x.stadium.peer.v1";
/// The largest frame in a datagram: what fits one on an Ethernet without being cut, in bytes.
pub const DATAGRAM_BYTES_MAX: usize = 1_400;
/// Pushed by servers: the load factor as a big-endian f32, and a byte that is 1 while the instance quiesces.
pub const LOAD_MIME: &[u8] = b"message/x.stadium.load.v1";

/// Appends the route, `SERVICE/METHOD`.
pub fn write_route(out: &mut Vec<u8>, route: &str) {
    metadata::write_route(out, route);
}

/// Appends the time that is left.
pub fn write_deadline(out: &mut Vec<u8>, left_ms: u32) {
    metadata::write_entry(out, Mime::Named(DEADLINE_MIME), &left_ms.to_be_bytes());
}

/// Appends the affinity key.
pub fn write_key(out: &mut Vec<u8>, key: &[u8]) {
    metadata::write_entry(out, Mime::Named(KEY_MIME), key);
}

/// Appends the load that a server pushes.
pub fn write_load(out: &mut Vec<u8>, factor: f32, quiescing: bool) {
    let [a, b, c, d] = factor.to_be_bytes();
    metadata::write_entry(out, Mime::Named(LOAD_MIME), &[a, b, c, d, u8::from(quiescing)]);
}

/// The load that a server has pushed: its load factor, 0 to 100, and whether it quiesces. `None` where it makes no sense.
pub fn read_load(bytes: &[u8]) -> Option<(f32, bool)> {
    let content: [u8; 5] = metadata::find(bytes, Mime::Named(LOAD_MIME))?.try_into().ok()?;
    let [a, b, c, d, quiescing] = content;
    let factor = f32::from_be_bytes([a, b, c, d]);
    factor.is_finite().then_some((factor.clamp(0.0, 100.0), quiescing == 1))
}

/// Appends to SETUP's metadata that the client understands [`LOAD_MIME`].
pub fn write_peer(out: &mut Vec<u8>) {
    metadata::write_entry(out, Mime::Named(PEER_MIME), &[]);
}

/// True where a SETUP's metadata states that the client understands [`LOAD_MIME`].
pub fn is_stadium_peer(bytes: &[u8]) -> bool {
    metadata::find(bytes, Mime::Named(PEER_MIME)).is_some()
}

/// What the framework reads of a request's metadata.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head<'a> {
    /// `SERVICE/METHOD`.
    pub(crate) route: Option<&'a str>,
    /// Milliseconds that the caller still waits.
    pub(crate) left_ms: Option<u32>,
}

/// Reads composite metadata. What is malformed ends it; what came before holds.
#[inline]
pub(crate) fn read_head(bytes: &[u8]) -> Head<'_> {
    let mut head = Head::default();
    for entry in metadata::entries(bytes).map_while(Result::ok) {
        match entry.mime {
            mime if head.route.is_none() && mime == Mime::ROUTING => head.route = first_route(entry.content),
            Mime::Named(name) if name == DEADLINE_MIME => {
                head.left_ms = entry.content.try_into().ok().map(u32::from_be_bytes);
            }
            _ => {}
        }
    }
    head
}

/// Reads metadata that is a route alone (`message/x.rsocket.routing.v0` in SETUP).
pub(crate) fn read_bare_route(bytes: &[u8]) -> Head<'_> {
    Head { route: first_route(bytes), left_ms: None }
}

fn first_route(content: &[u8]) -> Option<&str> {
    metadata::routes(content).next()?.ok()
}

/// The error frame's code and text for a refusal.
pub fn refusal(refusal: &Refusal) -> (ErrorCode, String) {
    match refusal {
        Refusal::Busy { retry_after, reason } => {
            (ErrorCode::REJECTED, format!("BUSY retry_after_ms={}: {reason}", retry_after.as_millis()))
        }
        Refusal::Rejected { code, reason } => (ErrorCode::APPLICATION_ERROR, format!("{code}: {reason}")),
        Refusal::Unknown { code, reason } => {
            (ErrorCode::APPLICATION_ERROR, format!("{UNKNOWN}{code}: {reason}"))
        }
        Refusal::Application { code, text } => (ErrorCode(code.number()), text.clone().into_owned()),
    }
}

/// Stands before the code of an answer that is unknown.
const UNKNOWN: &str = "UNKNOWN ";

/// The meaning of an error frame for the caller.
pub fn call_error(code: ErrorCode, text: &[u8]) -> CallError {
    let text = String::from_utf8_lossy(text);
    match code {
        ErrorCode::REJECTED => busy(&text),
        ErrorCode::CANCELED if text.starts_with("RPC-DEADLINE") => CallError::Deadline,
        ErrorCode::CANCELED => CallError::Cancelled,
        ErrorCode::APPLICATION_ERROR => match (text.strip_prefix(UNKNOWN).and_then(coded), coded(&text)) {
            (Some((code, reason)), _) => CallError::Unknown { code, reason },
            (None, Some((code, reason))) => CallError::Rejected { code, reason },
            (None, None) => CallError::Application { code: code.0, text: text.into_owned() },
        },
        // "The Responder has not processed it": nothing happened.
        ErrorCode::INVALID => {
            let (code, reason) =
                coded(&text).unwrap_or_else(|| (format!("0x{:08X}", code.0), text.into_owned()));
            CallError::Rejected { code, reason }
        }
        code => CallError::Application { code: code.0, text: text.into_owned() },
    }
}

/// A text that begins with a code: the code, and the rest.
fn coded(text: &str) -> Option<(String, String)> {
    let (code, reason) = text.split_once(": ")?;
    is_code(code).then(|| (code.to_owned(), reason.to_owned()))
}

fn busy(text: &str) -> CallError {
    let rest = text.strip_prefix("BUSY retry_after_ms=");
    match rest.and_then(|rest| rest.split_once(": ")) {
        Some((ms, reason)) => CallError::Busy {
            retry_after: Duration::from_millis(ms.parse().unwrap_or(RETRY_AFTER_MS)),
            reason: reason.to_owned(),
        },
        None => {
            CallError::Busy { retry_after: Duration::from_millis(RETRY_AFTER_MS), reason: text.to_owned() }
        }
    }
}

/// When to come back to a peer that gives no delay.
const RETRY_AFTER_MS: u64 = 100;

/// Codes are capitals, digits and hyphens.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 40
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ApplicationCode;

    #[test]
    fn refusals_survive_the_wire() {
        let (code, text) = refusal(&Refusal::busy(Duration::from_millis(120), "queue is full"));
        assert_eq!(
            call_error(code, text.as_bytes()),
            CallError::Busy { retry_after: Duration::from_millis(120), reason: "queue is full".to_owned() }
        );
        let (code, text) = refusal(&Refusal::rejected("GEO-001", "latitude 95: not between -90 and 90"));
        assert_eq!(
            call_error(code, text.as_bytes()),
            CallError::Rejected {
                code: "GEO-001".to_owned(),
                reason: "latitude 95: not between -90 and 90".to_owned()
            }
        );
    }

    #[test]
    fn errors_of_other_servers_are_understood() {
        assert!(matches!(call_error(ErrorCode::REJECTED, b"no"), CallError::Busy { .. }));
        let application = |code| CallError::Application { code, text: "boom: it broke".to_owned() };
        assert_eq!(call_error(ErrorCode::APPLICATION_ERROR, b"boom: it broke"), application(0x201));
        assert_eq!(call_error(ErrorCode(0x301), b"boom: it broke"), application(0x301));
        assert!(matches!(
            call_error(ErrorCode::INVALID, b"what is that?"),
            CallError::Rejected { code, .. } if code == "0x00000204"
        ));
    }

    #[test]
    fn unknown_answers_and_errors_of_a_services_own_survive_the_wire() {
        let (code, text) = refusal(&Refusal::unknown("GEO-007", "disk: gone"));
        assert_eq!((code, text.as_str()), (ErrorCode::APPLICATION_ERROR, "UNKNOWN GEO-007: disk: gone"));
        let expected = CallError::Unknown { code: "GEO-007".to_owned(), reason: "disk: gone".to_owned() };
        assert_eq!(call_error(code, text.as_bytes()), expected);
        for (number, text) in [(0x201, "no device there"), (0x301, "GEO-001: mine"), (0xFFFF_FFFE, "")] {
            let chosen = ApplicationCode::new(number).expect("it is an application's");
            let (code, wire) = refusal(&Refusal::application(chosen, text));
            assert_eq!((code.0, wire.as_str()), (number, text));
            let expected = CallError::Application { code: number, text: text.to_owned() };
            assert_eq!(call_error(code, wire.as_bytes()), expected);
        }
        for taken in [0, 0x001, 0x101, 0x200, 0x202, 0x203, 0x204, 0x300, 0xFFFF_FFFF] {
            assert_eq!(ApplicationCode::new(taken), None, "{taken:#x}");
        }
    }
}
