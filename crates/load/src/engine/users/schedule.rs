//! Each thing at its time: arrivals, the level of a closed phase, users who have thought, time-outs, tallies, the end.
//!
//! A step that was due is done however late it is; a step that is not done any more is counted.

use std::cmp::Reverse;
use std::time::{SystemTime, UNIX_EPOCH};

use super::driver::Driver;
use super::user::State;
use crate::engine::arrivals::Arrival;
use crate::engine::event::{Event, Tally};
use crate::engine::loops::{Clients, Punctuality};
use crate::engine::order::Io;
use crate::engine::reply::Failure;

/// Users that begin in one turn before what they send is written: the first waits for the last.
const STARTS_PER_TURN: u32 = 16;
/// Between two looks for steps that have taken too long, in nanoseconds.
const SWEEP_NS: u64 = 20_000_000;
/// The length of an interval, in nanoseconds.
pub(crate) const INTERVAL_NS: u64 = 1_000_000_000;

impl Clients for Driver {
    const PUNCTUALITY: Punctuality = Punctuality::Punctual;

    fn advance(&mut self, io: &mut Io, now_ns: u64, worked_ns: u64) -> Option<u64> {
        let epoch_ns = self.epoch_ns?;
        if now_ns < epoch_ns {
            return Some(epoch_ns);
        }
        self.wall_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let ending = now_ns >= self.end_ns;
        // A late loop begins users after the end that were due before it: to leave them out would
        // hide that it is late.
        self.arrive(io, epoch_ns, now_ns.min(self.end_ns));
        let is_full = self.keep_level(io, epoch_ns, now_ns);
        self.wake(io, now_ns);
        if now_ns >= self.sweep_ns {
            self.sweep(io, now_ns);
            self.tick_lines(io, now_ns);
            self.sweep_ns = now_ns + SWEEP_NS;
        }
        if now_ns >= self.tally_ns {
            self.send_tally(worked_ns, now_ns, false);
        }
        let arrival = self.schedule.peek().map(|arrival| epoch_ns + arrival.due_ns);
        let arrival = arrival.filter(|due_ns| *due_ns <= self.end_ns);
        let is_over = self.live == 0 && arrival.is_none();
        if ending && (is_over || now_ns >= self.end_ns.saturating_add(self.plan.program.grace_ns)) {
            self.pass_over(epoch_ns);
            self.finished = true;
        }
        let timer = self.timers.peek().map(|Reverse((due_ns, _))| *due_ns);
        let end = (!ending).then_some(self.end_ns);
        let level = (!is_full).then_some(now_ns);
        [arrival, timer, level, end, Some(self.sweep_ns), Some(self.tally_ns)].into_iter().flatten().min()
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn conclude(&mut self, now_ns: u64, worked_ns: u64) {
        self.send_tally(worked_ns, now_ns, true);
    }
}

impl Driver {
    /// The run begins at this time.
    pub(super) fn start(&mut self, epoch_ns: u64) {
        self.epoch_ns = Some(epoch_ns);
        self.end_ns = self.end_ns.min(epoch_ns + self.schedule.end_ns());
        self.tally_ns = epoch_ns + INTERVAL_NS;
        self.sweep_ns = epoch_ns;
    }

    /// The run ends now: users finish what they are at.
    pub(super) fn finish(&mut self, now_ns: u64) {
        self.end_ns = self.end_ns.min(now_ns);
        if let Some(epoch_ns) = self.epoch_ns {
            self.pass_over(epoch_ns);
        }
    }

    /// Users who were due before the end and have not begun will not begin any more.
    fn pass_over(&mut self, epoch_ns: u64) {
        while self.arrival(epoch_ns, self.end_ns).is_some() {
            self.counter.not_begun += 1;
        }
    }

    /// Takes the next user who is due by then.
    fn arrival(&mut self, epoch_ns: u64, by_ns: u64) -> Option<Arrival> {
        self.schedule.peek().filter(|next| epoch_ns + next.due_ns <= by_ns)?;
        self.counter.arrived += 1;
        self.schedule.take()
    }

    /// Begins users of open phases whose time has come by then.
    fn arrive(&mut self, io: &mut Io, epoch_ns: u64, by_ns: u64) {
        for _ in 0..STARTS_PER_TURN {
            let Some(arrival) = self.arrival(epoch_ns, by_ns) else { return };
            if self.live >= self.users_max {
                self.counter.not_begun += 1;
                continue;
            }
            self.begin(io, epoch_ns + arrival.due_ns, arrival.phase, false);
        }
    }

    /// Begins users of a closed phase that are missing; returns whether none is left. Those that
    /// are too many end with their op.
    fn keep_level(&mut self, io: &mut Io, epoch_ns: u64, now_ns: u64) -> bool {
        let Some(level) = self.level(now_ns) else { return true };
        let phase = self.schedule.phase_at(now_ns - epoch_ns);
        let missing = level.min(self.users_max).saturating_sub(self.closed);
        for _ in 0..missing.min(STARTS_PER_TURN) {
            self.counter.arrived += 1;
            self.begin(io, now_ns, phase, true);
        }
        missing <= STARTS_PER_TURN
    }

    /// How many users of a closed phase there should be.
    pub(super) fn level(&self, now_ns: u64) -> Option<u32> {
        let epoch_ns = self.epoch_ns?;
        if now_ns >= self.end_ns {
            return None;
        }
        self.schedule.level(now_ns.saturating_sub(epoch_ns))
    }

    /// Lets users go on whose time has come.
    fn wake(&mut self, io: &mut Io, now_ns: u64) {
        while let Some(&Reverse((due_ns, user))) = self.timers.peek() {
            if due_ns > now_ns {
                return;
            }
            self.timers.pop();
            let woken = &mut self.users[user as usize];
            if woken.state == State::Thinking && woken.due_ns == due_ns {
                woken.state = State::Running;
                self.run(io, user);
            }
        }
    }

    /// Ends steps that have taken too long.
    fn sweep(&mut self, io: &mut Io, now_ns: u64) {
        for user in 0..self.users.len() as u32 {
            let one = &self.users[user as usize];
            if matches!(one.state, State::Waiting | State::Connecting | State::Queued)
                && one.deadline_ns <= now_ns
            {
                self.give_up(io, user, Failure::from("timeout"));
            }
        }
    }

    /// Reports what was counted since the last tally.
    fn send_tally(&mut self, worked_ns: u64, now_ns: u64, last: bool) {
        let mut tally = self.counter.take();
        let length_ns = (now_ns + INTERVAL_NS).saturating_sub(self.tally_ns).max(1);
        tally.share = self.share.index;
        tally.interval = self.interval;
        tally.last = last;
        tally.users = u64::from(self.live);
        tally.busy = worked_ns.saturating_sub(self.worked_ns) as f64 / length_ns as f64;
        self.worked_ns = worked_ns;
        self.interval += 1;
        self.tally_ns += INTERVAL_NS;
        // The run may have been dropped: then nobody receives it.
        let _ = self.out.send(Event::Tally(Tally::Users(Box::new(tally))));
    }
}
