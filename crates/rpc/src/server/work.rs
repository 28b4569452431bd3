//! Calls that outlive the turn in which they came: futures, blocking functions, and those that wait.
//!
//! A call's place in the table is its stream's tag, so that each frame of the peer about the stream
//! finds it without a search.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use slab::Slab;
use stadium_reactor::ConnectionId;
use stadium_reactor::tls::CertificateNames;
use stadium_rsocket::frame::{Interaction as Pattern, StreamId};

use super::dispatch::failed;
use super::executor::{Ready, TaskWaker};
use crate::admission::Entry;
use crate::answer::Refusal;
use crate::method::Interaction;
use crate::service::{Download, Inbound, Outbound, Task, Upload};

/// A call under way.
pub(crate) struct Work {
    pub(crate) connection: ConnectionId,
    pub(crate) stream: StreamId,
    /// Distinguishes calls that had the same place.
    pub(crate) serial: u64,
    pub(crate) method: u16,
    pub(crate) interaction: Interaction,
    pub(crate) began: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) kind: Kind,
    /// Its place among the calls that are worked on at once.
    pub(crate) entry: Option<Entry>,
}

impl Work {
    /// Whether its answer leaves in pieces.
    pub(crate) fn sends_pieces(&self) -> bool {
        matches!(&self.kind, Kind::Future(running) if matches!(running.pieces, Some(Pieces::Out(_))))
    }
}

/// What is being waited for.
pub(crate) enum Kind {
    /// A future of the loop.
    Future(Box<Running>),
    /// A thread of the pool.
    Blocking,
    /// Its turn.
    Held(Box<HeldRequest>),
}

/// A request that waits for its turn.
pub(crate) struct HeldRequest {
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) certificate: Option<Arc<CertificateNames>>,
    pub(crate) metadata: Vec<u8>,
    pub(crate) composite: bool,
    pub(crate) data: Vec<u8>,
    pub(crate) pattern: Pattern,
    /// When its caller stops waiting, in milliseconds of loop time.
    pub(crate) deadline_ms: u64,
}

/// A future and its streams.
pub(crate) struct Running {
    future: Task,
    waker: Waker,
    task: Arc<TaskWaker>,
    pub(crate) outbound: Option<Outbound>,
    pub(crate) inbound: Option<Inbound>,
    pub(crate) pieces: Option<Pieces>,
}

/// What comes or goes in pieces.
pub(crate) enum Pieces {
    /// The request.
    In(Upload),
    /// The answer.
    Out(Download),
}

impl Running {
    pub(crate) fn new(
        future: Task,
        ready: &Arc<Ready>,
        place: u32,
        outbound: Option<Outbound>,
        inbound: Option<Inbound>,
    ) -> Box<Self> {
        let (waker, task) = ready.waker(place);
        Box::new(Self { future, waker, task, outbound, inbound, pieces: None })
    }

    /// Polls the future. A panic in it is the service's failure, and ends the call alone.
    pub(crate) fn poll(&mut self) -> Poll<Result<Vec<u8>, Refusal>> {
        self.task.polled();
        let mut context = Context::from_waker(&self.waker);
        let future: Pin<&mut _> = self.future.as_mut();
        let poll = std::panic::AssertUnwindSafe(|| future.poll(&mut context));
        std::panic::catch_unwind(poll).unwrap_or_else(|_| {
            tracing::error!("An asynchronous function panicked");
            Poll::Ready(Err(failed()))
        })
    }

    /// It is not polled although it was woken: the next wake counts again.
    pub(crate) fn put_off(&self) {
        self.task.polled();
    }

    /// Whether it may send without an end: it waits while its caller is away.
    pub(crate) fn is_outpouring(&self) -> bool {
        self.outbound.is_some() || matches!(self.pieces, Some(Pieces::Out(_)))
    }

    /// Has it polled again soon.
    pub(crate) fn wake(&self) {
        self.waker.wake_by_ref();
    }
}

/// The table.
#[derive(Default)]
pub(crate) struct Works {
    table: Slab<Work>,
    serial: u64,
}

impl Works {
    /// The place that the next call gets.
    pub(crate) fn next_place(&self) -> u32 {
        self.table.vacant_key() as u32
    }

    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn insert(&mut self, work: Work) -> u32 {
        self.table.insert(work) as u32
    }

    pub(crate) fn at(&mut self, place: u32) -> Option<&mut Work> {
        self.table.get_mut(place as usize)
    }

    /// Takes a call out; a worker that still has it learns that nobody waits.
    pub(crate) fn remove(&mut self, place: u32) -> Option<Work> {
        let work = self.table.try_remove(place as usize)?;
        work.cancelled.store(true, Ordering::Relaxed);
        Some(work)
    }

    /// The calls of a connection are another's from now on.
    pub(crate) fn move_to(&mut self, old: ConnectionId, new: ConnectionId) {
        for (_, work) in &mut self.table {
            if work.connection == old {
                work.connection = new;
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}
