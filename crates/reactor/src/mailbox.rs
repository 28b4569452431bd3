//! How other threads reach a loop: a bounded mailbox with one wake-up.
//!
//! Senders push under a short lock; only the first one after the loop last looked pays for the
//! wake-up. The loop takes everything at once, so that the lock is taken once a turn, and the two
//! vectors swap places, so that nothing is allocated once warm. What is sent to a loop that has ended, also by a panic, is dropped:
//! a sender that waits for an answer has put its end into the item, and is notified.

use std::fmt;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::moved::Moved;
use crate::settings::Adopt;
use crate::stats::LoopStats;

/// The mailbox is full: the message comes back, and nothing happened.
#[derive(Debug, PartialEq, Eq)]
pub struct Full<M>(pub M);

impl<M> fmt::Display for Full<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the loop's mailbox is full; try again later")
    }
}

impl<M: fmt::Debug> std::error::Error for Full<M> {}

/// What travels in a mailbox.
pub(crate) enum Item<M> {
    /// The handler's own.
    Message(M),
    /// A connection from another loop.
    Moved(Box<Moved>, M),
    /// A connection from outside.
    Adopt(TcpStream, Box<Adopt>),
    /// End of the loop.
    Stop,
}

/// What waits for the loop's next turn.
struct Items<M> {
    waiting: Vec<Item<M>>,
    /// The loop has ended: nobody takes items any more.
    is_closed: bool,
}

struct Shared<M> {
    items: Mutex<Items<M>>,
    messages_max: usize,
    /// True from a wake-up until the loop looks: no second wake-up is needed.
    woken: AtomicBool,
    waker: mio::Waker,
    stats: Arc<LoopStats>,
    name: String,
}

impl<M> Shared<M> {
    fn items(&self) -> MutexGuard<'_, Items<M>> {
        self.items.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wake(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            // A failed write to an eventfd means that its counter is full: the loop is woken already.
            let _ = self.waker.wake();
        }
    }
}

/// Sends to a loop, from any thread. Cheap to clone.
pub struct LoopHandle<M> {
    shared: Arc<Shared<M>>,
}

/// The sending end that most parts need.
pub type Mailbox<M> = LoopHandle<M>;

impl<M> Clone for LoopHandle<M> {
    fn clone(&self) -> Self {
        LoopHandle { shared: self.shared.clone() }
    }
}

impl<M> fmt::Debug for LoopHandle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoopHandle({})", self.shared.name)
    }
}

impl<M> LoopHandle<M> {
    /// The loop has ended: drops what waits, and from now on what is sent.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut items = self.shared.items();
            items.is_closed = true;
            std::mem::take(&mut items.waiting)
        };
        // Not under the lock: a sender that is notified of a dropped item may send another one.
        drop(waiting);
    }
}

impl<M: Send + 'static> LoopHandle<M> {
    pub(crate) fn new(messages_max: usize, waker: mio::Waker, stats: Arc<LoopStats>, name: String) -> Self {
        LoopHandle {
            shared: Arc::new(Shared {
                items: Mutex::new(Items { waiting: Vec::new(), is_closed: false }),
                messages_max,
                woken: AtomicBool::new(false),
                waker,
                stats,
                name,
            }),
        }
    }

    /// Sends a message, which the loop's handler gets in its next turn. Gives it back where
    /// `mailbox_messages_max` are waiting already. Where the loop has ended, the message is dropped.
    pub fn try_send(&self, message: M) -> Result<(), Full<M>> {
        match self.post(Item::Message(message)) {
            Ok(()) => Ok(()),
            Err(Item::Message(message)) => Err(Full(message)),
            Err(_) => unreachable!("a refused item is the one that was posted"),
        }
    }

    /// Sends a message, also where the mailbox is full: for what is rare and must arrive, as the end of something that
    /// was begun. The sender bounds how many there are. Where the loop has ended, the message is dropped.
    pub fn send_beyond_bound(&self, message: M) {
        let mut items = self.shared.items();
        if items.is_closed {
            drop(items);
            return drop(message);
        }
        items.waiting.push(Item::Message(message));
        drop(items);
        self.shared.wake();
    }

    /// Gives the loop a connection that was accepted elsewhere. The handler sees `accepted` and
    /// `established`, then the leftover bytes. Gives it back where the mailbox is full.
    pub fn adopt(&self, stream: TcpStream, adopt: Adopt) -> Result<(), Full<TcpStream>> {
        match self.post(Item::Adopt(stream, Box::new(adopt))) {
            Ok(()) => Ok(()),
            Err(Item::Adopt(stream, _)) => Err(Full(stream)),
            Err(_) => unreachable!("a refused item is the one that was posted"),
        }
    }

    /// Ends the loop after the turn in which it sees this. Always has room.
    pub fn stop(&self) {
        self.shared.items().waiting.push(Item::Stop);
        self.shared.wake();
    }

    /// The loop's counts, readable at any time.
    pub fn stats(&self) -> &Arc<LoopStats> {
        &self.shared.stats
    }

    /// The loop's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    pub(crate) fn post(&self, item: Item<M>) -> Result<(), Item<M>> {
        {
            let mut items = self.shared.items();
            if items.is_closed {
                drop(items);
                drop(item);
                return Ok(());
            }
            if items.waiting.len() >= self.shared.messages_max {
                drop(items);
                self.shared.stats.mailbox_refused.add(1);
                return Err(item);
            }
            items.waiting.push(item);
        }
        self.shared.wake();
        Ok(())
    }

    /// The loop's side: takes all items into `into`, which must be empty.
    pub(crate) fn take(&self, into: &mut Vec<Item<M>>) {
        if !self.shared.woken.load(Ordering::Acquire) {
            return;
        }
        // First the flag, then the items: one posted in between finds the flag down and wakes us
        // again.
        self.shared.woken.store(false, Ordering::Release);
        std::mem::swap(&mut self.shared.items().waiting, into);
    }
}
