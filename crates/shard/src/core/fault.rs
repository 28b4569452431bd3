//! Why a shard starts over, and why a record cannot be written now.
//!
//! What is decided is appended first and answered when it is durable; where the journal gives it another
//! position than was announced, or refuses it, the whole is given up.

use stadium_journal::Error;
use stadium_machine::{Corrupt, Milliseconds, Refusal};

use crate::error::{busy, rejected};

/// How long to wait before asking a full disk again.
pub(super) const FULL_RETRY: Milliseconds = 1_000;

/// Why a shard throws its memory away and recovers from its journal.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The journal is at its end.
    Journal(Error),
    /// State and journal do not fit together: a bug, or a disk that lies.
    Broken(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Journal(error)
    }
}

impl From<Corrupt> for Fault {
    fn from(corrupt: Corrupt) -> Self {
        Fault::Broken(corrupt.reason)
    }
}

/// Why a record cannot be written now.
pub(super) enum NoRoom {
    /// The disk is full.
    Full,
    /// The journal waits for the disk: go on when it is further.
    Behind,
    /// A record of such length is never written.
    TooLarge { bytes: usize, bytes_max: usize },
}

pub(super) fn disk_full() -> Refusal {
    busy(
        "SHARD-002",
        FULL_RETRY,
        "the disk is full: nothing new is accepted until there is room; settle, delete and reads go on",
    )
}

pub(super) fn too_large(bytes: usize, bytes_max: usize) -> Refusal {
    let reason =
        format!("the record would have up to {bytes} bytes; {bytes_max} are allowed: use smaller batches");
    rejected("SHARD-006", reason)
}
