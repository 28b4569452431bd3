//! One answer out of those of several shards.
//!
//! Each part was asked of a shard. A [`Merging`] makes one answer of theirs, or names the shards
//! that are to be asked next. Where a shard refuses its part, an answer with an outcome for each
//! item reports the refusal for its items. Everything else is refused as a whole, although other
//! shards may have done theirs: see docs/shards.md.

use std::task::{Context, Poll};

use stadium_state_machine::Refusal;

use crate::reply_slot::{Answered, One};

/// The step after all parts have answered.
pub(crate) enum Step {
    /// The answer.
    Done(Answered),
    /// These are asked, and the answers that are there come first.
    Ask(Vec<Answered>, Vec<Result<One, Refusal>>),
}

/// Makes one answer out of those of all parts, in their order.
pub(crate) type Merging = Box<dyn Fn(Vec<Answered>) -> Step + Send>;

/// Waits for several shards.
pub(crate) struct ScatterGather {
    parts: Vec<Part>,
    merging: Merging,
}

enum Part {
    Open(One),
    There(Answered),
}

fn part(asked: Result<One, Refusal>) -> Part {
    match asked {
        Ok(one) => Part::Open(one),
        Err(refusal) => Part::There(Err(refusal)),
    }
}

impl ScatterGather {
    pub(crate) fn new(parts: Vec<Result<One, Refusal>>, merging: Merging) -> Self {
        ScatterGather { parts: parts.into_iter().map(part).collect(), merging }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answered> {
        loop {
            let mut is_open = false;
            for part in &mut self.parts {
                if let Part::Open(one) = part {
                    match one.poll(context) {
                        Poll::Ready(answer) => *part = Part::There(answer),
                        Poll::Pending => is_open = true,
                    }
                }
            }
            if is_open {
                return Poll::Pending;
            }
            let answers = std::mem::take(&mut self.parts).into_iter().map(|part| match part {
                Part::There(answer) => answer,
                Part::Open(_) => unreachable!("all parts are there"),
            });
            match (self.merging)(answers.collect()) {
                Step::Done(answer) => return Poll::Ready(answer),
                Step::Ask(there, asked) => {
                    self.parts =
                        there.into_iter().map(Part::There).chain(asked.into_iter().map(part)).collect();
                }
            }
        }
    }
}
