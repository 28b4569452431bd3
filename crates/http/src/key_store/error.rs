//! Errors of reading and changing API keys, and the bounds that they name.
//!
//! Each message tells its reader what to do.

use std::io;
use std::path::PathBuf;

use crate::shared_documents::NotChanged;

/// Keys of one server or cluster. Every request compares with each of them, so the bound keeps that under 50 µs;
/// one more is refused.
pub const KEYS_MAX: usize = 1_024;

/// Characters in a key's name.
pub const KEY_NAME_CHARS_MAX: usize = 64;

/// Why the keys could not be read or changed.
#[derive(Debug)]
pub enum Error {
    /// The system refused.
    Io {
        /// The file it was about.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not what this server writes.
    Format {
        /// The file.
        path: PathBuf,
        /// The mistake in it.
        reason: String,
    },
    /// The keys are a cluster's, and could not be changed there.
    Shared(NotChanged),
    /// The name is empty, too long, or holds control characters.
    Name,
    /// The rights of the key are none, or are not right.
    Rights(String),
    /// [`KEYS_MAX`] is reached.
    Full,
    /// No key has the id.
    Unknown,
    /// It is the only key without an end that may manage keys.
    LastAdmin,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Format { path, reason } => {
                write!(
                    f,
                    "{} is not a file of API keys: {reason}; mend it, or move it away to start anew",
                    path.display()
                )
            }
            Self::Shared(reason) => write!(f, "the API keys of the cluster: {reason}"),
            Self::Name => {
                write!(f, "a key's name has 1 to {KEY_NAME_CHARS_MAX} characters, without control characters")
            }
            Self::Rights(reason) => f.write_str(reason),
            Self::Full => write!(f, "there are {KEYS_MAX} keys already; revoke one first"),
            Self::Unknown => f.write_str("no API key has this id"),
            Self::LastAdmin => f.write_str("this is the last admin key; make another before revoking it"),
        }
    }
}

impl std::error::Error for Error {}
