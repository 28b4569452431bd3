//! The events of one partition that wait for their reader.
//!
//! Threads of a client put them in, the reader of the partition takes them out. Events of a read
//! carry its number: those of a read that was replaced are passed over.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use stadium_journal::Wake;
use stadium_journal_log::partition::{Call, Event, Failure};

use crate::failure::{TOO_MANY_BYTES, Verdict};

/// Calls of one partition, other than appends, that wait at a time. A driver has one of each kind.
const CALLS_MAX: usize = 16;

/// An item that waits.
pub(crate) enum Item<S> {
    /// An outcome of an append, or of a call that finds or trims.
    Event(Event),
    /// A step of the read with this number.
    Read(u64, S),
}

/// A queue and who is to be woken for it.
///
/// Its length is bounded by what was asked for: an outcome for each append within the node's bound
/// of bytes, one for each call, and the messages of one read.
pub(crate) struct Outbox<S> {
    items: Mutex<VecDeque<Item<S>>>,
    wake: Mutex<Option<Wake>>,
    calls: Mutex<usize>,
}

impl<S> Outbox<S> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { items: Mutex::default(), wake: Mutex::new(None), calls: Mutex::new(0) })
    }

    /// Puts an item in and wakes the reader.
    pub(crate) fn put(&self, item: Item<S>) {
        self.items.lock().push_back(item);
        self.wake();
    }

    /// Puts the outcome of an append in.
    pub(crate) fn not_appended(&self, tag: u64, failure: Failure) {
        self.put(Item::Event(Event::NotAppended { tag, failure }));
    }

    /// Puts the outcome of a call in that [`Self::begin`] counted.
    pub(crate) fn end(&self, event: Event) {
        *self.calls.lock() -= 1;
        self.put(Item::Event(event));
    }

    /// Counts a call. If too many wait, it is refused here, and the result is false.
    pub(crate) fn begin(&self, call: Call) -> bool {
        let mut calls = self.calls.lock();
        if *calls < CALLS_MAX {
            *calls += 1;
            return true;
        }
        drop(calls);
        let failure = Verdict::later(TOO_MANY_BYTES).failure("too many calls of one partition wait");
        self.put(Item::Event(Event::Failed { call, failure }));
        false
    }

    /// Takes the oldest item out.
    pub(crate) fn take(&self) -> Option<Item<S>> {
        self.items.lock().pop_front()
    }

    /// Replaces who is woken.
    pub(crate) fn on_event(&self, wake: Wake) {
        *self.wake.lock() = Some(wake);
    }

    /// Wakes the reader.
    pub(crate) fn wake(&self) {
        // Called without the lock: a wake may come back here.
        let wake = self.wake.lock().clone();
        if let Some(wake) = wake {
            wake();
        }
    }
}
