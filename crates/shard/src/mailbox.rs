//! How other threads reach a shard's thread: a bounded mailbox with one wake-up.
//!
//! Senders push under a short lock; only the first one after the shard last looked pays for the
//! wake-up. The shard takes everything at once, and the two vectors swap places, so that nothing is allocated
//! once warm.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;
use stadium_queue::{Command, Lease, Queues};
use stadium_state_machine::{Refusal, StateMachine as _};

use crate::answer::Together;
use crate::core::{AnyCommand, Confirmation, Delivery, Request};
use crate::error::busy;
use crate::reply_slot::Holder;

/// An item of a shard's mailbox.
pub(crate) enum Item {
    /// A command to the queues; bounded by the mailbox.
    Request(Request<Holder, Command>),
    /// A command to another machine; bounded as requests are, or as notices.
    Command(Holder, AnyCommand),
    /// Bounded as requests are.
    Together(Holder, Box<Together>),
    /// A consumer has gone; bounded by the requests.
    Vanished(u64),
    /// What was reserved for somebody who had gone; bounded by the requests.
    Release(Vec<Lease>),
    /// Another shard's message; bounded by that shard's `outgoing_max` and `pending_max`.
    Delivery(Delivery),
    /// Another shard's confirmation of a message of ours; bounded likewise by our bounds.
    Confirmation(Confirmation),
    /// No consumer waits any more.
    StopWaiting,
    /// Write a checkpoint now.
    Checkpoint,
    /// Finish, and end.
    Stop,
}

/// A command to the queues must not pay for what else there is.
const _: () = assert!(size_of::<Item>() <= size_of::<Request<Holder, Command>>() + size_of::<u64>());

struct Items {
    items: Vec<Item>,
    requests: usize,
    bytes: usize,
    /// Bytes of notices.
    notice_bytes: usize,
    closed: bool,
}

/// Bytes of notices, at most: presence and progress of about a hundred thousand devices, which
/// nobody waits for. While a disk hangs there may be more; then all of them are dropped, until the
/// shard can have everybody arrive again.
const NOTICE_BYTES_MAX: usize = 16 << 20;

/// A shard's mailbox.
pub(crate) struct Mailbox {
    items: Mutex<Items>,
    requests_max: usize,
    bytes_max: usize,
    /// The shard is awake, or was woken and has not looked yet.
    is_awake: AtomicBool,
    thread: OnceLock<Thread>,
    full: AtomicU64,
    /// A notice was dropped. None is taken until the shard knows.
    lost: AtomicBool,
}

impl Mailbox {
    /// One for so many requests, whose payloads have so many bytes together. The shard may hold as many again that it took out
    /// and has not carried out.
    pub(crate) fn new(requests_max: usize, bytes_max: usize) -> Self {
        Self {
            items: Mutex::new(Items {
                items: Vec::new(),
                requests: 0,
                bytes: 0,
                notice_bytes: 0,
                closed: false,
            }),
            requests_max,
            bytes_max,
            is_awake: AtomicBool::new(false),
            thread: OnceLock::new(),
            full: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// The thread that looks into it.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    /// Posts a request to the queues, unless there are too many.
    pub(crate) fn queue_request(&self, request: Request<Holder, Command>) -> Result<(), Refusal> {
        let bytes = Queues::command_bytes(&request.command);
        self.request(Item::Request(request), bytes)
    }

    /// Posts a request that keeps so many bytes alive, unless there are too many.
    pub(crate) fn request(&self, item: Item, bytes: usize) -> Result<(), Refusal> {
        {
            let mut items = self.items.lock();
            if items.closed {
                return Err(closed());
            }
            let is_full = items.requests >= self.requests_max
                || items.requests > 0 && items.bytes + bytes > self.bytes_max;
            if is_full {
                drop(items);
                self.full.fetch_add(1, Ordering::Relaxed);
                return Err(busy("SHARD-001", 100, "the shard has more commands waiting than it may"));
            }
            items.requests += 1;
            items.bytes += bytes;
            items.items.push(item);
        }
        self.knock();
        Ok(())
    }

    /// Posts a notice, which nobody waits for, of so many bytes. Where there are too many it is
    /// dropped, and counted as refused.
    pub(crate) fn notify(&self, item: Item, bytes: usize) {
        {
            let mut items = self.items.lock();
            if items.closed {
                return;
            }
            let is_full = items.notice_bytes > 0 && items.notice_bytes + bytes > NOTICE_BYTES_MAX;
            if is_full || self.lost.load(Ordering::SeqCst) {
                self.lost.store(true, Ordering::SeqCst);
                self.full.fetch_add(1, Ordering::Relaxed);
                return;
            }
            items.notice_bytes += bytes;
            items.items.push(item);
        }
        self.knock();
    }

    /// Whether a notice was dropped. Then none was taken since, so that [`Self::take`] gives all
    /// that were before.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// The shard knows that it lost notices: they are taken again from now on.
    pub(crate) fn notify_again(&self) {
        let _items = self.items.lock();
        self.lost.store(false, Ordering::SeqCst);
    }

    /// Posts something else; see [`Item`] for its bound. False when the shard has ended.
    pub(crate) fn post(&self, item: Item) -> bool {
        {
            let mut items = self.items.lock();
            if items.closed {
                return false;
            }
            items.items.push(item);
        }
        self.knock();
        true
    }

    /// Wakes the shard, where it may be asleep.
    pub(crate) fn knock(&self) {
        if !self.is_awake.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// The shard is about to look: from here on an item knocks again.
    pub(crate) fn listen(&self) {
        self.is_awake.store(false, Ordering::SeqCst);
    }

    /// Takes everything out.
    pub(crate) fn take(&self, into: &mut Vec<Item>) {
        debug_assert!(into.is_empty(), "what was taken before is done");
        let mut items = self.items.lock();
        std::mem::swap(&mut items.items, into);
        items.requests = 0;
        items.bytes = 0;
        items.notice_bytes = 0;
    }

    /// Whether somebody knocked since the last look.
    pub(crate) fn was_woken(&self) -> bool {
        self.is_awake.load(Ordering::SeqCst)
    }

    /// The shard has ended: nothing is taken any more, and the commands in it are let go.
    pub(crate) fn close(&self) {
        let left = {
            let mut items = self.items.lock();
            items.closed = true;
            std::mem::take(&mut items.items)
        };
        for item in left {
            let caller = match item {
                Item::Request(Request { caller, .. })
                | Item::Command(caller, _)
                | Item::Together(caller, _) => caller,
                _ => continue,
            };
            if let Ok(Some(waker)) = caller.answer(Err(closed())) {
                waker.wake();
            }
        }
    }

    /// Requests, bytes of their payloads, and how many were refused so far.
    pub(crate) fn figures(&self) -> (u64, u64, u64) {
        let items = self.items.lock();
        (items.requests as u64, items.bytes as u64, self.full.load(Ordering::Relaxed))
    }
}

fn closed() -> Refusal {
    busy("SHARD-004", 5_000, "the server is stopping: ask again when it is back")
}
