//! A connection that its callers drive: no thread of its own reads answers.
//!
//! The first caller that waits *turns* the connection: it lets others submit, writes for all of
//! them, reads answers for all of them, and wakes them with one call of the kernel. While it sleeps
//! in the socket, others write themselves. A helper thread connects, writes what no caller waits for
//! after 1 ms, and turns the connection for tasks; it sleeps while callers wait.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::futex;
use rustix::time::Timespec;

use super::outbox::may_be_quiet;
use super::socket::{Address, Stream};
use super::state::{Input, Output, State};
use crate::error::Error;
use crate::protocol::{
    Answer, Arithmetic, Dialect, Expect, Key, KeyError, Limits, Removal, Retrieval, Store, Verb, arithmetic,
    delete, get, meta_get, stats, store, touch, version,
};

/// Bytes of writes that leave with the next gets.
const WRITES_BYTES: usize = 6 << 10;

/// Bytes of writes that leave although no caller waits.
const WRITES_BYTES_MAX: usize = 16 << 10;

/// Delay of a write at most, while it waits for others to leave with it.
const WRITES_DELAY: Duration = Duration::from_millis(1);

/// Values above it are answered one by one, so that an error is known to be theirs.
const QUIET_VALUE_BYTES_MAX: usize = 8 << 10;

/// After an error among quiet sets, every set is answered for this many sets.
const LOUD_SETS: u32 = 1_000;

/// Ticks of the helper without work before it parks.
const IDLE_TICKS: u32 = 20;

/// Yields before a write at most, while each brings reads of other callers.
///
/// On a core that other programs want, each may cost a slice of theirs.
const YIELDS_MAX: usize = 2;

/// Time that the helper of a dropped client waits for the last answers.
const FINISH: Duration = Duration::from_millis(200);

/// Pauses of the processor between two reads of the socket: about a microsecond.
const SPINS: usize = 30;

/// A task's deadline is kept to this.
const TASK_TICK: Duration = Duration::from_millis(5);

/// Settings of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) connect_timeout: Duration,
    pub(crate) stall: Duration,
    pub(crate) spin: Duration,
    pub(crate) backoff_min: Duration,
    pub(crate) backoff_max: Duration,
    pub(crate) value_bytes_max: usize,
    pub(crate) unsent_bytes_max: usize,
    pub(crate) operations_max: usize,
}

/// One operation.
#[derive(Clone, Copy)]
pub(crate) enum Command<'a> {
    Get(Key<'a>),
    Gets(Key<'a>),
    MetaGet(Key<'a>, &'a Retrieval),
    Store(Key<'a>, &'a [u8], &'a Store),
    Delete(Key<'a>, Removal),
    Arithmetic(Key<'a>, &'a Arithmetic),
    Touch(Key<'a>, i64),
    Statistics(&'a str),
    Version,
}

/// The handle of a connection; it closes with its last clone in the client and its pending writes.
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    settings: Settings,
    state: Mutex<State>,
    /// For the helper.
    bell: Condvar,
    input: Mutex<Input>,
    output: Mutex<Output>,
    /// Changes with each batch of answers; callers sleep on it.
    epoch: AtomicU32,
    sleepers: AtomicU32,
    /// There are reads or forced writes to send.
    has_work: AtomicBool,
    /// Reads that were submitted, modulo 2^32.
    reads: AtomicU32,
    /// Sets that are to be answered, after an error.
    loud_sets: AtomicU32,
}

impl Connection {
    pub(crate) fn new(address: Address, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                address,
                settings,
                state: Mutex::new(State::new(Instant::now())),
                bell: Condvar::new(),
                input: Mutex::default(),
                output: Mutex::default(),
                epoch: AtomicU32::new(0),
                sleepers: AtomicU32::new(0),
                has_work: AtomicBool::new(false),
                reads: AtomicU32::new(0),
                loud_sets: AtomicU32::new(0),
            }),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.shared.address
    }

    /// Connects where there is no connection yet.
    pub(crate) fn connect(&self, deadline: Instant) -> Result<Dialect, Error> {
        self.shared.link(deadline).map(|state| state.dialect)
    }

    /// Takes an operation, whose value is to come into `buffer`. Waits for a connection only.
    /// The helper is not woken for a caller that waits at once (`is_waiting`).
    pub(crate) fn submit(
        &self,
        command: Command<'_>,
        is_waiting: bool,
        buffer: Vec<u8>,
        deadline: Instant,
    ) -> Result<u32, (Error, Vec<u8>)> {
        match self.shared.admit(command, deadline) {
            Ok(state) => self.shared.enqueue(state, command, is_waiting, buffer),
            Err(error) => Err((error, buffer)),
        }
    }

    /// Writes the reads that were submitted.
    pub(crate) fn send(&self) {
        let state = self.shared.lock();
        if self.shared.has_work.swap(false, Ordering::AcqRel) {
            drop(self.shared.flush(state, false));
        }
    }

    /// Waits for an operation; the second part is its buffer.
    pub(crate) fn wait(&self, operation: u32, deadline: Instant) -> (Result<Answer, Error>, Vec<u8>) {
        let done = self.shared.wait(operation, deadline);
        self.shared.mind(&done.0);
        done
    }

    pub(crate) fn is_done(&self, operation: u32) -> bool {
        self.shared.lock().slots.is_done(operation)
    }

    pub(crate) fn abandon(&self, operation: u32) {
        self.shared.lock().slots.abandon(operation);
    }

    /// The result, or the promise to wake the task; at the deadline, a timeout.
    pub(crate) fn poll(
        &self,
        operation: u32,
        deadline: Instant,
        context: &mut Context<'_>,
    ) -> Poll<(Result<Answer, Error>, Vec<u8>)> {
        let shared = &self.shared;
        let mut state = shared.lock();
        if let Some(done) = state.slots.take(operation) {
            shared.mind(&done.0);
            return Poll::Ready(done);
        }
        if deadline <= Instant::now() {
            return Poll::Ready((Err(Error::Timeout), state.slots.abandon(operation)));
        }
        state.slots.await_by(operation, context.waker(), deadline);
        state.is_forced = true;
        shared.has_work.store(true, Ordering::Release);
        if state.is_asleep {
            drop(shared.flush(state, true));
        } else if !state.is_turning {
            shared.call_helper(&mut state);
        }
        Poll::Pending
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        // Sets that no caller waits for still leave.
        if state.stream.is_some() && state.unsent_bytes() > 0 {
            state.is_forced = true;
            state = self.shared.flush(state, true);
        }
        state.is_closed = true;
        // The helper reads what is owed and closes: a socket that is closed with unread answers in it is
        // reset, and the server may then lose what it has not read.
        self.shared.bell.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code under the lock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limits(&self) -> Limits {
        // A server that is configured with a greater limit may have stored more than we do.
        Limits { value_bytes_max: self.settings.value_bytes_max }
    }

    /// Waits until there is a connection.
    fn link(self: &Arc<Self>, deadline: Instant) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.lock();
        loop {
            if state.stream.is_some() {
                return Ok(state);
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(Error::Timeout);
            }
            if now < state.retry_at {
                return Err(state.last_error.clone());
            }
            let failures = state.failures;
            state.is_wanted = true;
            self.start_helper(&mut state)?;
            self.bell.notify_one();
            state = self.sleep(state, deadline - now);
            if state.stream.is_none() && state.failures != failures {
                return Err(state.last_error.clone());
            }
        }
    }

    /// A connection with room for the operation.
    fn admit(
        self: &Arc<Self>,
        command: Command<'_>,
        deadline: Instant,
    ) -> Result<MutexGuard<'_, State>, Error> {
        let bytes = match command {
            Command::Store(_, value, _) => value.len(),
            _ => 0,
        };
        let bytes_max = self.settings.value_bytes_max;
        if bytes > bytes_max {
            return Err(Error::TooLarge { bytes, bytes_max });
        }
        let mut state = self.link(deadline)?;
        if self.is_full(&state, bytes) {
            // The socket may not have been read for a while.
            state = self.pump(state);
            if state.stream.is_none() {
                return Err(state.last_error.clone());
            }
            if self.is_full(&state, bytes) {
                return Err(Error::Busy);
            }
        }
        let needs_meta = match command {
            Command::MetaGet(_, how) if how.vivify.is_some() || how.recache_s.is_some() => Some("recaching"),
            Command::MetaGet(..) => Some("a read with flags"),
            Command::Delete(_, Removal::Invalidate { .. }) => Some("invalidation"),
            Command::Arithmetic(_, how) if how.initial.is_some() => Some("an initial value"),
            _ => None,
        };
        match needs_meta {
            Some(what) if state.dialect == Dialect::Classic => Err(Error::NeedsMeta(what)),
            _ if state.dialect == Dialect::Classic && command.key().is_some_and(Key::is_binary) => {
                Err(KeyError::NeedsMeta.into())
            }
            _ => Ok(state),
        }
    }

    fn is_full(&self, state: &State, bytes: usize) -> bool {
        let unsent = state.unsent_bytes();
        state.slots.len() >= self.settings.operations_max
            || (unsent > 0 && unsent + bytes > self.settings.unsent_bytes_max)
    }

    /// Puts the operation where it belongs.
    fn enqueue<'a>(
        &'a self,
        mut guard: MutexGuard<'a, State>,
        command: Command<'_>,
        is_waited_for: bool,
        buffer: Vec<u8>,
    ) -> Result<u32, (Error, Vec<u8>)> {
        let state = &mut *guard;
        let dialect = state.dialect;
        let key = match command {
            Command::Get(key) | Command::Gets(key) => key.bytes(),
            _ => &[],
        };
        let operation = state.slots.begin(key, command.is_write(), buffer);
        let opaque = state.opaque();
        let outbox = &mut state.outbox;
        let pipeline = &mut state.pipeline;
        let answered = |verb| match dialect {
            Dialect::Meta => Expect::Meta { operation, opaque, verb },
            Dialect::Classic => Expect::Classic { operation, verb },
        };
        match command {
            Command::Get(key) if !key.is_binary() => outbox.add_get(operation, key, pipeline),
            Command::Gets(key) if dialect == Dialect::Classic => {
                let expect = Expect::Get { operation, is_last: true };
                outbox.add_read(Some(key), expect, pipeline, |out| get(out, true, [key]));
            }
            Command::Get(key) | Command::Gets(key) => {
                let how = Retrieval { cas: matches!(command, Command::Gets(_)), ..Retrieval::default() };
                let expect = answered(Verb::Read);
                outbox.add_read(Some(key), expect, pipeline, |out| meta_get(out, key, &how, opaque));
            }
            Command::MetaGet(key, how) => {
                let expect = answered(Verb::Read);
                outbox.add_read(Some(key), expect, pipeline, |out| meta_get(out, key, how, opaque));
            }
            Command::Statistics(group) => {
                let expect = Expect::Statistics { operation };
                outbox.add_read(None, expect, pipeline, |out| stats(out, group));
            }
            Command::Version => {
                let expect = Expect::Classic { operation, verb: Verb::Version };
                outbox.add_read(None, expect, pipeline, version);
            }
            Command::Store(key, value, how) => {
                let is_plain = how.mode == crate::protocol::Mode::Set && how.cas.is_none();
                let is_quiet = is_plain
                    && may_be_quiet(dialect)
                    && value.len() <= QUIET_VALUE_BYTES_MAX
                    && !self.is_loud();
                let expect = if is_quiet { Expect::Quiet { operation } } else { answered(Verb::Store) };
                let opaque = (!is_quiet).then_some(opaque);
                outbox.add_write(key, expect, pipeline, Instant::now(), |out| {
                    store(out, dialect, key, value, how, opaque);
                });
            }
            Command::Delete(key, how) => {
                outbox.add_write(key, answered(Verb::Delete), pipeline, Instant::now(), |out| {
                    delete(out, dialect, key, how, opaque);
                });
            }
            Command::Arithmetic(key, how) => {
                outbox.add_write(key, answered(Verb::Arithmetic), pipeline, Instant::now(), |out| {
                    arithmetic(out, dialect, key, how, opaque);
                });
            }
            Command::Touch(key, expiry) => {
                outbox.add_write(key, answered(Verb::Touch), pipeline, Instant::now(), |out| {
                    touch(out, dialect, key, expiry, opaque);
                });
            }
        }
        if !command.is_write() {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.has_work.store(true, Ordering::Release);
        }
        if outbox.write_bytes() >= WRITES_BYTES_MAX || outbox.sealed.len() >= WRITES_BYTES_MAX {
            guard = self.flush(guard, true);
        }
        if guard.is_helper_parked && guard.is_busy() && !is_waited_for {
            self.call_helper(&mut guard);
        }
        Ok(operation)
    }

    /// After an error that a set may have had, sets are answered one by one for a while.
    fn mind(&self, result: &Result<Answer, Error>) {
        if matches!(result, Err(Error::Uncertain(_) | Error::Server(_))) {
            self.loud_sets.store(LOUD_SETS, Ordering::Relaxed);
        }
    }

    /// True while sets are answered one by one, after an error that could not be attributed.
    fn is_loud(&self) -> bool {
        let left = self.loud_sets.load(Ordering::Relaxed);
        if left > 0 {
            self.loud_sets.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }

    fn wait(&self, operation: u32, deadline: Instant) -> (Result<Answer, Error>, Vec<u8>) {
        let mut state = self.lock();
        let mut is_new = true;
        loop {
            if let Some(done) = state.slots.take(operation) {
                return done;
            }
            if std::mem::take(&mut is_new) && state.slots.is_write(operation) {
                state.is_forced = true;
                self.has_work.store(true, Ordering::Release);
            }
            let now = Instant::now();
            if now >= deadline {
                return (Err(Error::Timeout), state.slots.abandon(operation));
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
            if state.is_asleep && self.has_work.swap(false, Ordering::AcqRel) {
                state = self.flush(state, false);
                continue;
            }
            state = self.sleep(state, deadline - now);
        }
    }

    /// Sleeps until answers come, a connection begins or ends, or the time is over.
    fn sleep<'a>(&'a self, state: MutexGuard<'a, State>, timeout: Duration) -> MutexGuard<'a, State> {
        let seen = self.epoch.load(Ordering::SeqCst);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        drop(state);
        let timeout = Timespec::try_from(timeout).ok();
        // Woken, changed, interrupted or over time: the caller checks.
        let _ = futex::wait(&self.epoch, futex::Flags::PRIVATE, seen, timeout.as_ref());
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        self.lock()
    }

    /// Wakes all callers that sleep, and tasks.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let woken = state.slots.woken();
        drop(state);
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _ = futex::wake(&self.epoch, futex::Flags::PRIVATE, i32::MAX as u32);
        }
        woken.into_iter().for_each(std::task::Waker::wake);
    }

    /// Writes until nothing that is due is left, or the socket takes no more.
    fn flush<'a>(&'a self, mut state: MutexGuard<'a, State>, with_writes: bool) -> MutexGuard<'a, State> {
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
            state.seal(now, is_due);
            output.fill(&mut state.outbox.sealed);
            if output.len() == 0 {
                break;
            }
            drop(state);
            let before = output.len();
            let written = output.write(&stream);
            state = self.lock();
            if state.life != life {
                break;
            }
            state.blocked_bytes = output.len();
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
    fn turn(&self, stream: &Stream, life: u64, own: Option<u32>, deadline: Instant) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.belong_to(life);
        self.let_others_submit();
        let mut spin_end = None;
        let state = loop {
            if self.has_work.swap(false, Ordering::AcqRel) {
                drop(self.flush(self.lock(), false));
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
                    if let Err(error) = state.take_in(&mut input, self.limits(), Instant::now()) {
                        self.fail(state, life, &error.into());
                        break self.lock();
                    }
                    if own.map_or(state.slots.driven == 0, |own| state.slots.is_done(own)) {
                        break state;
                    }
                    self.wake(state);
                    spin_end = None;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let now = Instant::now();
                    if now < *spin_end.get_or_insert(now + self.settings.spin) && now < deadline {
                        (0..SPINS).for_each(|_| std::hint::spin_loop());
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
                    state.is_asleep = true;
                    let is_blocked = state.blocked_bytes > 0;
                    drop(state);
                    stream.wait(is_blocked, stall_left.min(deadline - now));
                    let mut state = self.lock();
                    state.is_asleep = false;
                    if is_blocked {
                        drop(self.flush(state, false));
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
        self.wake(state);
    }

    /// Yields while other callers submit: their gets leave with ours.
    fn let_others_submit(&self) {
        let mut before = self.reads.load(Ordering::Relaxed);
        for _ in 0..YIELDS_MAX {
            thread::yield_now();
            let now = self.reads.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// One write and one read without waiting, for operations that no caller waits for.
    fn pump<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
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
            None => self.wake(state),
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

    /// Ends this life of the connection, if it is still that one.
    fn fail(&self, mut state: MutexGuard<'_, State>, life: u64, error: &Error) {
        if state.life == life {
            state.lose(error, Instant::now());
        }
        self.wake(state);
    }

    fn start_helper(self: &Arc<Self>, state: &mut State) -> Result<(), Error> {
        if state.has_helper {
            return Ok(());
        }
        let shared = Arc::clone(self);
        thread::Builder::new()
            .name("memcache".into())
            .spawn(move || shared.help())
            .map_err(|error| Error::Disconnected(format!("no thread can be started: {error}").into()))?;
        state.has_helper = true;
        Ok(())
    }

    fn call_helper(&self, state: &mut State) {
        state.is_helper_parked = false;
        self.bell.notify_one();
    }

    /// The helper thread.
    fn help(&self) {
        let mut idle = 0;
        let mut state = self.lock();
        while !state.is_closed {
            if state.stream.is_none() && state.is_wanted && !state.is_turning && !state.is_writing {
                drop(state);
                self.reconnect();
                state = self.lock();
                continue;
            }
            if state.slots.driven > 0
                && !state.is_turning
                && let Some(stream) = state.stream.clone()
            {
                state.is_turning = true;
                let life = state.life;
                drop(state);
                self.turn(&stream, life, None, Instant::now() + TASK_TICK);
                state = self.lock();
                state.slots.expire(Instant::now());
                self.wake(state);
                state = self.lock();
                continue;
            }
            let is_needed = state.is_busy() || state.is_wanted;
            idle = if is_needed { 0 } else { idle + 1 };
            if idle < IDLE_TICKS {
                state =
                    self.bell.wait_timeout(state, WRITES_DELAY).map_or_else(|e| e.into_inner().0, |w| w.0);
            } else {
                state.is_helper_parked = true;
                while state.is_helper_parked && !state.is_wanted && !state.is_closed {
                    state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.is_helper_parked = false;
                idle = 0;
                continue;
            }
            if state.slots.driven > 0 {
                state.slots.expire(Instant::now());
            }
            if state.is_busy() && (!state.is_turning || state.is_asleep) && state.stream.is_some() {
                // Nothing that comes later confirms a quiet set.
                state.is_forced |= !state.pipeline.is_owed();
                state = self.pump(state);
            }
        }
        self.finish(state);
    }

    /// Ends the connection, when the server has answered or for a moment has not.
    fn finish<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        let deadline = Instant::now() + FINISH;
        while state.stream.is_some() && state.is_busy() && Instant::now() < deadline {
            state.is_forced |= !state.pipeline.is_owed();
            state = self.pump(state);
            state = self.bell.wait_timeout(state, WRITES_DELAY).map_or_else(|e| e.into_inner().0, |w| w.0);
        }
        state.lose(&Error::Disconnected("the client is closed".into()), Instant::now());
    }

    fn reconnect(&self) {
        let settings = &self.settings;
        let connected = Stream::connect(&self.address, settings.dialect, settings.connect_timeout);
        let mut state = self.lock();
        let now = Instant::now();
        state.is_wanted = false;
        match connected {
            Ok((stream, _)) if state.is_closed => stream.shutdown(),
            Ok((stream, dialect)) => {
                state.stream = Some(Arc::new(stream));
                state.dialect = dialect;
                state.life += 1;
                state.failures = 0;
                state.progress_at = now;
            }
            Err(error) => {
                state.failures = state.failures.saturating_add(1);
                let doubled = settings.backoff_min.saturating_mul(1 << state.failures.min(16));
                let longest = doubled.min(settings.backoff_max);
                // Half of it at least: clients of one server do not come back together.
                state.retry_at = now + longest.mul_f64(0.5 + fastrand::f64() / 2.0);
                state.last_error = Error::Disconnected(format!("{}: {error}", self.address).into());
            }
        }
        self.wake(state);
    }
}

impl<'a> Command<'a> {
    pub(crate) fn key(&self) -> Option<Key<'a>> {
        match *self {
            Self::Get(key)
            | Self::Gets(key)
            | Self::MetaGet(key, _)
            | Self::Store(key, ..)
            | Self::Delete(key, _)
            | Self::Arithmetic(key, _)
            | Self::Touch(key, _) => Some(key),
            Self::Statistics(_) | Self::Version => None,
        }
    }

    fn is_write(&self) -> bool {
        matches!(self, Self::Store(..) | Self::Delete(..) | Self::Arithmetic(..) | Self::Touch(..))
    }
}

fn disconnected(error: &io::Error) -> Error {
    Error::Disconnected(error.to_string().into())
}
