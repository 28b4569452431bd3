//! A request to a server that another language answers.
//!
//! Any thread may answer it; dropping it without an answer answers *Unknown*. The loop's side is in
//! [`crate::answering`]; the two share the state here and wake each other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use stadium_rpc::{CallContext, Refusal};

use crate::error::Error;
use crate::fork::Process;

/// Messages of a request's stream that wait for the caller's credit; the next one is refused as full.
/// As many as the loop itself keeps ahead, so that a sender seldom has to wait for both.
pub(crate) const MESSAGES_MAX: usize = 64;

/// Numbers requests, so that a number is never used again.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A request to be answered. Any thread may use it.
#[derive(Debug)]
pub struct Request(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: u64,
    made_by: Process,
    context: CallContext,
    pub(crate) state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) end: Option<Result<Vec<u8>, Refusal>>,
    /// It was answered, or nobody waits any more.
    pub(crate) ended: bool,
    pub(crate) messages: VecDeque<Vec<u8>>,
    /// A message was refused because there were too many.
    pub(crate) full: bool,
    /// Messages of the caller's stream that are wanted.
    pub(crate) wanted: u32,
    /// The future that answers, and the one that receives.
    pub(crate) answering: Option<Waker>,
    pub(crate) receiving: Option<Waker>,
}

impl Request {
    /// A new request, with what its future shares with it.
    pub(crate) fn new(context: CallContext) -> (Self, Arc<Shared>) {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared { id, made_by: Process::current(), context, state: Mutex::default() });
        (Self(Arc::clone(&shared)), shared)
    }

    /// Names the request in all of its events.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The call's route, deadline, metadata and peer.
    #[must_use]
    pub fn context(&self) -> &CallContext {
        &self.0.context
    }

    /// The time that is left of the caller's deadline.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.0.context.time_left()
    }

    /// Answers: the message of a unary method; for a stream the end, whose bytes are not sent.
    ///
    /// # Errors
    /// [`Error::Ended`]: it was answered, or nobody waits any more. [`Error::Forked`].
    pub fn answer(&self, answer: Result<Vec<u8>, Refusal>) -> Result<(), Error> {
        self.0.made_by.check()?;
        let mut state = self.0.state.lock();
        if state.ended {
            return Err(Error::Ended);
        }
        (state.end, state.ended) = (Some(answer), true);
        wake(state.answering.take());
        Ok(())
    }

    /// Sends a message of a stream.
    ///
    /// # Errors
    /// [`Error::Full`]: 64 messages wait for the caller; this one was not taken, and
    /// [`crate::Kind::Writable`] follows.
    /// [`Error::Ended`]: the stream has ended. [`Error::Forked`].
    pub fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.0.made_by.check()?;
        let mut state = self.0.state.lock();
        if state.ended {
            return Err(Error::Ended);
        }
        if state.messages.len() >= MESSAGES_MAX {
            state.full = true;
            return Err(Error::Full);
        }
        state.messages.push_back(message);
        wake(state.answering.take());
        Ok(())
    }

    /// Takes `n` more messages of the caller's stream. A channel begins with none wanted.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn want(&self, n: u32) -> Result<(), Error> {
        self.0.made_by.check()?;
        let mut state = self.0.state.lock();
        state.wanted = state.wanted.saturating_add(n);
        wake(state.receiving.take());
        Ok(())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let refusal = Refusal::unknown("RPC-007", "the service dropped the request without an answer");
        // It was answered before, as a rule.
        let _ = self.answer(Err(refusal));
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
