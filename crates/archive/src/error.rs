//! Reasons for which an archive refuses, sorted by who must act.
//!
//! [`Error::is_passing`] separates failures of the store, after which the same call may work, from
//! those that repeating does not change.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use stadium_journal::Epoch;
use stadium_objects::{Error as StoreError, is_out_of_room};

/// The reason for which an archive refused. docs/reference/errors/archive.md explains the codes.
#[derive(Debug)]
pub enum Error {
    /// The store cannot be used, or failed also when asked again.
    Store(StoreError),
    /// A file here cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A writer of a newer epoch has stored a manifest. This writer must give up.
    Fenced {
        /// The epoch of this writer.
        epoch: Epoch,
        /// The epoch of the newer one.
        newer: Epoch,
    },
    /// Another process writes the same shard, cut, backup or directory at the same time.
    Conflict(String),
    /// The place holds something else: another journal, another number of shards, a newer version.
    Foreign(String),
    /// There is no archive, or no whole one: an upload was interrupted.
    Incomplete(String),
    /// An object is not what was stored.
    Damaged(String),
    /// The folder to restore into holds something.
    NotEmpty(PathBuf),
    /// A file changed while it was read: a shard removed a segment, or used its file again.
    Changed(PathBuf),
    /// The journal or a checkpoint cannot be read, is damaged or in use.
    Journal(stadium_journal::Error),
    /// The books cannot be stored as they were given; a mistake of the caller.
    Books(String),
    /// The store overwrites an object that was to be created only.
    Unconditional(String),
    /// The backups there are of another history: the data directory was restored, or is of another
    /// server.
    OtherHistory(String),
    /// No backup has the moment, or the files between two of them are not all there.
    NotCovered(String),
    /// The clock was set back, so a moment does not say which records come before it.
    ClockSetBack(String),
    /// The restored state is not the one that the backup promises.
    Unproved(String),
    /// Another process removes old backups, or a backup is being written.
    Busy(String),
    /// A segment was moved to another store than this one.
    MovedElsewhere(String),
}

impl Error {
    /// The code under which docs/reference/errors/archive.md explains it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(StoreError::Url(_)) => "ARC-001",
            Self::Store(StoreError::Credentials { .. }) => "ARC-002",
            Self::Store(StoreError::NoBucket(_)) => "ARC-003",
            Self::Store(StoreError::Refused { .. }) => "ARC-004",
            Self::Fenced { .. } => "ARC-005",
            Self::Conflict(_) => "ARC-006",
            Self::Foreign(_) => "ARC-007",
            Self::Incomplete(_) => "ARC-008",
            Self::Damaged(_) | Self::Store(StoreError::Missing(_) | StoreError::Short { .. }) => "ARC-009",
            Self::NotEmpty(_) => "ARC-010",
            Self::Store(StoreError::Full { .. }) => "ARC-020",
            Self::File { error, .. } | Self::Store(StoreError::File { error, .. })
                if is_out_of_room(error) =>
            {
                "ARC-020"
            }
            Self::File { .. } | Self::Store(StoreError::File { .. }) => "ARC-011",
            Self::Changed(_) => "ARC-012",
            Self::Journal(_) => "ARC-013",
            Self::Books(_) => "ARC-014",
            Self::Unconditional(_) => "ARC-015",
            Self::OtherHistory(_) => "ARC-016",
            Self::NotCovered(_) => "ARC-017",
            Self::ClockSetBack(_) => "ARC-018",
            Self::Unproved(_) => "ARC-019",
            Self::Busy(_) => "ARC-021",
            Self::MovedElsewhere(_) => "ARC-022",
        }
    }

    /// Whether the same call may work later. The store is away or refuses, which people mend
    /// outside; or files changed, and a new list of them is needed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Store(StoreError::Url(_)) => false,
            Self::Store(_) | Self::Changed(_) | Self::Conflict(_) => true,
            Self::ClockSetBack(_) | Self::Busy(_) => true,
            _ => false,
        }
    }

    /// Whether the store or a disk has no room.
    pub(crate) fn is_full(&self) -> bool {
        self.code() == "ARC-020"
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::File { path, error } => Self::File { path, error },
            other => Self::Store(other),
        }
    }
}

impl From<stadium_journal::Error> for Error {
    fn from(error: stadium_journal::Error) -> Self {
        Self::Journal(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}")?,
            Self::File { path, error } => write!(f, "{}: {error}", path.display())?,
            Self::Fenced { epoch, newer } => write!(
                f,
                "the archive has a manifest of epoch {newer}, which is newer than our {epoch}: another \
                 owner writes, or this is an older copy of the journal"
            )?,
            Self::Conflict(what) => {
                write!(f, "another process writes {what} at the same time: let one of them end")?;
            }
            Self::Foreign(what)
            | Self::Incomplete(what)
            | Self::Damaged(what)
            | Self::Books(what)
            | Self::Unconditional(what)
            | Self::OtherHistory(what)
            | Self::NotCovered(what)
            | Self::ClockSetBack(what)
            | Self::Unproved(what)
            | Self::Busy(what)
            | Self::MovedElsewhere(what) => f.write_str(what)?,
            Self::NotEmpty(path) => {
                write!(f, "{} is not empty: a restore writes into an empty folder only", path.display())?
            }
            Self::Changed(path) => write!(f, "{} changed while it was read", path.display())?,
            Self::Journal(error) => write!(f, "{error}")?,
        }
        write!(f, " ({})", self.code())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::File { error, .. } => Some(error),
            Self::Journal(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_section_and_every_section_its_code() {
        let text = || "text".to_owned();
        let io = || io::Error::other("text");
        let all = [
            Error::Store(StoreError::Url(text())),
            Error::Store(StoreError::Credentials { help: "text", reason: text() }),
            Error::Store(StoreError::NoBucket(text())),
            Error::Store(StoreError::Refused { object: text(), reason: text() }),
            Error::Fenced { epoch: Epoch(1), newer: Epoch(2) },
            Error::Conflict(text()),
            Error::Foreign(text()),
            Error::Incomplete(text()),
            Error::Damaged(text()),
            Error::NotEmpty(PathBuf::new()),
            Error::File { path: PathBuf::new(), error: io() },
            Error::Changed(PathBuf::new()),
            Error::Journal(stadium_journal::Error::Full),
            Error::Books(text()),
            Error::Unconditional(text()),
            Error::OtherHistory(text()),
            Error::NotCovered(text()),
            Error::ClockSetBack(text()),
            Error::Unproved(text()),
            Error::Store(StoreError::Full { object: text(), reason: text() }),
            Error::Busy(text()),
            Error::MovedElsewhere(text()),
        ];
        let page = include_str!("../../../docs/reference/errors/archive.md");
        let sections = page.lines().filter_map(|line| line.strip_prefix("## ")?.split(' ').next());
        assert_eq!(sections.collect::<Vec<_>>(), all.each_ref().map(Error::code));
        let error = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(Error::File { path: PathBuf::new(), error }.code(), "ARC-020");
        assert!(all.iter().all(|error| error.to_string().ends_with(&format!("({})", error.code()))));
    }
}
