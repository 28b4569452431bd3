//! How other threads reach a thread that drives shards: one wake-up, however many of them have mail.
//!
//! A mailbox rings for its shard; only the first ring after the thread last listened pays for the
//! wake-up. The two vectors swap places, so that nothing is allocated once warm.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;

/// The bell of one thread.
#[derive(Default)]
pub(crate) struct Bell {
    /// Shards that rang; each at most twice between two looks, since its mailbox rings once between
    /// two turns.
    rung: Mutex<Vec<u16>>,
    /// The thread is awake, or was woken and has not listened yet.
    is_awake: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Bell {
    /// The thread that listens.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    /// A shard of the thread has something to do.
    pub(crate) fn ring(&self, shard: u16) {
        self.rung.lock().push(shard);
        self.wake();
    }

    /// Wakes the thread, where it may be asleep.
    pub(crate) fn wake(&self) {
        if !self.is_awake.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// The thread is about to look: from here on a ring wakes it again.
    pub(crate) fn listen(&self) {
        self.is_awake.store(false, Ordering::SeqCst);
    }

    /// Takes the shards that rang.
    pub(crate) fn take(&self, into: &mut Vec<u16>) {
        debug_assert!(into.is_empty(), "those that were taken before have had their turn");
        std::mem::swap(&mut *self.rung.lock(), into);
    }

    /// Whether something happened since the last look.
    pub(crate) fn was_rung(&self) -> bool {
        self.is_awake.load(Ordering::SeqCst)
    }
}
