//! Spans on their way from the threads that serve to the exporter's.
//!
//! Bounded: a span that does not fit is dropped and counted, so that a collector which is away costs
//! memory up to the bound and nobody's time. To put a span is a short lock; the exporter takes whole
//! batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::counts::{Counts, add};
use crate::span::Span;

/// Spans in one export: a request of about 200 KB, which every collector takes.
pub(crate) const BATCH_SPANS: usize = 512;

/// See the module.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    spans_max: usize,
    pub(crate) counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct State {
    spans: VecDeque<Span>,
    /// The exporter is to send what there is until then, and end.
    stops: Option<Instant>,
}

impl Queue {
    pub(crate) fn new(spans_max: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), spans_max, counts: Arc::default() }
    }

    /// Puts a span, or drops it where the queue is full or the exporter has ended.
    pub(crate) fn put(&self, span: Span) {
        let mut state = self.state.lock();
        if state.stops.is_some_and(|until| Instant::now() >= until) {
            return add(&self.counts.dropped_stopped, 1);
        }
        if state.spans.len() >= self.spans_max {
            return add(&self.counts.dropped_queue_full, 1);
        }
        state.spans.push_back(span);
        self.counts.queued.store(state.spans.len() as u64, Ordering::Relaxed);
        let is_batch = state.spans.len() == BATCH_SPANS.min(self.spans_max);
        drop(state);
        if is_batch {
            self.changed.notify_one();
        }
    }

    /// Waits until then, or until there is a batch or the exporter is to stop.
    pub(crate) fn wait(&self, until: Instant) {
        let mut state = self.state.lock();
        while state.spans.len() < BATCH_SPANS.min(self.spans_max) && state.stops.is_none() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// Waits until then, or until the exporter is to stop: while nothing may be sent.
    pub(crate) fn wait_for_stop(&self, until: Instant) {
        let mut state = self.state.lock();
        while state.stops.is_none() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// Takes a batch.
    pub(crate) fn take(&self) -> Vec<Span> {
        let mut state = self.state.lock();
        let count = state.spans.len().min(BATCH_SPANS);
        let batch = state.spans.drain(..count).collect();
        self.counts.queued.store(state.spans.len() as u64, Ordering::Relaxed);
        batch
    }

    /// The exporter is to end by then.
    pub(crate) fn stop(&self, until: Instant) {
        self.state.lock().stops = Some(until);
        self.changed.notify_all();
    }

    /// When the exporter is to have ended, once it is known.
    pub(crate) fn stops(&self) -> Option<Instant> {
        self.state.lock().stops
    }

    /// Drops all that is left.
    pub(crate) fn clear(&self) {
        let left = std::mem::take(&mut self.state.lock().spans).len();
        add(&self.counts.dropped_stopped, left as u64);
        self.counts.queued.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stadium_state_machine::TraceContext;

    use super::*;
    use crate::span::Kind;

    fn span() -> Span {
        let parent = TraceContext { trace_id: [1; 16], span_id: [2; 8], flags: 1 };
        Span::below(parent, "work", Kind::Internal)
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let queue = Queue::new(3);
        (0..5).for_each(|_| queue.put(span()));
        assert_eq!((queue.counts.spans_queued(), queue.counts.spans_dropped()[0]), (3, ("queue_full", 2)));
        assert_eq!(queue.take().len(), 3);
        queue.put(span());
        assert_eq!(queue.counts.spans_queued(), 1);
    }

    #[test]
    fn a_full_batch_ends_a_wait_before_its_time() {
        let queue = Queue::new(BATCH_SPANS);
        std::thread::scope(|threads| {
            let waiting = threads.spawn(|| queue.wait(Instant::now() + Duration::from_secs(60)));
            (0..BATCH_SPANS).for_each(|_| queue.put(span()));
            waiting.join().expect("it does not panic");
        });
        assert_eq!(queue.take().len(), BATCH_SPANS);
    }

    #[test]
    fn a_stop_ends_a_wait_and_what_comes_later_is_dropped() {
        let queue = Queue::new(3);
        queue.stop(Instant::now());
        queue.wait(Instant::now() + Duration::from_secs(60));
        queue.put(span());
        assert_eq!(queue.counts.spans_dropped()[3], ("stopped", 1));
    }
}
