//! Events on their way from a worker's loops to its coordinator.
//!
//! The loops and the thread that follows them push events; the future that answers the coordinator
//! takes them. The queue is bounded: a coordinator that takes nothing for that long has lost the
//! run.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::proto::Event;

/// Bytes of events that may wait for the coordinator; the run ends beyond it.
///
/// A tally has some kilobytes for each step, once a second and loop: this is minutes of a large scenario.
const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Events that may wait, whatever their size.
const WAITING_MAX: usize = 65_536;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    bytes: usize,
    waker: Option<Waker>,
    closed: bool,
}

/// The coordinator does not take its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Queue {
    /// Hands an event over.
    ///
    /// # Errors
    /// [`Full`] where too much waits; the event is dropped.
    pub(crate) fn push(&self, event: Event) -> Result<(), Full> {
        let mut state = self.state.lock();
        let bytes = prost::Message::encoded_len(&event);
        if state.events.len() >= WAITING_MAX || state.bytes + bytes > WAITING_BYTES_MAX {
            return Err(Full);
        }
        state.bytes += bytes;
        state.events.push_back(event);
        wake(&mut state);
        Ok(())
    }

    /// No more will come; the events that are there are still taken.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        wake(&mut state);
    }

    /// The next event; `None` after the last.
    pub(crate) async fn next(&self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.state.lock();
        if let Some(event) = state.events.pop_front() {
            state.bytes -= prost::Message::encoded_len(&event);
            return Poll::Ready(Some(event));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

fn wake(state: &mut State) {
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::event;
    use super::*;

    #[test]
    fn what_was_pushed_is_taken_before_the_end() {
        let queue = Queue::default();
        let event = Event { event: Some(event::Event::Tally(vec![1])) };
        queue.push(event.clone()).expect("there is room");
        queue.close();
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(queue.poll(&mut context), Poll::Ready(Some(event)));
        assert_eq!(queue.poll(&mut context), Poll::Ready(None));
    }

    #[test]
    fn what_waits_is_bounded_in_bytes() {
        let queue = Queue::default();
        let half = Event { event: Some(event::Event::Tally(vec![0; WAITING_BYTES_MAX / 2])) };
        queue.push(half.clone()).expect("the first half fits");
        assert_eq!(queue.push(half.clone()), Err(Full));
        let mut context = Context::from_waker(Waker::noop());
        assert!(queue.poll(&mut context).is_ready());
        queue.push(half).expect("there is room again");
    }
}
