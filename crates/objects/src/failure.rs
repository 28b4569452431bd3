//! Why a store could not be used.

use std::path::PathBuf;
use std::{fmt, io};

/// Why a store could not be used.
#[derive(Debug)]
pub enum Error {
    /// The URL names no store; the text names what does.
    Url(String),
    /// There are no credentials, or none that are believed.
    Credentials {
        /// The variables to set, or the things to check.
        help: &'static str,
        /// The store's error.
        reason: String,
    },
    /// There is no such bucket or container.
    NoBucket(String),
    /// A file here cannot be read or written.
    File {
        /// Its name.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// An object is not there.
    Missing(String),
    /// An object has fewer bytes than it should.
    Short {
        /// The object.
        object: String,
        /// The bytes that it should have.
        wanted: u64,
    },
    /// The store has no room for an object.
    Full {
        /// The object.
        object: String,
        /// Its error.
        reason: String,
    },
    /// The store failed, also when asked again.
    Refused {
        /// The object, or what was asked.
        object: String,
        /// Its error.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Url(text) => f.write_str(text),
            Error::Credentials { help, reason } => {
                write!(f, "no credentials that the store believes: {help}; {reason}")
            }
            Error::NoBucket(bucket) => {
                write!(
                    f,
                    "there is no bucket {bucket:?}: create it first, or look at the region and the endpoint"
                )
            }
            Error::File { path, error } => write!(f, "{}: {error}", path.display()),
            Error::Missing(object) => write!(f, "{object} is not in the store"),
            Error::Short { object, wanted } => write!(f, "{object} has fewer than {wanted} bytes"),
            Error::Full { object, reason } => write!(f, "the store has no room for {object}: {reason}"),
            Error::Refused { object, reason } => write!(f, "the store failed at {object}: {reason}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Whether the system refused a write because the disk or the user's quota is full.
#[must_use]
pub fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// An error with its causes, none repeated, on one line.
#[cfg(feature = "clients")]
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
