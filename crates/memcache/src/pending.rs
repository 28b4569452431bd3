//! An operation that was submitted and need not be waited for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::error::Error;
use crate::protocol::Answer;
use crate::server::Server;

/// The result of an operation that is on its way.
///
/// [`wait`](Self::wait) waits for it, and so does a task that awaits it, on any executor. Dropped, it
/// goes on and its result is lost: that is the ordinary use of a set. One that is kept holds one of
/// [`Config::operations_max`](crate::Config::operations_max) operations, also when it is done.
#[must_use = "a write goes on when this is dropped, but its error is lost; `.ignore()` says that it may be"]
pub struct Pending<T> {
    server: Arc<Server>,
    /// `None` when the result was taken.
    operation: Option<u32>,
    deadline: Instant,
    convert: fn(Answer, Vec<u8>) -> Result<T, Error>,
}

impl<T> Pending<T> {
    pub(crate) fn new(
        server: Arc<Server>,
        operation: u32,
        deadline: Instant,
        convert: fn(Answer, Vec<u8>) -> Result<T, Error>,
    ) -> Self {
        Self { server, operation: Some(operation), deadline, convert }
    }

    /// Waits for the result, at most until the deadline of the operation: its submission plus
    /// [`Config::timeout`](crate::Config::timeout).
    ///
    /// # Errors
    ///
    /// Those of the operation, and [`Error::Timeout`] at the deadline.
    pub fn wait(mut self) -> Result<T, Error> {
        let Some(operation) = self.operation.take() else { return Err(TAKEN) };
        let (result, value) = self.server.connection.wait(operation, self.deadline);
        self.finish(result, value)
    }

    /// True when the result is there, so that [`wait`](Self::wait) returns at once. It does no I/O: an
    /// answer that was not read yet is not there. One that no caller waits for is read after some
    /// 2 ms.
    pub fn is_done(&self) -> bool {
        self.operation.is_none_or(|operation| self.server.connection.is_done(operation))
    }

    fn finish(&self, result: Result<Answer, Error>, mut value: Vec<u8>) -> Result<T, Error> {
        self.server.note(&result);
        let mut answer = result?;
        self.server.expand(&mut answer, &mut value)?;
        (self.convert)(answer, value)
    }

    /// Lets it go on; its result is lost.
    pub fn ignore(self) {}
}

/// The result was taken before: a future is not polled again after it was ready.
const TAKEN: Error = Error::Timeout;

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(operation) = this.operation else { return Poll::Ready(Err(TAKEN)) };
        match this.server.connection.poll(operation, this.deadline, context) {
            Poll::Ready((result, value)) => {
                this.operation = None;
                Poll::Ready(this.finish(result, value))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(operation) = self.operation.take() {
            self.server.connection.abandon(operation);
        }
    }
}
