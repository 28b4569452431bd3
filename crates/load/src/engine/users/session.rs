//! Users' sessions: a user goes from op to op until one makes it wait.
//!
//! What a user does in one go is bounded, so that a loop without a wait does not hold the others up.

use std::cmp::Reverse;

use stadium_scenario::program::Op;
use stadium_scenario::scope::Scope;
use stadium_scenario::table::Order as RowOrder;

use super::driver::Driver;
use super::user::{State, User};
use crate::clock::monotonic_ns;
use crate::engine::order::Io;
/// Ops that a user does in one go before the others get their turn: a loop without a wait must not hold the thread.
const OPS_PER_TURN: u32 = 256;

/// What an op lets happen.
pub(super) enum Then {
    /// The next op.
    Next,
    /// Another op.
    To(u32),
    /// Something will wake the user.
    Wait,
    /// The session is over.
    Over { failed: bool },
}

impl Driver {
    /// Begins a user who was due then.
    pub(super) fn begin(&mut self, io: &mut Io, due_ns: u64, phase: usize, closed: bool) {
        let user = self.free.pop().unwrap_or_else(|| {
            self.users.push(User::new());
            self.users.len() as u32 - 1
        });
        let number = self.begun * u64::from(self.share.of) + u64::from(self.share.index);
        self.begun += 1;
        self.live += 1;
        self.closed += u32::from(closed);
        let one = &mut self.users[user as usize];
        one.random =
            fastrand::Rng::with_seed(self.plan.program.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        one.number = number;
        one.closed = closed;
        one.pace_ns = 0;
        self.enter(user, due_ns, phase);
        self.run(io, user);
    }

    /// Puts a user at the start of a session.
    fn enter(&mut self, user: u32, due_ns: u64, phase: usize) {
        let plan = &self.plan;
        let one = &mut self.users[user as usize];
        let mix = &plan.mixes[phase];
        let draw = one.random.f64() * mix.last().copied().unwrap_or(0.0);
        one.session = mix.partition_point(|&sum| sum <= draw).min(mix.len() - 1) as u32;
        one.op = 0;
        one.state = State::Running;
        one.scheduled = true;
        one.began_ns = due_ns;
        one.due_ns = due_ns;
        one.cookies.clear();
        one.variables.clone_from(&plan.program.initial);
        self.counter.sessions[one.session as usize].started += 1;
    }

    /// Runs a user's ops until one makes it wait.
    pub(super) fn run(&mut self, io: &mut Io, user: u32) {
        for _ in 0..OPS_PER_TURN {
            if self.is_too_many(user) {
                return self.leave(io, user, false);
            }
            let then = self.op(io, user);
            let one = &mut self.users[user as usize];
            match then {
                Then::Next => one.op += 1,
                Then::To(op) => one.op = op,
                Then::Wait => return,
                Then::Over { failed } => {
                    self.leave(io, user, failed);
                    return;
                }
            }
        }
        // On in the next turn; an action that was due stays due.
        let one = &mut self.users[user as usize];
        let scheduled = one.scheduled;
        let due_ns = one.due_ns;
        self.sleep_until(user, due_ns);
        self.users[user as usize].scheduled = scheduled;
    }

    /// Whether this user is one more than the closed phase asks for.
    fn is_too_many(&self, user: u32) -> bool {
        self.users[user as usize].closed && self.level(monotonic_ns()).is_none_or(|level| self.closed > level)
    }

    fn op(&mut self, io: &mut Io, user: u32) -> Then {
        let plan = self.plan.clone();
        let one = &mut self.users[user as usize];
        let ops = &plan.program.sessions[one.session as usize].ops;
        let Some(op) = ops.get(one.op as usize) else { return Then::Over { failed: false } };
        let mut scope = Scope {
            variables: &mut one.variables,
            random: &mut one.random,
            wall_ms: self.wall_ms,
            user: one.number,
        };
        match op {
            Op::Think(pause) => {
                let due_ns = one.due_ns + pause.sample(&mut one.random);
                one.op += 1;
                self.sleep_until(user, due_ns);
                Then::Wait
            }
            Op::Pace(ns) => {
                let first = one.pace_ns == 0;
                // The first time users spread over their pace: those of a closed phase begin together.
                let ahead = if first { (one.random.f64() * *ns as f64) as u64 } else { *ns };
                one.pace_ns = if first { one.due_ns } else { one.pace_ns } + ahead;
                one.op += 1;
                let due_ns = one.pace_ns;
                self.sleep_until(user, due_ns);
                Then::Wait
            }
            Op::Set { slot, value } => {
                let value = value.value(&mut scope);
                one.variables[usize::from(slot.0)] = value;
                Then::Next
            }
            Op::Draw { table } => self.draw(user, *table),
            Op::Jump(to) => Then::To(*to),
            Op::Again(_) if monotonic_ns() >= self.end_ns => Then::Over { failed: false },
            Op::Again(to) => Then::To(*to),
            Op::JumpUnless { condition, to } => {
                if condition.truth(&mut scope) {
                    Then::Next
                } else {
                    Then::To(*to)
                }
            }
            Op::Choose(places) => {
                let total: f64 = places.iter().map(|(weight, _)| weight).sum();
                let mut draw = one.random.f64() * total;
                let place = places.iter().find(|(weight, _)| {
                    draw -= weight;
                    draw < 0.0
                });
                place.or(places.last()).map_or(Then::Next, |(_, to)| Then::To(*to))
            }
            Op::Step(step) => self.step(io, user, *step),
            Op::End { failed } => Then::Over { failed: *failed },
        }
    }

    /// Takes the next row of a table into the user's variables.
    fn draw(&mut self, user: u32, table: usize) -> Then {
        let plan = self.plan.clone();
        let table_of = &plan.program.tables[table];
        let rows = table_of.len() as u64;
        let taken = self.rows[table] * u64::from(self.share.of) + u64::from(self.share.index);
        self.rows[table] += 1;
        let one = &mut self.users[user as usize];
        let row = match table_of.order {
            RowOrder::Random => one.random.u64(0..rows.max(1)),
            RowOrder::Sequential => taken % rows.max(1),
            RowOrder::Unique => taken,
        };
        if row >= rows {
            self.counter.not_begun += 1;
            return Then::Over { failed: true };
        }
        table_of.take_row(row as usize, &mut one.variables);
        Then::Next
    }

    /// Has a user go on then.
    pub(super) fn sleep_until(&mut self, user: u32, due_ns: u64) {
        let one = &mut self.users[user as usize];
        one.state = State::Thinking;
        one.scheduled = true;
        one.due_ns = due_ns;
        self.timers.push(Reverse((due_ns, user)));
    }

    /// A user has come to the end of a session. One of a closed phase begins the next, as long as it is wanted.
    pub(super) fn leave(&mut self, io: &mut Io, user: u32, failed: bool) {
        let now_ns = monotonic_ns();
        let one = &self.users[user as usize];
        let over = self.plan.program.sessions[one.session as usize].ops.len() as u32;
        let counter = &mut self.counter.sessions[one.session as usize];
        let stopped = !failed && one.op < over && one.closed;
        if failed {
            counter.failed += 1;
        } else if !stopped {
            counter.completed += 1;
            counter.duration.record(now_ns.saturating_sub(one.began_ns));
        }
        if one.closed && !self.is_too_many(user) {
            let phase = self.schedule.phase_at(now_ns - self.epoch_ns.unwrap_or(now_ns));
            self.enter(user, now_ns, phase);
            // In the next turn: a session without a wait must not hold the thread, nor call itself.
            self.sleep_until(user, now_ns);
            self.users[user as usize].scheduled = false;
            return;
        }
        let one = &mut self.users[user as usize];
        one.state = State::Free;
        self.live -= 1;
        self.closed -= u32::from(one.closed);
        for (.., id) in std::mem::take(&mut one.lines) {
            self.drop_line(io, id);
        }
        self.free.push(user);
    }
}
