//! Answers that wait for the loop's next batch to the node that asked.
//!
//! A [`Reply`] answers one request from any thread. One that is dropped tells the caller that its
//! request was given up, so that each request that arrived gives its credit back. Answers wait
//! within a bound on their bytes; beyond it only the fact that there was one leaves.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::batch::Batch;
use super::message::{Status, write_answer};

/// What waits.
#[derive(Debug, Default)]
pub(crate) struct WaitingAnswers {
    pub(crate) batch: Batch,
    /// The requests that it answers, and the credit that they took.
    pub(crate) messages: u64,
    pub(crate) request_bytes: u64,
}

impl WaitingAnswers {
    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        (self.messages, self.request_bytes) = (0, 0);
    }
}

#[derive(Debug, Default)]
struct Pending {
    waiting: WaitingAnswers,
    is_closed: bool,
    is_scheduled: bool,
}

/// What waits for one connection's next batch of answers.
pub struct Answers {
    pending: Mutex<Pending>,
    wake: Box<dyn Fn() + Send + Sync>,
    bytes_max: usize,
    body_bytes_max: usize,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl Answers {
    /// An empty one. `wake` is called, on any thread, when something waits that the loop does not
    /// know of.
    pub(crate) fn new(
        bytes_max: usize,
        body_bytes_max: usize,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self { pending: Mutex::default(), wake: Box::new(wake), bytes_max, body_bytes_max }
    }

    fn push(&self, number: u64, request_bytes: u32, mut status: Status, mut body: &[u8]) {
        let is_scheduled = {
            let Pending { waiting, is_closed, is_scheduled } = &mut *self.pending.lock();
            if *is_closed {
                return;
            }
            if body.len() > self.body_bytes_max || waiting.batch.len() + body.len() > self.bytes_max {
                (status, body) = (Status::Dropped, &[]);
            }
            write_answer(number, status, body, waiting.batch.next());
            waiting.messages += 1;
            waiting.request_bytes += u64::from(request_bytes);
            std::mem::replace(is_scheduled, true)
        };
        if !is_scheduled {
            (self.wake)();
        }
    }

    /// Answers that come from here on wake nobody: the loop takes them before it waits.
    pub(crate) fn schedule(&self) {
        self.pending.lock().is_scheduled = true;
    }

    /// Swaps what waits for `empty`.
    pub(crate) fn take(&self, empty: &mut WaitingAnswers) {
        let mut pending = self.pending.lock();
        pending.is_scheduled = false;
        std::mem::swap(&mut pending.waiting, empty);
    }

    /// Answers go nowhere any more.
    pub(crate) fn close(&self) {
        let mut pending = self.pending.lock();
        pending.is_closed = true;
        pending.waiting = WaitingAnswers::default();
    }
}

/// The right to answer one request, from any thread.
#[derive(Debug)]
pub struct Reply {
    answers: Arc<Answers>,
    number: u64,
    bytes: u32,
    is_answered: bool,
}

impl Reply {
    pub(crate) fn new(answers: &Arc<Answers>, number: u64, bytes: u32) -> Self {
        Self { answers: Arc::clone(answers), number, bytes, is_answered: false }
    }

    /// Answers. Where the answer is longer than a link carries, or too many bytes of answers wait,
    /// the caller learns that its outcome is unknown.
    pub fn answer(mut self, body: &[u8]) {
        self.send(Status::Answer, body);
    }

    /// Tells the caller that there was no room, and that nothing happened.
    pub fn busy(mut self) {
        self.send(Status::Busy, &[]);
    }

    fn send(&mut self, status: Status, body: &[u8]) {
        self.is_answered = true;
        self.answers.push(self.number, self.bytes, status, body);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_answered {
            self.send(Status::Dropped, &[]);
        }
    }
}
