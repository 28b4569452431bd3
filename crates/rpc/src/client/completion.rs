//! Where the end of a call is reported: a future on any thread, the loop's own caller, a callback,
//! or nobody.
//!
//! The end of a call is reported once in any case: an end that is dropped without a report reports
//! that it was cancelled.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::answer::CallError;

/// Where the end of a call goes.
pub(crate) enum Completion {
    /// Nobody waits.
    Discard,
    /// The one who drives the loop takes it from the call's place.
    Local,
    /// A future.
    Future(AnswerEnd),
    /// A stream's receiver.
    Stream(ItemsEnd),
    /// Called on the loop; must not block.
    Callback(CallbackEnd),
}

/// What a callback is.
pub(crate) type Callback = Box<dyn FnOnce(Result<&[u8], CallError>) + Send>;

/// The loop's end of an answer. Dropped without one, as with the loop itself, it reports that the
/// call was cancelled.
pub(crate) struct AnswerEnd(pub(crate) Arc<Answer>);

impl Drop for AnswerEnd {
    fn drop(&mut self) {
        self.0.complete(Err(CallError::Cancelled));
    }
}

/// The loop's end of a stream's messages. Dropped before the stream has ended it reports that it
/// was cancelled.
pub(crate) struct ItemsEnd(pub(crate) Arc<Items>);

impl Drop for ItemsEnd {
    fn drop(&mut self) {
        self.0.end(Err(CallError::Cancelled));
    }
}

/// A callback that is called exactly once, with any outcome of the call. Where it panics the
/// others' calls go on.
pub(crate) struct CallbackEnd {
    callback: Option<Callback>,
    /// For the one who may cancel the call.
    pub(crate) place: Arc<Place>,
}

impl CallbackEnd {
    pub(crate) fn new(callback: Callback, place: Arc<Place>) -> Self {
        Self { callback: Some(callback), place }
    }

    pub(crate) fn call(mut self, answer: Result<&[u8], CallError>) {
        self.answer(answer);
    }

    fn answer(&mut self, answer: Result<&[u8], CallError>) {
        let Some(callback) = self.callback.take() else { return };
        if catch_unwind(AssertUnwindSafe(|| callback(answer))).is_err() {
            tracing::error!("A callback of a call panicked");
        }
    }
}

impl Drop for CallbackEnd {
    fn drop(&mut self) {
        self.answer(Err(CallError::Cancelled));
    }
}

/// The place of a call, reported by the loop to the holder of its future: place and serial, plus
/// one so that zero means unknown. The holder may give up before the report; the loop then does not
/// begin the call.
#[derive(Debug, Default)]
pub(crate) struct Place(AtomicU64);

/// The holder has given up.
const GIVEN_UP: u64 = u64::MAX;

impl Place {
    /// Reports the place; false where nobody waits any more.
    pub(crate) fn set(&self, place: u32, serial: u32) -> bool {
        let both = (u64::from(serial) << 32 | u64::from(place)) + 1;
        self.0.compare_exchange(0, both, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(crate) fn look(&self) -> Option<(u32, u32)> {
        Self::read(self.0.load(Ordering::Acquire))
    }

    /// Nobody waits any more. Returns the place that the loop has to be notified of.
    pub(crate) fn give_up(&self) -> Option<(u32, u32)> {
        Self::read(self.0.swap(GIVEN_UP, Ordering::AcqRel))
    }

    fn read(both: u64) -> Option<(u32, u32)> {
        let both = both.checked_sub(1).filter(|_| both != GIVEN_UP)?;
        Some((both as u32, (both >> 32) as u32))
    }
}

/// A unary call's answer, on its way to a future.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) place: Place,
    state: Mutex<AnswerState>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct AnswerState {
    answer: Option<Result<Vec<u8>, CallError>>,
    /// There was an answer, taken or not.
    answered: bool,
    waker: Option<Waker>,
}

impl Answer {
    /// An answer that is already there.
    pub(crate) fn ready(answer: Result<Vec<u8>, CallError>) -> Arc<Self> {
        let this = Self::default();
        this.complete(answer);
        Arc::new(this)
    }

    /// Gives the answer; the first one counts.
    pub(crate) fn complete(&self, answer: Result<Vec<u8>, CallError>) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.answered, true) {
            return;
        }
        state.answer = Some(answer);
        let waker = state.waker.take();
        drop(state);
        self.came.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Vec<u8>, CallError>> {
        let mut state = self.state.lock();
        match state.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.state.lock().answer.is_some()
    }

    /// Waits until it is there; `None` where that takes longer than `at_most`.
    pub(crate) fn wait(&self, at_most: Duration) -> Option<Result<Vec<u8>, CallError>> {
        let until = Instant::now() + at_most;
        let mut state = self.state.lock();
        while state.answer.is_none() {
            if self.came.wait_until(&mut state, until).timed_out() {
                return state.answer.take();
            }
        }
        state.answer.take()
    }
}

/// A stream's messages, on their way to the receiver. Never more than the credit that it gave.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) place: Place,
    state: Mutex<ItemsState>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct ItemsState {
    items: VecDeque<Vec<u8>>,
    /// Bytes in them.
    bytes: usize,
    /// There was a message.
    begun: bool,
    ended: Option<Result<(), CallError>>,
    waker: Option<Waker>,
    taken: u32,
    /// Messages that a channel's caller has given and that have not left.
    unsent: usize,
    /// The service takes no more of them.
    unwanted: bool,
    /// The caller that waits for room.
    giver: Option<Waker>,
}

/// Messages of a channel that its caller may give ahead of the service's credit; the next gets
/// Busy. As many as a service takes in a few round trips: more would only hide that it is slow.
const UNSENT_MAX: usize = 1_024;

impl Items {
    pub(crate) fn push(&self, item: &[u8]) {
        let mut state = self.state.lock();
        state.begun = true;
        state.bytes += item.len();
        state.items.push_back(item.to_vec());
        let waker = state.waker.take();
        drop(state);
        self.came.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Bytes that the receiver has not taken.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Whether there was a message: it could not be unsaid by beginning anew.
    pub(crate) fn has_begun(&self) -> bool {
        self.state.lock().begun
    }

    /// A channel's caller gives a message, where there is room.
    pub(crate) fn give(&self) -> Result<(), CallError> {
        let mut state = self.state.lock();
        if state.ended.is_some() || state.unwanted {
            return Err(CallError::Cancelled);
        }
        if state.unsent >= UNSENT_MAX {
            return Err(CallError::Busy {
                retry_after: Duration::from_millis(1),
                reason: format!("the service has not taken the last {UNSENT_MAX} messages"),
            });
        }
        state.unsent += 1;
        Ok(())
    }

    /// Whether a channel's caller may give a message, or need not wait for that: there is room, or never
    /// again will be.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if state.unsent < UNSENT_MAX || state.unwanted || state.ended.is_some() {
            return Poll::Ready(());
        }
        state.giver = Some(context.waker().clone());
        Poll::Pending
    }

    /// A message that was given has left.
    pub(crate) fn sent(&self) {
        self.change(|state| state.unsent = state.unsent.saturating_sub(1));
    }

    /// The service takes no more messages of the channel's caller.
    pub(crate) fn refuse(&self) {
        self.change(|state| state.unwanted = true);
    }

    /// Changes whether messages are taken, and wakes the caller that waits for it.
    fn change(&self, change: impl FnOnce(&mut ItemsState)) {
        let mut state = self.state.lock();
        change(&mut state);
        let giver = state.giver.take();
        drop(state);
        if let Some(giver) = giver {
            giver.wake();
        }
    }

    pub(crate) fn end(&self, how: Result<(), CallError>) {
        let mut state = self.state.lock();
        state.ended.get_or_insert(how);
        let wakers = [state.waker.take(), state.giver.take()];
        drop(state);
        self.came.notify_all();
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// The next message, and the credit to give back for those taken, once `worth` have been; 0 gives none back.
    pub(crate) fn poll(&self, context: &mut Context<'_>, worth: u32) -> Poll<(Item, u32)> {
        let mut state = self.state.lock();
        if let Some(item) = state.next(worth) {
            return Poll::Ready(item);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Like [`Items::poll`], waiting; `None` where that takes longer than `at_most`.
    pub(crate) fn wait(&self, at_most: Duration, worth: u32) -> Option<(Item, u32)> {
        let until = Instant::now() + at_most;
        let mut state = self.state.lock();
        loop {
            if let Some(item) = state.next(worth) {
                return Some(item);
            }
            if self.came.wait_until(&mut state, until).timed_out() {
                return state.next(worth);
            }
        }
    }
}

/// A stream's next: a message, or how it ended.
pub(crate) type Item = Result<Option<Vec<u8>>, CallError>;

impl ItemsState {
    fn next(&mut self, worth: u32) -> Option<(Item, u32)> {
        if let Some(item) = self.items.pop_front() {
            self.bytes -= item.len();
            if worth == 0 {
                return Some((Ok(Some(item)), 0));
            }
            self.taken += 1;
            let credit = if self.taken >= worth { std::mem::take(&mut self.taken) } else { 0 };
            return Some((Ok(Some(item)), credit));
        }
        match self.ended.clone()? {
            Ok(()) => Some((Ok(None), 0)),
            Err(error) => Some((Err(error), 0)),
        }
    }
}
