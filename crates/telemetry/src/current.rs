//! The trace that the code of this thread works for, so that parts below need no argument for it.
//!
//! It is set while a future of a traced request is polled, or for a block. In a process without a
//! tracer, [`current`] reads one flag.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::tracer::{Trace, is_used};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Trace>>> = const { RefCell::new(None) };
}

/// The trace that this thread works for.
#[inline]
#[must_use]
pub fn current() -> Option<Arc<Trace>> {
    if !is_used() {
        return None;
    }
    // Absent while the thread ends.
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
}

/// Makes a trace the current one of this thread until the guard is dropped.
#[must_use]
pub fn enter(trace: Arc<Trace>) -> Entered {
    Entered { before: CURRENT.replace(Some(trace)) }
}

/// See [`enter`].
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Trace>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.replace(self.before.take());
    }
}

/// Has a future work for a trace, if there is one: for a task that goes on with a traced request.
pub async fn in_trace<F: Future>(trace: Option<Arc<Trace>>, future: F) -> F::Output {
    match trace {
        Some(trace) => InTrace::new(trace, future).await,
        None => future.await,
    }
}

/// A future whose trace is the current one while it is polled.
pub struct InTrace<F> {
    trace: Arc<Trace>,
    future: Pin<Box<F>>,
}

impl<F: Future> InTrace<F> {
    /// Has this future work for that trace.
    pub fn new(trace: Arc<Trace>, future: F) -> Self {
        Self { trace, future: Box::pin(future) }
    }
}

impl<F: Future> Future for InTrace<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let _entered = enter(Arc::clone(&self.trace));
        self.future.as_mut().poll(context)
    }
}
