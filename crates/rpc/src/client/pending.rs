//! A call's future, and the handle of a call that has a callback.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use prost::Message;
use stadium_reactor::LoopHandle;

use super::completion::{Answer, Place};
use super::item::Item;
use crate::answer::CallError;

/// The answer of a call that is under way, or is there already. Await it, or [`Pending::wait`] for it; dropping it
/// cancels the call. It always ends: every call has a deadline.
#[must_use = "dropping it cancels the call"]
pub struct Pending<A> {
    answer: Option<Arc<Answer>>,
    handle: Option<LoopHandle<Item>>,
    decode: fn(Vec<u8>) -> Result<A, CallError>,
    message: PhantomData<fn() -> A>,
}

/// Longest that a wait goes on beyond what the loop itself bounds by the deadline.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

impl<A: Message + Default> Pending<A> {
    pub(crate) fn new(answer: Arc<Answer>, handle: LoopHandle<Item>) -> Self {
        Self { answer: Some(answer), handle: Some(handle), decode: decode::<A>, message: PhantomData }
    }

    /// A call that is answered already.
    pub fn ready(answer: Result<A, CallError>) -> Self {
        let answer = Answer::ready(answer.map(|answer| answer.encode_to_vec()));
        Self { answer: Some(answer), handle: None, decode: decode::<A>, message: PhantomData }
    }
}

impl Pending<Vec<u8>> {
    pub(crate) fn raw(answer: Arc<Answer>, handle: LoopHandle<Item>) -> Self {
        Self { answer: Some(answer), handle: Some(handle), decode: Ok, message: PhantomData }
    }
}

fn decode<A: Message + Default>(bytes: Vec<u8>) -> Result<A, CallError> {
    A::decode(bytes.as_slice()).map_err(|error| CallError::Protocol(error.to_string()))
}

impl<A> Pending<A> {
    /// Waits for the answer on this thread.
    ///
    /// # Errors
    /// What became of the call instead.
    pub fn wait(mut self) -> Result<A, CallError> {
        let answer = self.answer.take().ok_or(CallError::Cancelled)?;
        let bytes = answer.wait(WAIT_MAX).unwrap_or(Err(CallError::Deadline))?;
        (self.decode)(bytes)
    }

    /// Whether the answer is there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.answer.as_ref().is_none_or(|answer| answer.is_ready())
    }
}

impl<A> Future for Pending<A> {
    type Output = Result<A, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(answer) = &this.answer else { return Poll::Ready(Err(CallError::Cancelled)) };
        match answer.poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(bytes) => {
                this.answer = None;
                Poll::Ready(bytes.and_then(this.decode))
            }
        }
    }
}

impl<A> Drop for Pending<A> {
    fn drop(&mut self) {
        if let (Some(answer), Some(handle)) = (self.answer.take(), &self.handle)
            && !answer.is_ready()
            && let Some((place, serial)) = answer.place.give_up()
        {
            handle.send_beyond_bound(Item::Cancel { place, serial });
        }
    }
}

impl<A> std::fmt::Debug for Pending<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("ready", &self.is_ready()).finish_non_exhaustive()
    }
}

/// A call whose outcome goes to a callback: see [`ServiceClient::call_bytes_then`](super::ServiceClient::call_bytes_then).
/// Dropping it changes nothing.
pub struct CallHandle {
    place: Arc<Place>,
    handle: LoopHandle<Item>,
}

impl CallHandle {
    pub(crate) fn new(place: Arc<Place>, handle: LoopHandle<Item>) -> Self {
        Self { place, handle }
    }

    /// Gives the call up. Its callback is called with [`CallError::Cancelled`], unless the call has
    /// ended already.
    pub fn cancel(self) {
        if let Some((place, serial)) = self.place.give_up() {
            self.handle.send_beyond_bound(Item::Cancel { place, serial });
        }
    }
}

impl std::fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallHandle").finish_non_exhaustive()
    }
}
