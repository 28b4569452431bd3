//! What an implementation has to bring: servers to connect to, and lanes that speak their protocol.
//!
//! A lane is without I/O: it is given requests and bytes, and gives bytes and outcomes. It may span several connections
//! (a database and Redis) and carry several workers (multiplexed RPC); most are one connection with one worker.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

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
    /// Delete jobs that nobody holds. Only where the implementation can.
    Cancel(&'a [Token]),
    /// Let jobs run at another time, milliseconds since 1970. Only where the implementation can.
    Edit(&'a [(Token, u64)]),
    /// Make the queue as the row wants it. Only where the implementation can.
    Declare,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of them are put; their ids where the implementation tells.
    Put(Vec<Token>),
    /// These are ours now. Empty: there is nothing now.
    Reserved(Vec<Reserved>),
    /// All of them are settled, cancelled or edited.
    Done,
    /// Nothing happened (a deadlock, a busy server): the same again after a pause.
    Again(Duration),
}

/// What a lane tells the harness.
#[derive(Debug)]
pub(crate) enum Event {
    /// The lane is ready for requests.
    Open,
    /// A worker of the lane, counted from 0, has its answer.
    Answer(usize, Outcome),
}

/// Connections and workers that belong together.
pub(crate) trait Lane {
    /// Writes what is said first; `outs` has one buffer for each connection.
    fn open(&mut self, outs: &mut [Vec<u8>]);
    /// Writes a worker's request. What can be answered at once is an event of the next [`Self::read`].
    fn start(&mut self, worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]);
    /// Takes bytes of one connection and says how many; the rest comes again with more. Called once with no bytes after
    /// each [`Self::start`].
    fn read(
        &mut self,
        connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize>;
}

/// A running implementation.
pub(crate) trait Endpoint {
    /// Where a lane connects, one address for each of its connections.
    fn addresses(&self) -> Vec<SocketAddr>;
    /// Workers on one lane, at most.
    fn workers_each(&self) -> usize;
    /// A lane of workers of one role; `index` counts the lanes of both roles.
    fn lane(&self, role: Role, index: usize) -> Box<dyn Lane>;
    /// The end of what its server said, for when it fails.
    fn log(&self) -> String;
    /// How long a consumer that found nothing waits before it asks again. Zero where the server lets it wait.
    fn empty_pause(&self) -> Duration {
        Duration::ZERO
    }
}
