//! Looks at a connection's first bytes without using them, to see whose it is.
//!
//! `GET /mqtt` (and `GET /echo` in a trial) belongs to the event loops; everything else is served
//! here. At most ten bytes and the head's time limit are spent on the question.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::server::socket_taker::TakenPath;
use crate::server::tls::stream::TlsStream;

/// Whose a connection is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FirstBytes {
    /// The router's.
    Ours,
    /// The event loops'.
    Theirs(TakenPath),
    /// Nobody's: it closed, failed, or sent too little in time.
    Gone,
}

/// How long to wait for the rest of a request line that came in pieces: peeking again at once would
/// spin, since the bytes already there keep the socket readable.
const PIECES_PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn first_bytes(stream: &TcpStream, echo: bool, limit: Duration) -> FirstBytes {
    let deadline = Instant::now() + limit;
    let mut bytes = [0; 10];
    loop {
        let peeked = tokio::time::timeout_at(deadline, stream.peek(&mut bytes)).await;
        let Ok(Ok(count @ 1..)) = peeked else { return FirstBytes::Gone };
        if let Some(whose) = decide(&bytes[..count], echo) {
            return whose;
        }
        if Instant::now() >= deadline {
            return FirstBytes::Gone;
        }
        tokio::time::sleep(PIECES_PAUSE).await;
    }
}

/// The same of a connection over TLS, whose plaintext is read and kept.
pub(crate) async fn first_bytes_of_tls(stream: &mut TlsStream, echo: bool, limit: Duration) -> FirstBytes {
    let looked = async {
        loop {
            if !stream.unread().is_empty()
                && let Some(whose) = decide(stream.unread(), echo)
            {
                return whose;
            }
            if !stream.read_more().await.unwrap_or(false) {
                return FirstBytes::Gone;
            }
        }
    };
    tokio::time::timeout(limit, looked).await.unwrap_or(FirstBytes::Gone)
}

/// `None` while the bytes could still become either.
fn decide(bytes: &[u8], echo: bool) -> Option<FirstBytes> {
    let paths: [(&[u8], _, _); 2] =
        [(b"GET /mqtt", TakenPath::Mqtt, true), (b"GET /echo", TakenPath::Echo, echo)];
    for (line, path, taken) in paths {
        if !taken {
            continue;
        }
        match bytes.strip_prefix(line) {
            Some([b' ' | b'?', ..]) => return Some(FirstBytes::Theirs(path)),
            Some([]) => return None,
            Some(_) => return Some(FirstBytes::Ours),
            None if line.starts_with(bytes) => return None,
            None => {}
        }
    }
    Some(FirstBytes::Ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_paths_are_given_away() {
        let mqtt = Some(FirstBytes::Theirs(TakenPath::Mqtt));
        let echo = Some(FirstBytes::Theirs(TakenPath::Echo));
        let ours = Some(FirstBytes::Ours);
        let table: [(&[u8], bool, &Option<FirstBytes>); 12] = [
            (b"GET /mqtt HTTP", false, &mqtt),
            (b"GET /mqtt?", false, &mqtt),
            (b"GET /mqtts", false, &ours),
            (b"GET /mqtt", false, &None),
            (b"G", false, &None),
            (b"GET /m", false, &None),
            (b"GET /echo ", false, &ours),
            (b"GET /echo ", true, &echo),
            (b"GET /ec", true, &None),
            (b"GET /live ", true, &ours),
            (b"POST /mqtt", true, &ours),
            (b"\x10\x0e\x00", true, &ours),
        ];
        for (bytes, trial, expected) in table {
            assert_eq!(&decide(bytes, trial), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
