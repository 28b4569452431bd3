//! Those that make the load of a run: loops of this process, or workers with theirs.
//!
//! Both take the same orders and send the same events, and are counted by their loops' numbers.

use std::sync::mpsc::Sender;

use crate::clock::monotonic_ns;
use crate::engine::event::Event;
use crate::engine::loops::{self, Assignment, Shares};
use crate::engine::order::Order;
use crate::error::Error;
use crate::workers::{Prepared, Remote, WorkerStates};

/// The start is this far ahead, in nanoseconds, so that all loops know of it in time.
const START_AHEAD_NS: u64 = 50_000_000;
/// The same where loops are workers', besides the way to them.
const START_FAR_AHEAD_NS: u64 = 250_000_000;

/// The members of a run that has been given its start.
#[derive(Debug, Default)]
pub(super) struct Members {
    list: Vec<Member>,
    /// The workers among them, for the report.
    pub(super) workers: WorkerStates,
    /// Whether each loop still reports.
    running: Vec<bool>,
    /// The start, in [`monotonic_ns`].
    pub(super) epoch_ns: u64,
}

#[derive(Debug)]
enum Member {
    /// A loop of this process.
    Thread(loops::Member),
    /// A worker elsewhere.
    Remote(Remote),
}

impl Members {
    /// Starts so many loops of this process.
    pub(super) fn here(assignment: &Assignment, loops: u32, out: &Sender<Event>) -> Result<Self, Error> {
        let threads = loops::start(assignment, Shares::all(loops), out)?;
        let epoch_ns = monotonic_ns() + START_AHEAD_NS;
        let members = Members {
            list: threads.into_iter().map(Member::Thread).collect(),
            workers: WorkerStates::default(),
            running: vec![true; loops as usize],
            epoch_ns,
        };
        members.order(Order::Start { epoch_ns });
        Ok(members)
    }

    /// Gives workers that are ready their start.
    pub(super) fn on(prepared: Prepared) -> Result<Self, Error> {
        let epoch_ns = monotonic_ns() + START_FAR_AHEAD_NS + 4 * prepared.way_ns();
        prepared.begin(epoch_ns)?;
        Ok(Members {
            workers: WorkerStates::new(&prepared.remotes),
            list: prepared.remotes.into_iter().map(Member::Remote).collect(),
            running: vec![true; prepared.loops as usize],
            epoch_ns,
        })
    }

    /// Loops of all of them.
    pub(super) fn loops(&self) -> u32 {
        self.running.len() as u32
    }

    /// Gives all an order.
    pub(super) fn order(&self, order: Order) {
        for member in &self.list {
            match member {
                Member::Thread(member) => member.order(order),
                Member::Remote(remote) => remote.order(order),
            }
        }
    }

    /// A loop reports nothing more.
    pub(super) fn ended(&mut self, share: u32) {
        if let Some(running) = self.running.get_mut(share as usize) {
            *running = false;
        }
    }

    /// A worker is lost, and its loops with it.
    pub(super) fn lose(&mut self, worker: usize, why: &str) {
        let elapsed_s = monotonic_ns().saturating_sub(self.epoch_ns) as f64 / 1e9;
        let shares = self.workers.lose(worker, elapsed_s, why);
        shares.for_each(|share| self.ended(share));
    }

    /// Whether a loop still reports.
    pub(super) fn is_running(&self, share: u32) -> bool {
        self.running.get(share as usize).is_some_and(|running| *running)
    }

    /// Whether any loop does.
    pub(super) fn are_running(&self) -> bool {
        self.running.contains(&true)
    }

    /// Waits for the end of all, which they have reported or were ordered to.
    pub(super) fn join(&mut self) {
        for member in &mut self.list {
            match member {
                Member::Thread(member) => member.join(),
                Member::Remote(remote) => remote.join(),
            }
        }
    }

    /// Ends all without asking, and waits for that.
    pub(super) fn end(&mut self) {
        for member in std::mem::take(&mut self.list) {
            match member {
                Member::Thread(mut member) => {
                    member.end();
                    member.join();
                }
                // Its lease ends with it.
                Member::Remote(remote) => drop(remote),
            }
        }
    }

    #[cfg(test)]
    pub(super) fn of_loops(loops: u32, epoch_ns: u64) -> Self {
        Members { running: vec![true; loops as usize], epoch_ns, ..Members::default() }
    }
}
