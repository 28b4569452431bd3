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
    /// Bounded as requests are, or as what is told.
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
    /// Bytes of what was told.
    told_bytes: usize,
    closed: bool,
}

/// Bytes of what loops tell of their devices and nobody waits for, at most: presence and progress of about a hundred thousand devices.
/// While a disk hangs there may be more to tell; then all of it is let go, until the shard can have everybody arrive again.
const TOLD_BYTES_MAX: usize = 16 << 20;

/// A shard's mailbox.
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    requests_max: usize,
    bytes_max: usize,
    /// The shard is awake, or was woken and has not looked yet.
    told: AtomicBool,
    thread: OnceLock<Thread>,
    full: AtomicU64,
    /// Something that was told was let go. Nothing is told until the shard knows.
    lost: AtomicBool,
}

impl Mailbox {
    /// One for so many requests, whose payloads have so many bytes together. The shard may hold as many again that it took out
    /// and has not carried out.
    pub(crate) fn new(requests_max: usize, bytes_max: usize) -> Self {
        Self {
            letters: Mutex::new(Letters {
                letters: Vec::new(),
                requests: 0,
                bytes: 0,
                told_bytes: 0,
                closed: false,
            }),
            requests_max,
            bytes_max,
            told: AtomicBool::new(false),
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

    /// Tells what nobody waits for, of so many bytes. Where there is too much of it already it is let go, and counted as refused.
    pub(crate) fn tell(&self, letter: Letter, bytes: usize) {
        {
            let mut letters = self.letters.lock();
            if letters.closed {
                return;
            }
            let is_full = letters.told_bytes > 0 && letters.told_bytes + bytes > TOLD_BYTES_MAX;
            if is_full || self.lost.load(Ordering::SeqCst) {
                self.lost.store(true, Ordering::SeqCst);
                self.full.fetch_add(1, Ordering::Relaxed);
                return;
            }
            letters.told_bytes += bytes;
            letters.letters.push(letter);
        }
        self.knock();
    }

    /// Whether something that was told was let go. Then nothing was told since, so that [`Self::take`] gives all that was.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// The shard knows what it was not told: it is told again from now on.
    pub(crate) fn tell_again(&self) {
        let _letters = self.letters.lock();
        self.lost.store(false, Ordering::SeqCst);
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
        letters.told_bytes = 0;
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
