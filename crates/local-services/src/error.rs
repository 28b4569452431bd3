//! Why a service could not be started or does not run any more.

use std::fmt;

/// The reason, in words. Where a program ended by itself, with the end of its output.
#[derive(Debug)]
pub struct Error(String);

/// The result of work on a local service.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Adds what was attempted to an error.
pub(crate) trait Context<T> {
    /// The error reads `{attempt}: {error}`.
    fn context(self, attempt: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, attempt: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error(format!("{attempt}: {error}")))
    }
}
