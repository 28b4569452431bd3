//! How far a recovery is, for whoever waits for it.
//!
//! A recovery reads the newest checkpoint, and then the records after it.

/// How far a recovery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The newest checkpoint is read.
    Checkpoint {
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all.
        bytes_all: u64,
    },
    /// Records after it are applied.
    Records {
        /// Records so far.
        records: u64,
        /// Bytes of journal so far.
        bytes: u64,
    },
}
