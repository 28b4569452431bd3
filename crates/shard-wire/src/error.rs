//! Why bytes cannot be read, or an item cannot be written.
//!
//! Two cases are kept apart: bytes that no node writes, and a case that a newer node knows.

use std::fmt;

/// Why bytes cannot be read, or an item cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    /// The innermost message and its field, where they are known.
    place: Option<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    TooLarge { bytes: usize, bytes_max: usize },
    Malformed(String),
    Newer { number: u64 },
}

impl Error {
    pub(crate) fn too_large(bytes: usize, bytes_max: usize) -> Self {
        Self { kind: Kind::TooLarge { bytes, bytes_max }, place: None }
    }

    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Malformed(reason.into()), place: None }
    }

    pub(crate) fn newer(number: u64) -> Self {
        Self { kind: Kind::Newer { number }, place: None }
    }

    /// With its place, unless an inner one is known.
    pub(crate) fn at(mut self, message: &'static str, field: &'static str) -> Self {
        self.place.get_or_insert((message, field));
        self
    }

    /// Whether it is a command, an answer, or a part of one that a newer version added. Other
    /// errors are damage, or a mistake of the sender.
    pub fn is_newer(&self) -> bool {
        matches!(self.kind, Kind::Newer { .. })
    }
}

impl From<prost::DecodeError> for Error {
    fn from(error: prost::DecodeError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((message, field)) = self.place {
            write!(f, "{message}, {field}: ")?;
        }
        match &self.kind {
            Kind::TooLarge { bytes, bytes_max } => {
                write!(f, "it has {bytes} bytes; at most {bytes_max} are allowed")
            }
            Kind::Malformed(reason) => f.write_str(reason),
            Kind::Newer { number } => write!(f, "this version does not know its case {number}"),
        }
    }
}

impl std::error::Error for Error {}
