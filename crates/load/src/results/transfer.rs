//! How far an upload is.

/// How far an upload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The file that is under way, or has just been stored.
    pub file: &'a str,
    /// Bytes of all files that are stored.
    pub bytes: u64,
    /// Bytes of all files.
    pub of_bytes: u64,
}
