//! A text that is not what it should be: no verb, grant, limit, role or right.
//!
//! The reason is for the author of the text.

use std::fmt;

/// The text is no grant, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}
