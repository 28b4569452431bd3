//! Why a command did not do what it was asked, and its exit code for scripts.
//!
//! The text of a failure states what happened, to what, and what to do about it.

use std::fmt;
use std::process::ExitCode;

/// How a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for properly and could not be done: exit code 1.
    Failed(String),
    /// It was asked for wrongly: exit code 2, as clap's own errors.
    Usage(String),
    /// Something is wrong in a file that it was given: exit code 2 too.
    Input(String),
    /// Things are wrong in files that it was given, each reported at length, as a compiler does:
    /// exit code 2 too.
    Problems(String),
    /// A service is busy, nothing happened, and it may be tried again: exit code 75 (EX_TEMPFAIL).
    Busy(String),
    /// A service rejected it, nothing happened, and it will never work: exit code 65 (EX_DATAERR).
    Rejected(String),
    /// No instance of a service could be reached, or what became of the call is unknown: exit code 69
    /// (EX_UNAVAILABLE).
    Unavailable(String),
    /// No answer came in time: exit code 124, as of timeout(1).
    Deadline(String),
    /// It was done, and what was measured is not what must be: exit code 99, as of k6.
    Threshold(String),
    /// What failed was shown already, as data: exit code 1.
    Shown,
    /// The failure is a line of the JSON log; the exit code is that of the failure.
    Logged(u8),
    /// A second signal ended it before it had finished: 128 and the signal's number.
    Signalled(u8),
}

impl Failure {
    /// A failure with this text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// What the process exits with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// The exit code as a number.
    pub(crate) fn number(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Shown => 1,
            Self::Usage(_) | Self::Input(_) | Self::Problems(_) => 2,
            Self::Busy(_) => 75,
            Self::Rejected(_) => 65,
            Self::Unavailable(_) => 69,
            Self::Deadline(_) => 124,
            Self::Threshold(_) => 99,
            Self::Logged(code) => *code,
            Self::Signalled(signal) => 128_u8.saturating_add(*signal),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text)
            | Self::Usage(text)
            | Self::Input(text)
            | Self::Problems(text)
            | Self::Busy(text)
            | Self::Rejected(text)
            | Self::Unavailable(text)
            | Self::Deadline(text)
            | Self::Threshold(text) => f.write_str(text),
            Self::Shown => f.write_str("it failed, as was shown"),
            Self::Logged(_) => f.write_str("it failed, as was logged"),
            Self::Signalled(signal) => write!(f, "left at once on signal {signal}"),
        }
    }
}

/// Adds what was attempted, and on what, to an error.
pub(crate) trait Context<T> {
    /// The failure reads `{attempt}: {error}`.
    fn context(self, attempt: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, attempt: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::Failed(format!("{attempt}: {error}")))
    }
}
