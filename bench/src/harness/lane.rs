//! Lanes: connections over which workers speak one implementation's protocol.
//!
//! A lane is without I/O: it is given requests and bytes, and gives bytes and outcomes. It may span several connections
//! (a database and Redis) and carry several workers (multiplexed RPC, pipelines); most are one connection with one worker.

use std::time::Duration;

use anyhow::Result;

/// What a bench asks, and what it is answered.
pub(crate) trait Dialogue {
    /// What a worker asks for. A worker asks for one thing at a time.
    type Request<'a>: Copy;
    /// What became of it.
    type Outcome;

    /// Where nothing happened: after how long the same may be asked again.
    fn again(outcome: &Self::Outcome) -> Option<Duration>;
}

/// A lane's report to the harness.
#[derive(Debug)]
pub(crate) enum Event<O> {
    /// The lane is ready for requests.
    Open,
    /// A worker of the lane, counted from 0, has its answer.
    Answer(usize, O),
}

/// Connections and workers that belong together.
pub(crate) trait Lane<D: Dialogue> {
    /// Writes the first bytes of each connection; `outs` has one buffer for each connection.
    fn open(&mut self, outs: &mut [Vec<u8>]);
    /// Writes a worker's request. An answer that is known at once is an event of the next
    /// [`Self::read`].
    fn start(&mut self, worker: usize, request: D::Request<'_>, outs: &mut [Vec<u8>]);
    /// Takes bytes of one connection and returns how many; the next call gets the rest again, with
    /// more. Called with what is left, or nothing, after each [`Self::start`] or several of them.
    fn read(
        &mut self,
        connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event<D::Outcome>>,
    ) -> Result<usize>;
}
