//! Why a run, a swarm or a worker cannot be. Failures of requests and of devices are figures, not
//! errors.

use std::fmt;

/// Why a run could not be. Failures of requests and devices are no such error: they are counted.
#[derive(Debug)]
pub enum Error {
    /// It was asked for what cannot be; the text states what to change.
    Config(String),
    /// The system refused something that the generator itself needs.
    System {
        /// The operation.
        doing: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// A worker could not do its part.
    Worker(String),
}

impl Error {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        // The text is made only where it is needed: loops name what they do at every turn.
        move |error| Error::System { doing: doing.into(), error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Config(text) => f.write_str(text),
            Error::System { doing, error } => write!(f, "{doing}: {error}"),
            Error::Worker(text) => write!(f, "worker {text}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { error, .. } => Some(error),
            Error::Config(_) | Error::Worker(_) => None,
        }
    }
}
