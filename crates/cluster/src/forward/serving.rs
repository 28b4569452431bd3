//! A command of another node, carried out by a shard of this one.
//!
//! The thread that answers it, mostly the shard's, makes the answer's bytes and hands them to the
//! link: no thread waits for a ticket.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;
use stadium_queue::Refusal;
use stadium_shard::{Answer, Ticket};

type Done = Box<dyn FnOnce(Result<Answer, Refusal>) + Send>;

/// A command that is being carried out.
pub(crate) struct Serving {
    open: Mutex<Option<(Ticket<Answer>, Done)>>,
}

impl Serving {
    /// Calls `done` with the answer, on the thread that gives it, or at once.
    pub(crate) fn start(
        ticket: Ticket<Answer>,
        done: impl FnOnce(Result<Answer, Refusal>) + Send + 'static,
    ) -> Arc<Self> {
        let serving = Arc::new(Self { open: Mutex::new(Some((ticket, Box::new(done)))) });
        serving.poll();
        serving
    }

    /// Whether it is not answered yet.
    pub(crate) fn is_open(&self) -> bool {
        self.open.lock().is_some()
    }

    /// Nobody waits for the answer any more: a reserve that waits is taken back.
    pub(crate) fn give_up(&self) {
        drop(self.open.lock().take());
    }

    fn poll(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        let mut open = self.open.lock();
        let Some((ticket, _)) = &mut *open else { return };
        if let Poll::Ready(answer) = Pin::new(ticket).poll(&mut Context::from_waker(&waker))
            && let Some((_, done)) = open.take()
        {
            drop(open);
            done(answer);
        }
    }
}

impl Wake for Serving {
    fn wake(self: Arc<Self>) {
        self.poll();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.poll();
    }
}
