//! The commands of shards to a loop, until the loop takes them.
//!
//! A shard's thread never waits for a loop, and a loop's mailbox is bounded. So the commands are
//! queued here, and the mailbox only reports that there are some. The queue is bounded by what
//! shards send: a window of deliveries for each connection, and live pushes while there is room
//! ([`LIVE_RECIPIENTS_MAX`]).

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use stadium_push::TransportCommand;
use stadium_reactor::LoopHandle;

use crate::message::{Kind, Message};

/// Recipients of live pushes that wait for a loop before no further live push is accepted.
///
/// At eight bytes each that is 8 MB. A loop takes some 100,000 in a tenth of a second: more would
/// only make pushes late.
const LIVE_RECIPIENTS_MAX: usize = 1_000_000;

/// An item for a loop.
#[derive(Debug)]
pub(crate) enum QueuedItem {
    /// A command of a shard.
    Command { shard: u16, command: TransportCommand },
    /// A shard knows no connection any more: connections of its devices are announced to it again.
    AnnounceAgain { shard: u16 },
    /// Connections are named by this node from now on.
    Node(u32),
}

/// The queue of a loop.
#[derive(Debug, Default)]
pub(crate) struct TransportQueue {
    waiting: Mutex<Waiting>,
    is_notified: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    items: Vec<QueuedItem>,
    /// Recipients of the live pushes among them.
    live_recipients: usize,
}

impl TransportQueue {
    /// Queues items in their order, and notifies the loop unless it was.
    pub(crate) fn put(&self, items: impl IntoIterator<Item = QueuedItem>, handle: &LoopHandle<Message>) {
        self.add(items);
        if !self.is_notified.swap(true, Ordering::AcqRel) {
            // A loop whose mailbox is full has a turn soon, and looks at its end.
            let _ = handle.try_send(Message(Kind::Platform));
        }
    }

    fn add(&self, items: impl IntoIterator<Item = QueuedItem>) {
        let mut waiting = self.waiting.lock();
        for item in items {
            if let QueuedItem::Command { command: TransportCommand::Live(dispatch), .. } = &item {
                waiting.live_recipients += dispatch.to.len();
            }
            waiting.items.push(item);
        }
    }

    /// Takes everything, in its order; `items` is empty before.
    pub(crate) fn take(&self, items: &mut Vec<QueuedItem>) {
        if self.is_notified.load(Ordering::Acquire) {
            self.is_notified.store(false, Ordering::Release);
            let mut waiting = self.waiting.lock();
            waiting.live_recipients = 0;
            std::mem::swap(items, &mut waiting.items);
        }
    }

    /// Whether there is room for another live push.
    pub(crate) fn takes_live_pushes(&self) -> bool {
        self.waiting.lock().live_recipients < LIVE_RECIPIENTS_MAX
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use stadium_push::live::{LiveDispatch, LiveToken, Message, Qos};

    use super::*;

    fn live(recipients: usize) -> QueuedItem {
        let message = Message { payload: Bytes::new(), content_type: None, properties: Vec::new() };
        let to = vec![0; recipients];
        let (token, qos, trace) = (LiveToken(1), Qos::AtMostOnce, None);
        let dispatch = LiveDispatch { token, node: 0, loop_index: 0, message, qos, trace, to };
        QueuedItem::Command { shard: 0, command: TransportCommand::Live(dispatch) }
    }

    #[test]
    fn live_pushes_are_accepted_while_few_recipients_wait() {
        let queue = TransportQueue::default();
        queue.add([live(LIVE_RECIPIENTS_MAX - 1), QueuedItem::AnnounceAgain { shard: 0 }]);
        assert!(queue.takes_live_pushes());
        queue.add([live(1)]);
        assert!(!queue.takes_live_pushes());
        queue.is_notified.store(true, Ordering::Release);
        let mut items = Vec::new();
        queue.take(&mut items);
        assert_eq!(items.len(), 3);
        assert!(queue.takes_live_pushes());
    }
}
