//! The helper thread of a connection: it connects, writes what no caller waits for, and turns the
//! connection for tasks. It sleeps while callers do all of it themselves.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::shared::Shared;
use super::socket::{Stream, disconnected};
use super::state::State;
use super::turn::WRITES_DELAY;
use crate::error::Error;

/// Ticks of the helper without work before it parks.
const IDLE_TICKS: u32 = 20;

/// Time that the helper of a dropped client waits for the last answers.
const FINISH: Duration = Duration::from_millis(200);

/// A task's deadline is kept to this.
const TASK_TICK: Duration = Duration::from_millis(5);

impl Shared {
    pub(super) fn start_helper(self: &Arc<Self>, state: &mut State) -> Result<(), Error> {
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

    pub(super) fn call_helper(&self, state: &mut State) {
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
        self.wake(state);
    }

    fn reconnect(&self) {
        let settings = &self.settings;
        let connected = Stream::connect(&self.address, settings);
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
                state.slots.figures.connects += 1;
                state.progress_at = now;
            }
            Err(error) => {
                state.failures = state.failures.saturating_add(1);
                state.slots.figures.connect_failures += 1;
                let doubled = settings.backoff_min.saturating_mul(1 << state.failures.min(16));
                let longest = doubled.min(settings.backoff_max);
                // Half of it at least: clients of one server do not come back together.
                state.retry_at = now + longest.mul_f64(0.5 + fastrand::f64() / 2.0);
                state.last_error = match disconnected(&error) {
                    Error::Disconnected(text) => {
                        Error::Disconnected(format!("{}: {text}", self.address).into())
                    }
                    error => error,
                };
            }
        }
        self.wake(state);
    }
}
