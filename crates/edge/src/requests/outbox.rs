//! Answers that wait for their loop.
//!
//! The code that answers puts them in, on any thread; the loop takes all of them at once. An answer
//! holds the place of its request until it was delivered, so that the outbox is bounded by requests
//! in flight; refusals that the loop itself puts in count against the same number.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::Answer;
use super::reply::{Envelope, Place};

/// An answer with its address.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) envelope: Envelope,
    pub(crate) answer: Answer,
    /// `None` for a refusal: its request never had a place.
    pub(crate) place: Option<Place>,
}

/// What waits for one loop.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Vec<Outgoing>>,
    len: AtomicUsize,
}

impl Outbox {
    /// Returns whether it is the first one, for which the loop must be woken.
    pub(super) fn put(&self, outgoing: Outgoing) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.push(outgoing);
        self.len.store(waiting.len(), Ordering::Release);
        waiting.len() == 1
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Swaps what waits against an empty vector.
    pub(super) fn take(&self, into: &mut Vec<Outgoing>) {
        let mut waiting = self.waiting.lock();
        std::mem::swap(&mut *waiting, into);
        self.len.store(0, Ordering::Release);
    }
}
