//! Why a command was not carried out: nothing happened, and whose turn it is.

use std::fmt;

use crate::Milliseconds;

/// A command that was not carried out; nothing happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not now: ask again after a while.
    Busy {
        /// QUE-NNN or SHARD-NNN; docs/reference/errors.
        code: &'static str,
        /// After so long.
        retry_after: Milliseconds,
        /// What is in the way, and what to do.
        reason: String,
    },
    /// It will never work like this.
    Rejected {
        /// QUE-NNN; docs/reference/errors.
        code: &'static str,
        /// What is wrong with what.
        reason: String,
    },
}

impl Refusal {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Busy { code, .. } | Refusal::Rejected { code, .. } => code,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Busy { code, reason, .. } | Refusal::Rejected { code, reason } => {
                write!(f, "{reason} ({code})")
            }
        }
    }
}

impl std::error::Error for Refusal {}
