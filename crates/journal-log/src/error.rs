//! Errors that end a reader or an owner of a log. A fence is no error, see [`crate::Effect::Fenced`].

use std::fmt;

use stadium_journal::{Epoch, Position};

use crate::claim::Offset;

/// Why nothing can be read on from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The messages to read on from were trimmed. Read on from a newer checkpoint.
    Trimmed {
        /// The message that was asked for.
        offset: Offset,
        /// The offset at which the log begins.
        start: Offset,
    },
    /// An offset is missing, so the partition has transactions or is compacted. Neither is allowed.
    Gap {
        /// The next offset.
        expected: Offset,
        /// The offset of the message that came.
        found: Offset,
    },
    /// The log ends before an offset that it had. Its replicas have lost acknowledged messages.
    Shortened {
        /// How far it was read, or a message's place behind which it must reach.
        known: Offset,
        /// Its end, or an offset that it gave a second time.
        found: Offset,
    },
    /// A message that counts has records before the end of the message before it. Its owner is at
    /// fault.
    Overlap {
        /// The offset of the message.
        offset: Offset,
        /// The position of its first record.
        first: Position,
        /// The end of the message before.
        end: Position,
    },
    /// The last fence has the greatest epoch there is, so nobody can claim the log.
    Epochs {
        /// That epoch.
        last: Epoch,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trimmed { offset, start } => write!(
                f,
                "the log was trimmed up to offset {start}, so it cannot be read from offset {offset} on: \
                 begin with a newer checkpoint"
            ),
            Self::Gap { expected, found } => write!(
                f,
                "offset {found} follows where offset {expected} is due: the topic must be without \
                 transactions and compaction"
            ),
            Self::Shortened { known, found } => write!(
                f,
                "the log had offset {known} and is now at {found}: its replicas have lost acknowledged messages"
            ),
            Self::Overlap { offset, first, end } => write!(
                f,
                "the message at offset {offset} begins at position {first}, before {end}, the end of the \
                 message before it"
            ),
            Self::Epochs { last } => {
                write!(f, "no epoch is greater than {last}, the epoch of the last fence")
            }
        }
    }
}

impl std::error::Error for Error {}
