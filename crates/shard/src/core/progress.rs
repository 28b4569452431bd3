//! The progress of a recovery, for those who wait for it.
//!
//! A recovery reads the newest checkpoint, and then the records after it.

/// The progress of a recovery.
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
