//! A loop that its caller drives, one turn at a time.
//!
//! [`Loop::run`] is this, turned until it is stopped. A thread that has something else to do
//! between turns, a client that sends a request and waits for its answer, a test, a bench, turns it
//! by hand. What is sent between turns leaves before the loop next waits.

use std::io;
use std::time::{Duration, Instant};

use crate::event_loop::Loop;
use crate::handler::Handler;
use crate::io::Io;
use crate::mailbox::LoopHandle;

/// A loop and its handler, turned by their owner.
///
/// Time between turns counts as busy in the loop's statistics: it is its owner's work. Dropping it
/// closes every socket without notifying the handler; [`Driven::finish`] notifies it.
pub struct Driven<H: Handler> {
    pub(crate) inner: Loop<H::Message>,
    handler: H,
    /// When the last wait was over.
    woke: Instant,
}

impl<M: Send + 'static> Loop<M> {
    /// Gives the loop to its caller to turn. The thread is not pinned: that is its owner's to do.
    pub fn drive<H: Handler<Message = M>>(mut self, handler: H) -> Driven<H> {
        let woke = Instant::now();
        self.io.set_clock(woke);
        Driven { inner: self, handler, woke }
    }
}

impl<H: Handler> Driven<H> {
    /// Writes what was sent since the last turn, waits until something happens, a timer is due or
    /// `at_most` has passed (`None`: for as long as it takes), and handles all of it. The system
    /// counts waits in whole milliseconds, rounded up. Fails where waiting fails.
    ///
    /// Where [`Driven::step`] has begun a turn, this does the rest of that one, without a wait.
    pub fn turn(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        if self.is_amid_turn() {
            self.go_on();
            while self.is_amid_turn() {
                self.inner.step(&mut self.handler);
            }
            return Ok(());
        }
        self.wait(at_most)?;
        self.inner.turn(&mut self.handler);
        Ok(())
    }

    /// As [`Driven::turn`], but for one event at a time: where several connections have something to
    /// read, each call reads one of them, and first writes what was sent since the last. So a peer
    /// has its requests while the answers of others are still handled. Only the first step of a
    /// turn waits.
    pub fn step(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        if self.is_amid_turn() {
            self.go_on();
        } else {
            self.wait(at_most)?;
            self.inner.begin_steps(&mut self.handler);
        }
        self.inner.step(&mut self.handler);
        Ok(())
    }

    /// True while events are left, which the next step handles.
    fn is_amid_turn(&self) -> bool {
        !self.inner.left.is_empty()
    }

    /// Between two steps: what was sent leaves, and the clock is read.
    fn go_on(&mut self) {
        self.inner.settle(&mut self.handler);
        self.inner.io.set_clock(Instant::now());
    }

    /// Writes what was sent, and waits for events.
    fn wait(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        if self.inner.io.has_staged() {
            self.flush();
        }
        let waits = Instant::now();
        let worked = waits - self.woke;
        self.inner.io.counts.busy_ns += nanoseconds(worked);
        let timeout = match (self.inner.timeout(waits), at_most) {
            (Some(due), Some(most)) => Some(due.min(most)),
            (due, most) => due.or(most),
        };
        self.inner.wait(timeout, worked)?;
        self.woke = Instant::now();
        self.inner.io.counts.idle_ns += nanoseconds(self.woke - waits);
        self.inner.io.set_clock(self.woke);
        Ok(())
    }

    /// A turn that does not wait.
    pub fn turn_now(&mut self) -> io::Result<()> {
        self.turn(Some(Duration::ZERO))
    }

    /// Writes what was sent since the last turn, without looking for anything new: the end of a turn
    /// alone. The handler's `turn_ended` and `turn_flushed` are called.
    pub fn flush(&mut self) {
        self.inner.end_turn(&mut self.handler);
    }

    /// Ends every connection with [`crate::CloseReason::Stopped`], and returns the handler.
    pub fn finish(mut self) -> H {
        self.inner.finish(&mut self.handler);
        self.handler
    }

    /// Whether [`Io::stop`] or [`LoopHandle::stop`] asked for the end; turning on does no harm.
    pub fn is_stopping(&self) -> bool {
        self.inner.io.stopping
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// The handler, to change.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// The loop's sockets and timers, with the clock read anew.
    pub fn io(&mut self) -> &mut Io<H::Message> {
        self.parts().1
    }

    /// Handler and loop together, with the clock read anew (some 25 ns: take them once for many
    /// calls). What is sent leaves with the next [`Driven::turn`] or [`Driven::flush`].
    pub fn parts(&mut self) -> (&mut H, &mut Io<H::Message>) {
        self.inner.io.set_clock(Instant::now());
        (&mut self.handler, &mut self.inner.io)
    }

    /// The way for other threads to reach this loop.
    pub fn handle(&self) -> LoopHandle<H::Message> {
        self.inner.handle()
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}
