//! A loop's connections with their RSocket state, by the reactor's places.

use std::net::SocketAddr;
use std::sync::Arc;

use stadium_reactor::tls::CertificateNames;
use stadium_reactor::{ConnectionId, Io};
use stadium_rsocket::connection::Connection;

use super::item::Item;
use super::sessions::{Parked, ParkedLimits};

/// A client's connection.
pub(crate) struct Peer {
    pub(crate) id: ConnectionId,
    pub(crate) connection: Connection,
    pub(crate) address: Option<SocketAddr>,
    /// The names of the certificate that its socket was opened with.
    pub(crate) certificate: Option<Arc<CertificateNames>>,
    /// Its SETUP was accepted.
    pub(crate) ready: bool,
    /// Metadata is composite, rather than a route alone.
    pub(crate) composite: bool,
    /// It understands what Stadium's servers push.
    pub(crate) stadium: bool,
    /// It honours leases.
    pub(crate) lease: bool,
    /// Requests since the last grant.
    pub(crate) used: u32,
    /// It is not read until it has read.
    pub(crate) paused: bool,
    /// Bytes that streams have produced for it in the turn, and which turn that was.
    pub(crate) produced: usize,
    pub(crate) produced_in: u64,
    /// Its socket is lost, and its session waits for another.
    pub(crate) parked: bool,
    /// Bytes that its connection holds of payloads in fragments, as was last noted.
    pub(crate) partial: usize,
    /// Uploads whose functions are far behind: it is not read until they have caught up.
    pub(crate) behind: u32,
}

impl Peer {
    pub(crate) fn new(
        id: ConnectionId,
        connection: Connection,
        address: Option<SocketAddr>,
        certificate: Option<Arc<CertificateNames>>,
    ) -> Self {
        Self {
            id,
            connection,
            address,
            certificate,
            ready: false,
            composite: true,
            stadium: false,
            lease: false,
            used: 0,
            paused: false,
            produced: 0,
            produced_in: 0,
            parked: false,
            partial: 0,
            behind: 0,
        }
    }

    /// Has `write` send on the connection; `None`, and it is not called, where nothing can be sent. What is sent
    /// while the session waits is kept by its connection.
    pub(crate) fn write<R>(
        &mut self,
        io: &mut Io<Item>,
        write: impl FnOnce(&mut Connection, &mut Vec<u8>) -> R,
    ) -> Option<R> {
        let connection = &mut self.connection;
        let mut write = Some(write);
        let written = match self.parked {
            true => None,
            false => io.with_output(self.id, |out| write.take().map(|write| write(connection, out))),
        };
        // A socket that ends in this turn takes nothing any more, and its session may go on.
        if written.is_none() && (self.parked || self.connection.resume_token().is_some()) {
            return write.take().map(|write| write(&mut self.connection, &mut Vec::new()));
        }
        written.flatten()
    }
}

/// The connections of a loop, and the sessions that lost theirs.
pub(crate) struct Peers {
    places: Vec<Option<Peer>>,
    count: usize,
    pub(crate) parked: Parked,
}

impl Peers {
    pub(crate) fn new(limits: ParkedLimits) -> Self {
        Self { places: Vec::new(), count: 0, parked: Parked::new(limits) }
    }

    pub(crate) fn insert(&mut self, peer: Peer) -> &mut Peer {
        let place = peer.id.index as usize;
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        if self.places[place].is_none() {
            self.count += 1;
        }
        self.places[place].insert(peer)
    }

    pub(crate) fn at(&mut self, id: ConnectionId) -> Option<&mut Peer> {
        match self.places.get_mut(id.index as usize) {
            Some(Some(peer)) if peer.id == id => Some(peer),
            _ => self.parked.at(id),
        }
    }

    /// Takes a connection out that has a socket.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Peer> {
        let place = self.places.get_mut(id.index as usize)?;
        if place.as_ref().is_none_or(|peer| peer.id != id) {
            return None;
        }
        self.count -= 1;
        place.take()
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.places.iter_mut().flatten()
    }
}
