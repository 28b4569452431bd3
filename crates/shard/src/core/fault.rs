//! Why a shard starts over, and why a record cannot be written now.
//!
//! Decisions are appended first and answered when they are durable. Where the journal gives a
//! record another position than was announced, or refuses it, the whole is given up.

use std::any::Any;

use stadium_journal::Error;
use stadium_state_machine::{Corrupt, Milliseconds, Refusal};

use crate::error::{busy, rejected};

/// How long to wait before asking again for what a full disk, or a process without descriptors, did not have.
pub(super) const FULL_RETRY: Milliseconds = 1_000;

/// How long after a panic the shard is recovered: a repeated panic must not occur all the time.
pub(super) const AFTER_PANIC: Milliseconds = 1_000;

/// Why a shard throws its memory away and recovers from its journal.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The journal is at its end.
    Journal(Error),
    /// State and journal do not fit together: a bug, or a disk that lies.
    Broken(String),
    /// A turn panicked, with these words: a bug.
    Panicked(String),
}

impl Fault {
    /// What was caught of a panic.
    pub(super) fn of_panic(caught: &(dyn Any + Send)) -> Self {
        let words = caught.downcast_ref::<&str>().copied();
        let words = words.or_else(|| caught.downcast_ref::<String>().map(String::as_str));
        Fault::Panicked(format!("the shard panicked: {}", words.unwrap_or("without words")))
    }
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
    /// The disk is full, or the process has no descriptors left.
    Full(Lack),
    /// The journal waits for the disk: go on when it is further.
    Behind,
    /// A record of such length is never written.
    TooLarge { bytes: usize, bytes_max: usize },
}

/// What there is too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    Disk,
    Descriptors,
}

impl Lack {
    pub(super) fn refusal(self) -> Refusal {
        match self {
            Lack::Disk => busy(
                "SHARD-002",
                FULL_RETRY,
                "the disk is full: nothing new is accepted until there is room; settle, delete and reads go on",
            ),
            Lack::Descriptors => busy(
                "SHARD-014",
                FULL_RETRY,
                "the server has no file descriptors left for its journal: nothing new is accepted until it has; \
                 raise its limit of open files",
            ),
        }
    }
}

/// Why a record was not read: it is asked for again where the process had no descriptor for its
/// segment (JRN-013); else `damaged` describes its bytes.
pub(super) fn not_read(error: Error, damaged: impl FnOnce(String) -> Refusal) -> Refusal {
    match error {
        Error::Descriptors => busy(
            "SHARD-014",
            FULL_RETRY,
            "the server has no file descriptors left to read its journal: raise its limit of open files",
        ),
        error => damaged(error.to_string()),
    }
}

pub(super) fn too_large(bytes: usize, bytes_max: usize) -> Refusal {
    let reason =
        format!("the record would have up to {bytes} bytes; {bytes_max} are allowed: use smaller batches");
    rejected("SHARD-006", reason)
}

#[cfg(test)]
mod tests {
    use stadium_journal::{Error, Position};
    use stadium_state_machine::Refusal;

    use super::{not_read, rejected};

    #[test]
    fn a_read_without_a_descriptor_is_busy_and_one_of_damaged_bytes_is_not() {
        let damaged = |what| rejected("SHARD-010", what);
        let refusal = not_read(Error::Descriptors, damaged);
        assert!(matches!(refusal, Refusal::Busy { code: "SHARD-014", .. }), "{refusal}");
        let refusal = not_read(Error::Gone(Position(7)), damaged);
        assert!(matches!(refusal, Refusal::Rejected { code: "SHARD-010", .. }), "{refusal}");
    }
}
