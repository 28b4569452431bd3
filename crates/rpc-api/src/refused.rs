//! The refusal of a call without a right.

use stadium_rpc::Refusal;

/// The code of a call without a right.
pub(crate) const NO_RIGHT: &str = "NODE-009";

/// That refusal, for this reason. No reason quotes a secret.
pub(crate) fn refused(reason: String) -> Refusal {
    Refusal::rejected(NO_RIGHT, reason)
}
