//! Connections that outlive their sockets: a client takes them up again where they were.
//!
//! A connection that lost its socket keeps its calls; their output is kept with it meanwhile. It
//! goes back to the same instance, and while it tries new calls go elsewhere or wait. Where the
//! instance refuses, or nobody listens there any more, the calls have failed as on any broken
//! connection.

use std::cmp::Reverse;

use ring::rand::{SecureRandom, SystemRandom};
use stadium_reactor::{CloseReason, ConnectionId, Io};
use stadium_rsocket::connection::{Connection, Suspended};
use stadium_rsocket::frame::ErrorCode;

use super::client_loop::{ClientLoop, connect_options};
use super::item::Item;
use super::link::{Link, Lost};
use super::slot::of_tag;
use crate::balance::Backoff;

/// A token that nobody can guess; `None` where the system has no randomness, and nothing is resumed.
pub(super) fn new_token() -> Option<[u8; 32]> {
    let mut token = [0; 32];
    SystemRandom::new().fill(&mut token).ok()?;
    Some(token)
}

impl Link {
    /// Notifies an instance that nobody will come back for the session.
    pub(super) fn take_leave(&mut self, io: &mut Io<Item>) {
        if let Some(connection) = &mut self.connection
            && connection.resume_token().is_some()
        {
            io.with_output(self.id, |out| {
                connection.close(ErrorCode::CONNECTION_CLOSE, "the client leaves", out);
            });
        }
    }
}

impl ClientLoop {
    /// The client ends.
    pub(super) fn take_leave(&mut self, io: &mut Io<Item>) {
        for link in self.links.iter_mut() {
            link.take_leave(io);
        }
    }

    /// A link's socket is gone: its session waits for another, or its calls have failed.
    pub(super) fn lost(
        &mut self,
        io: &mut Io<Item>,
        link: &Link,
        mut connection: Connection,
        reason: CloseReason,
    ) {
        let is_known = self.services[usize::from(link.service)].live_pool(link.instance).is_some();
        let stays = is_known && !link.closing && reason != CloseReason::Stopped;
        if !stays || connection.suspend(io.now()) == Suspended::Ended {
            return self.broken.add(link.id, &connection, reason);
        }
        let (service, instance) = (link.service, link.instance);
        self.links.lost.insert(link.id, Lost { connection, service, instance, backoff: Backoff::default() });
        if link.resumes.is_some() {
            self.resume_later(io, link.id, reason);
        } else {
            self.resume(io, link.id);
        }
    }

    /// Makes a new socket for a lost connection.
    fn resume(&mut self, io: &mut Io<Item>, old: ConnectionId) {
        let Some(lost) = self.links.lost.get(&old) else { return };
        let (service, instance) = (lost.service, lost.instance);
        let is_over = lost.connection.deadline_ms().is_none_or(|at_ms| at_ms <= io.now());
        let one = &mut self.services[usize::from(service)];
        let address = one.balancer.address(instance).and_then(|address| address.parse().ok());
        let (Some(address), false) = (address, is_over) else {
            return self.give_up(old, CloseReason::Unresponsive);
        };
        match io.connect(address, &connect_options(&self.config)) {
            Ok(id) => {
                if let Some(pool) = one.live_pool(instance) {
                    pool.opening += 1;
                }
                self.links.insert(Link { resumes: Some(old), ..Link::opening(id, service, instance) });
            }
            Err(error) => {
                tracing::debug!(%address, %error, "No connection could be begun");
                self.resume_later(io, old, CloseReason::Unreachable);
            }
        }
    }

    /// The new socket of a lost connection came to nothing.
    pub(super) fn resume_later(&mut self, io: &Io<Item>, old: ConnectionId, reason: CloseReason) {
        let Some(lost) = self.links.lost.get_mut(&old) else { return };
        if matches!(reason, CloseReason::ConnectRefused | CloseReason::Stopped) {
            // Nobody listens: the process has gone, and its sessions with it.
            return self.give_up(old, reason);
        }
        let wait_us = lost.backoff.wait_ms(&mut self.random) * 1_000;
        let over_us = lost.connection.deadline_ms().map_or(0, |at_ms| at_ms * 1_000);
        self.resumptions.push(Reverse(((io.now_us() + wait_us).min(over_us), old)));
    }

    fn give_up(&mut self, old: ConnectionId, reason: CloseReason) {
        if let Some(lost) = self.links.lost.remove(&old) {
            tracing::debug!(connection = ?old, reason = reason.name(), "A session was given up");
            self.broken.add(old, &lost.connection, reason);
        }
    }

    /// Tries what is due.
    pub(super) fn try_resumptions(&mut self, io: &mut Io<Item>) {
        while let Some(Reverse((at_us, old))) = self.resumptions.peek().copied()
            && at_us <= io.now_us()
        {
            self.resumptions.pop();
            self.resume(io, old);
        }
    }

    /// The new socket of a lost connection is there: asks the instance to go on.
    pub(super) fn resume_on(&mut self, io: &mut Io<Item>, id: ConnectionId, old: ConnectionId) {
        let Some(Lost { mut connection, .. }) = self.links.lost.remove(&old) else { return io.close(id) };
        let now_ms = io.now();
        io.with_output(id, |out| connection.resume_client(now_ms, out));
        for (stream, tag, _) in connection.streams() {
            let (place, which) = of_tag(tag);
            if let Some(attempt) = self.slots.at(place).attempt(which)
                && (attempt.connection, attempt.stream) == (old, stream)
            {
                attempt.connection = id;
            }
        }
        if let Some(at_ms) = connection.deadline_ms() {
            io.set_timer(id, at_ms.saturating_sub(now_ms));
        }
        if let Some(link) = self.links.at(id) {
            link.connection = Some(connection);
        }
    }

    /// The instance goes on.
    pub(super) fn resumed(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        let Some(link) = self.links.at(id) else { return };
        link.resumes = None;
        let (service, instance) = (link.service, link.instance);
        if let Some(at_ms) = link.connection.as_ref().and_then(Connection::deadline_ms) {
            io.set_timer(id, at_ms.saturating_sub(io.now()));
        }
        let one = &mut self.services[usize::from(service)];
        let Some(pool) = one.live_pool(instance) else { return };
        pool.opening = pool.opening.saturating_sub(1);
        pool.open.push(id);
        pool.trouble = None;
        one.balancer.connected(instance);
        self.look_for_hope(service);
        self.send_waiting(io, service);
    }
}
