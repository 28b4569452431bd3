//! When the broker must act without being asked: a session's expiry, a will's delay.
//!
//! A deadline is never taken back. When it fires, the code that set it checks whether it still
//! applies; the session's generation distinguishes a session from its successor in the same slot.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::session::SessionKey;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The will's delay is over.
    Will,
    /// The session expiry interval is over.
    Session,
}

#[derive(Debug, Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(u64, Due, u32, u32)>>,
}

impl Deadlines {
    pub fn set(&mut self, at_ms: u64, due: Due, session: SessionKey) {
        self.heap.push(Reverse((at_ms, due, session.index, session.generation)));
    }

    pub fn next_ms(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub fn pop_due(&mut self, now_ms: u64) -> Option<(u64, Due, SessionKey)> {
        if self.next_ms()? > now_ms {
            return None;
        }
        let Reverse((at, due, index, generation)) = self.heap.pop()?;
        Some((at, due, SessionKey { index, generation }))
    }
}
