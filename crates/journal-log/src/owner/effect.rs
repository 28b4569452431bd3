//! Effects that an owner asks of its driver, and those that it reports.

use std::fmt;

use stadium_journal::Position;

use crate::claim::{Claim, Offset, Sequence, WriterId};
use crate::error::Error;
use crate::message::Header;

/// An operation for the driver, or an outcome for the shard. The driver carries them out in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Find the end of the log, the offset behind its last replicated message, and call
    /// [`Owner::end`](crate::Owner::end). The driver discards answers to earlier requests.
    FindEnd,
    /// Read the messages from one offset to before another one, and call
    /// [`Owner::message`](crate::Owner::message) for each in order; more messages do no harm.
    Read {
        /// The first.
        from: Offset,
        /// Behind the last.
        to: Offset,
    },
    /// Append the message with this header: a fence, or the body that the shard handed over with
    /// [`Owner::append`](crate::Owner::append). It is the same body each time. Then call
    /// [`Owner::appended`](crate::Owner::appended) or [`Owner::failed`](crate::Owner::failed).
    Append(Header),
    /// The claim succeeded: the shard has read all that counts before its fence, and may append.
    Serving(Claim),
    /// The messages of a writer up to this one are durable and count for every reader.
    Durable {
        /// Who wrote them: the current claim, or the one before it.
        writer: WriterId,
        /// The last one of them.
        sequence: Sequence,
        /// The position after their last record.
        end: Position,
    },
    /// The messages of a writer from this one on do not count, and never will.
    GivenUp {
        /// Who wrote them.
        writer: WriterId,
        /// The first one of them.
        from: Sequence,
    },
    /// Whether the messages of a writer from this one on count cannot be known from here.
    Unknown {
        /// Who wrote them.
        writer: WriterId,
        /// The first one of them.
        from: Sequence,
    },
    /// The outcome of an append is unknown. Call [`Owner::claim_again`](crate::Owner::claim_again):
    /// the log tells what became of it.
    Uncertain,
    /// Another claim counts. The owner has ended; as a reader it goes on.
    Fenced {
        /// That claim.
        by: Claim,
    },
    /// The owner has ended, and cannot read on.
    Failed(Error),
}

/// Why an owner takes no message now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It has not claimed the log yet, must claim it again, or has ended.
    NotServing,
    /// As many messages as are allowed are on their way. There is room when one is durable.
    Busy,
    /// The records have no positions, or begin before the end of those before them.
    Positions {
        /// The position of the first record.
        first: Position,
        /// The position after the last one.
        end: Position,
        /// The least that the first one may have.
        least: Position,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServing => f.write_str("the shard's log is not claimed"),
            Self::Busy => f.write_str("too many messages are on their way to the log"),
            Self::Positions { first, end, least } => write!(
                f,
                "records from position {first} to {end} cannot be appended: the log continues at {least}"
            ),
        }
    }
}

impl std::error::Error for Refused {}
