//! How other threads reach a shard: a bounded mailbox that rings once for the shard's thread.
//!
//! Senders push under a short lock; only the first one after the shard last looked rings. The shard
//! takes everything at once, and the two vectors swap places, so that nothing is allocated once warm.
//! Where all mailboxes of a node together have a bound, they share a [`Budget`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use stadium_queue::{Command, Lease, Queues};
use stadium_state_machine::{Refusal, StateMachine as _};

use crate::answer::Together;
use crate::bell::Bell;
use crate::core::{AnyCommand, Confirmation, Delivery, Request};
use crate::error::{STOPPING, busy, not_here};
use crate::reply_slot::{Holder, answer};

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
    /// Messages on their way to other shards may be lost; one for each node that goes.
    MessagesMayBeLost,
    /// No consumer waits any more.
    StopWaiting,
    /// Write a checkpoint now.
    Checkpoint,
    /// Claim the log: a replica that follows.
    Claim,
    /// Serve: a replica that has claimed the log.
    Serve,
    /// Finish what was begun, and follow: a replica that owns the shard.
    HandOver,
    /// Finish, and end.
    Stop,
}

impl Item {
    /// Who waits for it.
    pub(crate) fn caller(&self) -> Option<&Holder> {
        match self {
            Item::Request(Request { caller, .. }) | Item::Command(caller, _) | Item::Together(caller, _) => {
                Some(caller)
            }
            _ => None,
        }
    }
}

/// What became of a request.
pub(crate) enum Posted {
    /// The shard carries it out.
    Taken,
    /// Nothing happened.
    Refused(Refusal),
    /// The shard is not served in this process: the request comes back.
    NotHere(Item),
}

/// A command to the queues must not pay for what else there is.
const _: () = assert!(size_of::<Item>() <= size_of::<Request<Holder, Command>>() + size_of::<u64>());

struct Items {
    items: Vec<Item>,
    requests: usize,
    bytes: usize,
    /// Bytes of notices.
    notice_bytes: usize,
    takes: Takes,
}

/// What a mailbox takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Everything,
    /// No requests: its shard is about to stop. Others wait for what it owes them.
    NoRequests(Absence),
    Nothing(Absence),
}

/// Why a shard takes no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The server stops.
    Stopping,
    /// The shard is not open in this process, while others are.
    NotHere,
}

impl Absence {
    fn refusal(self) -> Refusal {
        match self {
            Absence::Stopping => busy(STOPPING, 5_000, "the server is stopping: ask again when it is back"),
            Absence::NotHere => not_here(),
        }
    }
}

/// A bound of all mailboxes of a node together. One command always fits into each, so that a shard
/// with nothing to do is not refused for what waits elsewhere.
#[derive(Debug)]
pub(crate) struct Budget {
    requests_max: usize,
    bytes_max: usize,
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

impl Budget {
    /// For so many commands, whose payloads have so many bytes together.
    pub(crate) fn new(requests_max: usize, bytes_max: usize) -> Self {
        Self { requests_max, bytes_max, requests: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.requests.load(Ordering::Relaxed) < self.requests_max
            && self.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.bytes_max
    }

    fn take(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, requests: usize, bytes: usize) {
        self.requests.fetch_sub(requests, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes of notices, at most: presence and progress of about a hundred thousand devices, which
/// nobody waits for. While a disk hangs there may be more; then all of them are dropped, until the
/// shard can have everybody arrive again.
const NOTICE_BYTES_MAX: usize = 16 << 20;

/// A shard's mailbox.
pub(crate) struct Mailbox {
    shard: u16,
    items: Mutex<Items>,
    requests_max: usize,
    bytes_max: usize,
    /// None where it cannot be exceeded.
    budget: Option<Arc<Budget>>,
    /// It has rung since the shard last looked.
    has_rung: AtomicBool,
    /// Of the shard's thread.
    bell: Arc<Bell>,
    full: AtomicU64,
    /// A notice was dropped. None is taken until the shard knows.
    lost: AtomicBool,
}

impl Mailbox {
    /// A closed one for so many requests, whose payloads have so many bytes together. The shard may hold as many again that it took out
    /// and has not carried out.
    pub(crate) fn new(
        shard: u16,
        bell: Arc<Bell>,
        requests_max: usize,
        bytes_max: usize,
        budget: Option<Arc<Budget>>,
    ) -> Self {
        Self {
            shard,
            items: Mutex::new(Items {
                items: Vec::new(),
                requests: 0,
                bytes: 0,
                notice_bytes: 0,
                takes: Takes::Nothing(Absence::NotHere),
            }),
            requests_max,
            bytes_max,
            budget,
            has_rung: AtomicBool::new(false),
            bell,
            full: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// Posts a request to the queues, unless there are too many.
    pub(crate) fn queue_request(&self, request: Request<Holder, Command>) -> Posted {
        let bytes = Queues::command_bytes(&request.command);
        self.request(Item::Request(request), bytes)
    }

    /// Posts a request that keeps so many bytes alive, unless there are too many.
    pub(crate) fn request(&self, item: Item, bytes: usize) -> Posted {
        {
            let mut items = self.items.lock();
            match items.takes {
                Takes::Everything => {}
                Takes::NoRequests(Absence::NotHere) | Takes::Nothing(Absence::NotHere) => {
                    return Posted::NotHere(item);
                }
                Takes::NoRequests(why) | Takes::Nothing(why) => return Posted::Refused(why.refusal()),
            }
            let is_full = items.requests >= self.requests_max
                || items.requests > 0 && items.bytes + bytes > self.bytes_max;
            let is_over =
                items.requests > 0 && self.budget.as_ref().is_some_and(|budget| !budget.has_room(bytes));
            if is_full || is_over {
                drop(items);
                self.full.fetch_add(1, Ordering::Relaxed);
                let reason = if is_full {
                    "the shard has more commands waiting than it may"
                } else {
                    "the shards of this server have more commands waiting together than they may"
                };
                return Posted::Refused(busy("SHARD-001", 100, reason));
            }
            if let Some(budget) = &self.budget {
                budget.take(bytes);
            }
            items.requests += 1;
            items.bytes += bytes;
            items.items.push(item);
        }
        self.knock();
        Posted::Taken
    }

    /// Whether its shard is served in this process, or is being opened to be.
    pub(crate) fn is_served(&self) -> bool {
        self.items.lock().takes == Takes::Everything
    }

    /// Posts a notice, which nobody waits for, of so many bytes. Where there are too many it is
    /// dropped, and counted as refused.
    pub(crate) fn notify(&self, item: Item, bytes: usize) {
        {
            let mut items = self.items.lock();
            if matches!(items.takes, Takes::Nothing(_)) {
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

    /// Some news of devices did not arrive: the shard is to have them announced again.
    pub(crate) fn lose_notices(&self) {
        let _items = self.items.lock();
        self.lost.store(true, Ordering::SeqCst);
        self.knock();
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
            if matches!(items.takes, Takes::Nothing(_)) {
                return false;
            }
            items.items.push(item);
        }
        self.knock();
        true
    }

    /// Rings, unless it has since the shard last looked.
    pub(crate) fn knock(&self) {
        if !self.has_rung.swap(true, Ordering::SeqCst) {
            self.bell.ring(self.shard);
        }
    }

    /// The shard is about to look: from here on an item rings again.
    pub(crate) fn listen(&self) {
        self.has_rung.store(false, Ordering::SeqCst);
    }

    /// Takes everything out.
    pub(crate) fn take(&self, into: &mut Vec<Item>) {
        debug_assert!(into.is_empty(), "what was taken before is done");
        let mut items = self.items.lock();
        std::mem::swap(&mut items.items, into);
        self.forget_requests(&mut items);
    }

    fn forget_requests(&self, items: &mut Items) {
        if let Some(budget) = &self.budget {
            budget.give_back(items.requests, items.bytes);
        }
        items.requests = 0;
        items.bytes = 0;
        items.notice_bytes = 0;
    }

    /// The shard is about to stop: requests are refused from now on, everything else is taken.
    pub(crate) fn refuse(&self, why: Absence) {
        let mut items = self.items.lock();
        if items.takes == Takes::Everything {
            items.takes = Takes::NoRequests(why);
        }
    }

    /// The shard has ended: nothing is taken any more, and the commands in it are let go.
    pub(crate) fn close(&self) {
        let (left, why) = {
            let mut items = self.items.lock();
            let why = match items.takes {
                Takes::NoRequests(why) | Takes::Nothing(why) => why,
                // It could not be opened.
                Takes::Everything => Absence::NotHere,
            };
            items.takes = Takes::Nothing(why);
            self.forget_requests(&mut items);
            (std::mem::take(&mut items.items), why)
        };
        for item in left {
            if let Some(caller) = item.caller() {
                answer(caller, Err(why.refusal()));
            }
        }
    }

    /// The shard is being opened: everything is taken, and waits for it.
    pub(crate) fn open(&self) {
        self.items.lock().takes = Takes::Everything;
    }

    /// The shard follows its owner, who is elsewhere: requests are refused.
    pub(crate) fn follow(&self) {
        self.items.lock().takes = Takes::NoRequests(Absence::NotHere);
    }

    /// Requests, bytes of their payloads, and how many were refused so far.
    pub(crate) fn figures(&self) -> (u64, u64, u64) {
        let items = self.items.lock();
        (items.requests as u64, items.bytes as u64, self.full.load(Ordering::Relaxed))
    }
}
