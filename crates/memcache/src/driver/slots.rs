//! Operations from their submission until the caller takes the result.
//!
//! A slot is used again, with the capacity of its buffers: a warm operation allocates nothing. The
//! caller's buffer lies in the slot while it waits, so a value is copied once.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::error::Error;
use crate::protocol::{Answer, Refusal, Sink};

/// Room for a key that a slot has from its beginning: most keys are shorter.
const KEY_BYTES: usize = 64;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Free,
    Waiting,
    /// Nobody takes the result: the slot is free when the answer came.
    Abandoned,
    Done,
}

#[derive(Debug, Default)]
struct Slot {
    phase: Phase,
    /// It changes something, and may be quiet.
    is_write: bool,
    /// The key of a classic `get`, as it was sent.
    key: Vec<u8>,
    value: Vec<u8>,
    result: Option<Result<Answer, Error>>,
    waker: Option<Waker>,
    /// The time at which a task stops waiting; the helper thread checks it.
    deadline: Option<Instant>,
}

/// All operations of a connection.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Tasks to wake, when no lock is held.
    woken: Vec<Waker>,
    /// Slots with a waker.
    pub(super) driven: usize,
}

impl Slots {
    /// A slot for an operation whose value is to come into `buffer`.
    pub(super) fn begin(&mut self, key: &[u8], is_write: bool, buffer: Vec<u8>) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { key: Vec::with_capacity(KEY_BYTES), ..Slot::default() });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.phase = Phase::Waiting;
        slot.is_write = is_write;
        slot.key.clear();
        slot.key.extend_from_slice(key);
        slot.value = buffer;
        slot.value.clear();
        index
    }

    /// Operations that are waiting, done and not taken, or abandoned.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn is_done(&self, index: u32) -> bool {
        self.slots[index as usize].phase == Phase::Done
    }

    pub(super) fn is_write(&self, index: u32) -> bool {
        self.slots[index as usize].is_write
    }

    /// The result and the buffer of an operation that is done; the slot is free then.
    pub(super) fn take(&mut self, index: u32) -> Option<(Result<Answer, Error>, Vec<u8>)> {
        let slot = &mut self.slots[index as usize];
        if slot.phase != Phase::Done {
            return None;
        }
        let result = slot.result.take()?;
        let value = std::mem::take(&mut slot.value);
        slot.phase = Phase::Free;
        self.free.push(index);
        Some((result, value))
    }

    /// The caller leaves. Returns its buffer.
    pub(super) fn abandon(&mut self, index: u32) -> Vec<u8> {
        self.forget_waker(index);
        let slot = &mut self.slots[index as usize];
        let buffer = std::mem::take(&mut slot.value);
        if slot.phase == Phase::Done {
            slot.result = None;
            slot.phase = Phase::Free;
            self.free.push(index);
        } else {
            slot.phase = Phase::Abandoned;
        }
        buffer
    }

    /// The task to wake when the operation is done, and when it stops waiting.
    pub(super) fn await_by(&mut self, index: u32, waker: &Waker, deadline: Instant) {
        let slot = &mut self.slots[index as usize];
        self.driven += usize::from(slot.waker.is_none());
        slot.deadline = Some(deadline);
        match &mut slot.waker {
            Some(kept) => kept.clone_from(waker),
            None => slot.waker = Some(waker.clone()),
        }
    }

    fn forget_waker(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.deadline = None;
        self.driven -= usize::from(slot.waker.take().is_some());
    }

    /// Wakes the tasks whose deadline passed: they find that out themselves.
    pub(super) fn expire(&mut self, now: Instant) {
        for slot in &mut self.slots {
            if slot.deadline.is_some_and(|deadline| deadline <= now)
                && let Some(waker) = slot.waker.take()
            {
                slot.deadline = None;
                self.driven -= 1;
                self.woken.push(waker);
            }
        }
    }

    /// Ends every waiting operation.
    pub(super) fn fail_all(&mut self, error: &Error) {
        for index in 0..self.slots.len() as u32 {
            if matches!(self.slots[index as usize].phase, Phase::Waiting | Phase::Abandoned) {
                self.finish(index, Err(error.clone()));
            }
        }
    }

    /// The tasks to wake, once the lock is released.
    pub(super) fn woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    fn finish(&mut self, index: u32, result: Result<Answer, Error>) {
        let slot = &mut self.slots[index as usize];
        match slot.phase {
            Phase::Waiting => {
                slot.phase = Phase::Done;
                slot.result = Some(result);
                slot.deadline = None;
                if let Some(waker) = slot.waker.take() {
                    self.driven -= 1;
                    self.woken.push(waker);
                }
            }
            Phase::Abandoned => {
                slot.phase = Phase::Free;
                self.free.push(index);
            }
            Phase::Free | Phase::Done => debug_assert!(false, "an operation is done once"),
        }
    }
}

impl Sink for Slots {
    fn key(&self, operation: u32) -> &[u8] {
        &self.slots[operation as usize].key
    }

    fn done(&mut self, operation: u32, answer: Result<Answer, Refusal<'_>>, value: &[u8]) {
        let slot = &mut self.slots[operation as usize];
        if slot.phase == Phase::Waiting {
            slot.value.extend_from_slice(value);
        }
        self.finish(operation, answer.map_err(error));
    }

    fn statistic(&mut self, operation: u32, name: &[u8], value: &[u8]) {
        let slot = &mut self.slots[operation as usize];
        if slot.phase == Phase::Waiting {
            slot.value.extend_from_slice(name);
            slot.value.push(b' ');
            slot.value.extend_from_slice(value);
            slot.value.push(b'\n');
        }
    }
}

fn error(refusal: Refusal<'_>) -> Error {
    let text = |text: &[u8]| -> Arc<str> { String::from_utf8_lossy(text).into() };
    match refusal {
        Refusal::Unknown(_) => Error::Client("the server does not know the command".into()),
        Refusal::Client(bytes) => Error::Client(text(bytes)),
        Refusal::Server(bytes) => Error::Server(text(bytes)),
        Refusal::Uncertain(bytes) => Error::Uncertain(text(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_an_abandoned_one_only_after_its_answer() {
        let mut slots = Slots::default();
        let first = slots.begin(b"a", false, Vec::new());
        slots.done(first, Ok(Answer::default()), b"value");
        let (result, value) = slots.take(first).unwrap();
        assert_eq!((result, value.as_slice()), (Ok(Answer::default()), &b"value"[..]));
        assert!(slots.take(first).is_none());

        let second = slots.begin(b"b", false, Vec::new());
        assert_eq!(second, first);
        slots.abandon(second);
        assert_eq!(slots.len(), 1);
        let third = slots.begin(b"c", false, Vec::new());
        assert_ne!(third, second);
        slots.done(second, Ok(Answer::default()), b"late");
        assert_eq!(slots.len(), 1);
        assert_eq!(slots.key(third), b"c");
    }
}
