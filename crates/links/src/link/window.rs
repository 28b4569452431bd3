//! Credit: how many messages and bytes may be on their way at a time.
//!
//! A window is taken from by senders on any thread, before anything else happens, and given back by
//! the loop when the receiver has dealt with a message or the link has broken. It never holds more
//! than its bounds, also for an instant. A window that refused somebody reports once that there is
//! room again, when half of it is free.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::settings::Bounds;

/// What is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Requests without an answer, and letters that the receiver has not taken.
    pub messages: u64,
    /// Their bytes, heads included.
    pub bytes: u64,
}

/// A bound on what is on its way, shared by senders and a loop.
#[derive(Debug)]
pub struct Window {
    messages: AtomicU64,
    bytes: AtomicU64,
    messages_max: AtomicU64,
    bytes_max: AtomicU64,
    /// Somebody was refused since room was last reported.
    is_wanted: AtomicBool,
}

impl Window {
    /// An empty window.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            messages_max: AtomicU64::new(bounds.messages.into()),
            bytes_max: AtomicU64::new(bounds.bytes),
            is_wanted: AtomicBool::new(false),
        }
    }

    /// Takes credit for one message, or nothing.
    pub fn take(&self, bytes: u64) -> bool {
        let is_taken = add(&self.messages, 1, &self.messages_max) && {
            let has_room = add(&self.bytes, bytes, &self.bytes_max);
            if !has_room {
                self.messages.fetch_sub(1, Ordering::AcqRel);
            }
            has_room
        };
        if !is_taken {
            self.is_wanted.store(true, Ordering::Release);
        }
        is_taken
    }

    /// Gives credit back that was taken before. Returns whether room is to be reported to senders
    /// that were refused.
    pub fn give(&self, messages: u64, bytes: u64) -> bool {
        let before = self.messages.fetch_sub(messages, Ordering::AcqRel);
        debug_assert!(before >= messages, "only credit that was taken is given back");
        let before = self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "only credit that was taken is given back");
        self.is_wanted.load(Ordering::Acquire)
            && self.is_half_free()
            && self.is_wanted.swap(false, Ordering::AcqRel)
    }

    fn is_half_free(&self) -> bool {
        let InFlight { messages, bytes } = self.in_flight();
        messages <= self.messages_max.load(Ordering::Relaxed) / 2
            && bytes <= self.bytes_max.load(Ordering::Relaxed) / 2
    }

    /// What is on its way now.
    pub fn in_flight(&self) -> InFlight {
        InFlight {
            messages: self.messages.load(Ordering::Acquire),
            bytes: self.bytes.load(Ordering::Acquire),
        }
    }

    /// The bounds in force.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            messages: u32::try_from(self.messages_max.load(Ordering::Relaxed)).unwrap_or(u32::MAX),
            bytes: self.bytes_max.load(Ordering::Relaxed),
        }
    }

    /// Changes the bounds. What is on its way stays, also where it is more.
    pub fn set_bounds(&self, bounds: Bounds) {
        self.messages_max.store(bounds.messages.into(), Ordering::Relaxed);
        self.bytes_max.store(bounds.bytes, Ordering::Relaxed);
    }
}

/// Adds where the sum stays within the bound.
fn add(count: &AtomicU64, more: u64, most: &AtomicU64) -> bool {
    let most = most.load(Ordering::Relaxed);
    let added = |now: u64| now.checked_add(more).filter(|sum| *sum <= most);
    count.fetch_update(Ordering::AcqRel, Ordering::Acquire, added).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_no_more_than_either_bound() {
        let window = Window::new(Bounds { messages: 2, bytes: 100 });
        assert!(window.take(60) && !window.take(41) && window.take(40));
        assert!(!window.take(0), "two messages are on their way");
        assert_eq!(window.in_flight(), InFlight { messages: 2, bytes: 100 });
    }

    #[test]
    fn room_is_reported_once_and_only_to_the_refused() {
        let window = Window::new(Bounds { messages: 4, bytes: 100 });
        assert!(window.take(50) && !window.give(1, 50), "nobody was refused");
        assert!((0..4).all(|_| window.take(25)) && !window.take(25));
        assert!(!window.give(1, 25), "not half of it is free");
        assert!(window.give(1, 25), "half of it is free");
        assert!(!window.give(1, 25), "it was reported");
    }

    #[test]
    fn senders_on_many_threads_never_take_more_than_there_is() {
        let window = Window::new(Bounds { messages: 1_000, bytes: 5_000 });
        let taken: usize = std::thread::scope(|scope| {
            let take = || (0..1_000).filter(|_| window.take(10)).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it counts")).sum()
        });
        assert_eq!(taken, 500);
        assert_eq!(window.in_flight(), InFlight { messages: 500, bytes: 5_000 });
    }
}
