//! Reads a log: takes each message in order, and states whether it counts.
//!
//! A standby, a tool and an owner read alike. The state is a [`Mark`], so that reading can go on
//! from a checkpoint.

use std::marker::PhantomData;

use crate::claim::{Log, Offset, Sequence};
use crate::error::Error;
use crate::judge::{Judge, Passed, Rule, Verdict};
use crate::mark::Mark;
use crate::message::Header;

/// Counts of what a reader met since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Fences that counted.
    pub fences: u64,
    /// Messages that counted.
    pub accepted: u64,
    /// Passed over: of a claim that is over or lost.
    pub stale: u64,
    /// Passed over: copies of messages that counted.
    pub duplicate: u64,
    /// Passed over: messages that arrived before what they build on.
    pub premature: u64,
    /// Passed over: messages for another log.
    pub foreign: u64,
}

/// A reader of one log.
#[derive(Clone, Debug)]
pub struct Reader<J = Rule> {
    log: Log,
    mark: Mark,
    counts: Counts,
    judge: PhantomData<J>,
}

impl<J: Judge> Reader<J> {
    /// Begins at a mark: [`Mark::START`], or that of a checkpoint. `start` is the offset at which
    /// the log begins now.
    ///
    /// # Errors
    /// `Trimmed` if messages behind the mark are gone.
    pub fn open(log: Log, mark: Mark, start: Offset) -> Result<Self, Error> {
        if mark.offset < start {
            return Err(Error::Trimmed { offset: mark.offset, start });
        }
        Ok(Self { log, mark, counts: Counts::default(), judge: PhantomData })
    }

    /// Takes the message at an offset. `None`: it was taken before, as where a broker returns a
    /// whole batch.
    ///
    /// # Errors
    /// `Gap`, `Overlap`; the reader stays where it is.
    pub fn take(&mut self, offset: Offset, message: &Header) -> Result<Option<Verdict>, Error> {
        if offset < self.mark.offset {
            return Ok(None);
        }
        if offset > self.mark.offset {
            return Err(Error::Gap { expected: self.mark.offset, found: offset });
        }
        let verdict = match message.log == self.log {
            true => J::judge(&self.mark, message),
            false => Verdict::Passed(Passed::Foreign),
        };
        let counts = &mut self.counts;
        match verdict {
            Verdict::Fence => {
                self.mark.claim = message.claim;
                self.mark.next = Sequence::FIRST;
                counts.fences += 1;
            }
            Verdict::Accepted => {
                if message.first < self.mark.end {
                    let (first, end) = (message.first, self.mark.end);
                    return Err(Error::Overlap { offset, first, end });
                }
                self.mark.next = message.sequence.next();
                self.mark.end = message.end;
                counts.accepted += 1;
            }
            Verdict::Passed(Passed::Stale) => counts.stale += 1,
            Verdict::Passed(Passed::Duplicate) => counts.duplicate += 1,
            Verdict::Passed(Passed::Premature) => counts.premature += 1,
            Verdict::Passed(Passed::Foreign) => counts.foreign += 1,
        }
        self.mark.offset = offset.next();
        Ok(Some(verdict))
    }

    /// The log that it reads.
    #[must_use]
    pub fn log(&self) -> Log {
        self.log
    }

    /// Where it is: what a checkpoint keeps, and the offset to read on from.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// What it met since it was opened.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
