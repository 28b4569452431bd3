//! A client's streams and channels: messages move from the client to the queue when somebody takes
//! events, and only as many as the caller wants.
//!
//! The caller wants as many as it has read, so that a caller that reads slowly slows its service
//! down and no other stream.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;
use stadium_rpc::client::ChannelSender;
use stadium_rpc::{CallError, Encoded, Streaming};

use crate::error::Error;
use crate::event::{Event, Kind};
use crate::queue::{Queue, Source};

/// A stream or a channel that a client has opened. Dropping it gives the stream up, without an event.
#[derive(Debug)]
pub struct Stream(Arc<Shared>);

/// The stream, as its queue and the wakers have it too.
#[derive(Debug)]
struct Shared {
    tag: u64,
    queue: Queue,
    state: Mutex<State>,
    /// It is in its queue.
    queued: AtomicBool,
    readable: Waker,
    writable: Waker,
}

#[derive(Debug)]
struct State {
    /// `None` once the stream has ended or was cancelled.
    messages: Option<Streaming<Vec<u8>>>,
    /// The caller's side of a channel, until it completes.
    sender: Option<ChannelSender<Encoded>>,
    /// Messages that the caller wants beyond those that it was given.
    wanted: u32,
}

impl Stream {
    /// A stream whose caller wants `wanted` messages to begin with, which is the credit that it was opened with.
    /// The service gets no more credit than the caller wants messages.
    pub(crate) fn new(
        tag: u64,
        queue: Queue,
        messages: Streaming<Vec<u8>>,
        sender: Option<ChannelSender<Encoded>>,
        wanted: u32,
    ) -> Self {
        let shared = Arc::new_cyclic(|shared: &Weak<Shared>| Shared {
            tag,
            queue,
            state: Mutex::new(State { messages: Some(messages.without_replenishment()), sender, wanted }),
            queued: AtomicBool::new(false),
            readable: Waker::from(Arc::new(Readable(shared.clone()))),
            writable: Waker::from(Arc::new(Writable(shared.clone()))),
        });
        shared.look();
        Self(shared)
    }

    /// The caller takes `n` more messages.
    pub fn want(&self, n: u32) {
        {
            let mut state = self.0.state.lock();
            state.wanted = state.wanted.saturating_add(n);
            if let (Some(messages), 1..) = (&state.messages, n) {
                messages.request_n(n);
            }
        }
        self.0.look();
    }

    /// Sends a message of a channel.
    ///
    /// # Errors
    /// [`Error::Full`]: the message was not taken, and [`Kind::Writable`] follows.
    /// [`Error::Ended`]: the service takes no more, or the stream is no channel.
    pub fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        let state = self.0.state.lock();
        let sender = state.sender.as_ref().ok_or(Error::Ended)?;
        match sender.send(&Encoded(message)) {
            Ok(()) => Ok(()),
            Err(CallError::Busy { .. }) => {
                if sender.poll_ready(&mut Context::from_waker(&self.0.writable)).is_ready() {
                    self.0.report_writable();
                }
                Err(Error::Full)
            }
            Err(_) => Err(Error::Ended),
        }
    }

    /// The caller of a channel sends no more.
    pub fn complete(&self) {
        self.0.state.lock().sender = None;
    }

    /// Gives the stream up. It ends by [`Kind::End`] as cancelled, unless it has ended.
    pub fn cancel(&self) {
        let mut state = self.0.state.lock();
        state.sender = None;
        if state.messages.take().is_some() {
            drop(state);
            self.0.queue.push(Event::of_call(Kind::End, self.0.tag, Err(CallError::Cancelled)));
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The queue may have the stream for longer.
        let mut state = self.0.state.lock();
        (state.messages, state.sender) = (None, None);
    }
}

impl Shared {
    /// Has the queue look for messages.
    fn look(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.queue.look_at(Arc::<Self>::clone(self));
        }
    }

    fn report_writable(&self) {
        self.queue.push(Event::of_call(Kind::Writable, self.tag, Ok(Vec::new())));
    }
}

impl Source for Shared {
    fn take(&self, max: usize, into: &mut Vec<Event>) -> bool {
        self.queued.store(false, Ordering::SeqCst);
        let mut context = Context::from_waker(&self.readable);
        let mut state = self.state.lock();
        for _ in 0..max {
            if state.wanted == 0 {
                return false;
            }
            let Some(messages) = &mut state.messages else { return false };
            let Poll::Ready(next) = pin!(messages.next()).poll(&mut context) else { return false };
            let (kind, payload) = match next {
                Ok(Some(message)) => (Kind::Item, Ok(message)),
                Ok(None) => (Kind::End, Ok(Vec::new())),
                Err(error) => (Kind::End, Err(error)),
            };
            match kind {
                Kind::Item => state.wanted -= 1,
                _ => (state.messages, state.sender) = (None, None),
            }
            into.push(Event::of_call(kind, self.tag, payload));
        }
        let more = state.wanted > 0 && state.messages.is_some();
        !self.queued.swap(more, Ordering::SeqCst) && more
    }
}

struct Readable(Weak<Shared>);

impl Wake for Readable {
    fn wake(self: Arc<Self>) {
        if let Some(stream) = self.0.upgrade() {
            stream.look();
        }
    }
}

struct Writable(Weak<Shared>);

impl Wake for Writable {
    fn wake(self: Arc<Self>) {
        if let Some(stream) = self.0.upgrade() {
            stream.report_writable();
        }
    }
}
