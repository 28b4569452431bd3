//! A client's connections to instances, and the pools that they form.

use stadium_reactor::ConnectionId;
use stadium_rsocket::connection::Connection;

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
}

/// A client's connections, by the reactor's places.
#[derive(Default)]
pub(crate) struct Links {
    places: Vec<Option<Link>>,
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
    pub(crate) next: usize,
    pub(crate) backoff: Backoff,
    /// When a connection is tried again, in microseconds of loop time.
    pub(crate) retry_us: u64,
}

impl Pool {
    /// The next connection in turn.
    pub(crate) fn pick(&mut self) -> Option<ConnectionId> {
        let id = *self.open.get(self.next).or_else(|| self.open.first())?;
        self.next = if self.next + 1 < self.open.len() { self.next + 1 } else { 0 };
        Some(id)
    }
}
