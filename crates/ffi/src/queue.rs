//! The completion queue: events of any number of clients and servers, for one language's threads.
//!
//! Producers are the loops of clients and servers; they never wait. The queue is bounded by what is
//! under way: one event for each call, as many messages of a stream as were wanted, one event for each
//! request that a server has admitted. Its eventfd(2) is readable while there are events.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::error::Error;
use crate::event::Event;
use crate::fork::Process;

/// Something that keeps its events until they are taken.
pub trait Source: Send + Sync + std::fmt::Debug {
    /// Appends events, at most `max`. True where it has filled them and may have more.
    fn take(&self, max: usize, into: &mut Vec<Event>) -> bool;
}

/// A completion queue. Cheap to clone; any thread may take from it.
#[derive(Clone, Debug)]
pub struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    bell: OwnedFd,
    /// The descriptor is readable, or about to be.
    rung: AtomicBool,
    made_by: Process,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// Those that may have events of their own: streams.
    sources: VecDeque<Arc<dyn Source>>,
    closed: bool,
}

impl Queue {
    /// An empty queue.
    ///
    /// # Errors
    /// [`Error::System`]: there is no descriptor.
    pub fn new() -> Result<Self, Error> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::System(format!("no descriptor for a queue: {error}")))?;
        let shared = Shared {
            waiting: Mutex::default(),
            bell,
            rung: AtomicBool::new(false),
            made_by: Process::current(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The descriptor that is readable while there are events. Only poll it: reading from it is the
    /// queue's business.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Adds an event; a queue that is closed drops it.
    pub fn push(&self, event: Event) {
        self.add(|waiting| waiting.events.push_back(event));
    }

    /// A source may have events.
    pub(crate) fn look_at(&self, source: Arc<dyn Source>) {
        self.add(|waiting| waiting.sources.push_back(source));
    }

    fn add(&self, add: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.shared.waiting.lock();
        if !waiting.closed {
            add(&mut waiting);
            drop(waiting);
            self.ring();
        }
    }

    /// Nobody takes events any more: those that wait are dropped, and so is what follows. Requests
    /// among them are answered as unknown.
    pub fn close(&self) {
        let mut waiting = self.shared.waiting.lock();
        let dropped = std::mem::replace(&mut *waiting, Waiting { closed: true, ..Waiting::default() });
        // A request that is dropped, and a stream, may push.
        drop(waiting);
        drop(dropped);
    }

    fn ring(&self) {
        if !self.shared.rung.swap(true, Ordering::SeqCst) {
            // It fails only where the counter is full, and then the descriptor is readable.
            let _ = rustix::io::write(&self.shared.bell, &1_u64.to_ne_bytes());
        }
    }

    /// Appends up to `max` events to `into`, after waiting until there is one, but no longer than
    /// `at_most`. Returns how many there were.
    ///
    /// # Errors
    /// [`Error::Forked`]; [`Error::System`] where waiting fails.
    pub fn take(&self, max: usize, at_most: Duration, into: &mut Vec<Event>) -> Result<usize, Error> {
        self.shared.made_by.check()?;
        let mut until = None;
        loop {
            let taken = self.take_now(max, into);
            if taken > 0 || max == 0 || at_most.is_zero() {
                return Ok(taken);
            }
            let until = *until.get_or_insert_with(|| Instant::now().checked_add(at_most));
            let left = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Ok(0),
                left => left,
            };
            self.wait(left)?;
        }
    }

    fn take_now(&self, max: usize, into: &mut Vec<Event>) -> usize {
        if self.shared.rung.load(Ordering::SeqCst) {
            // In this order a producer that comes between finds either its event taken below, or the bell
            // silent, and rings.
            let _ = rustix::io::read(&self.shared.bell, &mut [0_u8; 8]);
            self.shared.rung.store(false, Ordering::SeqCst);
        }
        let mut waiting = self.shared.waiting.lock();
        let before = into.len();
        let events = waiting.events.len().min(max);
        into.extend(waiting.events.drain(..events));
        while into.len() - before < max
            && let Some(source) = waiting.sources.pop_front()
        {
            // A source has a lock of its own, with which it may be held where it calls `look_at`.
            drop(waiting);
            let left = max - (into.len() - before);
            if source.take(left, into) {
                self.look_at(source);
            }
            waiting = self.shared.waiting.lock();
        }
        let left_over = !waiting.events.is_empty() || !waiting.sources.is_empty();
        drop(waiting);
        if left_over {
            self.ring();
        }
        into.len() - before
    }

    /// Waits until the bell rings.
    fn wait(&self, at_most: Option<Duration>) -> Result<(), Error> {
        let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut [PollFd::new(&self.shared.bell, PollFlags::IN)], at_most.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::System(format!("waiting for events failed: {error}"))),
        }
    }
}
