//! All that the lock of a connection guards, and the buffers beside it.
//!
//! Nothing here reads a clock or waits; when to do what is in [`super::connection`].

use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::outbox::Outbox;
use super::slots::Slots;
use super::socket::Stream;
use crate::error::Error;
use crate::protocol::{Dialect, Limits, Pipeline, ProtocolError};

/// The capacity that a buffer keeps when it is empty. One large value makes it grow further.
const KEPT_BYTES: usize = 256 << 10;

/// Bytes that a read asks for at least.
const READ_BYTES_MIN: usize = 16 << 10;

pub(super) struct State {
    pub(super) slots: Slots,
    pub(super) pipeline: Pipeline,
    pub(super) outbox: Outbox,
    pub(super) stream: Option<Arc<Stream>>,
    /// Grows with each connect and each loss: what belongs to an older life is ignored.
    pub(super) life: u64,
    pub(super) dialect: Dialect,
    /// A caller reads the socket.
    pub(super) is_turning: bool,
    /// That caller sleeps: others write themselves.
    pub(super) is_asleep: bool,
    /// Callers that yield the core to the one that turns.
    pub(super) yielders: u32,
    /// It wakes at that time at the latest.
    pub(super) wakes_by: Instant,
    /// A thread writes, and checks for more before it leaves.
    pub(super) is_writing: bool,
    /// Bytes that the socket did not take.
    pub(super) blocked_bytes: usize,
    /// A caller waits for a write: everything leaves now, confirmed.
    pub(super) is_forced: bool,
    /// A caller waits for a connection.
    pub(super) is_wanted: bool,
    /// Tasks that wait for a connection.
    pub(super) linkers: Vec<Waker>,
    pub(super) is_closed: bool,
    pub(super) has_helper: bool,
    pub(super) is_helper_parked: bool,
    /// Connects that failed one after the other.
    pub(super) failures: u32,
    /// No connect before it.
    pub(super) retry_at: Instant,
    pub(super) last_error: Error,
    /// The time at which the server last sent anything, or first owed an answer.
    pub(super) progress_at: Instant,
    pub(super) next_opaque: u32,
}

impl State {
    pub(super) fn new(now: Instant, is_observed: bool) -> Self {
        Self {
            slots: Slots::new(now, is_observed),
            pipeline: Pipeline::default(),
            outbox: Outbox::default(),
            stream: None,
            life: 0,
            dialect: Dialect::Meta,
            is_turning: false,
            is_asleep: false,
            yielders: 0,
            wakes_by: now,
            is_writing: false,
            blocked_bytes: 0,
            is_forced: false,
            is_wanted: false,
            linkers: Vec::new(),
            is_closed: false,
            has_helper: false,
            is_helper_parked: false,
            failures: 0,
            retry_at: now,
            last_error: Error::Disconnected("not connected yet".into()),
            progress_at: now,
            next_opaque: 0,
        }
    }

    /// Seals what is due.
    pub(super) fn seal(&mut self, now: Instant, with_writes: bool) {
        let was_owed = self.pipeline.is_owed();
        if std::mem::take(&mut self.is_forced) {
            self.outbox.seal_confirmed(&mut self.pipeline);
        } else {
            self.outbox.seal(with_writes, &mut self.pipeline);
        }
        if !was_owed {
            self.progress_at = now;
        }
    }

    /// Hands received answers to their operations.
    pub(super) fn take_in(
        &mut self,
        input: &mut Input,
        limits: Limits,
        now: Instant,
    ) -> Result<(), ProtocolError> {
        self.progress_at = now;
        self.slots.now = now;
        self.slots.figures.receives += 1;
        self.slots.figures.bytes_received += input.received();
        let taken = self.pipeline.receive(&input.buffer[input.begin..input.end], limits, &mut self.slots)?;
        input.take(taken);
        Ok(())
    }

    /// Ends the life of the connection: every operation on it fails.
    pub(super) fn lose(&mut self, error: &Error, now: Instant) {
        if let Some(stream) = self.stream.take() {
            stream.shutdown();
            self.slots.figures.disconnects += 1;
        }
        self.life += 1;
        self.pipeline.clear();
        self.outbox.clear();
        self.blocked_bytes = 0;
        self.is_forced = false;
        self.slots.now = now;
        self.slots.fail_all(error);
        self.last_error = error.clone();
        self.retry_at = now;
    }

    pub(super) fn opaque(&mut self) -> u32 {
        self.next_opaque = self.next_opaque.wrapping_add(1);
        self.next_opaque
    }

    /// True while anything is neither confirmed nor lost.
    pub(super) fn is_busy(&self) -> bool {
        self.outbox.bytes() > 0
            || self.blocked_bytes > 0
            || !self.pipeline.is_empty()
            || self.slots.driven > 0
    }

    /// Bytes that the server did not take yet.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.outbox.bytes() + self.blocked_bytes
    }
}

/// Received bytes that are not a whole answer yet.
#[derive(Default)]
pub(super) struct Input {
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Bytes of the last read.
    last: usize,
    life: u64,
    /// Counts reads that brought answers.
    pub(super) batches: u32,
    pub(super) turnaround: Turnaround,
}

/// The usual time until an answer: a look at the socket before that is a system call in vain.
#[derive(Default)]
pub(super) struct Turnaround {
    usual_ns: u64,
}

impl Turnaround {
    /// An answer came after so long, or earlier where it was there at the `first` look.
    pub(super) fn answered(&mut self, after: Duration, first: bool) {
        let ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        // Nobody looked before: it shrinks until a look is in vain now and then.
        let seen_ns = if first { ns / 2 } else { ns };
        self.usual_ns = self.usual_ns - self.usual_ns / 8 + seen_ns / 8;
    }

    /// The time of the first look, where the wait began at `begun`; `longest` after it at most.
    pub(super) fn first_look(&self, begun: Instant, longest: Duration) -> Instant {
        begun + Duration::from_nanos(self.usual_ns).min(longest)
    }
}

impl Input {
    /// Empties it where it is of an older life.
    pub(super) fn belong_to(&mut self, life: u64) {
        if self.life != life {
            (self.begin, self.end, self.life) = (0, 0, life);
        }
    }

    /// Reads once. Not whole answers grow the buffer twofold, up to the greatest answer.
    pub(super) fn read(&mut self, stream: &Stream) -> io::Result<usize> {
        if self.buffer.len() - self.end < READ_BYTES_MIN / 2 {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            if self.buffer.len() - self.end < READ_BYTES_MIN / 2 {
                self.buffer.resize((self.buffer.len() * 2).max(READ_BYTES_MIN), 0);
            }
        }
        let bytes = stream.read(&mut self.buffer[self.end..])?;
        self.end += bytes;
        self.last = bytes;
        Ok(bytes)
    }

    fn received(&self) -> u64 {
        self.last as u64
    }

    fn take(&mut self, bytes: usize) {
        self.begin += bytes;
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            if self.buffer.len() > KEPT_BYTES {
                self.buffer.truncate(READ_BYTES_MIN);
                self.buffer.shrink_to_fit();
            }
        }
    }
}

/// Sealed bytes on their way into the socket.
#[derive(Default)]
pub(super) struct Output {
    buffer: Vec<u8>,
    begin: usize,
    life: u64,
}

impl Output {
    pub(super) fn belong_to(&mut self, life: u64) {
        if self.life != life {
            self.buffer.clear();
            (self.begin, self.life) = (0, life);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.begin
    }

    /// Takes the sealed bytes, where all earlier ones are written.
    pub(super) fn fill(&mut self, sealed: &mut Vec<u8>) {
        if self.len() == 0 {
            self.buffer.clear();
            self.begin = 0;
            if self.buffer.capacity() > KEPT_BYTES {
                self.buffer.shrink_to(READ_BYTES_MIN);
            }
            std::mem::swap(&mut self.buffer, sealed);
            // The two take turns: both are warm when one is.
            sealed.reserve(self.buffer.capacity().min(KEPT_BYTES));
        }
    }

    /// Writes until all is written or the socket takes no more; then the error says "would block".
    pub(super) fn write(&mut self, stream: &Stream) -> io::Result<()> {
        while self.len() > 0 {
            match stream.write(&self.buffer[self.begin..]) {
                Ok(bytes) => self.begin += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        stream.flush()
    }
}
