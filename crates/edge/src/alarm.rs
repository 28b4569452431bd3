//! Wakes a loop when something that it waits for elsewhere is answered: many answers between two
//! turns are one wake-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use stadium_reactor::LoopHandle;

use crate::message::{Kind, Message};

/// A loop's alarm, as a waker of what it polls.
pub(crate) struct Alarm {
    handle: LoopHandle<Message>,
    rung: AtomicBool,
}

impl Alarm {
    pub(crate) fn new(handle: LoopHandle<Message>) -> Arc<Self> {
        Arc::new(Self { handle, rung: AtomicBool::new(false) })
    }

    /// The loop looks now: what is answered from now on rings again.
    pub(crate) fn heard(&self) {
        self.rung.store(false, Ordering::Release);
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // A loop whose mailbox is full looks at the end of its turn all the same.
            let _ = self.handle.try_send(Message(Kind::Kept));
        }
    }
}
