//! Bytes that no version of a machine can have written.
//!
//! The journal's checksums have passed by then: the bytes are whole, and mean nothing here.

use std::fmt;

/// Events or a checkpoint that a machine cannot have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// What is wrong with what.
    pub reason: String,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Corrupt {}
