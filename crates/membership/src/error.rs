//! Errors, sorted by who must act. docs/reference/errors/cluster.md explains each code.

use std::fmt;

/// Why membership refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// `CLU-101`: a setting is out of its bounds. Correct it.
    Setting(String),
    /// `CLU-102`: the cluster's key exists and says something else.
    Differs(String),
    /// `CLU-103`: no cluster of this name was made in this etcd.
    Missing(String),
    /// `CLU-104`: another process lives under this node's name.
    NameTaken(String),
    /// `CLU-105`: etcd did not answer in time, or refused.
    Away(String),
    /// `CLU-106`: a value in etcd cannot be read.
    Unreadable(String),
    /// `CLU-107`: a bound is reached and nothing happened. Try again later.
    Busy(&'static str),
    /// `CLU-108`: the thread `membership` could not be started or has ended.
    Ended(String),
    /// `CLU-109`: a request names a node or a shard that the cluster does not have.
    Request(String),
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Setting(_) => "CLU-101",
            Self::Differs(_) => "CLU-102",
            Self::Missing(_) => "CLU-103",
            Self::NameTaken(_) => "CLU-104",
            Self::Away(_) => "CLU-105",
            Self::Unreadable(_) => "CLU-106",
            Self::Busy(_) => "CLU-107",
            Self::Ended(_) => "CLU-108",
            Self::Request(_) => "CLU-109",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what: &str = match self {
            Self::Setting(what)
            | Self::Differs(what)
            | Self::Missing(what)
            | Self::NameTaken(what)
            | Self::Away(what)
            | Self::Unreadable(what)
            | Self::Ended(what)
            | Self::Request(what) => what,
            Self::Busy(what) => what,
        };
        write!(f, "{what} ({})", self.code())
    }
}

impl std::error::Error for Error {}
