//! [`Error`]: why a command on a cluster was not carried out.

use std::fmt;

use stadium_journal_kafka as kafka;
use stadium_membership as membership;

/// Why a command on a cluster was not carried out. All texts but the last two end with a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// etcd refused or did not answer, or the cluster has no such thing: `CLU-1NN`.
    Membership(membership::Error),
    /// Kafka refused or did not answer: `KFK-NNN`.
    Kafka(kafka::Error),
    /// Shards or logs could not be copied: a text with a code of its own.
    Copy(String),
    /// The time to wait is over. The request stays, and the cluster goes on with it.
    TimedOut {
        /// The last progress.
        last: String,
    },
    /// The caller stopped waiting. The request stays, and the cluster goes on with it.
    Interrupted,
}

impl Error {
    pub(crate) fn request(what: String) -> Self {
        Self::Membership(membership::Error::Request(what))
    }

    pub(crate) fn copy(error: impl fmt::Display) -> Self {
        Self::Copy(error.to_string())
    }

    /// Whether etcd did not answer: the same call may succeed a moment later.
    pub(crate) fn is_away(&self) -> bool {
        matches!(self, Self::Membership(membership::Error::Away(_)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Membership(error) => error.fmt(f),
            Self::Kafka(error) => error.fmt(f),
            Self::Copy(what) => f.write_str(what),
            Self::TimedOut { last } => {
                write!(f, "not done in time: {last}; the request stays, and the cluster goes on with it")
            }
            Self::Interrupted => {
                f.write_str("stopped waiting; the request stays, and the cluster goes on with it")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<membership::Error> for Error {
    fn from(error: membership::Error) -> Self {
        Self::Membership(error)
    }
}

impl From<kafka::Error> for Error {
    fn from(error: kafka::Error) -> Self {
        Self::Kafka(error)
    }
}
