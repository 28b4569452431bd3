//! How failures are worded, coded and counted.
//!
//! Each code that is given here has its line in docs/reference/errors/rpc.md.

use stadium_rsocket::connection::Connection;
use stadium_rsocket::frame::{ErrorCode, Interaction as Pattern};

use super::{Core, Request};
use crate::answer::Refusal;
use crate::service::{Failure, Outcome};
use crate::wire;

impl Core {
    /// Answers a request with a failure.
    pub(super) fn decline(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        method: u16,
        failure: &Failure,
        out: &mut Vec<u8>,
    ) {
        let outcome = outcome_of_failure(failure);
        self.count(method, outcome);
        let (code, text) = failure_text(failure);
        refuse(connection, request, code, &text, out);
    }
}

pub(super) fn refuse(
    connection: &mut Connection,
    request: &Request<'_>,
    code: ErrorCode,
    text: &str,
    out: &mut Vec<u8>,
) {
    if request.pattern != Pattern::FireAndForget {
        let _ = connection.error(request.stream, code, text, out);
    }
}

pub(super) fn too_large() -> Failure {
    Failure::Refused(answer_too_large())
}

pub(super) fn answer_too_large() -> Refusal {
    // The function has run.
    Refusal::unknown("RPC-006", "the answer is larger than this connection carries")
}

/// A function panicked: how far it came nobody knows.
pub(in crate::server) fn failed() -> Refusal {
    Refusal::unknown("RPC-007", "the service failed on this request")
}

pub(in crate::server) fn panicked() -> Failure {
    Failure::Refused(failed())
}

pub(in crate::server) fn failure_text(failure: &Failure) -> (ErrorCode, String) {
    match failure {
        Failure::Malformed(error) => {
            (ErrorCode::INVALID, format!("RPC-004: the request does not decode: {error}"))
        }
        Failure::Refused(refusal) => wire::refusal(refusal),
    }
}

pub(in crate::server) fn outcome_of_failure(failure: &Failure) -> Outcome {
    match failure {
        Failure::Malformed(_) => Outcome::Rejected,
        Failure::Refused(refusal) => outcome_of(refusal),
    }
}

pub(super) fn outcome_of(refusal: &Refusal) -> Outcome {
    match refusal {
        Refusal::Busy { .. } => Outcome::Busy,
        Refusal::Rejected { .. } => Outcome::Rejected,
        Refusal::Unknown { .. } | Refusal::Application { .. } => Outcome::Failed,
    }
}
