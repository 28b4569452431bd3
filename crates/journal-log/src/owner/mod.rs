//! The owner of a log: claims it, appends to it, and knows when a message is durable.
//!
//! A message that was acknowledged at the offset right behind the one before it is durable: nobody
//! wrote in between. Otherwise the owner reads the gap, and follows the reader's rule as everybody
//! does. It needs no clock and no lease for that. Appending and being acknowledged in order
//! allocates nothing.

mod effect;

use std::cmp::Ordering;
use std::collections::VecDeque;

use stadium_journal::{Epoch, Position};

pub use effect::{Effect, Refused};

use crate::claim::{Claim, Offset, Sequence, WriterId};
use crate::error::Error;
use crate::judge::{Judge, Passed, Rule, Verdict};
use crate::message::Header;
use crate::reader::Reader;

/// Messages of an owner that may be on their way at once.
///
/// A second one hides the round trip of the first. More than four cost memory for their bodies, and
/// each that arrives out of order makes those behind it be sent again.
pub const IN_FLIGHT_MAX: usize = 4;

/// Effects that wait for the driver. It fetches them after each call, so they are few.
const EFFECTS: usize = 16;

/// One owner, from its first claim until another claim fences it or it cannot read on.
///
/// After each call the driver carries out the effects: [`Owner::next_effect`] until there is none.
#[derive(Debug)]
pub struct Owner<J = Rule> {
    reader: Reader<J>,
    /// The claim whose fence was sent last; its epoch is 0 until the first one is sent. Between
    /// [`Owner::claim_again`] and the next fence it is the old epoch with the new writer.
    own: Claim,
    phase: Phase,
    /// Messages without an outcome, in the order of their sequences and all of one claim.
    flight: VecDeque<Sent>,
    /// The sequence of the next message.
    next: Sequence,
    /// The least position of the next message's first record.
    end: Position,
    /// Reading goes on up to here.
    read_to: Offset,
    effects: VecDeque<Effect>,
}

/// A message without an outcome.
#[derive(Clone, Copy, Debug)]
struct Sent {
    header: Header,
    /// The greatest offset at which a copy of it was acknowledged.
    answered: Option<Offset>,
    /// The greatest offset at which the reader met a copy that was premature.
    premature: Option<Offset>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Asked for the log's end; the reader was here then.
    Finding {
        asked_at: Offset,
        fence: Fence,
    },
    /// Reads up to `read_to`, or waits for what becomes of its fence.
    Claiming {
        fence: Fence,
    },
    Serving,
    /// An append failed. The driver brings a writer id for the next claim.
    Uncertain,
    Ended,
}

/// The fence of a claim, until it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fence {
    NotSent,
    OnItsWay,
    /// It may or may not arrive; it is sent again unless the log already has it.
    Failed,
}

impl<J: Judge> Owner<J> {
    /// Claims the log, reading on from where `reader` is. `writer` was drawn at random for this
    /// claim.
    #[must_use]
    pub fn claim(reader: Reader<J>, writer: WriterId) -> Self {
        let mut owner = Self {
            reader,
            own: Claim { epoch: Epoch(0), writer },
            phase: Phase::Uncertain,
            flight: VecDeque::with_capacity(IN_FLIGHT_MAX),
            next: Sequence::FIRST,
            end: Position::START,
            read_to: Offset(0),
            effects: VecDeque::with_capacity(EFFECTS),
        };
        owner.find_end(Fence::NotSent);
        owner
    }

    /// Claims the log again, after [`Effect::Uncertain`]. `writer` was drawn at random for this
    /// claim. The messages on their way have an outcome when the claim succeeds.
    ///
    /// At any other time it does nothing.
    pub fn claim_again(&mut self, writer: WriterId) {
        if self.phase == Phase::Uncertain {
            self.own.writer = writer;
            self.find_end(Fence::NotSent);
        }
    }

    /// Takes a message whose records are at these positions, and asks the driver to append it.
    /// Returns its sequence. The driver keeps the body until the message has an outcome.
    ///
    /// # Errors
    /// Why it is not taken; nothing happened then.
    pub fn append(&mut self, first: Position, end: Position) -> Result<Sequence, Refused> {
        if self.phase != Phase::Serving {
            return Err(Refused::NotServing);
        }
        if self.flight.len() == IN_FLIGHT_MAX {
            return Err(Refused::Busy);
        }
        if first < self.end || end <= first {
            return Err(Refused::Positions { first, end, least: self.end });
        }
        let sequence = self.next;
        let header = Header { log: self.reader.log(), claim: self.own, sequence, first, end };
        self.flight.push_back(Sent { header, answered: None, premature: None });
        self.next = sequence.next();
        self.end = end;
        self.effects.push_back(Effect::Append(header));
        Ok(sequence)
    }

    /// A message of this writer was acknowledged at an offset: it is replicated there. Answers to
    /// former claims, to copies, and to messages that have an outcome do no harm.
    pub fn appended(&mut self, writer: WriterId, sequence: Sequence, offset: Offset) {
        if writer != self.own.writer {
            return;
        }
        match self.phase {
            Phase::Finding { fence, .. } | Phase::Claiming { fence }
                if sequence == Sequence::FENCE && fence != Fence::NotSent =>
            {
                self.fence_appended(offset);
            }
            Phase::Serving => {
                let sent = self.flight.iter_mut().find(|sent| sent.header.sequence == sequence);
                if let Some(sent) = sent {
                    sent.answered = sent.answered.max(Some(offset));
                    self.settle();
                }
            }
            _ => {}
        }
    }

    /// The broker refused to append a message of this writer, or has not answered in time. It may
    /// stand in the log nevertheless, or arrive later.
    pub fn failed(&mut self, writer: WriterId, sequence: Sequence) {
        if writer != self.own.writer {
            return;
        }
        match self.phase {
            Phase::Claiming { fence: Fence::OnItsWay } if sequence == Sequence::FENCE => {
                self.find_end(Fence::Failed);
            }
            Phase::Serving if self.flight.iter().any(|sent| sent.header.sequence == sequence) => {
                self.phase = Phase::Uncertain;
                self.effects.push_back(Effect::Uncertain);
            }
            _ => {}
        }
    }

    /// The end of the log, as [`Effect::FindEnd`] asked: the offset of the next message.
    pub fn end(&mut self, end: Offset) {
        let Phase::Finding { asked_at, fence } = self.phase else { return };
        if end < asked_at {
            self.fail(Error::Shortened { known: asked_at, found: end });
            return;
        }
        self.phase = Phase::Claiming { fence };
        self.read_up_to(end);
        self.advance();
    }

    /// A message that was read. Returns whether it counts; `None` if it was taken before.
    ///
    /// The records of a message that counts belong to the shard's state; those of the owner's own
    /// messages are reported by [`Effect::Durable`] as well. After its end an owner goes on as a
    /// reader.
    ///
    /// # Errors
    /// As for [`Reader::take`]. The owner has ended then.
    pub fn message(&mut self, offset: Offset, message: &Header) -> Result<Option<Verdict>, Error> {
        let taken = self.reader.take(offset, message).inspect_err(|error| self.fail(*error))?;
        match taken {
            Some(Verdict::Accepted) => {
                if self.flight.front().is_some_and(|sent| sent.header.is_copy_of(message)) {
                    self.first_is_durable();
                }
            }
            Some(Verdict::Passed(Passed::Premature)) => {
                let mut flight = self.flight.iter_mut();
                if let Some(sent) = flight.find(|sent| sent.header.is_copy_of(message)) {
                    sent.premature = Some(offset);
                }
            }
            Some(Verdict::Fence) => self.fence_counts(message.claim),
            Some(Verdict::Passed(_)) | None => {}
        }
        self.advance();
        Ok(taken)
    }

    /// The log begins at `start`, as a read or a search for the end found out. Ends an owner that
    /// has not read up to there.
    pub fn trimmed(&mut self, start: Offset) {
        let offset = self.reader.mark().offset;
        if offset < start {
            self.fail(Error::Trimmed { offset, start });
        }
    }

    /// Ends the owner: its driver cannot go on. Messages on their way are unknown.
    pub fn abandon(&mut self) {
        if self.phase != Phase::Ended {
            self.phase = Phase::Ended;
            self.drop_flight(|writer, from| Effect::Unknown { writer, from });
        }
    }

    /// The next thing to do, in order.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether it may append.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.phase == Phase::Serving
    }

    /// Whether it was fenced, failed, or was abandoned.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Its own claim: the one whose fence it sent last, with the writer id of the next one after
    /// [`Owner::claim_again`].
    #[must_use]
    pub fn own(&self) -> Claim {
        self.own
    }

    /// Its reader: how far it has read, and what counts there.
    #[must_use]
    pub fn reader(&self) -> &Reader<J> {
        &self.reader
    }

    /// Its reader, to go on as a standby or to claim the log anew.
    #[must_use]
    pub fn into_reader(self) -> Reader<J> {
        self.reader
    }

    fn find_end(&mut self, fence: Fence) {
        self.phase = Phase::Finding { asked_at: self.reader.mark().offset, fence };
        self.effects.push_back(Effect::FindEnd);
    }

    /// Asks for the messages up to an offset that were not asked for yet.
    fn read_up_to(&mut self, to: Offset) {
        let from = self.reader.mark().offset.max(self.read_to);
        if from < to {
            self.read_to = to;
            self.effects.push_back(Effect::Read { from, to });
        }
    }

    /// Goes on after something was read.
    fn advance(&mut self) {
        match self.phase {
            Phase::Serving => self.settle(),
            Phase::Claiming { fence } if self.reader.mark().offset >= self.read_to => match fence {
                Fence::NotSent => self.send_fence(),
                Fence::OnItsWay => {}
                Fence::Failed => self.append_fence(),
            },
            _ => {}
        }
    }

    /// All that was in the log is read: claims it with a greater epoch.
    fn send_fence(&mut self) {
        let last = self.reader.mark().claim.epoch;
        let Some(epoch) = last.0.checked_add(1) else {
            self.fail(Error::Epochs { last });
            return;
        };
        self.own.epoch = Epoch(epoch);
        self.append_fence();
    }

    fn append_fence(&mut self) {
        self.phase = Phase::Claiming { fence: Fence::OnItsWay };
        self.effects.push_back(Effect::Append(Header::fence(self.reader.log(), self.own)));
    }

    /// The fence stands at an offset. Whether it counts depends on what stands before it.
    fn fence_appended(&mut self, offset: Offset) {
        let next = self.reader.mark().offset;
        match offset.cmp(&next) {
            Ordering::Equal => {
                let fence = Header::fence(self.reader.log(), self.own);
                // An error has ended the owner, and is among the effects.
                let _ = self.message(offset, &fence);
            }
            Ordering::Greater => self.read_up_to(offset.next()),
            // All before was read after the fence was sent, and the fence was not there.
            Ordering::Less => self.fail(Error::Shortened { known: next, found: offset }),
        }
    }

    /// A fence counts.
    fn fence_counts(&mut self, claim: Claim) {
        if self.phase == Phase::Ended {
            return;
        }
        if claim == self.own {
            // What is left of the claim before would have counted before this fence or not at all.
            self.drop_flight(|writer, from| Effect::GivenUp { writer, from });
            self.phase = Phase::Serving;
            self.next = Sequence::FIRST;
            self.end = self.reader.mark().end;
            self.effects.push_back(Effect::Serving(claim));
        } else if self.own.epoch > Epoch(0) {
            self.phase = Phase::Ended;
            self.drop_flight(|writer, from| Effect::GivenUp { writer, from });
            self.effects.push_back(Effect::Fenced { by: claim });
        }
        // Otherwise an owner that has not sent a fence yet reads those of others before it.
    }

    /// Decides about messages that were acknowledged, oldest first.
    fn settle(&mut self) {
        while let Some(sent) = self.flight.front_mut() {
            let Some(at) = sent.answered else { return };
            let next = self.reader.mark().offset;
            match at.cmp(&next) {
                // Right behind all that was read: nobody wrote in between.
                Ordering::Equal => {
                    let header = sent.header;
                    match self.reader.take(at, &header) {
                        Ok(Some(Verdict::Accepted)) => self.first_is_durable(),
                        Ok(_) => sent.premature = Some(at),
                        Err(error) => self.fail(error),
                    }
                }
                Ordering::Greater => {
                    self.read_up_to(at);
                    return;
                }
                // It stands before what it builds on.
                Ordering::Less if sent.premature >= Some(at) => {
                    sent.answered = None;
                    let header = sent.header;
                    self.effects.push_back(Effect::Append(header));
                    return;
                }
                // Another message was read there.
                Ordering::Less => self.fail(Error::Shortened { known: next, found: at }),
            }
        }
    }

    /// The first message on its way counts. Outcomes that follow each other are reported as one.
    fn first_is_durable(&mut self) {
        let Some(Sent { header, .. }) = self.flight.pop_front() else { return };
        let durable =
            Effect::Durable { writer: header.claim.writer, sequence: header.sequence, end: header.end };
        match self.effects.back_mut() {
            Some(last @ Effect::Durable { .. }) if is_of(last, header.claim.writer) => *last = durable,
            _ => self.effects.push_back(durable),
        }
    }

    fn fail(&mut self, error: Error) {
        if self.phase != Phase::Ended {
            self.abandon();
            self.effects.push_back(Effect::Failed(error));
        }
    }

    /// Reports an outcome of all messages on their way.
    fn drop_flight(&mut self, outcome: fn(WriterId, Sequence) -> Effect) {
        if let Some(Sent { header, .. }) = self.flight.front() {
            self.effects.push_back(outcome(header.claim.writer, header.sequence));
        }
        self.flight.clear();
    }
}

/// Whether an effect reports durable messages of this writer.
fn is_of(effect: &Effect, of: WriterId) -> bool {
    matches!(effect, Effect::Durable { writer, .. } if *writer == of)
}
