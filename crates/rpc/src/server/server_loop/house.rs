//! What a loop looks at by the clock: its load, the leases of its clients, keep-alive, quiescing.
//!
//! The loop's one alarm stands for the first that is due; each connection has a timer of its own.

use stadium_reactor::Io;
use stadium_rsocket::connection::Event;
use stadium_rsocket::frame::ErrorCode;

use super::ServerLoop;
use crate::admission::{Asker, Capacity};
use crate::server::item::Item;
use crate::server::peer::Peer;
use crate::wire;

/// Between two looks at load, leases and quiescing, in milliseconds.
pub(super) const HOUSEKEEPING_MS: u64 = 250;

/// How long a peer may take to notice that the instance quiesces, before its idle connection is closed, in
/// milliseconds.
const QUIESCE_NOTICE_MS: u64 = 500;

/// The least time between two looks at a connection that is not read, in milliseconds.
const LOOK_MS_MIN: u64 = 250;

/// How long a connection that is not read is kept beyond its lifetime, in milliseconds: two looks find nothing to read.
pub(super) const LOOKS_MS: u64 = 2 * LOOK_MS_MIN;

/// How long a client may use its first lease, in milliseconds.
pub(super) const LEASE_MS: u32 = (HOUSEKEEPING_MS * 4) as u32;

/// Requests granted to a client that has just come, before its use is known.
pub(super) const FIRST_LEASE: u32 = 1_000;

impl ServerLoop {
    pub(super) fn keep_house(&mut self, io: &mut Io<Item>) {
        let now_ms = io.now();
        if now_ms < self.next_housekeeping_ms {
            return;
        }
        self.next_housekeeping_ms = now_ms + HOUSEKEEPING_MS;
        let handle = io.handle();
        let stats = handle.stats();
        self.core.gate.read_load(stats.busy_ns.value(), stats.idle_ns.value(), io.now_us());
        self.counts().load.set((self.core.gate.load() * 1000.0) as u64);
        let quiescing = self.quiescing_since_ms.is_some();
        if let Some(factor) = self.core.gate.load_to_report(io.now_us()) {
            let mut metadata = Vec::new();
            wire::write_load(&mut metadata, factor, quiescing);
            for peer in self.peers.iter_mut().filter(|peer| peer.stadium) {
                io.with_output(peer.id, |out| peer.connection.metadata_push(&metadata, out));
            }
        }
        self.grant_leases(io);
        if let Some(since_ms) = self.quiescing_since_ms
            && now_ms >= since_ms + QUIESCE_NOTICE_MS
        {
            for peer in self.peers.iter_mut().filter(|peer| peer.connection.streams().next().is_none()) {
                io.with_output(peer.id, |out| {
                    peer.connection.close(ErrorCode::CONNECTION_CLOSE, "the instance quiesces", out);
                });
                io.close(peer.id);
            }
        }
    }

    /// Grants for a little longer than until the next look, so that clients are never without.
    fn grant_leases(&mut self, io: &mut Io<Item>) {
        let capacity = match self.quiescing_since_ms {
            Some(_) => Capacity::Quiescing,
            None => self.core.gate.capacity(),
        };
        let clients = self.peers.iter_mut().filter(|peer| peer.lease);
        let askers = clients.map(|peer| Asker { key: peer.id, used: std::mem::take(&mut peer.used) });
        for grant in self.divider.grant(capacity, askers) {
            // Zero requests are no grant: the last one runs out.
            if grant.requests > 0
                && let Some(peer) = self.peers.at(grant.key)
            {
                let now_ms = io.now();
                let ended = io.with_output(grant.key, |out| {
                    // A lease counts from the time that the connection knows, and a client that waits for one
                    // sends nothing that would tell it the time.
                    let event = peer.connection.advance(now_ms, out);
                    peer.connection.grant_lease(grant.ttl_ms, grant.requests, out);
                    matches!(event, Some(Event::Closed(_)))
                });
                if ended == Some(true) {
                    io.close(grant.key);
                }
            }
        }
    }

    pub(super) fn set_alarm(&mut self, io: &mut Io<Item>) {
        let deadline = self.core.deadlines.peek().map(|one| one.0.0);
        let house = (self.peers.len() > 0).then_some(self.next_housekeeping_ms);
        let session = self.peers.parked.next_ms();
        let timer = self.timers.next_in_ms().map(|in_ms| io.read_clock_us().div_ceil(1_000) + in_ms);
        match [self.core.tickers.next_ms(), deadline, house, session, timer].into_iter().flatten().min() {
            Some(at_ms) => io.set_alarm(at_ms),
            None => io.clear_alarm(),
        }
    }

    /// Has the connection's keep-alive looked at in time.
    pub(super) fn set_timer(io: &mut Io<Item>, peer: &Peer) {
        if let Some(at_ms) = peer.connection.deadline_ms() {
            io.set_timer(peer.id, at_ms.saturating_sub(io.now()));
        }
    }

    /// Has a connection that is not read looked at long before either side holds the other for dead.
    pub(super) fn look_soon(io: &mut Io<Item>, peer: &Peer) {
        if let Some(at_ms) = peer.connection.deadline_ms() {
            io.set_timer(peer.id, (at_ms.saturating_sub(io.now()) / 2).max(LOOK_MS_MIN));
        }
    }
}
