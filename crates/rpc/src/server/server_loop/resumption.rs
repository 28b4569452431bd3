//! Sessions that outlive their sockets: begun by a SETUP, parked when the socket goes, taken up by a RESUME.
//!
//! A session lives on the loop that began it. A RESUME that another loop reads goes there with its socket; which
//! loop that is, is known from [`SessionPlaces`](crate::server::sessions::SessionPlaces).

use stadium_reactor::{ConnectionId, Io};
use stadium_rsocket::connection::Suspended;
use stadium_rsocket::frame::{self, ErrorCode, Frame, StreamId};

use super::bounds::{What, for_each_stream};
use super::house::{FIRST_LEASE, LEASE_MS};
use super::{ServerLoop, Station};
use crate::server::item::Item;
use crate::server::peer::Peer;
use crate::server::sessions::{Resumption, SessionPlace, TOKEN_BYTES_MIN};

impl ServerLoop {
    /// A client comes back for its session, with a new socket that `id` names.
    pub(super) fn resumes(&mut self, io: &mut Io<Item>, id: ConnectionId, resumption: Box<Resumption>) {
        match self.station.session_places.find(&resumption.token) {
            Some(place) if place.owner == self.station.place => self.take_up(io, id, place.id, &resumption),
            Some(place) => {
                self.peers.remove(id);
                io.handoff(id, &self.station.siblings[place.owner], Item::Resumes(resumption));
            }
            None => refuse_resumption(io, id),
        }
        self.counts().connections.set(self.peers.len() as u64);
    }

    /// Goes on with a session that had the socket `old` on the socket `id`.
    pub(super) fn take_up(
        &mut self,
        io: &mut Io<Item>,
        id: ConnectionId,
        old: ConnectionId,
        resumption: &Resumption,
    ) {
        let now_ms = io.now();
        // The half that has read the RESUME.
        self.peers.remove(id);
        if let Some(mut peer) = self.peers.remove(old) {
            // The network lost the old socket, and here it has not shown yet.
            io.abort(old);
            if peer.connection.suspend(now_ms) == Suspended::Waits {
                self.peers.parked.insert(peer, now_ms);
            } else {
                self.forget(&peer);
            }
        }
        let Some(mut peer) = self.peers.parked.remove(old) else { return refuse_resumption(io, id) };
        let frame = resumption.frame();
        let connection = &mut peer.connection;
        match io.with_output(id, |out| connection.resume_server(&frame, now_ms, out)) {
            Some(Ok(())) => {}
            Some(Err(refused)) => {
                tracing::debug!(connection = ?id, error = %refused, "A session was not resumed");
                self.forget(&peer);
                return io.close(id);
            }
            // The new socket is lost already.
            None => return self.peers.parked.insert(peer, now_ms),
        }
        self.core.move_to(old, id);
        let place = SessionPlace { owner: self.station.place, id };
        self.station.session_places.move_to(&resumption.token, place);
        (peer.id, peer.address, peer.paused) = (id, resumption.address, false);
        // A caller that knows the token alone is not the holder of the first socket's certificate.
        peer.certificate.clone_from(&resumption.certificate);
        if peer.lease {
            // Leases end with their socket.
            peer.write(io, |connection, out| connection.grant_lease(LEASE_MS, FIRST_LEASE, out));
        }
        let peer = self.peers.insert(peer);
        Self::set_timer(io, peer);
        for_each_stream(&mut self.chores, peer, What::Wake);
        self.counts().resumed.add(1);
    }

    /// A session has ended, or a connection without one: nobody waits for its calls.
    pub(super) fn forget(&mut self, peer: &Peer) {
        if let Some(token) = peer.connection.resume_token() {
            self.station
                .session_places
                .give_up(token, SessionPlace { owner: self.station.place, id: peer.id });
        }
        self.fragments -= peer.partial;
        for_each_stream(&mut self.chores, peer, What::Cancel);
    }

    /// Ends sessions whose clients did not come back, and those that are too many.
    pub(super) fn end_sessions(&mut self, now_ms: u64) {
        while let Some(peer) = self.peers.parked.next_over(now_ms) {
            self.forget(&peer);
        }
    }
}

/// Gives a session a place; the reason if it gets none.
pub(super) fn begin_session(station: &Station, id: ConnectionId, token: &[u8]) -> Result<(), &'static str> {
    if token.len() < TOKEN_BYTES_MIN {
        return Err("the resume token is too short to be a secret: it takes 16 bytes");
    }
    let place = SessionPlace { owner: station.place, id };
    if station.session_places.take(token, place) {
        Ok(())
    } else {
        Err("another session has this resume token")
    }
}

/// Notifies a client that its session is not known, and closes its new socket.
pub(super) fn refuse_resumption(io: &mut Io<Item>, id: ConnectionId) {
    let text = "this session is not known here";
    let error = Frame::Error {
        stream: StreamId::CONNECTION,
        code: ErrorCode::REJECTED_RESUME,
        data: text.as_bytes(),
    };
    io.with_output(id, |out| frame::encode(&error, out));
    io.close(id);
}
