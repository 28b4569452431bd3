//! Connections: opened when they are needed, owned by a user or shared by all of a loop, lost and found again.
//! Event streams and WebSockets are never shared: each has a connection of its own beside that of the target.

use std::cmp::Reverse;
use std::net::SocketAddr;

use stadium_reactor::{CloseReason, ConnectionId};
use stadium_scenario::program::Connections;

use super::driver::Driver;
use super::pool::{Line, Owner};
use super::user::State;
use crate::clock::monotonic_ns;
use crate::engine::order::Io;
use crate::engine::protocol::talk;
use crate::engine::protocol::talk::{Lane, Output};
use crate::engine::reply::{Failure, lost};

/// The way to a connection for a step.
pub(super) enum Found {
    /// It takes the step now.
    Ready(ConnectionId),
    /// It is opening.
    Opening,
    /// All are taken.
    Busy,
    /// None can be had.
    None(Failure),
}

impl Driver {
    /// Finds or opens a connection for the step that a user is at.
    pub(super) fn line_for(&mut self, io: &mut Io, user: u32) -> Found {
        let step = self.plan.step(self.users[user as usize].step);
        let (target, lane) = (step.target as u32, Lane::of(&step.action));
        match self.plan.targets[target as usize].connections {
            Connections::Shared(most) if lane == Lane::Main => self.pooled_line(io, target, most, user),
            _ => self.own_line(io, target, lane, user),
        }
    }

    /// A connection that only this user has.
    fn own_line(&mut self, io: &mut Io, target: u32, lane: Lane, user: u32) -> Found {
        if let Some(id) = self.users[user as usize].line(target, lane) {
            if self.line_mut(id).is_some_and(|line| line.talk.takes_more()) {
                return Found::Ready(id);
            }
            self.users[user as usize].forget(id);
            self.drop_line(io, id);
        }
        match self.open_line(io, target, Owner::User(user), user) {
            Ok(id) => {
                let one = &mut self.users[user as usize];
                one.on = id;
                one.lines.push((target, lane, id));
                Found::Opening
            }
            Err(failure) => Found::None(failure),
        }
    }

    /// One of those that all users of the loop share.
    fn pooled_line(&mut self, io: &mut Io, target: u32, most: u32, user: u32) -> Found {
        while let Some(id) = self.pools[target as usize].free.pop_front() {
            let Some(line) = self.line_mut(id) else { continue };
            line.listed = false;
            // What it is allowed may have changed since it was listed.
            if line.talk.has_room() {
                return Found::Ready(id);
            }
        }
        if self.pools[target as usize].open < most {
            match self.open_line(io, target, Owner::Pool, user) {
                Ok(_) => self.pools[target as usize].open += 1,
                Err(failure) => return Found::None(failure),
            }
        }
        self.pools[target as usize].queue.push_back(user);
        Found::Busy
    }

    fn open_line(
        &mut self,
        io: &mut Io,
        target: u32,
        owner: Owner,
        user: u32,
    ) -> Result<ConnectionId, Failure> {
        let plan = self.plan.clone();
        let planned = &plan.targets[target as usize];
        let step = plan.step(self.users[user as usize].step);
        let lane = Lane::of(&step.action);
        let options = match &planned.options_http1 {
            Some(options) if lane != Lane::Main => options,
            _ => &planned.options,
        };
        let sources = &plan.program.targets[target as usize].source_addresses;
        let turn = &mut self.dialled[target as usize];
        *turn += 1;
        let address = planned.addresses[*turn % planned.addresses.len()];
        let opened = if sources.is_empty() {
            io.connect(address, options)
        } else {
            let mut options = options.clone();
            options.bind = Some(SocketAddr::new(sources[*turn % sources.len()], 0));
            io.connect(address, &options)
        };
        let id = opened.map_err(|error| {
            self.counter.exhausted += 1;
            Failure::from(format!("no socket: {}", error.kind()))
        })?;
        let index = id.index as usize;
        if self.lines.len() <= index {
            self.lines.resize_with(index + 1, || None);
        }
        let talk = talk(step, planned);
        self.lines[index] = Some(Line { id, target, lane, owner, ready: false, listed: false, talk });
        Ok(id)
    }

    fn line_mut(&mut self, id: ConnectionId) -> Option<&mut Line> {
        self.lines.get_mut(id.index as usize)?.as_mut().filter(|line| line.id == id)
    }

    /// A connection stands.
    pub(super) fn line_opened(&mut self, io: &mut Io, id: ConnectionId) {
        let Driver { lines, counter, bytes, done, spare, .. } = self;
        let Some(line) =
            lines.get_mut(id.index as usize).and_then(Option::as_mut).filter(|line| line.id == id)
        else {
            return;
        };
        line.ready = true;
        bytes.clear();
        line.talk.connected(&mut Output { bytes, done, spare, messages: &mut counter.messages });
        if !bytes.is_empty() {
            io.send(id, |out| out.extend_from_slice(bytes));
        }
        self.tick_line(io, id, monotonic_ns());
        let Some(owner) = self.line_mut(id).map(|line| line.owner) else { return };
        match owner {
            Owner::User(user) => {
                if self.users[user as usize].state == State::Connecting {
                    let then = self.send(io, user, id);
                    self.go_on(io, user, then);
                }
            }
            Owner::Pool => self.share_line(io, id),
        }
    }

    /// Lets connections do what is due by time.
    pub(super) fn tick_lines(&mut self, io: &mut Io, now_ns: u64) {
        while let Some(&Reverse((due_ns, id))) = self.ticks.peek() {
            if due_ns > now_ns {
                return;
            }
            self.ticks.pop();
            self.tick_line(io, id, now_ns);
        }
    }

    fn tick_line(&mut self, io: &mut Io, id: ConnectionId, now_ns: u64) {
        let Driver { lines, counter, bytes, done, spare, .. } = self;
        let Some(line) =
            lines.get_mut(id.index as usize).and_then(Option::as_mut).filter(|line| line.id == id)
        else {
            return;
        };
        bytes.clear();
        let mut output = Output { bytes, done, spare, messages: &mut counter.messages };
        let next = line.talk.tick(now_ns, &mut output);
        if !bytes.is_empty() {
            io.send(id, |out| out.extend_from_slice(bytes));
        }
        self.end_steps(io, id);
        match next {
            // Never again at once: a tick that is always due must not hold the thread.
            Ok(Some(next_ns)) => self.ticks.push(Reverse((next_ns.max(now_ns + 1), id))),
            Ok(None) => {}
            Err(failure) => self.fail_line(io, id, &failure),
        }
    }

    /// Bytes came on a connection.
    pub(super) fn line_received(&mut self, io: &mut Io, id: ConnectionId, bytes: &[u8]) -> usize {
        let Driver { lines, counter, bytes: out, done, spare, .. } = self;
        let Some(line) =
            lines.get_mut(id.index as usize).and_then(Option::as_mut).filter(|line| line.id == id)
        else {
            return bytes.len();
        };
        out.clear();
        let mut output = Output { bytes: out, done, spare, messages: &mut counter.messages };
        let result = line.talk.received(bytes, &mut output);
        if !out.is_empty() {
            io.send(id, |buffer| buffer.extend_from_slice(out));
        }
        self.end_steps(io, id);
        match result {
            Ok(used) => {
                // The target may allow more at a time than before.
                self.share_line(io, id);
                used
            }
            Err(failure) => {
                self.fail_line(io, id, &failure);
                bytes.len()
            }
        }
    }

    /// A connection has ended.
    pub(super) fn line_closed(&mut self, io: &mut Io, id: ConnectionId, reason: CloseReason) {
        if self.finished {
            return;
        }
        let Driver { lines, counter, bytes, done, spare, .. } = self;
        let Some(line) =
            lines.get_mut(id.index as usize).and_then(Option::as_mut).filter(|line| line.id == id)
        else {
            return;
        };
        if reason == CloseReason::PeerClosed && line.ready {
            bytes.clear();
            line.talk.ended(&mut Output { bytes, done, spare, messages: &mut counter.messages });
        }
        let ready = line.ready;
        self.end_steps(io, id);
        self.fail_line(io, id, &lost(reason, ready));
    }

    /// Ends the steps of users that are done.
    fn end_steps(&mut self, io: &mut Io, id: ConnectionId) {
        if self.done.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut self.done);
        for done in done.drain(..) {
            let one = &mut self.users[done.user as usize];
            if one.state != State::Waiting || one.on != id {
                continue;
            }
            let per_request =
                self.lines.get(id.index as usize).and_then(Option::as_ref).is_some_and(|line| {
                    line.lane == Lane::Main
                        && self.plan.targets[line.target as usize].connections == Connections::PerRequest
                });
            if !done.reusable || per_request {
                one.forget(id);
                self.drop_line(io, id);
            } else {
                self.share_line(io, id);
            }
            match done.result {
                Ok(reply) => self.complete(io, done.user, Ok(reply)),
                Err(failure) => self.fail(io, done.user, failure, done.again),
            }
        }
        // Steps that ended meanwhile were handled by their own call.
        self.done = done;
    }

    /// Gives a shared connection that has room to a user who waits for one, or lists it as free.
    pub(super) fn share_line(&mut self, io: &mut Io, id: ConnectionId) {
        loop {
            let Some(line) = self.line_mut(id) else { return };
            if line.owner != Owner::Pool || !line.ready || line.listed || !line.talk.has_room() {
                return;
            }
            let target = line.target as usize;
            match self.pools[target].queue.pop_front() {
                Some(user) if self.users[user as usize].state == State::Queued => {
                    let then = self.send(io, user, id);
                    self.go_on(io, user, then);
                }
                // It waits no more.
                Some(_) => {}
                None => {
                    if let Some(line) = self.line_mut(id) {
                        line.listed = true;
                        self.pools[target].free.push_back(id);
                    }
                    return;
                }
            }
        }
    }

    /// Closes a connection that nobody needs any more.
    pub(super) fn drop_line(&mut self, io: &mut Io, id: ConnectionId) {
        if let Some(line) = self.take_line(id) {
            io.close(id);
            self.refill(io, line.target);
        }
    }

    /// Resets a connection on which something was still to come.
    pub(super) fn break_line(&mut self, io: &mut Io, id: ConnectionId) {
        if let Some(line) = self.take_line(id) {
            io.abort(id);
            self.refill(io, line.target);
        }
    }

    /// Ends a connection and fails whatever waits for it.
    fn fail_line(&mut self, io: &mut Io, id: ConnectionId, failure: &Failure) {
        let Some(line) = self.take_line(id) else { return };
        io.abort(id);
        let again = line.talk.may_send_again();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.clear();
        line.talk.waiting(&mut waiting);
        match line.owner {
            Owner::User(user) => waiting.push(user),
            // Where none can be had, those that wait for it learn that too.
            Owner::Pool if !line.ready => waiting.extend(self.pools[line.target as usize].queue.drain(..)),
            Owner::Pool => {}
        }
        waiting.dedup();
        for user in waiting.drain(..) {
            let one = &mut self.users[user as usize];
            let again = again && one.state == State::Waiting;
            let concerned = match one.state {
                State::Waiting | State::Connecting => one.on == id,
                State::Queued => !line.ready,
                _ => false,
            };
            if concerned {
                self.fail(io, user, failure.clone(), again);
            }
        }
        self.waiting = waiting;
        self.refill(io, line.target);
    }

    /// Opens a shared connection where users wait and none is left that could come to them.
    fn refill(&mut self, io: &mut Io, target: u32) {
        let pool = &self.pools[target as usize];
        let Some(&user) = pool.queue.front().filter(|_| pool.open == 0) else { return };
        // Where no socket can be had, those who wait time out.
        if self.open_line(io, target, Owner::Pool, user).is_ok() {
            self.pools[target as usize].open += 1;
        }
    }

    /// Takes a connection out of the books.
    fn take_line(&mut self, id: ConnectionId) -> Option<Line> {
        self.line_mut(id)?;
        let line = self.lines[id.index as usize].take()?;
        match line.owner {
            Owner::User(user) => self.users[user as usize].forget(id),
            Owner::Pool => {
                let pool = &mut self.pools[line.target as usize];
                pool.open -= 1;
                if line.listed {
                    pool.free.retain(|free| *free != id);
                }
            }
        }
        Some(line)
    }
}
