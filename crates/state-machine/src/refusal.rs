//! The reason for which a command was not carried out, or for which its outcome is unknown.
//!
//! There are three outcomes beside success, and every interface has a word for each (docs/rpc.md, "The answers"):
//! *Busy*, *Rejected* and *Unknown*. A caller that hears Busy or Rejected may rely on it that nothing happened.
//!
//! Each reason has a stable code with a page in docs/reference/errors. Each machine lists its own with
//! [`codes!`](crate::codes!).

use std::fmt;

use crate::Milliseconds;

/// A command that was not carried out, or of which it is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing happened. Not now: ask again after a while.
    Busy {
        /// Letters, a dash, three digits: docs/reference/errors.
        code: &'static str,
        /// After so long.
        retry_after: Milliseconds,
        /// The obstacle, and the remedy.
        reason: String,
    },
    /// Nothing happened. It will never work like this.
    Rejected {
        /// Letters, a dash, three digits: docs/reference/errors.
        code: &'static str,
        /// What is wrong with what.
        reason: String,
    },
    /// It may have happened, all of it or a part. Ask again with the same id, or look.
    Unknown {
        /// Letters, a dash, three digits: docs/reference/errors.
        code: &'static str,
        /// After so long.
        retry_after: Milliseconds,
        /// Why it is not known, and what to do.
        reason: String,
    },
}

impl Refusal {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Busy { code, .. } | Refusal::Rejected { code, .. } | Refusal::Unknown { code, .. } => {
                code
            }
        }
    }

    /// What is wrong, without the code.
    pub fn reason(&self) -> &str {
        match self {
            Refusal::Busy { reason, .. }
            | Refusal::Rejected { reason, .. }
            | Refusal::Unknown { reason, .. } => reason,
        }
    }

    /// After how many milliseconds to ask again; none where that is of no use.
    pub fn retry_after(&self) -> Option<Milliseconds> {
        match self {
            Refusal::Busy { retry_after, .. } | Refusal::Unknown { retry_after, .. } => Some(*retry_after),
            Refusal::Rejected { .. } => None,
        }
    }

    /// Whether it may have happened.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Refusal::Unknown { .. })
    }

    /// The same of a command of which another part was carried out: Busy and Rejected would mean
    /// that nothing happened.
    pub fn of_a_part(self) -> Self {
        let code = self.code();
        let retry_after = self.retry_after().unwrap_or(0);
        match self {
            Refusal::Unknown { .. } => self,
            Refusal::Busy { reason, .. } | Refusal::Rejected { reason, .. } => {
                unknown(code, retry_after, format!("{reason}; other parts of it were carried out"))
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason(), self.code())
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

/// It may have happened.
pub fn unknown(code: &'static str, retry_after: Milliseconds, reason: impl Into<String>) -> Refusal {
    Refusal::Unknown { code, retry_after, reason: reason.into() }
}

/// The answers of all parts of a command that goes to several shards and sets what it names, or one refusal for
/// the whole: Unknown where a part is, and where a part is Busy and another was carried out. A rejection stands:
/// like this the command will never work as a whole.
///
/// # Errors
///
/// A part was refused, or its outcome is not known.
pub fn all_of<T>(answers: Vec<Result<T, Refusal>>) -> Result<Vec<T>, Refusal> {
    let mut done = Vec::with_capacity(answers.len());
    let mut refused: Option<Refusal> = None;
    for answer in answers {
        match answer {
            Ok(answer) => done.push(answer),
            Err(refusal) if refused.is_none() || refusal.is_unknown() => refused = Some(refusal),
            Err(_) => {}
        }
    }
    match refused {
        None => Ok(done),
        Some(refusal @ Refusal::Busy { .. }) if !done.is_empty() => Err(refusal.of_a_part()),
        Some(refusal) => Err(refusal),
    }
}

/// Makes a constant of each code, and `CODES`, the list of all of them with their titles.
#[macro_export]
macro_rules! codes {
    ($($(#[$docs:meta])* $name:ident = $code:literal, $title:literal;)*) => {
        $($(#[$docs])* pub const $name: &str = $code;)*

        /// Every code, with its title.
        pub const CODES: &[(&str, &str)] = &[$(($code, $title),)*];
    };
}

#[cfg(test)]
mod tests {
    use super::{all_of, busy, rejected, unknown};

    #[test]
    fn one_outcome_stands_for_all_parts_and_does_not_claim_that_nothing_happened_where_a_part_was_done() {
        let busy = || busy("SHARD-001", 1, "full");
        let rejected = || rejected("SHARD-007", "jobs");
        let unknown = || unknown("SHARD-015", 1, "a panic");
        for (parts, outcome) in [
            ([Ok(1), Ok(2)], Ok(vec![1, 2])),
            ([Ok(1), Err(unknown())], Err(unknown())),
            ([Err(unknown()), Ok(2)], Err(unknown())),
            ([Err(busy()), Err(unknown())], Err(unknown())),
            ([Err(unknown()), Err(rejected())], Err(unknown())),
            ([Ok(1), Err(busy())], Err(busy().of_a_part())),
            ([Err(busy()), Ok(2)], Err(busy().of_a_part())),
            ([Err(busy()), Err(busy())], Err(busy())),
            ([Ok(1), Err(rejected())], Err(rejected())),
        ] {
            assert_eq!(all_of(parts.into()), outcome);
        }
    }
}
