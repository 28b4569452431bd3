//! Why a command was not carried out: nothing happened, and whose turn it is.
//!
//! Each reason has a stable code with a page in docs/reference/errors. Each machine lists its own with
//! [`codes!`](crate::codes!).

use std::fmt;

use crate::Milliseconds;

/// A command that was not carried out; nothing happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not now: ask again after a while.
    Busy {
        /// Letters, a dash, three digits: docs/reference/errors.
        code: &'static str,
        /// After so long.
        retry_after: Milliseconds,
        /// What is in the way, and what to do.
        reason: String,
    },
    /// It will never work like this.
    Rejected {
        /// Letters, a dash, three digits: docs/reference/errors.
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

/// It will never work like this.
pub fn rejected(code: &'static str, reason: impl Into<String>) -> Refusal {
    Refusal::Rejected { code, reason: reason.into() }
}

/// Not now.
pub fn busy(code: &'static str, retry_after: Milliseconds, reason: impl Into<String>) -> Refusal {
    Refusal::Busy { code, retry_after, reason: reason.into() }
}

/// Makes a constant of each code, and `CODES`, the list of all of them with what each says in a few words.
#[macro_export]
macro_rules! codes {
    ($($(#[$docs:meta])* $name:ident = $code:literal, $title:literal;)*) => {
        $($(#[$docs])* pub const $name: &str = $code;)*

        /// Every code, with what it says in a few words.
        pub const CODES: &[(&str, &str)] = &[$(($code, $title),)*];
    };
}
