//! Sessions that outlive their sockets: which loop has which session, and those that wait for their client.
//!
//! A token stands in [`SessionPlaces`] from SETUP to the session's end, so that a client that comes
//! back is found from any loop. A session without a socket keeps its state under the id of the
//! socket that it lost; what its calls produce meanwhile is kept by its connection, within the
//! bound of its store.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use stadium_reactor::ConnectionId;
use stadium_reactor::tls::CertificateNames;
use stadium_rsocket::frame::{Resume, Version};

use super::peer::Peer;

/// The shortest token that is taken, in bytes: a client that knows a token has the session, so
/// nobody may guess it.
pub(crate) const TOKEN_BYTES_MIN: usize = 16;

/// Where a session lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionPlace {
    /// The loop, by its place.
    pub(crate) owner: usize,
    /// The socket that it has or had.
    pub(crate) id: ConnectionId,
}

/// The places of all sessions of a server: at most one for each connection and each waiting
/// session.
#[derive(Debug, Default)]
pub(crate) struct SessionPlaces(Mutex<HashMap<Box<[u8]>, SessionPlace>>);

impl SessionPlaces {
    /// A session begins; false where another one has that token.
    pub(crate) fn take(&self, token: &[u8], place: SessionPlace) -> bool {
        match self.0.lock().entry(token.into()) {
            std::collections::hash_map::Entry::Occupied(_) => false,
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(place);
                true
            }
        }
    }

    pub(crate) fn find(&self, token: &[u8]) -> Option<SessionPlace> {
        self.0.lock().get(token).copied()
    }

    /// A session has another socket now.
    pub(crate) fn move_to(&self, token: &[u8], place: SessionPlace) {
        if let Some(old) = self.0.lock().get_mut(token) {
            *old = place;
        }
    }

    /// A session has ended.
    pub(crate) fn give_up(&self, token: &[u8], place: SessionPlace) {
        let mut places = self.0.lock();
        if places.get(token) == Some(&place) {
            places.remove(token);
        }
    }
}

/// What one loop may keep for clients that may come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParkedLimits {
    pub(crate) sessions_max: usize,
    pub(crate) bytes_max: usize,
    /// How long each is kept, in milliseconds.
    pub(crate) within_ms: u64,
    /// How much each may still grow, in bytes.
    pub(crate) store_bytes_max: usize,
}

/// A loop's sessions without a socket.
pub(crate) struct Parked {
    limits: ParkedLimits,
    sessions: HashMap<ConnectionId, (Peer, usize)>,
    /// By when they end; those that were taken up leave their entry behind until then.
    order: VecDeque<(u64, ConnectionId)>,
    bytes: usize,
}

impl Parked {
    pub(crate) fn new(limits: ParkedLimits) -> Self {
        Self { limits, sessions: HashMap::new(), order: VecDeque::new(), bytes: 0 }
    }

    /// Keeps a session for its client. [`Parked::next_over`] then returns those that are over.
    pub(crate) fn insert(&mut self, mut peer: Peer, now_ms: u64) {
        peer.parked = true;
        let bytes = peer.connection.memory_bytes() + self.limits.store_bytes_max;
        self.bytes += bytes;
        self.order.push_back((now_ms + self.limits.within_ms, peer.id));
        self.sessions.insert(peer.id, (peer, bytes));
    }

    #[inline]
    pub(crate) fn at(&mut self, id: ConnectionId) -> Option<&mut Peer> {
        if self.sessions.is_empty() {
            return None;
        }
        self.sessions.get_mut(&id).map(|(peer, _)| peer)
    }

    /// Takes a session out.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Peer> {
        let (mut peer, bytes) = self.sessions.remove(&id)?;
        self.bytes -= bytes;
        peer.parked = false;
        while let Some((_, first)) = self.order.front()
            && !self.sessions.contains_key(first)
        {
            self.order.pop_front();
        }
        Some(peer)
    }

    /// A session whose client did not come back in time, or, where there are too many, the one that has waited
    /// longest: the least likely to be missed.
    pub(crate) fn next_over(&mut self, now_ms: u64) -> Option<Peer> {
        let (at_ms, id) = *self.order.front()?;
        let full = self.sessions.len() > self.limits.sessions_max || self.bytes > self.limits.bytes_max;
        if at_ms > now_ms && !full {
            return None;
        }
        self.remove(id)
    }

    /// What each session holds of payloads in fragments, in bytes.
    pub(crate) fn partials(&self) -> impl Iterator<Item = (usize, ConnectionId)> + '_ {
        self.sessions.iter().map(|(id, (peer, _))| (peer.partial, *id))
    }

    /// Takes any session out.
    pub(crate) fn next(&mut self) -> Option<Peer> {
        let id = *self.sessions.keys().next()?;
        self.remove(id)
    }

    /// When the next one is over, in milliseconds of loop time.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.order.front().map(|first| first.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }
}

/// A client's wish to go on with a session, on its way to the loop that has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resumption {
    pub(crate) token: Box<[u8]>,
    received: u64,
    available: u64,
    pub(crate) address: Option<SocketAddr>,
    /// Of the new socket.
    pub(crate) certificate: Option<Arc<CertificateNames>>,
}

impl Resumption {
    pub(crate) fn new(
        resume: &Resume<'_>,
        address: Option<SocketAddr>,
        certificate: Option<Arc<CertificateNames>>,
    ) -> Self {
        Self {
            token: resume.token.into(),
            received: resume.last_received_server_position,
            available: resume.first_available_client_position,
            address,
            certificate,
        }
    }

    /// The RESUME frame.
    pub(crate) fn frame(&self) -> Resume<'_> {
        Resume {
            version: Version::V1_0,
            token: &self.token,
            last_received_server_position: self.received,
            first_available_client_position: self.available,
        }
    }
}
