//! Broken rules of readers, which the simulator must find out.

use stadium_journal_log::{Header, Judge, Mark, Rule, Sequence, Verdict};

/// A fence counts if its epoch is not smaller than the current one.
#[derive(Clone, Copy)]
pub struct EqualEpochs;

impl Judge for EqualEpochs {
    fn judge(at: &Mark, message: &Header) -> Verdict {
        match message.sequence == Sequence::FENCE && message.claim.epoch == at.claim.epoch {
            true => Verdict::Fence,
            false => Rule::judge(at, message),
        }
    }
}

/// A message of the current claim counts, whatever its sequence is.
#[derive(Clone, Copy)]
pub struct AnySequence;

impl Judge for AnySequence {
    fn judge(at: &Mark, message: &Header) -> Verdict {
        match message.sequence != Sequence::FENCE && message.claim == at.claim {
            true => Verdict::Accepted,
            false => Rule::judge(at, message),
        }
    }
}
