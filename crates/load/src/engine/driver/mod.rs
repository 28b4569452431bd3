//! What one loop does for its users: runs their sessions over its connections, and counts.
//!
//! [`schedule`] begins users and does each thing at its time, [`session`] runs their ops, [`exchange`] begins and ends steps,
//! [`mod@line`] opens connections and shares them. Times are fixed before, so that being late shows.

mod exchange;
mod line;
mod schedule;
mod session;
mod user;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use stadium_reactor::{CloseReason, ConnectionId, Handler};

use self::line::{Line, Pool};
use self::user::User;
use super::arrivals::Schedule;
use super::head::Event;
use super::plan::Plan;
use super::protocol::Done;
use super::reply::Reply;
use super::tally::Counter;
use crate::clock::monotonic_ns;
use crate::share::Share;

/// A driver's loop.
pub(crate) type Io = stadium_reactor::Io<Order>;

/// What a driver is told from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The run's start, in [`crate::clock::monotonic_ns`].
    Start {
        /// That time.
        epoch_ns: u64,
    },
    /// End now: users finish what they are at, as far as the grace allows.
    Finish,
    /// End at once.
    Stop,
}

/// One loop's users.
pub(crate) struct Driver {
    plan: Arc<Plan>,
    share: Share,
    schedule: Schedule,
    out: Sender<Event>,

    users: Vec<User>,
    free: Vec<u32>,
    /// Users in a session.
    live: u32,
    /// Those of them that are of a closed phase.
    closed: u32,
    /// Users begun so far.
    begun: u64,
    users_max: u32,
    /// Rows taken from each table.
    rows: Vec<u64>,
    /// Users by the time at which they go on.
    timers: BinaryHeap<Reverse<(u64, u32)>>,

    /// Connections, by the index of their id.
    lines: Vec<Option<Line>>,
    pools: Vec<Pool>,
    /// Connections by the time at which they have something to do; at most one time each.
    ticks: BinaryHeap<Reverse<(u64, ConnectionId)>>,
    /// Connections made to each target: addresses take turns.
    dialled: Vec<usize>,

    epoch_ns: Option<u64>,
    /// When the run's last phase ends; earlier where it was told to finish.
    end_ns: u64,
    interval: u32,
    tally_ns: u64,
    sweep_ns: u64,
    /// Time that the loop had worked by the last tally.
    worked_ns: u64,
    finished: bool,

    counter: Counter,
    /// When what this turn sends was due.
    sent: Vec<u64>,
    wall_ms: u64,

    // Space that is used again and again.
    done: Vec<Done>,
    spare: Vec<Reply>,
    bytes: Vec<u8>,
    waiting: Vec<u32>,
}

impl Driver {
    pub(crate) fn new(plan: Arc<Plan>, share: Share, out: Sender<Event>) -> Self {
        let program = &plan.program;
        let counter =
            Counter::new(program.sessions.len(), program.steps.iter().map(|step| step.checks.len()));
        Driver {
            schedule: Schedule::new(&program.phases, share, program.seed),
            users: Vec::new(),
            free: Vec::new(),
            live: 0,
            closed: 0,
            begun: 0,
            users_max: share.part(u32::try_from(program.users_max).unwrap_or(u32::MAX)).max(1),
            rows: vec![0; program.tables.len()],
            timers: BinaryHeap::new(),
            lines: Vec::new(),
            pools: plan.targets.iter().map(|_| Pool::default()).collect(),
            ticks: BinaryHeap::new(),
            dialled: vec![share.index as usize; plan.targets.len()],
            epoch_ns: None,
            end_ns: u64::MAX,
            interval: 0,
            tally_ns: 0,
            sweep_ns: 0,
            worked_ns: 0,
            finished: false,
            counter,
            sent: Vec::new(),
            wall_ms: 0,
            done: Vec::new(),
            spare: Vec::new(),
            bytes: Vec::new(),
            waiting: Vec::new(),
            share,
            out,
            plan,
        }
    }
}

impl Handler for Driver {
    type Message = Order;

    fn connected(&mut self, io: &mut Io, id: ConnectionId, _tag: u64) {
        self.line_opened(io, id);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionId, bytes: &[u8]) -> usize {
        self.line_received(io, id, bytes)
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionId, reason: CloseReason) {
        self.line_closed(io, id, reason);
    }

    fn message(&mut self, _io: &mut Io, order: Order) {
        match order {
            Order::Start { epoch_ns } => self.start(epoch_ns),
            Order::Finish => self.finish(monotonic_ns()),
            Order::Stop => self.finished = true,
        }
    }

    fn turn_flushed(&mut self, _io: &mut Io) {
        if self.sent.is_empty() {
            return;
        }
        let now_ns = monotonic_ns();
        for due_ns in self.sent.drain(..) {
            self.counter.lateness.record(now_ns.saturating_sub(due_ns));
        }
    }
}
