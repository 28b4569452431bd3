//! What a journal refuses, sorted by who must act.
//!
//! `Busy`, `Full` and `Descriptors` mean that nothing happened and that it may be tried again;
//! `TooLarge` is the caller's mistake; everything else ends the handle or needs a person. After
//! `Failed`, and after `Fenced` where [`crate::Journal::stop`] knows the durable position, the
//! records behind it did not happen; after `Unknown` they may have.

use std::{fmt, io};

use crate::{Epoch, Position};

/// The reason for which the journal refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Too many bytes wait for the disk. Nothing happened; try again after the next commit is durable.
    Busy {
        /// Bytes appended and not yet durable.
        waiting: u64,
    },
    /// The disk has no room for another segment. Nothing happened; it works again when there is room.
    Full,
    /// The process has no file descriptors left for another segment. Nothing happened; it works again when there are some.
    Descriptors,
    /// The record is longer than this journal takes. It will never work.
    TooLarge {
        /// Length of the record, bytes.
        bytes: usize,
        /// The longest record that this journal takes, bytes.
        bytes_max: usize,
    },
    /// Somebody opened the journal after this handle. Nothing that wasn't durable before is; give up.
    Fenced {
        /// The epoch of this handle.
        epoch: Epoch,
        /// The epoch of the newer one.
        newer: Epoch,
    },
    /// A write or a sync failed. This handle appends nothing any more; reads go on. Open the journal again with
    /// [`crate::Opening::after_failure`] and the durable position.
    Failed {
        /// All before it is on disk.
        durable: Position,
        /// What failed, with the system's words.
        what: String,
    },
    /// The log can be followed no further, so it is not known which of the records behind the durable position happened.
    /// They may be found when the log is opened again, by this owner or by another. This handle appends nothing any more;
    /// reads go on.
    Unknown {
        /// All before it happened, and is durable.
        durable: Position,
        /// What failed.
        what: String,
    },
    /// Another process has the journal open.
    InUse {
        /// The journal's folder.
        place: String,
        /// The process, as the lock file names it; 0 where it does not.
        process: u32,
    },
    /// What stood at this position was removed with its segment.
    Gone(Position),
    /// No record begins at this position, or it isn't readable yet.
    NoRecord(Position),
    /// Something that was durable can't be read.
    Corrupt(Damage),
    /// The folder belongs to another shard or journal, or was written by a newer version.
    Foreign(String),
    /// A size or bound is outside what the journal can do.
    Setting(String),
    /// An operation of the file system failed.
    Io {
        /// What was done, and to which file.
        what: String,
        /// The sort of error.
        kind: io::ErrorKind,
        /// The system's words.
        message: String,
    },
}

/// Where something durable can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, as an operator finds it.
    pub file: String,
    /// Byte in the file.
    pub offset: u64,
    /// The same place in the journal.
    pub position: Position,
    /// What is wrong there.
    pub what: String,
}

impl Error {
    /// The code under which docs/reference/errors/journal.md explains it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "JRN-001",
            Self::Full => "JRN-002",
            Self::TooLarge { .. } => "JRN-003",
            Self::Fenced { .. } => "JRN-004",
            Self::Failed { .. } => "JRN-005",
            Self::InUse { .. } => "JRN-006",
            Self::Gone(_) => "JRN-007",
            Self::NoRecord(_) => "JRN-008",
            Self::Corrupt(_) => "JRN-009",
            Self::Foreign(_) => "JRN-010",
            Self::Setting(_) => "JRN-012",
            Self::Io { .. } => "JRN-011",
            Self::Descriptors => "JRN-013",
            Self::Unknown { .. } => "JRN-014",
        }
    }

    /// Whether nothing happened and the same call may work later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Full | Self::Descriptors)
    }

    /// An error of the file system, with the operation that failed; `Descriptors` where that is its
    /// cause.
    #[must_use]
    pub fn io(what: impl Into<String>, error: &io::Error) -> Self {
        if lacks_descriptors(error) {
            return Self::Descriptors;
        }
        Self::Io { what: what.into(), kind: error.kind(), message: error.to_string() }
    }
}

/// Whether an error means that the process, or the whole system, has no file descriptors left.
pub(crate) fn lacks_descriptors(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { waiting } => write!(f, "{waiting} bytes wait for the disk")?,
            Self::Full => f.write_str("the disk has no room for another segment of the journal")?,
            Self::Descriptors => {
                f.write_str(
                    "the process has no file descriptors left for the journal: raise its limit of open files",
                )?;
            }
            Self::TooLarge { bytes, bytes_max } => {
                write!(f, "a record of {bytes} bytes is longer than the {bytes_max} that the journal takes")?;
            }
            Self::Fenced { epoch, newer } => {
                write!(f, "the journal was opened by somebody else: epoch {newer} follows our {epoch}")?;
            }
            Self::Failed { durable, what } => {
                write!(f, "the journal stopped: {what}; all before position {durable} is on disk")?;
            }
            Self::Unknown { durable, what } => {
                write!(
                    f,
                    "the journal stopped: {what}; whether records behind position {durable} count is unknown"
                )?;
            }
            Self::InUse { place, process: 0 } => {
                write!(f, "the journal {place} is in use by another process")?
            }
            Self::InUse { place, process } => {
                write!(f, "the journal {place} is in use by process {process}")?
            }
            Self::Gone(position) => write!(f, "the record at position {position} was removed")?,
            Self::NoRecord(position) => write!(f, "no record begins at position {position}")?,
            Self::Corrupt(damage) => write!(
                f,
                "{damage}; `stadium journal verify` shows more, `stadium journal repair` goes on without it"
            )?,
            Self::Foreign(what) | Self::Setting(what) => f.write_str(what)?,
            Self::Io { what, message, .. } => write!(f, "{what}: {message}")?,
        }
        write!(f, " ({})", self.code())
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, position, what } = self;
        write!(f, "{file} is damaged at byte {offset}, position {position}: {what}")
    }
}
