//! The parts of a connection that its callers and its helper share.
//!
//! Callers sleep on one word, `epoch`, which changes with each batch of answers: one system call
//! wakes those that are done, each by its bit, and where the driver leaves one that drives on. Lock
//! order: `input` or `output` is never taken by two threads at a time, because `is_turning` and
//! `is_writing` admit one; either is taken with or without `state`.

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::thread::futex;
use rustix::time::Timespec;

use super::lossy::Sockets;
use super::settings::Settings;
use super::slots::Ended;
use super::state::{Input, Output, State};
use crate::address::Address;
use crate::error::Error;
use crate::observer::Event;
use crate::protocol::{Answer, Limits};

/// After an error among quiet sets, every set is answered for this many sets.
const LOUD_SETS: u32 = 1_000;

pub(super) struct Shared {
    pub(super) address: Address,
    /// The port for gets over UDP.
    pub(super) udp: Option<u16>,
    pub(super) sockets: Sockets,
    pub(super) settings: Settings,
    pub(super) state: Mutex<State>,
    /// For the helper.
    pub(super) bell: Condvar,
    pub(super) input: Mutex<Input>,
    pub(super) output: Mutex<Output>,
    /// Changes with each batch of answers; callers sleep on it.
    pub(super) epoch: AtomicU32,
    /// Callers that sleep until anything changes.
    pub(super) sleepers: AtomicU32,
    /// There are reads or forced writes to send.
    pub(super) has_work: AtomicBool,
    /// Reads that were submitted, modulo 2^32.
    pub(super) reads: AtomicU32,
    /// Reads that were submitted and are not sealed.
    pub(super) unsent_reads: AtomicU32,
    /// The core of the caller that turns and does not sleep, plus one; 0 where there is none.
    pub(super) turner: AtomicU32,
    /// Callers that wait.
    pub(super) waiting: AtomicU32,
    /// Callers that waited at a time, of late.
    pub(super) peak: AtomicU32,
    /// Sets that are to be answered, after an error.
    pub(super) loud_sets: AtomicU32,
}

impl Shared {
    pub(super) fn new(address: Address, udp: Option<u16>, settings: Settings) -> Self {
        let is_observed = settings.observer.is_some();
        Self {
            address,
            udp,
            sockets: Sockets::default(),
            settings,
            state: Mutex::new(State::new(Instant::now(), is_observed)),
            bell: Condvar::new(),
            input: Mutex::default(),
            output: Mutex::default(),
            epoch: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            has_work: AtomicBool::new(false),
            reads: AtomicU32::new(0),
            unsent_reads: AtomicU32::new(0),
            turner: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            peak: AtomicU32::new(0),
            loud_sets: AtomicU32::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // No code under the lock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn limits(&self) -> Limits {
        // A server that is configured with a greater limit may have stored more than we do.
        Limits { value_bytes_max: self.settings.value_bytes_max }
    }

    /// Sleeps until the operation is done, the caller is to turn, or the time is over.
    pub(super) fn sleep_for<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        operation: u32,
        deadline: Instant,
        now: Instant,
    ) -> MutexGuard<'a, State> {
        // A timer for each sleep would cost a quarter of it: the caller that drives keeps
        // deadlines.
        if !state.is_turning || (state.is_asleep && deadline < state.wakes_by) {
            return self.sleep(state, deadline - now);
        }
        let seen = self.epoch.load(Ordering::SeqCst);
        let bit = state.slots.sleep(operation, deadline);
        drop(state);
        let _ = futex::wait_bitset(&self.epoch, futex::Flags::PRIVATE, seen, None, bit);
        let mut state = self.lock();
        state.slots.awake(operation);
        state
    }

    /// Sleeps until anything changes, or the time is over.
    pub(super) fn sleep<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        timeout: Duration,
    ) -> MutexGuard<'a, State> {
        let seen = self.epoch.load(Ordering::SeqCst);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        drop(state);
        let timeout = Timespec::try_from(timeout).ok();
        // Woken, changed, interrupted or over time: the caller checks.
        let _ = futex::wait(&self.epoch, futex::Flags::PRIVATE, seen, timeout.as_ref());
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        self.lock()
    }

    /// Wakes the callers that sleep and are done, and tasks.
    pub(super) fn wake(&self, mut state: MutexGuard<'_, State>) {
        let woken = state.slots.woken();
        let linkers = std::mem::take(&mut state.linkers);
        let ended = state.slots.ended();
        let bits = state.slots.wakes();
        drop(state);
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let any = NonZeroU32::MIN;
        if let Some(bits) = bits.or((self.sleepers.load(Ordering::SeqCst) > 0).then_some(any)) {
            let _ = futex::wake_bitset(&self.epoch, futex::Flags::PRIVATE, i32::MAX as u32, bits);
        }
        woken.into_iter().chain(linkers).for_each(Waker::wake);
        self.report(&ended);
    }

    /// Hands operations that ended to the observer.
    pub(super) fn report(&self, ended: &[Ended]) {
        let Some(observer) = &self.settings.observer else { return };
        for one in ended {
            let Ended { operation, ending, key_hash, duration } = *one;
            let event = Event { operation, ending, server: &self.address, key_hash, duration };
            // The thread may be in the midst of a turn, which others wait for.
            let _ = catch_unwind(AssertUnwindSafe(|| observer.ended(&event)));
        }
    }

    /// Ends this life of the connection, if it is still that one.
    pub(super) fn fail(&self, mut state: MutexGuard<'_, State>, life: u64, error: &Error) {
        if state.life == life {
            state.lose(error, Instant::now());
        }
        self.wake(state);
    }

    /// After an error that a set may have had, sets are answered one by one for a while.
    pub(super) fn mind(&self, result: &Result<Answer, Error>) {
        if matches!(result, Err(Error::Uncertain(_) | Error::Server(_))) {
            self.loud_sets.store(LOUD_SETS, Ordering::Relaxed);
        }
    }

    /// True while sets are answered one by one, after an error that could not be attributed.
    pub(super) fn is_loud(&self) -> bool {
        let left = self.loud_sets.load(Ordering::Relaxed);
        if left > 0 {
            self.loud_sets.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }
}
