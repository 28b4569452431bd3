//! The users of one loop, its connections and its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use stadium_reactor::ConnectionId;

use super::pool::{Line, Pool};
use super::user::User;
use crate::engine::arrivals::Schedule;
use crate::engine::event::Event;
use crate::engine::plan::Plan;
use crate::engine::protocol::talk::Done;
use crate::engine::reply::Reply;
use crate::engine::tally::Counter;
use crate::share::Share;

/// One loop's users.
pub(crate) struct Driver {
    pub(super) plan: Arc<Plan>,
    pub(super) share: Share,
    pub(super) schedule: Schedule,
    pub(super) out: Sender<Event>,

    pub(super) users: Vec<User>,
    pub(super) free: Vec<u32>,
    /// Users in a session.
    pub(super) live: u32,
    /// Those of them that are of a closed phase.
    pub(super) closed: u32,
    /// Users begun so far.
    pub(super) begun: u64,
    pub(super) users_max: u32,
    /// Rows taken from each table.
    pub(super) rows: Vec<u64>,
    /// Users by the time at which they go on.
    pub(super) timers: BinaryHeap<Reverse<(u64, u32)>>,

    /// Connections, by the index of their id.
    pub(super) lines: Vec<Option<Line>>,
    pub(super) pools: Vec<Pool>,
    /// Connections by the time at which they have something to do; at most one time each.
    pub(super) ticks: BinaryHeap<Reverse<(u64, ConnectionId)>>,
    /// Connections made to each target: addresses take turns.
    pub(super) dialled: Vec<usize>,

    pub(super) epoch_ns: Option<u64>,
    /// When the run's last phase ends; earlier where it was ordered to finish.
    pub(super) end_ns: u64,
    pub(super) interval: u32,
    pub(super) tally_ns: u64,
    pub(super) sweep_ns: u64,
    /// Time that the loop had worked by the last tally.
    pub(super) worked_ns: u64,
    pub(super) finished: bool,

    pub(super) counter: Counter,
    /// When what this turn sends was due.
    pub(super) sent: Vec<u64>,
    pub(super) wall_ms: u64,

    // Space that is used again and again.
    pub(super) done: Vec<Done>,
    pub(super) spare: Vec<Reply>,
    pub(super) bytes: Vec<u8>,
    pub(super) waiting: Vec<u32>,
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
