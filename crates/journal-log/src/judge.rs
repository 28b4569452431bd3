//! The reader's rule: which messages of a log count.
//!
//! Everybody who reads follows it, from the same messages in the same order. So all readers agree
//! on who owns the log and on the records in it.

use std::cmp::Ordering;

use crate::claim::Sequence;
use crate::mark::Mark;
use crate::message::Header;

/// The meaning of a message to a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A fence that counts: its claim is the current one from here on.
    Fence,
    /// A message that counts: its records are the next ones of the shard.
    Accepted,
    /// It does not count, for any reader.
    Passed(Passed),
}

/// Why a message does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passed {
    /// It belongs to a claim that is over, or lost the race to be one.
    Stale,
    /// A copy of it counted before.
    Duplicate,
    /// It arrived before a message that it builds on. Its owner sends it again.
    Premature,
    /// It names another cluster or shard.
    Foreign,
}

/// A rule of readers. The product has one, [`Rule`]; the simulator proves with others that it
/// notices when the rule is broken.
pub trait Judge: Copy {
    /// Judges a message of the reader's own log which follows the mark.
    fn judge(at: &Mark, message: &Header) -> Verdict;
}

/// The rule: a fence counts if its epoch is greater than the current one. Another message counts if
/// its claim is the current one and its sequence is the next.
#[derive(Clone, Copy, Debug)]
pub struct Rule;

impl Judge for Rule {
    fn judge(at: &Mark, message: &Header) -> Verdict {
        let is_current = message.claim == at.claim;
        let is_newer = message.claim.epoch > at.claim.epoch;
        if message.sequence == Sequence::FENCE {
            return match (is_newer, is_current) {
                (true, _) => Verdict::Fence,
                (false, true) => Verdict::Passed(Passed::Duplicate),
                (false, false) => Verdict::Passed(Passed::Stale),
            };
        }
        if !is_current {
            // The fence of a newer epoch has not arrived.
            return Verdict::Passed(if is_newer { Passed::Premature } else { Passed::Stale });
        }
        match message.sequence.cmp(&at.next) {
            Ordering::Equal => Verdict::Accepted,
            Ordering::Less => Verdict::Passed(Passed::Duplicate),
            Ordering::Greater => Verdict::Passed(Passed::Premature),
        }
    }
}

#[cfg(test)]
mod tests {
    use stadium_journal::{Epoch, Position};

    use super::*;
    use crate::claim::{Claim, ClusterId, Log, Offset, WriterId};

    #[test]
    fn a_message_is_judged_by_epoch_writer_and_sequence() {
        let at = Mark {
            offset: Offset(40),
            claim: Claim { epoch: Epoch(5), writer: WriterId(1) },
            next: Sequence(3),
            end: Position(800),
        };
        let passed = Verdict::Passed;
        // Epoch, writer, sequence.
        for (epoch, writer, sequence, verdict) in [
            (6, 2, 0, Verdict::Fence),
            (9, 2, 0, Verdict::Fence),
            // An owner that claims again has a new writer id, and may as well keep it.
            (6, 1, 0, Verdict::Fence),
            (5, 1, 0, passed(Passed::Duplicate)),
            (5, 2, 0, passed(Passed::Stale)),
            (4, 1, 0, passed(Passed::Stale)),
            (4, 2, 0, passed(Passed::Stale)),
            (5, 1, 3, Verdict::Accepted),
            (5, 1, 2, passed(Passed::Duplicate)),
            (5, 1, 1, passed(Passed::Duplicate)),
            (5, 1, 4, passed(Passed::Premature)),
            (5, 1, u64::MAX, passed(Passed::Premature)),
            (5, 2, 3, passed(Passed::Stale)),
            (4, 1, 3, passed(Passed::Stale)),
            (6, 1, 3, passed(Passed::Premature)),
            (6, 2, 1, passed(Passed::Premature)),
        ] {
            let message = Header {
                log: Log { cluster: ClusterId(7), shard: 0 },
                claim: Claim { epoch: Epoch(epoch), writer: WriterId(writer) },
                sequence: Sequence(sequence),
                first: Position(800),
                end: Position(808),
            };
            let found = Rule::judge(&at, &message);
            assert_eq!(found, verdict, "epoch {epoch}, writer {writer}, sequence {sequence}");
        }
    }
}
