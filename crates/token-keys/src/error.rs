//! Keys that cannot be read or fetched, for the operator. No error quotes a key.

use std::path::PathBuf;
use std::{fmt, io};

/// Why keys cannot be used.
#[derive(Debug)]
pub enum Error {
    /// A file cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A key, a set of keys or a file of authorities cannot be used.
    Key {
        /// The file, or the URL.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// There is no key, or there are more than [`crate::KEYS_MAX`].
    Count,
    /// A thread could not be started.
    Thread(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Self::Key { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Count => write!(f, "keys of tokens must be 1 to {} in all", crate::KEYS_MAX),
            Self::Thread(source) => write!(f, "cannot start a thread: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Thread(source) => Some(source),
            Self::Key { .. } | Self::Count => None,
        }
    }
}
