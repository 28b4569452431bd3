//! Why an audit, a receipt or a reconciliation could not be made at all.
//!
//! Mistakes in the books are no error of ours: see [`crate::Problem`].

use std::fmt;

/// Why it could not be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It is no data directory, or not a whole one.
    Directory(String),
    /// A journal cannot be read.
    Journal {
        /// Its folder.
        place: String,
        /// Why.
        error: stadium_journal::Error,
    },
    /// No journal has that transfer.
    NoTransfer(String),
    /// The transfer's record is in no period that was sealed yet: ask again in a minute.
    NotSealed,
    /// Something is wrong with the records on the way, so that no receipt can be made.
    Broken(crate::Problem),
    /// A receipt that contains nothing that can be checked.
    Receipt(String),
    /// A CSV that cannot be read.
    Csv {
        /// The line, from 1; none where it is about the file as a whole.
        line: Option<u64>,
        /// What is wrong.
        what: String,
        /// `ADT-04x`.
        code: &'static str,
    },
}

impl Error {
    /// The stable code: docs/reference/errors/audit.md.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Directory(_) => "ADT-001",
            Error::Journal { .. } => "ADT-002",
            Error::NoTransfer(_) => "ADT-030",
            Error::NotSealed => "ADT-031",
            Error::Broken(_) => "ADT-032",
            Error::Receipt(_) => "ADT-033",
            Error::Csv { code, .. } => code,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Directory(what) => write!(f, "this is no whole data directory: {what}")?,
            Error::Journal { place, error } => write!(f, "the journal {place} cannot be read: {error}")?,
            Error::NoTransfer(id) => write!(f, "no journal here has the transfer {id}")?,
            Error::NotSealed => f.write_str(
                "the transfer's period is not sealed yet: a root that covers it comes within a minute or so of bookings",
            )?,
            Error::Broken(problem) => write!(f, "no receipt can be made: {problem}")?,
            Error::Receipt(what) => write!(f, "the receipt proves nothing: {what}")?,
            Error::Csv { line: Some(line), what, .. } => write!(f, "line {line}: {what}")?,
            Error::Csv { line: None, what, .. } => f.write_str(what)?,
        }
        write!(f, " ({})", self.code())
    }
}

impl std::error::Error for Error {}
