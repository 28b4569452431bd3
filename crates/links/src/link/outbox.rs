//! Requests and letters that wait for the loop's next batch to one node.
//!
//! Senders on any thread take credit and write their message behind the others, under a short lock.
//! Only the first one after the loop last took the batch has to wake it. The loop swaps the batch
//! for an empty one, so that nothing is allocated once both are warm. The credit bounds the batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::batch::Batch;
use super::message::{self, LETTER_BYTES, REQUEST_BYTES, Tag, Target};
use super::outcome::Refused;
use super::settings::Timing;
use super::window::Window;

/// The credit of a link, within that of all links of the node.
#[derive(Clone, Debug)]
pub struct Credit {
    /// The link's.
    pub link: Arc<Window>,
    /// The node's.
    pub node: Arc<Window>,
}

impl Credit {
    fn take(&self, bytes: u64) -> Result<(), Refused> {
        if !self.link.take(bytes) {
            return Err(Refused::Busy);
        }
        if !self.node.take(bytes) {
            self.link.give(1, bytes);
            return Err(Refused::NodeBusy);
        }
        Ok(())
    }

    /// Gives credit back. Returns whether senders to the link, and senders to any, are to hear of
    /// room.
    pub(crate) fn give(&self, messages: u64, bytes: u64) -> (bool, bool) {
        if messages == 0 && bytes == 0 {
            return (false, false);
        }
        (self.link.give(messages, bytes), self.node.give(messages, bytes))
    }
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The addressee.
    pub target: Target,
    /// The body.
    pub body: &'a [u8],
}

/// Whether the sender has to wake the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Wake {
    /// It has: the loop does not know that something waits.
    Needed,
    /// Another sender has.
    Done,
}

/// A request that waits or is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) number: u64,
    pub(crate) tag: Tag,
    pub(crate) deadline_ms: u64,
    /// Its place in the batch.
    pub(crate) at: usize,
    /// Its whole length: the credit that it took.
    pub(crate) bytes: u32,
}

/// What waits.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) batch: Batch,
    pub(crate) requests: Vec<Queued>,
    /// Letters and voids: what the receiver gives credit back for by itself.
    pub(crate) letters: u64,
    pub(crate) letter_bytes: u64,
}

impl Waiting {
    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.requests.clear();
        (self.letters, self.letter_bytes) = (0, 0);
    }
}

#[derive(Debug)]
struct Pending {
    waiting: Waiting,
    next_number: u64,
    /// There is a connection whose other half is known.
    is_open: bool,
    /// The loop knows that something waits.
    is_scheduled: bool,
}

/// What waits for one connection's next batch.
#[derive(Debug)]
pub struct Outbox {
    pending: Mutex<Pending>,
    /// The earliest deadline of what waits, at most; `u64::MAX` where nothing does. Changed under
    /// the lock.
    deadline_ms: AtomicU64,
    credit: Credit,
    body_bytes_max: usize,
}

impl Outbox {
    /// An empty one, closed until its link is up.
    pub fn new(timing: &Timing, credit: Credit) -> Self {
        let waiting = Waiting::default();
        let pending = Pending { waiting, next_number: 1, is_open: false, is_scheduled: false };
        Self {
            pending: Mutex::new(pending),
            deadline_ms: AtomicU64::new(u64::MAX),
            credit,
            body_bytes_max: timing.body_bytes(),
        }
    }

    /// Takes a request, whose outcome comes under `tag`. Times are of the loop's clock.
    ///
    /// # Errors
    ///
    /// There is no link, or no credit, or the body is too long. Nothing is sent, and no outcome
    /// follows.
    pub fn request(
        &self,
        now_ms: u64,
        deadline_ms: u64,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<Wake, Refused> {
        self.push(message, REQUEST_BYTES, |pending, Outgoing { target, body }| {
            let Waiting { batch, requests, .. } = &mut pending.waiting;
            let left_ms = u32::try_from(deadline_ms.saturating_sub(now_ms)).unwrap_or(u32::MAX);
            let (number, at) = (pending.next_number, batch.len());
            pending.next_number += 1;
            message::write_request(target, number, left_ms, body, batch.next());
            // A body has at most 24 bits.
            let bytes = (REQUEST_BYTES + body.len()) as u32;
            requests.push(Queued { number, tag, deadline_ms, at, bytes });
            self.deadline_ms.fetch_min(deadline_ms, Ordering::Relaxed);
        })
    }

    /// Takes a letter. It is lost where the link breaks.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub fn letter(&self, message: Outgoing<'_>) -> Result<Wake, Refused> {
        self.push(message, LETTER_BYTES, |pending, Outgoing { target, body }| {
            let Waiting { batch, letters, letter_bytes, .. } = &mut pending.waiting;
            message::write_letter(target, body, batch.next());
            *letters += 1;
            *letter_bytes += (LETTER_BYTES + body.len()) as u64;
        })
    }

    fn push(
        &self,
        message: Outgoing<'_>,
        head_bytes: usize,
        write: impl FnOnce(&mut Pending, Outgoing<'_>),
    ) -> Result<Wake, Refused> {
        if message.body.len() > self.body_bytes_max {
            return Err(Refused::TooLong);
        }
        let mut pending = self.pending.lock();
        if !pending.is_open {
            return Err(Refused::Down);
        }
        self.credit.take((head_bytes + message.body.len()) as u64)?;
        write(&mut pending, message);
        let is_scheduled = std::mem::replace(&mut pending.is_scheduled, true);
        Ok(if is_scheduled { Wake::Done } else { Wake::Needed })
    }

    /// The credit of its messages.
    pub fn credit(&self) -> &Credit {
        &self.credit
    }

    /// From now on messages are taken.
    pub(crate) fn open(&self) {
        self.pending.lock().is_open = true;
    }

    /// Swaps what waits for `empty`. From now on nothing is taken.
    pub(crate) fn close(&self, empty: &mut Waiting) {
        let mut pending = self.pending.lock();
        (pending.is_open, pending.is_scheduled) = (false, false);
        self.deadline_ms.store(u64::MAX, Ordering::Relaxed);
        std::mem::swap(&mut pending.waiting, empty);
    }

    /// Swaps what waits for `empty`.
    pub(crate) fn take(&self, empty: &mut Waiting) {
        let mut pending = self.pending.lock();
        pending.is_scheduled = false;
        self.deadline_ms.store(u64::MAX, Ordering::Relaxed);
        std::mem::swap(&mut pending.waiting, empty);
    }

    /// Takes waiting requests out whose deadline has passed, into `expired`. Their bytes leave as
    /// voids.
    pub(crate) fn expire(&self, now_ms: u64, expired: &mut Vec<Tag>) {
        if self.deadline_ms.load(Ordering::Relaxed) > now_ms {
            return;
        }
        let mut pending = self.pending.lock();
        let Waiting { batch, requests, letters, letter_bytes } = &mut pending.waiting;
        let mut earliest_ms = u64::MAX;
        requests.retain(|request| {
            let is_due = request.deadline_ms <= now_ms;
            if is_due {
                message::void(request.at, batch.bytes());
                *letters += 1;
                *letter_bytes += u64::from(request.bytes);
                expired.push(request.tag);
            } else {
                earliest_ms = earliest_ms.min(request.deadline_ms);
            }
            !is_due
        });
        self.deadline_ms.store(earliest_ms, Ordering::Relaxed);
    }

    /// When [`expire`](Self::expire) is to be called next.
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        Some(self.deadline_ms.load(Ordering::Relaxed)).filter(|deadline_ms| *deadline_ms < u64::MAX)
    }
}
