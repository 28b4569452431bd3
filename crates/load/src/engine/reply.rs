//! What came back for a step, and why nothing did.
//!
//! A [`Reply`] keeps only what the step's checks and extractions ask for. Replies are used again and again.

use std::borrow::Cow;

use stadium_http_client::Head;
use stadium_reactor::CloseReason;
use stadium_scenario::extract::Answer;

/// The answer to a step.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Status of HTTP, reason code of MQTT, error code of RSocket; `None` where the protocol has none.
    pub(crate) status: Option<u32>,
    /// Headers one after the other: name, `:`, value, line feed. Empty unless they were asked for.
    pub(crate) headers: Vec<u8>,
    /// The values of `Set-Cookie`, each ended by a line feed.
    pub(crate) set_cookies: Vec<u8>,
    /// The body, or the last message. Empty unless it was asked for.
    pub(crate) body: Vec<u8>,
    /// Bytes that came for it.
    pub(crate) bytes_in: u64,
    /// From sent to its end.
    pub(crate) elapsed_ns: u64,
}

impl Reply {
    /// Makes it ready for the next answer, keeping its space.
    pub(crate) fn clear(&mut self) {
        self.status = None;
        self.headers.clear();
        self.set_cookies.clear();
        self.body.clear();
        self.bytes_in = 0;
        self.elapsed_ns = 0;
    }

    /// Keeps the status and the cookies of an answer's head, and its headers where they were asked for.
    pub(crate) fn keep_head(&mut self, head: &Head<'_>, keeps_headers: bool) {
        self.status = Some(u32::from(head.status));
        for header in head.headers {
            if header.name.eq_ignore_ascii_case("set-cookie") {
                self.set_cookies.extend_from_slice(header.value);
                self.set_cookies.push(b'\n');
            }
            if keeps_headers {
                self.headers.extend_from_slice(header.name.as_bytes());
                self.headers.push(b':');
                self.headers.extend_from_slice(header.value);
                self.headers.push(b'\n');
            }
        }
    }
}

impl Answer for Reply {
    fn status(&self) -> Option<u32> {
        self.status
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.split(|&byte| byte == b'\n').find_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            line[..colon].eq_ignore_ascii_case(name.as_bytes()).then_some(&line[colon + 1..])
        })
    }

    fn body(&self) -> &[u8] {
        &self.body
    }

    fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}

/// Why a step has no answer, in words that are counted: few different ones.
pub(crate) type Failure = Cow<'static, str>;

/// The word for a connection's end while something waited for it.
pub(crate) fn lost(reason: CloseReason, connected: bool) -> Failure {
    Cow::Borrowed(match (reason, connected) {
        (CloseReason::ConnectRefused, _) => "connect: refused",
        (CloseReason::ConnectTimeout, _) => "connect: timeout",
        (CloseReason::HandshakeTimeout, _) => "connect: handshake timeout",
        (CloseReason::Unreachable, false) => "connect: unreachable",
        (CloseReason::Reset, false) => "connect: reset",
        (CloseReason::PeerClosed, false) => "connect: closed by the target",
        (CloseReason::Tls(alert), _) => return Cow::Owned(format!("tls: {}", alert_name(alert))),
        (CloseReason::Upgrade, _) => "websocket: upgrade refused",
        (CloseReason::WebSocket(code), _) => return Cow::Owned(format!("websocket: closed {code}")),
        (CloseReason::PeerClosed, true) => "closed by the target",
        (CloseReason::Reset, true) => "reset",
        (CloseReason::CarryFull, _) => "answer too large",
        (CloseReason::Unresponsive | CloseReason::Unreachable, true) => "network: unresponsive",
        (CloseReason::System(error), _) => return Cow::Owned(format!("system: error {error}")),
        (other, _) => other.name(),
    })
}

/// The name of an alert, RFC 8446, 6.2. Either side sends alerts: a certificate that we do not
/// believe is ours to refuse.
fn alert_name(alert: u8) -> String {
    let Some(name) = rustls::AlertDescription::from(alert).as_str() else { return format!("alert {alert}") };
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase()
            && !words.is_empty()
            && !words.ends_with(|last: char| last.is_ascii_uppercase())
        {
            words.push('_');
        }
        words.push(letter);
    }
    words.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_the_names_of_the_specification() {
        for (alert, name) in [
            (46, "certificate_unknown"),
            (48, "unknown_ca"),
            (120, "no_application_protocol"),
            (70, "protocol_version"),
            (255, "alert 255"),
        ] {
            assert_eq!(lost(CloseReason::Tls(alert), false), format!("tls: {name}"));
        }
    }
}
