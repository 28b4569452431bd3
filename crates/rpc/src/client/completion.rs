//! Who is told how a call ended: a future on any thread, the loop's own caller, a callback, or nobody.

use std::collections::VecDeque;
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
    Future(Arc<Answer>),
    /// A stream's receiver.
    Stream(Arc<Items>),
    /// Called on the loop; must not block.
    Callback(Box<dyn FnOnce(Result<&[u8], CallError>) + Send>),
}

/// The place of a call, told by the loop to whoever holds its future: place and serial, plus one so that zero
/// means unknown.
#[derive(Debug, Default)]
pub(crate) struct Place(AtomicU64);

impl Place {
    pub(crate) fn set(&self, place: u32, serial: u32) {
        self.0.store((u64::from(serial) << 32 | u64::from(place)) + 1, Ordering::Release);
    }

    pub(crate) fn look(&self) -> Option<(u32, u32)> {
        let both = self.0.load(Ordering::Acquire).checked_sub(1)?;
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
    waker: Option<Waker>,
}

impl Answer {
    /// An answer that is already there.
    pub(crate) fn ready(answer: Result<Vec<u8>, CallError>) -> Arc<Self> {
        let this = Self::default();
        this.state.lock().answer = Some(answer);
        Arc::new(this)
    }

    pub(crate) fn complete(&self, answer: Result<Vec<u8>, CallError>) {
        let mut state = self.state.lock();
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
    ended: Option<Result<(), CallError>>,
    waker: Option<Waker>,
    taken: u32,
}

impl Items {
    pub(crate) fn push(&self, item: &[u8]) {
        let mut state = self.state.lock();
        state.items.push_back(item.to_vec());
        let waker = state.waker.take();
        drop(state);
        self.came.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn end(&self, how: Result<(), CallError>) {
        let mut state = self.state.lock();
        state.ended.get_or_insert(how);
        let waker = state.waker.take();
        drop(state);
        self.came.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next message, and the credit to give back for those taken, once `worth` have been.
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
