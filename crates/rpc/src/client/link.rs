//! A client's connections to instances, and the pools that they form.
//!
//! They are found by the reactor's places, pools by the places of their instances.

use std::collections::{HashMap, VecDeque};

use stadium_reactor::{ConnectionId, Io};
use stadium_rsocket::connection::Connection;

use super::item::Item;
use crate::balance::{Backoff, InstanceId};

/// A connection to an instance.
pub(crate) struct Link {
    pub(crate) id: ConnectionId,
    /// `None` until TCP, TLS and WebSocket are through.
    pub(crate) connection: Option<Connection>,
    pub(crate) service: u16,
    pub(crate) instance: InstanceId,
    /// The instance takes no more requests on it.
    pub(crate) closing: bool,
    /// The lost connection that it takes up, until the instance has agreed.
    pub(crate) resumes: Option<ConnectionId>,
    /// Downloads whose receivers are far behind: it is not read until they have caught up.
    pub(crate) behind: u32,
}

/// A connection that lost its socket, and whose session may go on.
pub(crate) struct Lost {
    pub(crate) connection: Connection,
    pub(crate) service: u16,
    pub(crate) instance: InstanceId,
    pub(crate) backoff: Backoff,
}

impl Link {
    /// One that is not through yet.
    pub(crate) fn opening(id: ConnectionId, service: u16, instance: InstanceId) -> Self {
        Self { id, connection: None, service, instance, closing: false, resumes: None, behind: 0 }
    }
}

/// A client's connections, by the reactor's places, and those that lost their sockets by the names they had.
#[derive(Default)]
pub(crate) struct Links {
    places: Vec<Option<Link>>,
    pub(crate) lost: HashMap<ConnectionId, Lost>,
}

impl Links {
    pub(crate) fn insert(&mut self, link: Link) {
        let place = link.id.index as usize;
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.places[place] = Some(link);
    }

    pub(crate) fn at(&mut self, id: ConnectionId) -> Option<&mut Link> {
        self.places.get_mut(id.index as usize)?.as_mut().filter(|link| link.id == id)
    }

    /// Has `write` send on a connection; `None`, and it is not called, where nothing can be sent. What is sent on
    /// one that lost its socket is kept until it has another.
    pub(crate) fn write<R>(
        &mut self,
        io: &mut Io<Item>,
        id: ConnectionId,
        write: impl FnOnce(&mut Connection, &mut Vec<u8>) -> R,
    ) -> Option<R> {
        if let Some(lost) = self.lost.get_mut(&id) {
            return Some(write(&mut lost.connection, &mut Vec::new()));
        }
        let connection = self.at(id)?.connection.as_mut()?;
        let mut write = Some(write);
        let written = io.with_output(id, |out| write.take().map(|write| write(connection, out)));
        // A socket that ends in this turn takes nothing any more, and its session may go on.
        if written.is_none() && connection.resume_token().is_some() {
            return write.take().map(|write| write(connection, &mut Vec::new()));
        }
        written.flatten()
    }

    /// Whether a connection has sent all that it was given, and can be given more.
    pub(crate) fn takes_more(&mut self, io: &Io<Item>, id: ConnectionId) -> bool {
        let is_open = self.at(id).is_some_and(|link| link.connection.is_some() && link.resumes.is_none());
        is_open && io.unsent(id) == 0
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.places.iter_mut().flatten()
    }

    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Link> {
        let place = self.places.get_mut(id.index as usize)?;
        if place.as_ref().is_none_or(|link| link.id != id) {
            return None;
        }
        place.take()
    }
}

/// The connections to one instance.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Whose they are; the place is used again for others.
    pub(crate) instance: Option<InstanceId>,
    pub(crate) open: Vec<ConnectionId>,
    pub(crate) opening: usize,
    next: usize,
    /// Connections on which calls were answered, each good for one call.
    answered: VecDeque<ConnectionId>,
    pub(crate) backoff: Backoff,
    /// When a connection is tried again, in microseconds of loop time.
    pub(crate) retry_us: u64,
    /// Why the last attempt came to nothing, or the last connection ended; `None` before the first, and while one is up.
    pub(crate) trouble: Option<String>,
}

/// Answers that a pool of several connections remembers, so that calls follow them; the oldest is forgotten.
/// More than calls are in flight, as a rule.
const ANSWERED_MAX: usize = 16 * 1024;

impl Pool {
    pub(crate) fn of(instance: InstanceId) -> Self {
        Self { instance: Some(instance), ..Self::default() }
    }

    /// The connection for the next call: one that has answered and not been used since, otherwise the next in
    /// turn. So each keeps its share in flight, and calls that follow answers of one write leave in one write.
    pub(crate) fn pick(&mut self) -> Option<ConnectionId> {
        if self.open.len() < 2 {
            return self.open.first().copied();
        }
        if let Some(id) = self.answered.pop_front() {
            return Some(id);
        }
        self.next = if self.next + 1 < self.open.len() { self.next + 1 } else { 0 };
        self.open.get(self.next).copied()
    }

    /// A call was answered there.
    #[inline]
    pub(crate) fn answered(&mut self, id: ConnectionId) {
        if self.open.len() > 1 {
            if self.answered.len() >= ANSWERED_MAX {
                self.answered.pop_front();
            }
            self.answered.push_back(id);
        }
    }

    /// A connection takes no more calls.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        self.open.retain(|open| *open != id);
        self.answered.retain(|answered| *answered != id);
    }
}
