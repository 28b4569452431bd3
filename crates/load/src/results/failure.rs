//! Why an upload failed.

use std::path::PathBuf;
use std::{fmt, io};

/// Why an upload failed.
#[derive(Debug)]
pub enum Error {
    /// The URL cannot be uploaded to; the text names what can.
    Url(String),
    /// There are no credentials, or none that are believed.
    Credentials {
        /// The operation.
        help: &'static str,
        /// The store's error.
        reason: String,
    },
    /// There is no such bucket or container.
    NoBucket(String),
    /// A file here cannot be read.
    File {
        /// Its name.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The store did not take a file, also when asked again.
    Refused {
        /// Its name.
        file: String,
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
            Error::File { path, error } => write!(f, "{} cannot be read: {error}", path.display()),
            Error::Refused { file, reason } => {
                write!(f, "{file} could not be stored, the files are kept here: {reason}")
            }
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

#[cfg(feature = "upload")]
/// An error with its causes, none repeated, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
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
