//! One step of one user: begun on a connection, ended by an answer or by a failure, counted and checked.
//!
//! Response time counts from when the step was due, service time from when it was sent.

use stadium_reactor::ConnectionId;
use stadium_scenario::scope::Scope;

use super::driver::Driver;
use super::line::Found;
use super::session::Then;
use super::user::State;
use crate::clock::monotonic_ns;
use crate::engine::order::Io;
use crate::engine::protocol::talk::{Ask, Begun, Output};
use crate::engine::reply::{Failure, Reply};

/// A step is sent again at most so often.
const AGAIN_MAX: u8 = 3;

impl Driver {
    /// Begins a step.
    pub(super) fn step(&mut self, io: &mut Io, user: u32, number: u32) -> Then {
        let now_ns = monotonic_ns();
        let one = &mut self.users[user as usize];
        one.step = number;
        one.again = 0;
        one.sent_ns = now_ns;
        one.deadline_ns = now_ns.saturating_add(self.plan.step(number).timeout_ns);
        if std::mem::take(&mut one.scheduled) {
            self.sent.push(one.due_ns);
        }
        self.counter.steps[number as usize].started += 1;
        self.set_out(io, user)
    }

    /// Takes a user's step to a connection, or lets it wait for one.
    fn set_out(&mut self, io: &mut Io, user: u32) -> Then {
        match self.line_for(io, user) {
            Found::Ready(id) => {
                let then = self.send(io, user, id);
                self.share_line(io, id);
                then
            }
            Found::Opening => {
                self.users[user as usize].state = State::Connecting;
                Then::Wait
            }
            Found::Busy => {
                self.users[user as usize].state = State::Queued;
                Then::Wait
            }
            Found::None(failure) => self.settle(user, Err(failure)),
        }
    }

    /// Sends a user's step on a connection that has room for it.
    pub(super) fn send(&mut self, io: &mut Io, user: u32, id: ConnectionId) -> Then {
        let Driver { plan, users, lines, counter, bytes, done, spare, .. } = self;
        let one = &mut users[user as usize];
        let Some(line) = lines.get_mut(id.index as usize).and_then(Option::as_mut) else {
            return self.settle(user, Err("reset".into()));
        };
        let step = plan.step(one.step);
        let target = &plan.program.targets[step.target];
        bytes.clear();
        let mut ask = Ask {
            user,
            step,
            planned: &plan.steps[one.step as usize],
            target: &plan.targets[step.target],
            headers: &target.headers,
            path: &target.path,
            cookies: target.cookies.then_some(&one.cookies),
            due_ns: one.due_ns,
            scope: Scope {
                variables: &mut one.variables,
                random: &mut one.random,
                wall_ms: self.wall_ms,
                user: one.number,
            },
        };
        let mut output = Output { bytes, done, spare, messages: &mut counter.messages };
        let begun = line.talk.begin(&mut ask, &mut output);
        if !bytes.is_empty() {
            counter.steps[one.step as usize].bytes_out += bytes.len() as u64;
            io.send(id, |out| out.extend_from_slice(bytes));
        }
        one.on = id;
        one.sent_ns = monotonic_ns();
        match begun {
            Ok(Begun::Waiting) => {
                one.state = State::Waiting;
                Then::Wait
            }
            Ok(Begun::Done(reply)) => self.settle(user, Ok(reply)),
            Ok(Begun::Close) => {
                self.users[user as usize].forget(id);
                self.drop_line(io, id);
                let reply = self.spare.pop().unwrap_or_default();
                self.settle(user, Ok(reply))
            }
            Err(failure) => self.settle(user, Err(failure)),
        }
    }

    /// A step that was waited for is done: its user goes on.
    pub(super) fn complete(&mut self, io: &mut Io, user: u32, result: Result<Reply, Failure>) {
        let then = self.settle(user, result);
        self.go_on(io, user, then);
    }

    /// A step that was waited for failed with its connection, or is sent again where it may be.
    pub(super) fn fail(&mut self, io: &mut Io, user: u32, failure: Failure, again: bool) {
        let one = &mut self.users[user as usize];
        if !again || one.again >= AGAIN_MAX {
            return self.complete(io, user, Err(failure));
        }
        one.again += 1;
        self.counter.sent_again += 1;
        let then = self.set_out(io, user);
        self.go_on(io, user, then);
    }

    /// Lets a user go on that something has woken.
    pub(super) fn go_on(&mut self, io: &mut Io, user: u32, then: Then) {
        let one = &mut self.users[user as usize];
        match then {
            Then::Next => one.op += 1,
            Then::To(op) => one.op = op,
            Then::Over { failed } => return self.leave(io, user, failed),
            // It waits already for what comes next.
            Then::Wait => return,
        }
        one.state = State::Running;
        self.run(io, user);
    }

    /// Ends a user's step before its answer has come.
    pub(super) fn give_up(&mut self, io: &mut Io, user: u32, failure: Failure) {
        let one = &self.users[user as usize];
        let id = one.on;
        match one.state {
            State::Waiting => {
                let Driver { lines, counter, bytes, done, spare, .. } = self;
                bytes.clear();
                let mut output = Output { bytes, done, spare, messages: &mut counter.messages };
                let line = lines.get_mut(id.index as usize).and_then(Option::as_mut);
                let usable = line.is_some_and(|line| line.talk.abandon(user, &mut output));
                if !bytes.is_empty() {
                    io.send(id, |out| out.extend_from_slice(bytes));
                }
                if !usable {
                    self.break_line(io, id);
                }
            }
            State::Connecting => self.break_line(io, id),
            // A connection that takes it from the queue sees that it waits no more.
            _ => {}
        }
        self.complete(io, user, Err(failure));
    }

    /// Counts what became of a user's step, takes values from its answer and checks it.
    pub(super) fn settle(&mut self, user: u32, result: Result<Reply, Failure>) -> Then {
        let now_ns = monotonic_ns();
        let Driver { plan, users, counter, spare, .. } = self;
        let one = &mut users[user as usize];
        let step = plan.step(one.step);
        let figures = &mut counter.steps[one.step as usize];
        let response_ns = now_ns.saturating_sub(one.due_ns);
        let failed = match result {
            Ok(mut reply) => {
                reply.elapsed_ns = now_ns.saturating_sub(one.sent_ns);
                figures.answered += 1;
                figures.bytes_in += reply.bytes_in;
                figures.response.record(response_ns);
                figures.service.record(reply.elapsed_ns);
                let mut failed = false;
                if plan.program.targets[step.target].cookies {
                    for set in reply.set_cookies.split(|&byte| byte == b'\n').filter(|set| !set.is_empty()) {
                        one.cookies.take(set, &plan.targets[step.target].host, self.wall_ms);
                    }
                }
                if let Some(status) = reply.status {
                    figures.status(status);
                }
                for extract in &step.extract {
                    if !extract.take(&reply, &mut one.variables[usize::from(extract.slot.0)]) {
                        if !failed {
                            figures.fail(&format!("not in the answer: {}", extract.text()));
                        }
                        failed = true;
                    }
                }
                let mut scope = Scope {
                    variables: &mut one.variables,
                    random: &mut one.random,
                    wall_ms: self.wall_ms,
                    user: one.number,
                };
                for (number, check) in step.checks.iter().enumerate() {
                    let holds = check.holds(&reply, &mut scope);
                    figures.checks[number][usize::from(!holds)] += 1;
                    if !holds {
                        if !failed {
                            figures.fail(&format!("check: {}", check.text));
                        }
                        failed = true;
                    }
                }
                reply.clear();
                spare.push(reply);
                failed
            }
            Err(failure) => {
                if failure == "timeout" {
                    // It took at least so long: leaving it out would make the slowest answers look like none.
                    figures.response.record(response_ns);
                }
                figures.fail(&failure);
                true
            }
        };
        one.due_ns = now_ns;
        if failed && step.ends_session_on_failure { Then::Over { failed: true } } else { Then::Next }
    }
}
