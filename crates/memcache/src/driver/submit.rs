//! Submission: an operation gets a connection, room, and its place among the unsent commands.
//!
//! Only the wait for a connection takes time; everything else that is not possible fails at once.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
#[cfg(feature = "tokio")]
use std::task::{Context, Poll};
use std::time::Instant;

use super::command::Command;
use super::outbox::may_be_quiet;
use super::shared::Shared;
use super::state::State;
use crate::error::Error;
use crate::metrics::Ending;
use crate::protocol::{
    Dialect, Expect, Key, KeyError, Mode, Removal, Retrieval, Verb, arithmetic, delete, get, meta_get, stats,
    store, touch, version,
};

/// Bytes of writes that leave although no caller waits.
const WRITES_BYTES_MAX: usize = 16 << 10;

/// Values above it are answered one by one, so that an error is known to be theirs.
const QUIET_VALUE_BYTES_MAX: usize = 8 << 10;

impl Shared {
    /// Waits until there is a connection.
    pub(super) fn link(self: &Arc<Self>, deadline: Instant) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.lock();
        loop {
            if state.stream.is_some() {
                return Ok(state);
            }
            let now = Instant::now();
            if now < state.retry_at {
                return Err(state.last_error.clone());
            }
            if now >= deadline {
                return Err(Error::Timeout);
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

    /// Ready when there is a connection, or when one cannot be made: `link` says why.
    #[cfg(feature = "tokio")]
    pub(super) fn poll_link(
        self: &Arc<Self>,
        failures_before: &mut Option<u32>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut state = self.lock();
        let has_failed = failures_before.is_some_and(|before| before != state.failures);
        if state.stream.is_some() || has_failed || Instant::now() < state.retry_at {
            return Poll::Ready(());
        }
        failures_before.get_or_insert(state.failures);
        if !state.linkers.iter().any(|waker| waker.will_wake(context.waker())) {
            if state.linkers.len() >= self.settings.operations_max {
                return Poll::Ready(());
            }
            state.linkers.push(context.waker().clone());
        }
        state.is_wanted = true;
        if self.start_helper(&mut state).is_err() {
            return Poll::Ready(());
        }
        self.bell.notify_one();
        Poll::Pending
    }

    /// A connection with room for the operation.
    pub(super) fn admit(
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

    /// Counts an operation that was not admitted.
    pub(super) fn refuse(&self, command: Command<'_>, begun: Instant, error: &Error) {
        let mut state = self.lock();
        let key = command.key().map_or(&[][..], Key::bytes);
        let ending = Ending::of(&Err(error.clone()));
        state.slots.note_other(command.operation(), key, command.is_write(), ending, begun.elapsed());
        let ended = state.slots.ended();
        drop(state);
        self.report(&ended);
    }

    fn is_full(&self, state: &State, bytes: usize) -> bool {
        let unsent = state.unsent_bytes();
        state.slots.len() >= self.settings.operations_max
            || (unsent > 0 && unsent + bytes > self.settings.unsent_bytes_max)
    }

    /// Puts the operation where it belongs.
    pub(super) fn enqueue<'a>(
        &'a self,
        mut guard: MutexGuard<'a, State>,
        command: Command<'_>,
        begun: Instant,
        is_waited_for: bool,
        buffer: Vec<u8>,
    ) -> Result<u32, (Error, Vec<u8>)> {
        let state = &mut *guard;
        let dialect = state.dialect;
        let key = match command {
            Command::Get(key) | Command::Gets(key) => key.bytes(),
            _ => &[],
        };
        let operation = state.slots.begin(&command, begun, key, buffer);
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
                let is_plain = how.mode == Mode::Set && how.cas.is_none();
                let is_quiet = is_plain
                    && may_be_quiet(dialect)
                    && value.len() <= QUIET_VALUE_BYTES_MAX
                    && !self.is_loud();
                let expect = if is_quiet { Expect::Quiet { operation } } else { answered(Verb::Store) };
                let opaque = (!is_quiet).then_some(opaque);
                outbox.add_write(key, expect, pipeline, begun, |out| {
                    store(out, dialect, key, value, how, opaque);
                });
            }
            Command::Delete(key, how) => {
                outbox.add_write(key, answered(Verb::Delete), pipeline, begun, |out| {
                    delete(out, dialect, key, how, opaque);
                });
            }
            Command::Arithmetic(key, how) => {
                outbox.add_write(key, answered(Verb::Arithmetic), pipeline, begun, |out| {
                    arithmetic(out, dialect, key, how, opaque);
                });
            }
            Command::Touch(key, expiry) => {
                outbox.add_write(key, answered(Verb::Touch), pipeline, begun, |out| {
                    touch(out, dialect, key, expiry, opaque);
                });
            }
        }
        if !command.is_write() {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.unsent_reads.fetch_add(1, Ordering::Relaxed);
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
}
