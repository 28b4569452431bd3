//! From a request to its function, and from the function to the answer.
//!
//! Everything here writes to one connection's output of the turn. A request that an inline function answers
//! never enters a table: its answer is encoded behind the answers before it. [`begin`] takes requests, [`progress`]
//! has the calls that go on, [`ticking`] the ticking streams, [`caller`] the frames of callers
//! meanwhile.

mod begin;
mod caller;
mod failures;
mod progress;
mod ticking;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stadium_reactor::tls::CertificateNames;
use stadium_reactor::{ConnectionId, LoopHandle};
use stadium_rsocket::frame::{Completes, Interaction as Pattern, More, StreamId};

use super::admission::{Gate, Held};
use super::counts::LoopCounts;
use super::executor::Ready;
use super::item::Item;
use super::pace::Pace;
use super::pool::PoolHandle;
use super::recent::RecentRoute;
use super::shared::Shared;
use super::tickers::Tickers;
use super::work::Works;
use crate::method::Interaction;
use crate::service::{Call, Finished, InlineRun, Outcome, TickingRun};
pub(super) use failures::{failed, failure_text, outcome_of_failure, panicked};

/// Everything of a loop but its connections.
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) counts: Arc<LoopCounts>,
    pub(crate) inline: Vec<Option<Box<dyn InlineRun>>>,
    pub(crate) ticking: Vec<Option<Box<dyn TickingRun>>>,
    pub(crate) pace: Pace,
    pub(crate) gate: Gate,
    pub(crate) works: Works,
    pub(crate) tickers: Tickers,
    pub(crate) ready: Arc<Ready>,
    pub(crate) pool: PoolHandle,
    pub(crate) handle: LoopHandle<Item>,
    /// Deadlines of calls under way: loop time, place, serial. Ends of calls leave theirs behind until then.
    pub(crate) deadlines: BinaryHeap<Reverse<(u64, u32, u64)>>,
    /// Connections that were not read because of an upload, which goes on or has ended.
    pub(crate) caught_up: Vec<ConnectionId>,
    /// Calls that lost their place in the queue, to be answered.
    pub(crate) displaced: Vec<(Held, Displaced)>,
    /// The route of the request before.
    pub(crate) recent: RecentRoute,
    /// Microseconds of loop time, as of the turn.
    pub(crate) now_us: u64,
}

/// How a call lost its place in the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Displaced {
    /// Its deadline has passed.
    Expired,
    /// It stood for too long.
    Stale,
}

/// A request as it came.
pub(crate) struct Request<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) certificate: Option<&'a Arc<CertificateNames>>,
    pub(crate) stream: StreamId,
    pub(crate) pattern: Pattern,
    pub(crate) initial: u32,
    pub(crate) completes: Completes,
    /// Whether the rest of the data comes in pieces.
    pub(crate) more: More,
    pub(crate) now_ms: u64,
    pub(crate) metadata: &'a [u8],
    /// Whether metadata is composite, or a route alone.
    pub(crate) composite: bool,
    pub(crate) data: &'a [u8],
}

impl<'a> Request<'a> {
    /// The call of a route, as functions see it.
    fn call(&self, route: &'a str, left_ms: u32) -> Call<'a> {
        Call { route, metadata: self.metadata, left_ms, peer: self.peer, certificate: self.certificate }
    }
}

impl Core {
    pub(crate) fn count(&mut self, method: u16, outcome: Outcome) {
        self.counts.methods[usize::from(method)].count(outcome);
        self.notify_interceptors(method, outcome);
    }

    fn notify_interceptors(&self, method: u16, outcome: Outcome) {
        let service = self.shared.methods.at(method).service;
        if !self.shared.services[usize::from(service)].interceptors.is_empty() {
            let latency = self.pace.began().map_or(Duration::ZERO, |began| began.elapsed());
            self.notify_finished(method, outcome, latency);
        }
    }

    fn notify_finished(&self, method: u16, outcome: Outcome, latency: Duration) {
        let method = self.shared.methods.at(method);
        // The first one is the outermost: it is the last to hear of the end.
        for interceptor in self.shared.services[usize::from(method.service)].interceptors.iter().rev() {
            interceptor.after(&Finished { route: &method.route, outcome, latency });
        }
    }
}

pub(crate) fn pattern_of(interaction: Interaction) -> Pattern {
    match interaction {
        Interaction::Unary => Pattern::RequestResponse,
        Interaction::OneWay => Pattern::FireAndForget,
        Interaction::Stream => Pattern::RequestStream,
        Interaction::Channel => Pattern::RequestChannel,
    }
}
