//! Why the shards of a cluster were not copied.

use std::fmt;
use std::io;
use std::path::Path;

use stadium_archive::Error as ArchiveError;

/// Why the shards of a cluster were not copied. Each text has a code.
#[derive(Debug)]
pub enum CopyError {
    /// `CLU-304`: owners went on while the logs were read. Repeat it, or stop the nodes.
    Owned(String),
    /// `CLU-305`: the destination has data, or the source does not fit. Nothing was written.
    Refused(String),
    /// `CLU-306`: it failed in the middle. The logs and the store of the destination have a part.
    Half(Box<Self>),
    /// A store, or a file here.
    Archive(ArchiveError),
    /// A log or a journal.
    Journal(stadium_journal::Error),
    /// The records of a shard cannot be applied.
    Shard(stadium_shard::Error),
}

impl CopyError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Archive(ArchiveError::File { path, error })
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owned(what) => write!(f, "{what} (CLU-304)"),
            Self::Refused(what) => write!(f, "{what} (CLU-305)"),
            Self::Half(error) => write!(
                f,
                "{error}; the logs and the store have a part of the shards: delete the topic and the objects of the \
                 store, then repeat it (CLU-306)"
            ),
            Self::Archive(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
            Self::Shard(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CopyError {}

impl From<ArchiveError> for CopyError {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}

impl From<stadium_journal::Error> for CopyError {
    fn from(error: stadium_journal::Error) -> Self {
        Self::Journal(error)
    }
}

impl From<stadium_shard::Error> for CopyError {
    fn from(error: stadium_shard::Error) -> Self {
        Self::Shard(error)
    }
}
