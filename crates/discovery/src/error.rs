//! What can go wrong, sorted by who must act. Each has a stable code, explained in
//! docs/reference/errors/discovery.md.
//!
//! A backend that is away is no error of watching or registering: both go on by themselves. It is one
//! only for who asks for an answer now, with [`crate::Discovery::list`].

use std::fmt;

/// Why discovery refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// `DSC-001`: a setting is out of its bounds. Correct it.
    Setting(String),
    /// `DSC-002`: a service's name or version cannot stand in the tree. Choose another.
    Name(String),
    /// `DSC-003`: a bound is reached and nothing happened. Try again later.
    Busy(&'static str),
    /// `DSC-004`: the backend did not answer in time. Try again later.
    Away(String),
    /// `DSC-005`: the thread `discovery` could not be started or has ended.
    Ended(String),
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Setting(_) => "DSC-001",
            Self::Name(_) => "DSC-002",
            Self::Busy(_) => "DSC-003",
            Self::Away(_) => "DSC-004",
            Self::Ended(_) => "DSC-005",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what: &str = match self {
            Self::Setting(what) | Self::Name(what) | Self::Away(what) | Self::Ended(what) => what,
            Self::Busy(what) => what,
        };
        write!(f, "{what} ({})", self.code())
    }
}

impl std::error::Error for Error {}
