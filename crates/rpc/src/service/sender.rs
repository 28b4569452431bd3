//! The two ends of a stream that a function on the loop holds.
//!
//! Both share a small queue with the loop. Sending waits for the caller's credit, so the queue to the
//! caller never holds more than it asked for; receiving gives credit back as messages are taken, so the
//! queue from the caller never holds more than [`INBOUND_CREDIT`]. They live on the loop's thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::{Poll, Waker};

use prost::{DecodeError, Message};

/// Requests of a channel that the caller may send before the function takes one. More costs memory for each
/// open channel, fewer costs round trips.
pub(crate) const INBOUND_CREDIT: u32 = 64;

/// Messages that a function may send before the loop has taken them; the function waits then. They leave at
/// the end of its poll, so that more would only make bursts longer.
const OUTBOUND_MAX: usize = 256;
/// Bytes of them beyond which the function waits, for any number of them: far less than a
/// connection's write queue takes.
const OUTBOUND_BYTES_MAX: usize = 256 * 1024;

/// What the loop and a sending function share.
#[derive(Debug, Default)]
pub(crate) struct OutboundState {
    /// Messages that the caller still lets us send.
    pub(crate) credit: u32,
    /// Encoded messages that the loop has not sent.
    pub(crate) messages: VecDeque<Vec<u8>>,
    /// Bytes of these messages.
    bytes: usize,
    /// The sender that waits for credit.
    waker: Option<Waker>,
    pub(crate) gone: bool,
}

/// What the loop and a receiving function share.
#[derive(Debug, Default)]
pub(crate) struct InboundState {
    pub(crate) messages: VecDeque<Vec<u8>>,
    waker: Option<Waker>,
    /// The caller completes, or has gone.
    pub(crate) ended: bool,
    /// Messages taken for which no credit was given back yet.
    pub(crate) taken: u32,
}

/// The loop's and the function's handle to an outgoing stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbound(pub(crate) Rc<RefCell<OutboundState>>);

/// The loop's and the function's handle to an incoming stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbound(pub(crate) Rc<RefCell<InboundState>>);

impl Outbound {
    /// Adds credit, and wakes a sender that waits for it.
    pub(crate) fn add_credit(&self, n: u32) {
        let mut state = self.0.borrow_mut();
        state.credit = state.credit.saturating_add(n);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl Outbound {
    /// The next message to send.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.0.borrow_mut();
        let message = state.messages.pop_front()?;
        state.bytes -= message.len();
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Some(message)
    }

    /// The caller has gone.
    pub(crate) fn disconnect(&self) {
        let mut state = self.0.borrow_mut();
        state.gone = true;
        state.messages.clear();
        state.bytes = 0;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl Inbound {
    /// Credit for what was taken, once that is worth a frame.
    pub(crate) fn credit_to_give(&self) -> u32 {
        let mut state = self.0.borrow_mut();
        if state.ended || state.taken < INBOUND_CREDIT / 2 {
            return 0;
        }
        std::mem::take(&mut state.taken)
    }

    /// A message came.
    pub(crate) fn push(&self, message: Vec<u8>) {
        let mut state = self.0.borrow_mut();
        state.messages.push_back(message);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// No more will come.
    pub(crate) fn end(&self) {
        let mut state = self.0.borrow_mut();
        state.ended = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

/// The caller has gone; nothing more can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected;

impl std::fmt::Display for Disconnected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the caller has gone")
    }
}

impl std::error::Error for Disconnected {}

impl From<Disconnected> for crate::answer::Refusal {
    fn from(_: Disconnected) -> Self {
        Self::unknown("RPC-008", "the caller has gone")
    }
}

/// Sends the messages of a stream, as far as the caller's credit goes.
#[derive(Debug)]
pub struct StreamSender<A> {
    out: Outbound,
    message: PhantomData<fn(A)>,
}

impl<A: Message> StreamSender<A> {
    pub(crate) fn new(out: Outbound) -> Self {
        Self { out, message: PhantomData }
    }

    /// Sends one message, once the caller wants it.
    ///
    /// # Errors
    /// The caller has gone. As a rule the future that sends is dropped before it sees that.
    pub async fn send(&self, message: A) -> Result<(), Disconnected> {
        std::future::poll_fn(|context| {
            let mut state = self.out.0.borrow_mut();
            if state.gone {
                return Poll::Ready(Err(Disconnected));
            }
            let full = state.messages.len() >= OUTBOUND_MAX || state.bytes >= OUTBOUND_BYTES_MAX;
            if state.credit == 0 || full {
                state.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            state.credit -= 1;
            let message = message.encode_to_vec();
            state.bytes += message.len();
            state.messages.push_back(message);
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Messages that can be sent now without waiting.
    #[must_use]
    pub fn credit(&self) -> u32 {
        self.out.0.borrow().credit
    }
}

/// Receives the requests of a channel.
#[derive(Debug)]
pub struct StreamReceiver<Q> {
    requests: Inbound,
    message: PhantomData<fn() -> Q>,
}

impl<Q: Message + Default> StreamReceiver<Q> {
    pub(crate) fn new(requests: Inbound) -> Self {
        Self { requests, message: PhantomData }
    }

    /// The next request; `None` when the caller has sent its last.
    ///
    /// # Errors
    /// The message is not what the method takes.
    pub async fn next(&self) -> Result<Option<Q>, DecodeError> {
        let bytes = std::future::poll_fn(|context| {
            let mut state = self.requests.0.borrow_mut();
            if let Some(message) = state.messages.pop_front() {
                state.taken += 1;
                return Poll::Ready(Some(message));
            }
            if state.ended {
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        bytes.map(|bytes| Q::decode(bytes.as_slice())).transpose()
    }
}
