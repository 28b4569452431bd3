//! What an implementation has to bring: servers to connect to, and [lanes](crate::harness::Lane) that speak their protocol.

use std::net::SocketAddr;
use std::time::Duration;

use crate::harness::{self, Dialogue, Lane};
use crate::services::Service;

/// Which side of the queue a worker is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Puts.
    Producer,
    /// Reserves, then settles.
    Consumer,
}

/// What an implementation calls a reserved job; wide enough for an id and a reservation number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u128);

/// A job to put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewJob {
    /// Names the job; each is used once in a run.
    pub(crate) serial: u64,
    /// When it was to be put, or is due where it is delayed: nanoseconds since 1970. Lateness counts from here.
    pub(crate) stamp_ns: u64,
    /// Size of its payload.
    pub(crate) bytes: usize,
    /// Not before this time, milliseconds since 1970; 0: at once.
    pub(crate) run_at_ms: u64,
}

/// A job that a consumer holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    /// What to settle it by.
    pub(crate) token: Token,
    /// From its payload.
    pub(crate) serial: u64,
    /// From its payload.
    pub(crate) stamp_ns: u64,
}

/// What a worker asks for. A worker asks for one thing at a time.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    /// Put all of these, durably.
    Put(&'a [NewJob]),
    /// Reserve so many at most; none is an answer where the implementation can't wait.
    Reserve { jobs_max: usize },
    /// Done with these.
    Settle(&'a [Reserved]),
    /// Only asked of the product.
    Manage(Manage<'a>),
}

/// What only rows ask that measure the product alone.
#[derive(Clone, Copy)]
pub(crate) enum Manage<'a> {
    /// Delete jobs that nobody holds.
    Cancel(&'a [Token]),
    /// Let jobs run at another time, milliseconds since 1970.
    Edit(&'a [(Token, u64)]),
    /// Make the queue as the row wants it.
    Declare,
}

/// The answer of a peer to a [`Manage`].
pub(crate) const PRODUCT_ONLY: &str = "only asked of the product";

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of them are put; their ids where the implementation reports them.
    Put(Vec<Token>),
    /// These are ours now. Empty: there is nothing now.
    Reserved(Vec<Reserved>),
    /// All of them are settled, cancelled or edited.
    Done,
    /// Nothing happened (a deadlock, a busy server): the same again after a pause.
    Again(Duration),
}

/// What is asked of queues.
pub(crate) struct Queues;

impl Dialogue for Queues {
    type Request<'a> = Request<'a>;
    type Outcome = Outcome;

    fn again(outcome: &Outcome) -> Option<Duration> {
        match outcome {
            Outcome::Again(pause) => Some(*pause),
            _ => None,
        }
    }
}

/// A lane's report to the harness.
pub(crate) type Event = harness::Event<Outcome>;

/// A running implementation.
pub(crate) trait Endpoint {
    /// Its server; where it has several, the one that logs most when something fails.
    fn service(&self) -> &Service;
    /// Where a lane connects, one address for each of its connections. Lanes of both roles are counted.
    fn addresses(&self, _lane: usize) -> Vec<SocketAddr> {
        vec![self.service().address()]
    }
    /// Workers on one lane, at most.
    fn workers_each(&self) -> usize {
        1
    }
    /// A lane of workers of one role; `index` counts the lanes of both roles.
    fn lane(&self, role: Role, index: usize) -> Box<dyn Lane<Queues>>;
    /// The end of its server's log, for when it fails.
    fn log(&self) -> String {
        self.service().log()
    }
    /// How long a consumer that found nothing waits before it asks again. Zero where the server lets it wait.
    fn empty_pause(&self) -> Duration {
        Duration::ZERO
    }
}
