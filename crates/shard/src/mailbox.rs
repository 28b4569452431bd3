//! How other threads reach a shard's thread: a bounded mailbox with one wake-up.
//!
//! Senders push under a short lock; only the first one after the shard last looked pays for the
//! wake-up. The shard takes everything at once, and the two vectors swap places, so that nothing is allocated
//! once warm.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;
use stadium_queue::{Command, Lease, Refusal};

use crate::answer::Together;
use crate::core::{Confirmation, Delivery, Request};
use crate::error::busy;
use crate::ticket::Holder;

/// What a shard's thread is told.
pub(crate) enum Letter {
    /// Bounded by the mailbox.
    Request(Request<Holder>),
    /// Bounded as requests are.
    Wallet(Holder, stadium_wallet::Command),
    /// Bounded as requests are.
    Push(Holder, Box<stadium_push::Command>),
    /// Bounded as requests are.
    Session(Holder, Box<stadium_session::Command>),
    /// Bounded as requests are.
    Together(Holder, Box<Together>),
    /// Seals after a number, so many at most; bounded as requests are.
    Seals(Holder, u64, usize),
    /// A consumer has gone; bounded by the requests.
    Vanished(u64),
    /// What was reserved for somebody who had gone; bounded by the requests.
    Release(Vec<Lease>),
    /// Another shard's job or letter; bounded by that shard's `outgoing_max` and `pending_max`.
    Delivery(Box<Delivery>),
    /// Another shard's word about a job or letter of ours; bounded likewise by our bounds.
    Confirmation(Confirmation),
    /// No consumer waits any more.
    StopWaiting,
    /// Write a checkpoint now.
    Checkpoint,
    /// Finish, and end.
    Stop,
}

/// A command to the queues must not pay for what else there is.
const _: () = assert!(size_of::<Letter>() <= size_of::<Request<Holder>>() + size_of::<u64>());

struct Letters {
    letters: Vec<Letter>,
    requests: usize,
    bytes: usize,
    closed: bool,
}

/// A shard's mailbox.
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    requests_max: usize,
    bytes_max: usize,
    /// The shard is awake, or was woken and has not looked yet.
    told: AtomicBool,
    thread: OnceLock<Thread>,
    full: AtomicU64,
}

impl Mailbox {
    /// One for so many requests, whose payloads have so many bytes together. The shard may hold as many again that it took out
    /// and has not carried out.
    pub(crate) fn new(requests_max: usize, bytes_max: usize) -> Self {
        Self {
            letters: Mutex::new(Letters { letters: Vec::new(), requests: 0, bytes: 0, closed: false }),
            requests_max,
            bytes_max,
            told: AtomicBool::new(false),
            thread: OnceLock::new(),
            full: AtomicU64::new(0),
        }
    }

    /// The thread that looks into it.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    /// Posts a request to the queues, unless there are too many.
    pub(crate) fn queue_request(&self, request: Request<Holder>) -> Result<(), Refusal> {
        let bytes = payload_bytes(&request.command);
        self.request(Letter::Request(request), bytes)
    }

    /// Posts a request that keeps so many bytes alive, unless there are too many.
    pub(crate) fn request(&self, letter: Letter, bytes: usize) -> Result<(), Refusal> {
        {
            let mut letters = self.letters.lock();
            if letters.closed {
                return Err(closed());
            }
            let is_full = letters.requests >= self.requests_max
                || letters.requests > 0 && letters.bytes + bytes > self.bytes_max;
            if is_full {
                drop(letters);
                self.full.fetch_add(1, Ordering::Relaxed);
                return Err(busy("SHARD-001", 100, "the shard has more commands waiting than it may"));
            }
            letters.requests += 1;
            letters.bytes += bytes;
            letters.letters.push(letter);
        }
        self.knock();
        Ok(())
    }

    /// Posts something else; see [`Letter`] for its bound. False when the shard has ended.
    pub(crate) fn post(&self, letter: Letter) -> bool {
        {
            let mut letters = self.letters.lock();
            if letters.closed {
                return false;
            }
            letters.letters.push(letter);
        }
        self.knock();
        true
    }

    /// Wakes the shard, where it may be asleep.
    pub(crate) fn knock(&self) {
        if !self.told.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// The shard is about to look: from here on a letter knocks again.
    pub(crate) fn listen(&self) {
        self.told.store(false, Ordering::SeqCst);
    }

    /// Takes everything out.
    pub(crate) fn take(&self, into: &mut Vec<Letter>) {
        debug_assert!(into.is_empty(), "what was taken before is done");
        let mut letters = self.letters.lock();
        std::mem::swap(&mut letters.letters, into);
        letters.requests = 0;
        letters.bytes = 0;
    }

    /// Whether somebody knocked since the last look.
    pub(crate) fn was_told(&self) -> bool {
        self.told.load(Ordering::SeqCst)
    }

    /// The shard has ended: nothing is taken any more, and what is there is let go.
    pub(crate) fn close(&self) {
        let left = {
            let mut letters = self.letters.lock();
            letters.closed = true;
            std::mem::take(&mut letters.letters)
        };
        for letter in left {
            let caller = match letter {
                Letter::Request(Request { caller, .. })
                | Letter::Wallet(caller, _)
                | Letter::Push(caller, _)
                | Letter::Session(caller, _)
                | Letter::Together(caller, _)
                | Letter::Seals(caller, ..) => caller,
                _ => continue,
            };
            if let Ok(Some(waker)) = caller.answer(Err(closed())) {
                waker.wake();
            }
        }
    }

    /// Requests, bytes of their payloads, and how many were refused so far.
    pub(crate) fn figures(&self) -> (u64, u64, u64) {
        let letters = self.letters.lock();
        (letters.requests as u64, letters.bytes as u64, self.full.load(Ordering::Relaxed))
    }
}

fn closed() -> Refusal {
    busy("SHARD-004", 5_000, "the server is stopping: ask again when it is back")
}

/// Bytes that a command keeps alive.
fn payload_bytes(command: &Command) -> usize {
    match command {
        Command::Put { jobs, .. } => jobs.iter().map(|job| job.payload.len()).sum(),
        Command::Forward { job, .. } | Command::Schedule { job, .. } => job.payload.len(),
        Command::Edit { edit, .. } => edit.payload.as_ref().map_or(0, bytes::Bytes::len),
        _ => 0,
    }
}
