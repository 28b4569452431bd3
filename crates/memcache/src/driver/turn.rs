//! Turns of a connection: a caller that waits writes and reads for all callers.
//!
//! `is_turning` admits one reader and `is_writing` one writer. While the reader sleeps in the socket,
//! the others write themselves.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::shared::Shared;
use super::socket::{Stream, disconnected};
use super::state::{Input, State};
use crate::error::Error;
use crate::protocol::Answer;

/// Bytes of writes that leave with the next gets.
const WRITES_BYTES: usize = 6 << 10;

/// Delay of a write at most, while it waits for others to leave with it.
pub(super) const WRITES_DELAY: Duration = Duration::from_millis(1);

/// Yields before a write at most, while each brings reads of other callers.
///
/// On a core that other programs want, each may cost a slice of theirs.
const YIELDS_MAX: usize = 6;

/// A yield that took longer gave the core to another program.
const YIELD_LONG: Duration = Duration::from_millis(1);

/// After so many batches of answers, one caller fewer is expected to wait at a time.
const PEAK_BATCHES: u32 = 64;

/// Pauses of the processor between two looks at what callers submit: about a microsecond.
const SPINS: usize = 30;

/// Between two looks at the socket, from the time on at which an answer is usual.
const BETWEEN_LOOKS: Duration = Duration::from_micros(4);

/// A wait for the server.
struct Silence {
    since: Instant,
    /// Looks at the socket in vain, after the first one that began it.
    looks: u32,
    has_slept: bool,
    has_yielded: bool,
}

/// The core that the thread runs on, plus one.
fn own_core() -> u32 {
    u32::try_from(rustix::thread::sched_getcpu()).map_or(0, |core| core + 1)
}

impl Shared {
    pub(super) fn wait(&self, operation: u32, deadline: Instant) -> (Result<Answer, Error>, Vec<u8>) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let done = self.wait_here(operation, deadline);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        done
    }

    fn wait_here(&self, operation: u32, deadline: Instant) -> (Result<Answer, Error>, Vec<u8>) {
        let mut state = self.lock();
        let mut is_new = true;
        let mut may_yield = true;
        loop {
            if let Some(done) = state.slots.take(operation) {
                self.leave(state);
                return done;
            }
            if std::mem::take(&mut is_new) && state.slots.is_write(operation) {
                state.is_forced = true;
                self.has_work.store(true, Ordering::Release);
            }
            let now = Instant::now();
            if now >= deadline {
                let buffer = state.slots.time_out(operation, now);
                let ended = state.slots.ended();
                self.leave(state);
                self.report(&ended);
                return (Err(Error::Timeout), buffer);
            }
            if !state.is_turning
                && let Some(stream) = state.stream.clone()
            {
                state.is_turning = true;
                let life = state.life;
                drop(state);
                self.turn(&stream, life, Some(operation), deadline);
                state = self.lock();
                continue;
            }
            if (state.is_asleep || self.is_everyone_in()) && self.has_work.swap(false, Ordering::AcqRel) {
                state = self.flush(state, false);
                continue;
            }
            let core = self.turner.load(Ordering::Relaxed);
            if may_yield && state.is_turning && core == own_core() {
                (state, may_yield) = self.yield_to(state, core, now);
                continue;
            }
            state = self.sleep_for(state, operation, deadline, now);
        }
    }

    /// Lets the caller that turns on this core go on, until it has answers, sleeps or leaves: half the
    /// cost of being woken. Returns whether that was soon: where other programs want the core, it is
    /// better to sleep.
    fn yield_to<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        core: u32,
        begun: Instant,
    ) -> (MutexGuard<'a, State>, bool) {
        let seen = self.epoch.load(Ordering::SeqCst);
        state.yielders += 1;
        drop(state);
        let mut now = begun;
        let mut is_soon = true;
        while is_soon
            && self.epoch.load(Ordering::Acquire) == seen
            && self.turner.load(Ordering::Acquire) == core
        {
            thread::yield_now();
            let before = std::mem::replace(&mut now, Instant::now());
            is_soon = now - before < YIELD_LONG;
        }
        let mut state = self.lock();
        state.yielders -= 1;
        (state, is_soon)
    }

    /// A caller leaves, who may have been woken to turn.
    fn leave(&self, mut state: MutexGuard<'_, State>) {
        if !state.is_turning && state.yielders == 0 && state.stream.is_some() {
            state.slots.hand_over();
            if state.slots.has_wakes() {
                self.wake(state);
            }
        }
    }

    /// Writes until nothing that is due is left, or the socket takes no more.
    pub(super) fn flush<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        with_writes: bool,
    ) -> MutexGuard<'a, State> {
        let Some(stream) = state.stream.clone() else { return state };
        if state.is_writing {
            return state;
        }
        state.is_writing = true;
        let life = state.life;
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.belong_to(life);
        let mut with_writes = with_writes;
        loop {
            let now = Instant::now();
            let is_due = with_writes
                || state.outbox.write_bytes() >= WRITES_BYTES
                || state.outbox.written_at().is_some_and(|at| now - at >= WRITES_DELAY);
            with_writes = false;
            self.unsent_reads.store(0, Ordering::Relaxed);
            state.seal(now, is_due);
            output.fill(&mut state.outbox.sealed);
            if output.len() == 0 && !stream.is_blocked() {
                break;
            }
            drop(state);
            let before = output.len();
            let written = output.write(&stream);
            state = self.lock();
            let bytes = before - output.len();
            state.slots.figures.sends += u64::from(bytes > 0);
            state.slots.figures.bytes_sent += bytes as u64;
            if state.life != life {
                break;
            }
            // With TLS, bytes may be taken and not be written.
            state.blocked_bytes = output.len().max(usize::from(written.is_err()));
            match written {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if output.len() < before {
                        state.progress_at = now;
                    }
                    break;
                }
                Err(error) => {
                    state.is_writing = false;
                    // Another may write for the next life as soon as the state is unlocked.
                    drop(output);
                    self.fail(state, life, &disconnected(&error));
                    return self.lock();
                }
            }
        }
        state.is_writing = false;
        state
    }

    /// Reads answers until the caller's own has come, its deadline passed, or the connection ended.
    /// `is_turning` is set, and is cleared here.
    pub(super) fn turn(&self, stream: &Stream, life: u64, own: Option<u32>, deadline: Instant) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.belong_to(life);
        let core = own_core();
        self.turner.store(core, Ordering::Release);
        let mut silence: Option<Silence> = None;
        let state = loop {
            if self.has_work.load(Ordering::Acquire) {
                self.let_others_submit();
                if self.has_work.swap(false, Ordering::AcqRel) {
                    drop(self.flush(self.lock(), false));
                }
            }
            match input.read(stream) {
                Ok(0) => {
                    self.fail(self.lock(), life, &Error::Disconnected("the server closed it".into()));
                    break self.lock();
                }
                Ok(_) => {
                    let mut state = self.lock();
                    if state.life != life {
                        break state;
                    }
                    let now = Instant::now();
                    self.note_peak(&mut input);
                    if let Err(error) = state.take_in(&mut input, self.limits(), now) {
                        self.fail(state, life, &error.into());
                        break self.lock();
                    }
                    // Also where the server sends on without an end: another caller drives then.
                    if now >= deadline {
                        break state;
                    }
                    state.slots.expire_sleepers(now);
                    if own.map_or(state.slots.driven == 0, |own| state.slots.is_done(own)) {
                        break state;
                    }
                    self.wake(state);
                    if let Some(silence) = silence.take()
                        && !silence.has_slept
                        && !silence.has_yielded
                    {
                        input.turnaround.answered(now - silence.since, silence.looks == 1);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let now = Instant::now();
                    let silence = silence.get_or_insert(Silence {
                        since: now,
                        looks: 0,
                        has_slept: false,
                        has_yielded: false,
                    });
                    let spin_end = silence.since + self.settings.spin;
                    if now < spin_end && now < deadline {
                        if self.is_anyone_out() {
                            thread::yield_now();
                            silence.has_yielded = true;
                            continue;
                        }
                        let look = match silence.looks {
                            0 => input.turnaround.first_look(silence.since, self.settings.spin),
                            _ => now + BETWEEN_LOOKS,
                        };
                        if self.spin_until(look.min(deadline)) {
                            silence.looks += 1;
                        }
                        continue;
                    }
                    let mut state = self.lock();
                    let is_over = now >= deadline || own.is_some_and(|own| state.slots.is_done(own));
                    if is_over || state.life != life {
                        break state;
                    }
                    let Some(stall_left) = self.stall_left(&state, now) else {
                        self.fail(state, life, &self.stalled());
                        break self.lock();
                    };
                    if self.has_work.load(Ordering::Acquire) {
                        continue;
                    }
                    let earliest = state.slots.earliest().unwrap_or(deadline);
                    let longest = stall_left.min(deadline.min(earliest).saturating_duration_since(now));
                    state.is_asleep = true;
                    self.turner.store(0, Ordering::Release);
                    state.wakes_by = now + longest;
                    silence.has_slept = true;
                    let is_blocked = state.blocked_bytes > 0;
                    drop(state);
                    stream.wait(is_blocked, longest);
                    let mut state = self.lock();
                    state.is_asleep = false;
                    self.turner.store(core, Ordering::Release);
                    state.slots.expire_sleepers(Instant::now());
                    if is_blocked {
                        state = self.flush(state, false);
                    }
                    if state.slots.has_wakes() {
                        self.wake(state);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fail(self.lock(), life, &disconnected(&error));
                    break self.lock();
                }
            }
        };
        drop(input);
        let mut state = state;
        state.is_turning = false;
        self.turner.store(0, Ordering::Release);
        if state.yielders == 0 {
            state.slots.hand_over();
        }
        self.wake(state);
    }

    /// Spins until that time; whether nobody had work before it.
    fn spin_until(&self, look: Instant) -> bool {
        loop {
            (0..SPINS).for_each(|_| std::hint::spin_loop());
            if self.has_work.load(Ordering::Acquire) {
                return false;
            }
            if Instant::now() >= look {
                return true;
            }
        }
    }

    /// Keeps how many callers wait at a time.
    fn note_peak(&self, input: &mut Input) {
        input.batches = (input.batches + 1) % PEAK_BATCHES;
        let peak = self.peak.load(Ordering::Relaxed).saturating_sub(u32::from(input.batches == 0));
        self.peak.store(peak.max(self.waiting.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// As many callers have submitted as wait at a time: there is nobody to wait for.
    fn is_everyone_in(&self) -> bool {
        self.unsent_reads.load(Ordering::Relaxed) >= self.peak.load(Ordering::Relaxed).max(1)
    }

    /// A caller has its answer and does not wait for the next one yet.
    fn is_anyone_out(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < self.peak.load(Ordering::Relaxed)
    }

    /// Yields while other callers submit: their gets leave with ours.
    fn let_others_submit(&self) {
        let mut before = self.reads.load(Ordering::Relaxed);
        for _ in 0..YIELDS_MAX {
            thread::yield_now();
            // The last one who submits writes for all where the driver does not run yet.
            if self.is_everyone_in() || !self.has_work.load(Ordering::Acquire) {
                return;
            }
            let now = self.reads.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// One write and one read without waiting, for operations that no caller waits for.
    pub(super) fn pump<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut state = self.flush(state, true);
        let Some(stream) = state.stream.clone() else { return state };
        if state.is_turning {
            return state;
        }
        state.is_turning = true;
        let life = state.life;
        let is_stalled = self.stall_left(&state, Instant::now()).is_none();
        drop(state);
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.belong_to(life);
        let read = input.read(&stream);
        let mut state = self.lock();
        let failure = match read {
            Ok(0) => Some(Error::Disconnected("the server closed it".into())),
            Ok(_) if state.life == life => {
                state.take_in(&mut input, self.limits(), Instant::now()).err().map(Error::from)
            }
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_stalled.then(|| self.stalled()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(error) => Some(disconnected(&error)),
        };
        drop(input);
        state.is_turning = false;
        match failure {
            Some(error) => self.fail(state, life, &error),
            None => {
                state.slots.hand_over();
                self.wake(state);
            }
        }
        self.lock()
    }

    /// Time for which the server may still be silent; `None` when it has been for too long.
    fn stall_left(&self, state: &State, now: Instant) -> Option<Duration> {
        if !state.pipeline.is_owed() && state.blocked_bytes == 0 {
            return Some(self.settings.stall);
        }
        let silent = now.saturating_duration_since(state.progress_at);
        self.settings.stall.checked_sub(silent).filter(|left| !left.is_zero())
    }

    fn stalled(&self) -> Error {
        Error::Disconnected(format!("the server sent nothing for {:?}", self.settings.stall).into())
    }
}
