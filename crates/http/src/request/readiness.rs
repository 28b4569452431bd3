//! Whether the server should get new work, as a problem where it should not.

use std::time::Duration;

use crate::fleet::Readiness;
use crate::request::problem::{NOT_READY, Problem};

/// The problem of a server that should get no new work.
pub(crate) fn not_ready(readiness: &Readiness) -> Option<Problem> {
    let detail = match readiness {
        Readiness::Ready => return None,
        Readiness::Draining => "the server is draining: devices are being moved away".to_owned(),
        Readiness::Starting(why) => format!("the server is starting: {why}"),
    };
    Some(Problem::new(NOT_READY, detail).retry_after(Duration::from_secs(5)))
}

/// The problem of a server that is being stopped.
pub(crate) fn draining() -> Problem {
    not_ready(&Readiness::Draining).expect("draining is not ready")
}
