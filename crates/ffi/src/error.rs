//! Why a function of this library did not do what it was asked for.
//!
//! Outcomes of calls are not here: a call that fails is an event, see [`crate::event`].

use std::fmt;

/// An error, by the one who must act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An argument or a setting is wrong. Nothing happened.
    Invalid(String),
    /// The system refuses a thread, a descriptor or an address.
    System(String),
    /// A bound is reached. Nothing happened; an event follows when there is room.
    Full,
    /// The call or the stream has ended.
    Ended,
    /// The process was forked after the object was made: its threads are in the parent.
    Forked,
}

impl Error {
    /// The error for a wrong argument.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid(what.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) | Self::System(what) => f.write_str(what),
            Self::Full => f.write_str("the bound is reached; try again after the next STADIUM_WRITABLE"),
            Self::Ended => f.write_str("it has ended"),
            Self::Forked => f.write_str(
                "the process was forked after this object was made; make clients and servers in the child",
            ),
        }
    }
}

impl std::error::Error for Error {}
