//! What keeps one connection from costing the others: bytes that are unfinished, and ends of very many streams.
//!
//! Bytes are reported to the server's [`Budget`](crate::server::budget::Budget), and cut where it
//! demands it. Work for each stream of a connection is done for some streams in a turn, and for the
//! rest in later ones.

use std::collections::VecDeque;

use stadium_reactor::{ConnectionId, Io};
use stadium_rsocket::connection::Tag;
use stadium_rsocket::frame::ErrorCode;

use super::ServerLoop;
use crate::server::budget::Verdict;
use crate::server::item::Item;
use crate::server::peer::Peer;

/// Streams that are woken or cancelled in one turn because of their connection: two or three milliseconds of work.
const STREAMS_A_TURN: usize = 1_000;

/// What is to be done for each of a connection's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Their caller has gone.
    Cancel,
    /// Their connection takes more.
    Wake,
}

/// Something that is to be done for the streams of a connection.
pub(super) struct Chore {
    connection: ConnectionId,
    what: What,
    tags: Vec<Tag>,
}

/// Has it done for all streams of a connection, in this turn and the next ones.
pub(super) fn for_each_stream(chores: &mut VecDeque<Chore>, peer: &Peer, what: What) {
    let tags: Vec<Tag> = peer.connection.streams().map(|(_, tag, _)| tag).collect();
    if what == What::Wake {
        // Those that have not been woken yet are among them.
        chores.retain(|chore| chore.connection != peer.id || chore.what != What::Wake);
    }
    if !tags.is_empty() {
        chores.push_back(Chore { connection: peer.id, what, tags });
    }
}

impl ServerLoop {
    /// Goes on with what is to be done for streams.
    pub(super) fn do_chores(&mut self) {
        self.do_some_chores(STREAMS_A_TURN);
        if !self.chores.is_empty() {
            // The rest has its turn after the others: knock, so that the loop does not sleep.
            let _ = self.core.handle.try_send(Item::Woken);
        }
    }

    pub(super) fn do_some_chores(&mut self, streams: usize) {
        let mut left = streams;
        while left > 0
            && let Some(chore) = self.chores.front_mut()
        {
            let Some(tag) = chore.tags.pop() else {
                self.chores.pop_front();
                continue;
            };
            left -= 1;
            // A call may have ended meanwhile, and its place may be another one's.
            if self.core.is_of(tag, chore.connection) {
                match chore.what {
                    What::Cancel => self.core.cancelled(tag),
                    What::Wake => self.core.writable(tag),
                }
            }
        }
    }

    /// Notes what a connection holds of payloads in fragments.
    #[inline]
    pub(super) fn note_partial(fragments: &mut usize, peer: &mut Peer) {
        let bytes = peer.connection.partial_bytes();
        if bytes != peer.partial {
            *fragments = *fragments - peer.partial + bytes;
            peer.partial = bytes;
        }
    }

    /// Reports what is held that is unfinished, and cuts connections where it is too much.
    pub(super) fn keep_within_budget(&mut self, io: &mut Io<Item>) {
        let bytes = io.held_by_all() as usize + self.fragments;
        if bytes == self.reported && !std::mem::take(&mut self.is_suspected) {
            return;
        }
        self.reported = bytes;
        match self.station.budget.report(self.station.place, bytes) {
            Verdict::Fits => {}
            Verdict::Cut(over) => self.cut(io, over),
            Verdict::Elsewhere(place) => {
                // A full mailbox: that loop has a turn anyway, and looks where what it holds has changed.
                let _ = self.station.siblings[place].try_send(Item::OverBudget);
            }
        }
    }

    /// Cuts the connections that hold most.
    #[cold]
    fn cut(&mut self, io: &mut Io<Item>, over: usize) {
        let mut holders: Vec<(usize, ConnectionId)> =
            self.peers.iter_mut().map(|peer| (io.held(peer.id) + peer.partial, peer.id)).collect();
        holders.extend(self.peers.parked.partials());
        holders.retain(|(bytes, _)| *bytes > 0);
        holders.sort_unstable_by_key(|(bytes, _)| *bytes);
        let mut freed = 0;
        while freed < over
            && let Some((bytes, id)) = holders.pop()
        {
            freed += bytes;
            self.counts().cut_partial.add(1);
            tracing::warn!(connection = ?id, bytes, "A connection was cut: unfinished frames are more than partial_bytes_max");
            if let Some(peer) = self.peers.parked.remove(id) {
                self.forget(&peer);
                continue;
            }
            if let Some(peer) = self.peers.at(id) {
                let text = "unfinished frames of this server's connections are too many bytes, and this one holds most";
                io.with_output(id, |out| peer.connection.close(ErrorCode::CONNECTION_ERROR, text, out));
                io.write_now();
                // Its memory is wanted now: it does not linger.
                io.abort(id);
            }
        }
        self.reported = usize::MAX;
    }
}
