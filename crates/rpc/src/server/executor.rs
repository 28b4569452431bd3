//! The futures of a loop's functions, woken from anywhere, polled by the loop alone.
//!
//! A wake puts the task on a list and, where the loop may be asleep, a word into its mailbox. The list holds a
//! task at most once for each time it was polled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use parking_lot::Mutex;
use stadium_reactor::LoopHandle;

use super::item::Item;

/// Tasks that want to be polled.
pub(crate) struct Ready {
    tasks: Mutex<Vec<u32>>,
    /// The loop knows, or will look before it sleeps.
    notified: AtomicBool,
    handle: LoopHandle<Item>,
}

impl Ready {
    pub(crate) fn new(handle: LoopHandle<Item>) -> Arc<Self> {
        Arc::new(Self { tasks: Mutex::new(Vec::new()), notified: AtomicBool::new(false), handle })
    }

    /// The loop is awake and will look: wakes need not knock.
    pub(crate) fn loop_is_awake(&self) {
        self.notified.store(true, Ordering::SeqCst);
    }

    /// Takes what is ready into `into`. Wakes after this knock again.
    pub(crate) fn take(&self, into: &mut Vec<u32>) {
        self.notified.store(false, Ordering::SeqCst);
        into.append(&mut self.tasks.lock());
    }

    fn wake(&self, task: u32) {
        self.tasks.lock().push(task);
        if !self.notified.swap(true, Ordering::SeqCst) {
            // A full mailbox means that the loop is awake, and it looks before it sleeps.
            let _ = self.handle.try_send(Item::Woken);
        }
    }

    /// A waker for a task.
    pub(crate) fn waker(self: &Arc<Self>, task: u32) -> (Waker, Arc<TaskWaker>) {
        let inner = Arc::new(TaskWaker { ready: Arc::clone(self), task, queued: AtomicBool::new(false) });
        (Waker::from(Arc::clone(&inner)), inner)
    }
}

/// Wakes one task.
pub(crate) struct TaskWaker {
    ready: Arc<Ready>,
    task: u32,
    queued: AtomicBool,
}

impl TaskWaker {
    /// The task is about to be polled: from now on a wake means another poll.
    pub(crate) fn polled(&self) {
        self.queued.store(false, Ordering::SeqCst);
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.ready.wake(self.task);
        }
    }
}
