//! What a loop does when its sockets have been read: answers leave, deadlines pass, waiting calls begin, futures
//! are polled.
//!
//! A connection that has much unsent is skipped: `drained` comes when it has taken it. No step
//! waits for another loop or thread.

use stadium_reactor::Io;

use super::{ServerLoop, UNSENT_HIGH};
use crate::admission::{Popped, Work};
use crate::answer::Refusal;
use crate::server::dispatch::Displaced;
use crate::server::item::Item;
use crate::server::work::Kind;

/// Messages of ticking streams that leave in one turn, or a few more: some milliseconds of work.
const TICKS_A_TURN: usize = 2_048;

/// How often a turn looks for tasks that its own polls have woken.
const ROUNDS_MAX: usize = 8;

impl ServerLoop {
    /// Sends the answers of blocking functions, as far as their connections take them: several large ones at once
    /// would be more than a connection may have unsent.
    pub(super) fn send_done(&mut self, io: &mut Io<Item>) {
        for _ in 0..self.done.len() {
            let Some((place, serial, answer)) = self.done.pop_front() else { return };
            let Some(id) = self.core.is_current(place, serial) else { continue };
            let core = &mut self.core;
            if let Some(peer) = self.peers.at(id) {
                if std::mem::replace(&mut peer.produced_in, self.turn) != self.turn {
                    peer.produced = 0;
                }
                if io.unsent(id) + peer.produced > UNSENT_HIGH {
                    self.done.push_back((place, serial, answer));
                    continue;
                }
                peer.produced += answer.as_ref().map_or(0, Vec::len);
                peer.write(io, |connection, out| core.finish(connection, place, answer, out));
            }
            if core.is_current(place, serial).is_some() {
                core.discard(place);
            }
        }
    }

    pub(super) fn expire(&mut self, io: &mut Io<Item>) {
        let now_ms = io.now();
        let mut expired = std::mem::take(&mut self.expired);
        while let Some(one) = self.core.next_expired(now_ms) {
            let core = &mut self.core;
            if let Some(peer) = self.peers.at(one.0) {
                peer.write(io, |connection, out| core.expire(connection, one.1, out));
            }
            // Without a connection that can be written it ends all the same.
            core.discard(one.1);
        }
        expired.clear();
        self.expired = expired;
    }

    /// Sends what is due on ticking streams; the rest of very much has its turn after the sockets.
    pub(super) fn send_due(&mut self, io: &mut Io<Item>) {
        let now_ms = io.now();
        if self.core.tickers.next_ms().is_none_or(|at_ms| at_ms > now_ms) {
            return;
        }
        self.core.tickers.advance(now_ms);
        let mut group = std::mem::take(&mut self.due);
        let mut messages = 0;
        while messages < TICKS_A_TURN
            && let Some(id) = self.core.tickers.next_group(now_ms, &mut group)
        {
            messages += group.len();
            io.reserve_turn();
            let core = &mut self.core;
            match self.peers.at(id) {
                Some(peer) if io.unsent(id) <= UNSENT_HIGH => {
                    let sent = io.with_output(id, |out| core.tick(&mut peer.connection, &group, now_ms, out));
                    if sent.is_none() {
                        core.hold(&group);
                    }
                }
                _ => core.hold(&group),
            }
            self.core.tickers.finish(id);
        }
        self.due = group;
    }

    /// Calls that waited go on as far as others have left, and those that waited in vain are
    /// answered.
    pub(super) fn start_held(&mut self, io: &mut Io<Item>) {
        let (now_ms, now_us) = (io.now(), io.now_us());
        while let Some(((place, serial), how)) = self.core.displaced.pop() {
            self.turn_away(io, place, serial, how);
        }
        while self.core.gate.waiting() > 0
            && let Some(entry) = self.core.gate.try_enter(now_us)
        {
            let work = loop {
                match self.core.gate.pop(now_us) {
                    Some(Popped::Work((place, serial))) => {
                        if let Some(id) = self.core.is_current(place, serial) {
                            break Some((id, place));
                        }
                    }
                    Some(Popped::Expired((place, serial))) => {
                        self.turn_away(io, place, serial, Displaced::Expired);
                    }
                    Some(Popped::Stale((place, serial))) => {
                        self.turn_away(io, place, serial, Displaced::Stale);
                    }
                    None => break None,
                }
            };
            let core = &mut self.core;
            let Some((id, place)) = work else {
                core.gate.left(entry, Work::Abandoned, now_us);
                return;
            };
            let mut entry = Some(entry);
            if let Some(peer) = self.peers.at(id) {
                peer.write(io, |connection, out| {
                    if let Some(entry) = entry.take() {
                        core.start_held(connection, place, entry, now_ms, out);
                    }
                });
            }
            if let Some(entry) = entry {
                core.gate.left(entry, Work::Abandoned, now_us);
                core.discard(place);
            }
        }
    }

    fn turn_away(&mut self, io: &mut Io<Item>, place: u32, serial: u64, how: Displaced) {
        let Some(id) = self.core.is_current(place, serial) else { return };
        let core = &mut self.core;
        let retry_after = core.gate.retry_after();
        if let Some(peer) = self.peers.at(id) {
            peer.write(io, |connection, out| match how {
                Displaced::Expired => core.expire(connection, place, out),
                Displaced::Stale => {
                    let busy = Refusal::busy(retry_after, "the call has waited for too long");
                    core.finish(connection, place, Err(busy), out);
                }
            });
        }
        if core.is_current(place, serial).is_some() {
            core.discard(place);
        }
    }

    /// Polls what is ready. What that makes ready is polled in the same turn, a few times over.
    pub(super) fn poll_ready(&mut self, io: &mut Io<Item>) {
        for _ in 0..ROUNDS_MAX {
            let mut ready = std::mem::take(&mut self.ready);
            self.core.ready.take(&mut ready);
            let any = !ready.is_empty();
            for place in ready.drain(..) {
                let Some(work) = self.core.works.at(place) else { continue };
                let id = work.connection;
                let Some(peer) = self.peers.at(id) else {
                    self.core.poll_alone(place);
                    continue;
                };
                if std::mem::replace(&mut peer.produced_in, self.turn) != self.turn {
                    peer.produced = 0;
                }
                if peer.parked
                    && let Kind::Future(running) = &work.kind
                    && running.is_outpouring()
                {
                    // Its caller is away: it goes on when the session does.
                    running.put_off();
                    continue;
                }
                let unsent = io.unsent(id);
                if unsent + peer.produced > UNSENT_HIGH {
                    if let Kind::Future(running) = &work.kind {
                        running.put_off();
                    }
                    if unsent == 0 {
                        // It may all leave with this turn; otherwise `drained` wakes it.
                        self.outpaced.push((id, place));
                    }
                    continue;
                }
                let core = &mut self.core;
                let produced = peer.write(io, |connection, out| {
                    let start = out.len();
                    core.poll(connection, place, out);
                    out.len() - start
                });
                peer.produced += produced.unwrap_or(0);
            }
            self.ready = ready;
            if !any {
                return;
            }
        }
        // The rest has its turn after the others: knock, so that the loop does not sleep.
        let _ = self.core.handle.try_send(Item::Woken);
    }

    /// Connections are read again whose uploads have caught up.
    pub(super) fn read_on(&mut self, io: &mut Io<Item>) {
        while let Some(id) = self.core.caught_up.pop() {
            if let Some(peer) = self.peers.at(id) {
                peer.behind = peer.behind.saturating_sub(1);
                if peer.behind == 0 && !peer.paused {
                    io.resume(id);
                    Self::set_timer(io, peer);
                }
            }
        }
    }
}
