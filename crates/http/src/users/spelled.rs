//! Times, payloads and failures of users' data, spelled as the API shows them.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::request::problem::{ERASURES_AWAY, ERASURES_NOT_KEPT, Problem, TIMED_OUT};
use crate::rfc3339;

/// The delay after which to ask again for a store that is away.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// The problem of a list of erasures that cannot be read or written.
pub(crate) fn not_kept(error: io::Error) -> Problem {
    match error.kind() {
        // The store of a cluster, see `shared_list`.
        io::ErrorKind::NotConnected => Problem::new(ERASURES_AWAY, error.to_string()).retry_after(ASK_AGAIN),
        io::ErrorKind::TimedOut => Problem::new(TIMED_OUT, error.to_string()),
        _ => Problem::new(ERASURES_NOT_KEPT, error.to_string()),
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A time as text.
pub(crate) fn at(ms: u64) -> String {
    rfc3339::format(UNIX_EPOCH + Duration::from_millis(ms))
}

/// Bytes of a message as JSON: text where they are UTF-8.
pub(crate) fn payload(bytes: &[u8]) -> Value {
    let (text, base64) = crate::spelling::spelled(bytes);
    match (text, base64) {
        (Some(text), _) => json!({"payload": text}),
        (_, base64) => json!({"payload_base64": base64}),
    }
}
