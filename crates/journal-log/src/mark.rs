//! A place to read on from, with all that a reader must know there.

use stadium_journal::Position;

use crate::claim::{Claim, Offset, Sequence};

/// The state of a reader between two messages. A checkpoint keeps it.
///
/// An offset alone is not enough: whether the next message counts depends on the claim and the
/// sequence before it. Those stand in messages that may be trimmed. The log may be trimmed up to
/// the offset of the oldest mark from which somebody may read on, and no further.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mark {
    /// The offset of the next message.
    pub offset: Offset,
    /// The claim of the last fence that counted.
    pub claim: Claim,
    /// The sequence of the next message that counts.
    pub next: Sequence,
    /// The end of the last message that counted: the position after its last record.
    pub end: Position,
}

impl Mark {
    /// The beginning of every log.
    pub const START: Self =
        Self { offset: Offset(0), claim: Claim::NONE, next: Sequence::FIRST, end: Position::START };
}
