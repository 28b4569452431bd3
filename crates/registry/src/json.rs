//! Mistakes in JSON: where, and what would be right.

use std::fmt;

/// What is wrong with a JSON value, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where in the value: `and[1].tag`; empty for all of it.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.path, self.reason) }
    }
}

impl std::error::Error for Mistake {}
