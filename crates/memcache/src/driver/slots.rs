//! Operations from their submission until the caller takes the result.
//!
//! A slot is used again, with the capacity of its buffers: a warm operation allocates nothing. The
//! caller's buffer lies in the slot while it waits, so a value is copied once.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::command::Command;
use crate::error::Error;
use crate::hash::fnv1a;
use crate::metrics::{Ending, Figures, Operation};
use crate::protocol::{Answer, Key, Refusal, Sink};

/// Room for a key that a slot has from its beginning: most keys are shorter.
const KEY_BYTES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Free,
    Waiting,
    /// Nobody takes the result: the slot is free when the answer came.
    Abandoned,
    Done,
}

/// An operation that ended, for the observer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) operation: Operation,
    pub(super) ending: Ending,
    pub(super) key_hash: u64,
    pub(super) duration: Duration,
}

#[derive(Debug)]
struct Slot {
    phase: Phase,
    operation: Operation,
    begun: Instant,
    /// Zero without an observer.
    key_hash: u64,
    /// Its ending was noted: the caller did not wait for the answer.
    is_noted: bool,
    /// It changes something, and may be quiet.
    is_write: bool,
    /// The key of a classic `get`, as it was sent.
    key: Vec<u8>,
    value: Vec<u8>,
    result: Option<Result<Answer, Error>>,
    waker: Option<Waker>,
    /// The time at which a task stops waiting; the helper thread checks it.
    deadline: Option<Instant>,
    /// Its caller sleeps.
    sleep: Option<Sleep>,
}

/// The sleep of a caller whose operation is not done.
#[derive(Debug)]
struct Sleep {
    /// The caller that drives wakes it by that time.
    until: Instant,
    /// Its place in [`Slots::sleepers`].
    place: usize,
}

/// All operations of a connection.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Tasks to wake, when no lock is held.
    woken: Vec<Waker>,
    /// Slots with a waker.
    pub(super) driven: usize,
    /// Slots that are not done and whose callers sleep.
    sleepers: Vec<u32>,
    /// The bits of sleepers to wake, when the lock is released.
    wakes: u32,
    /// A sleeper that is woken to drive, and does not run yet.
    heir: Option<u32>,
    /// No sleeper's time is over before it.
    earliest: Option<Instant>,
    /// The time of what happens, set by the caller.
    pub(super) now: Instant,
    pub(super) figures: Figures,
    is_observed: bool,
    /// Operations to report, when no lock is held; none without an observer.
    ended: Vec<Ended>,
}

impl Slot {
    fn new(begun: Instant) -> Self {
        Self {
            phase: Phase::Free,
            operation: Operation::Get,
            begun,
            key_hash: 0,
            is_noted: false,
            is_write: false,
            key: Vec::with_capacity(KEY_BYTES),
            value: Vec::new(),
            result: None,
            waker: None,
            deadline: None,
            sleep: None,
        }
    }
}

impl Slots {
    pub(super) fn new(now: Instant, is_observed: bool) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            woken: Vec::new(),
            driven: 0,
            sleepers: Vec::new(),
            wakes: 0,
            heir: None,
            earliest: None,
            now,
            figures: Figures::default(),
            is_observed,
            ended: Vec::new(),
        }
    }

    /// A slot for an operation whose value is to come into `buffer`.
    pub(super) fn begin(
        &mut self,
        command: &Command<'_>,
        begun: Instant,
        key: &[u8],
        buffer: Vec<u8>,
    ) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new(begun));
            self.slots.len() as u32 - 1
        });
        let key_hash = self.key_hash(command);
        let slot = &mut self.slots[index as usize];
        slot.phase = Phase::Waiting;
        slot.operation = command.operation();
        slot.is_write = command.is_write();
        slot.begun = begun;
        slot.key_hash = key_hash;
        slot.is_noted = false;
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

    /// The caller's time is over: it leaves.
    pub(super) fn time_out(&mut self, index: u32, now: Instant) -> Vec<u8> {
        self.now = now;
        self.note(index, Ending::Timeout);
        self.abandon(index)
    }

    /// An operation ends that has no slot.
    pub(super) fn note_other(
        &mut self,
        operation: Operation,
        key: &[u8],
        is_write: bool,
        ending: Ending,
        duration: Duration,
    ) {
        self.figures.note(operation, ending, is_write, duration);
        if self.is_observed {
            self.ended.push(Ended { operation, ending, key_hash: fnv1a(key), duration });
        }
    }

    fn key_hash(&self, command: &Command<'_>) -> u64 {
        if self.is_observed { fnv1a(command.key().map_or(&[][..], Key::bytes)) } else { 0 }
    }

    fn note(&mut self, index: u32, ending: Ending) {
        let slot = &mut self.slots[index as usize];
        if std::mem::replace(&mut slot.is_noted, true) {
            return;
        }
        let duration = self.now.saturating_duration_since(slot.begun);
        self.figures.note(slot.operation, ending, slot.is_write, duration);
        if self.is_observed {
            let Slot { operation, key_hash, .. } = *slot;
            self.ended.push(Ended { operation, ending, key_hash, duration });
        }
    }

    /// The operations to report, once the lock is released.
    pub(super) fn ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
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

    /// The caller of the operation sleeps until its bit, which this returns, is woken.
    pub(super) fn sleep(&mut self, index: u32, until: Instant) -> NonZeroU32 {
        self.slots[index as usize].sleep = Some(Sleep { until, place: self.sleepers.len() });
        self.sleepers.push(index);
        self.earliest = Some(self.earliest.map_or(until, |earliest| earliest.min(until)));
        bit(index)
    }

    /// The caller of the operation is awake, or is to be. Returns whether it slept until now.
    pub(super) fn awake(&mut self, index: u32) -> bool {
        let Some(Sleep { place, .. }) = self.slots[index as usize].sleep.take() else { return false };
        self.sleepers.swap_remove(place);
        if let Some(&moved) = self.sleepers.get(place)
            && let Some(sleep) = &mut self.slots[moved as usize].sleep
        {
            sleep.place = place;
        }
        self.heir.take_if(|heir| *heir == index);
        true
    }

    /// Nobody drives: a caller that sleeps is woken to do it.
    pub(super) fn hand_over(&mut self) {
        if self.heir.is_none()
            && let Some(&heir) = self.sleepers.first()
        {
            self.heir = Some(heir);
            self.wakes |= bit(heir).get();
        }
    }

    /// The time at which a sleeper is to be woken although nothing came.
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.earliest
    }

    /// Wakes the sleepers whose time is over: they find that out themselves.
    pub(super) fn expire_sleepers(&mut self, now: Instant) {
        if self.earliest.is_none_or(|earliest| now < earliest) {
            return;
        }
        self.earliest = None;
        for &index in &self.sleepers {
            let Some(Sleep { until, .. }) = self.slots[index as usize].sleep else { continue };
            if until <= now {
                self.wakes |= bit(index).get();
            } else {
                self.earliest = Some(self.earliest.map_or(until, |earliest| earliest.min(until)));
            }
        }
    }

    pub(super) fn has_wakes(&self) -> bool {
        self.wakes != 0
    }

    /// The bits of the sleepers to wake, once the lock is released.
    pub(super) fn wakes(&mut self) -> Option<NonZeroU32> {
        NonZeroU32::new(std::mem::take(&mut self.wakes))
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
        self.note(index, Ending::of(&result));
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
                if self.awake(index) {
                    self.wakes |= bit(index).get();
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
        self.finish(operation, answer.map_err(refused));
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

/// Its caller is woken by it. Callers of two operations may share a bit: one wakes in vain then.
fn bit(index: u32) -> NonZeroU32 {
    NonZeroU32::new(1 << (index % u32::BITS)).unwrap_or(NonZeroU32::MIN)
}

/// The error of a refused operation.
pub(super) fn refused(refusal: Refusal<'_>) -> Error {
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
    fn an_operation_is_counted_in_less_than_20_ns() {
        const COUNTED: u32 = 100_000;
        let begun = Instant::now();
        let mut slots = Slots::new(begun, false);
        let get = Command::Get(Key::new(b"key").unwrap());
        let index = slots.begin(&get, begun, b"key", Vec::new());
        let mut cost = || {
            let begun = Instant::now();
            for count in 0..COUNTED {
                // Times of many buckets.
                slots.now = begun + Duration::from_nanos(u64::from(count) << 5);
                slots.slots[index as usize].is_noted = false;
                slots.note(index, Ending::Done);
            }
            begun.elapsed() / COUNTED
        };
        // The least of several: other programs only add to it.
        let least = (0..50).map(|_| cost()).min().unwrap();
        println!("an operation is counted in {least:?}");
        assert!(least < Duration::from_nanos(20), "{least:?}");
        assert_eq!(slots.figures.count(Operation::Get, Ending::Done), 50 * u64::from(COUNTED));
    }

    #[test]
    fn slots_are_used_again_and_an_abandoned_one_only_after_its_answer() {
        let now = Instant::now();
        let mut slots = Slots::new(now, false);
        let begin = |slots: &mut Slots, key: &[u8]| {
            slots.begin(&Command::Get(Key::new(key).unwrap()), now, key, Vec::new())
        };
        let first = begin(&mut slots, b"a");
        slots.done(first, Ok(Answer::default()), b"value");
        let (result, value) = slots.take(first).unwrap();
        assert_eq!((result, value.as_slice()), (Ok(Answer::default()), &b"value"[..]));
        assert!(slots.take(first).is_none());

        let second = begin(&mut slots, b"b");
        assert_eq!(second, first);
        slots.abandon(second);
        assert_eq!(slots.len(), 1);
        let third = begin(&mut slots, b"c");
        assert_ne!(third, second);
        slots.done(second, Ok(Answer::default()), b"late");
        assert_eq!(slots.len(), 1);
        assert_eq!(slots.key(third), b"c");
    }
}
