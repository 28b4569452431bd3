//! The commands of shards to a loop, until the loop takes them.
//!
//! A shard's thread never waits for a loop, and a loop's mailbox is bounded. So the commands are
//! queued here, and the mailbox only reports that there are some. The queue is bounded by what
//! shards send: one delivery for each connection and push.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use stadium_push::TransportCommand;
use stadium_reactor::LoopHandle;

use crate::message::{Kind, Message};

/// An item for a loop.
#[derive(Debug)]
pub(crate) enum QueuedItem {
    /// A command of a shard.
    Command { shard: u16, command: TransportCommand },
    /// A shard knows no connection any more: connections of its devices are announced to it again.
    AnnounceAgain { shard: u16 },
}

/// The queue of a loop.
#[derive(Debug, Default)]
pub(crate) struct TransportQueue {
    items: Mutex<Vec<QueuedItem>>,
    is_notified: AtomicBool,
}

impl TransportQueue {
    /// Queues items in their order, and notifies the loop unless it was.
    pub(crate) fn put(&self, items: impl IntoIterator<Item = QueuedItem>, handle: &LoopHandle<Message>) {
        self.items.lock().extend(items);
        if !self.is_notified.swap(true, Ordering::AcqRel) {
            // A loop whose mailbox is full has a turn soon, and looks at its end.
            let _ = handle.try_send(Message(Kind::Platform));
        }
    }

    /// Takes everything, in its order; `items` is empty before.
    pub(crate) fn take(&self, items: &mut Vec<QueuedItem>) {
        if self.is_notified.load(Ordering::Acquire) {
            self.is_notified.store(false, Ordering::Release);
            std::mem::swap(items, &mut self.items.lock());
        }
    }
}
