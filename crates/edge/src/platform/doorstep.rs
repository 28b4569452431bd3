//! What shards put down for a loop until it looks.
//!
//! A shard's thread never waits for a loop, and a loop's mailbox is bounded; so what is for devices is put here, and the mailbox only
//! says that there is something. It is bounded by what shards send: a delivery for each connection and push at most.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use stadium_push::ToEdge;
use stadium_reactor::LoopHandle;

use crate::message::{Kind, Message};

/// What a shard tells a loop.
#[derive(Debug)]
pub(crate) enum Word {
    /// To be done, in this order.
    ToEdge { shard: u16, what: ToEdge },
    /// A shard knows no connection any more.
    StartedOver { shard: u16 },
}

/// Where it lies.
#[derive(Debug, Default)]
pub(crate) struct Doorstep {
    words: Mutex<Vec<Word>>,
    told: AtomicBool,
}

impl Doorstep {
    /// Puts words down, and tells the loop unless it was told.
    pub(crate) fn put(&self, words: impl IntoIterator<Item = Word>, handle: &LoopHandle<Message>) {
        self.words.lock().extend(words);
        if !self.told.swap(true, Ordering::AcqRel) {
            // A loop whose mailbox is full has a turn soon, and looks at its end.
            let _ = handle.try_send(Message(Kind::Platform));
        }
    }

    /// Takes everything, in its order; `words` is empty before.
    pub(crate) fn take(&self, words: &mut Vec<Word>) {
        if self.told.load(Ordering::Acquire) {
            self.told.store(false, Ordering::Release);
            std::mem::swap(words, &mut self.words.lock());
        }
    }
}
