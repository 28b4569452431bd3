//! One connection that a loop keeps to another node.
//!
//! It outlives its sockets: when one ends, requests under way have their outcomes, and the node is
//! dialled again after a wait.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stadium_reactor::{CloseReason, ConnectionId, Io};
use stadium_rpc::balance::{Backoff, Random};

use super::figures::add;
use super::item::Item;
use super::peer::PeerLane;
use super::shared::Shared;
use crate::link::{Dialer, End, Event, Hello, Incarnation};

/// The shortest wait before a node is dialled again, in milliseconds.
const REDIAL_MS_MIN: u64 = 50;

/// A connection to another node, or the attempt at one.
pub(super) struct Dial {
    pub(super) lane: Arc<PeerLane>,
    dialer: Dialer,
    us: Hello,
    addresses: Vec<SocketAddr>,
    /// The place of the next address to try.
    next: usize,
    /// The socket and the address that it leads to.
    connection: Option<(ConnectionId, SocketAddr)>,
    /// When to dial; `None` while there is a socket.
    redial_ms: Option<u64>,
    backoff: Backoff,
    /// The last reason that was logged, so that a node that stays away is logged once.
    logged: Option<String>,
}

impl Dial {
    pub(super) fn new(shared: &Shared, lane: Arc<PeerLane>, addresses: Vec<SocketAddr>) -> Self {
        let now_ms = shared.now_us() / 1_000;
        let (timing, protocol) = (shared.settings.timing, Arc::clone(&shared.protocol));
        let us = shared.hello(lane.lane, usize::from(lane.loop_index));
        Self {
            dialer: Dialer::new(lane.node.clone(), timing, protocol, Arc::clone(&lane.outbox), now_ms),
            lane,
            us,
            addresses,
            next: 0,
            connection: None,
            redial_ms: Some(now_ms),
            backoff: Backoff::between(REDIAL_MS_MIN, shared.settings.redial_ms_max),
            logged: None,
        }
    }

    /// The node has other addresses, or is worth another attempt.
    pub(super) fn set_addresses(&mut self, shared: &Shared, io: &mut Io<Item>, addresses: Vec<SocketAddr>) {
        if let Some((id, address)) = self.connection
            && !addresses.contains(&address)
        {
            io.close(id);
        }
        if addresses != self.addresses {
            (self.addresses, self.next) = (addresses, 0);
        }
        self.backoff.reset();
        if self.redial_ms.is_some() {
            self.redial_ms = Some(shared.now_us() / 1_000);
        }
    }

    /// The connection with an incarnation that is over ends.
    pub(super) fn end_earlier(&mut self, io: &mut Io<Item>, than: Incarnation) {
        if let Some((id, _)) = self.connection
            && self.dialer.peer().is_some_and(|peer| peer < than)
        {
            io.abort(id);
        }
    }

    /// The node was removed: everything under way ends.
    pub(super) fn end(&mut self, shared: &Shared, io: &mut Io<Item>) {
        if let Some((id, _)) = self.connection.take() {
            io.close(id);
        }
        self.lost(shared);
    }

    /// Dials where it is time. Returns the connection that has begun.
    pub(super) fn dial(
        &mut self,
        shared: &Shared,
        io: &mut Io<Item>,
        random: &mut Random,
    ) -> Option<ConnectionId> {
        let now_ms = shared.now_us() / 1_000;
        self.redial_ms.filter(|at_ms| *at_ms <= now_ms)?;
        let address = *self.addresses.get(self.next % self.addresses.len().max(1))?;
        self.next = self.next.wrapping_add(1);
        let begun = shared.tls.client(&self.lane.node).map_err(|error| error.to_string()).and_then(|tls| {
            let options = stadium_reactor::ConnectOptions {
                tls: Some(tls),
                tag: self.lane.number,
                ..shared.settings.dialling()
            };
            io.connect(address, &options).map_err(|error| error.to_string())
        });
        match begun {
            Ok(id) => {
                self.connection = Some((id, address));
                self.redial_ms = None;
                Some(id)
            }
            Err(reason) => {
                self.failed(shared, random, &reason);
                None
            }
        }
    }

    /// TLS is through: the other half has shown a certificate of the node.
    pub(super) fn connected(&mut self, shared: &Shared, io: &mut Io<Item>, id: ConnectionId) {
        let (dialer, us) = (&mut self.dialer, &self.us);
        io.with_output(id, |out| dialer.begin(us, shared.now_us(), out));
    }

    pub(super) fn received(
        &mut self,
        shared: &Shared,
        io: &mut Io<Item>,
        id: ConnectionId,
        bytes: &[u8],
    ) -> usize {
        let Self { dialer, lane, backoff, logged, .. } = self;
        let now_us = shared.now_us();
        let is_clear = io.unsent(id) == 0;
        let taken = io.with_output(id, |out| {
            let begin = out.len();
            let mut judge = |them: &Hello| shared.judge(them);
            let mut events = |event: Event<'_>| {
                if let Event::Up(_) = event {
                    backoff.reset();
                    *logged = None;
                }
                report(shared, lane, event);
            };
            let used = dialer.received(now_us, bytes, out, &mut judge, &mut events);
            // What was sent because of it leaves with it.
            if used.is_ok() && is_clear && dialer.flush(now_us / 1_000, out) {
                add(&lane.counts.batches, 1);
            }
            add(&lane.counts.bytes_sent, (out.len() - begin) as u64);
            used
        });
        let used = match taken {
            Some(Ok(used)) => used,
            Some(Err(end)) => {
                self.ended(shared, &end);
                io.close(id);
                bytes.len()
            }
            None => bytes.len(),
        };
        add(&self.lane.counts.bytes_received, used as u64);
        used
    }

    /// Sends what waits, where everything before it has left.
    pub(super) fn flush(&mut self, shared: &Shared, io: &mut Io<Item>) {
        let Some((id, _)) = self.connection else { return };
        if io.unsent(id) > 0 {
            return;
        }
        let (dialer, now_ms) = (&mut self.dialer, shared.now_us() / 1_000);
        let sent = io.with_output(id, |out| {
            let begin = out.len();
            dialer.flush(now_ms, out).then(|| (out.len() - begin) as u64)
        });
        if let Some(bytes) = sent.flatten() {
            add(&self.lane.counts.bytes_sent, bytes);
            add(&self.lane.counts.batches, 1);
        }
    }

    /// Does what is due.
    pub(super) fn advance(&mut self, shared: &Shared, io: &mut Io<Item>) {
        let now_us = shared.now_us();
        if self.dialer.deadline_ms(now_us / 1_000).is_none_or(|at_ms| at_ms > now_us / 1_000) {
            return;
        }
        let Self { dialer, lane, .. } = self;
        let mut events = |event: Event<'_>| report(shared, lane, event);
        let Some((id, _)) = self.connection else { return };
        let done = io.with_output(id, |out| {
            let begin = out.len();
            let done = dialer.advance(now_us, out, &mut events);
            add(&lane.counts.bytes_sent, (out.len() - begin) as u64);
            done
        });
        if let Some(Err(end)) = done {
            self.ended(shared, &end);
            io.abort(id);
        }
    }

    /// The socket is gone, or was never there.
    pub(super) fn closed(
        &mut self,
        shared: &Shared,
        id: ConnectionId,
        reason: CloseReason,
        random: &mut Random,
    ) {
        if self.connection.is_none_or(|(current, _)| current != id) {
            return;
        }
        self.connection = None;
        self.lost(shared);
        self.failed(shared, random, reason.name());
    }

    fn lost(&mut self, shared: &Shared) {
        let Self { dialer, lane, .. } = self;
        lane.counts.is_up.store(false, Ordering::Relaxed);
        dialer.lost(&mut |event| report(shared, lane, event));
    }

    fn failed(&mut self, shared: &Shared, random: &mut Random, reason: &str) {
        add(&self.lane.counts.failures, 1);
        let wait_ms = self.backoff.wait_ms(random);
        self.redial_ms = Some(shared.now_us() / 1_000 + wait_ms);
        let PeerLane { node, lane, .. } = &*self.lane;
        if self.logged.is_none() {
            tracing::warn!(%node, lane = lane.name(), reason, "There is no link to a node");
            self.logged = Some(reason.to_owned());
        }
    }

    /// The protocol has ended the link.
    fn ended(&mut self, shared: &Shared, end: &End) {
        if let End::Refuses(refusal) = end {
            shared.refused(refusal);
        }
        let words = end.to_string();
        if self.logged.as_ref() != Some(&words) {
            let PeerLane { node, lane, .. } = &*self.lane;
            tracing::warn!(%node, lane = lane.name(), reason = words, "A link ends");
            self.logged = Some(words);
        }
    }

    /// Whether a link leads to the node.
    pub(super) fn is_up(&self) -> bool {
        self.dialer.peer().is_some()
    }

    /// For how long there is nothing to do.
    pub(super) fn wait(&self, shared: &Shared) -> Option<Duration> {
        let now_ms = shared.now_us() / 1_000;
        let redial_ms = self.redial_ms.filter(|_| !self.addresses.is_empty());
        let deadline_ms = self.connection.and_then(|_| self.dialer.deadline_ms(now_ms));
        let at_ms = redial_ms.into_iter().chain(deadline_ms).min()?;
        Some(Duration::from_millis(at_ms.saturating_sub(now_ms)))
    }
}

/// Hands an event on to the node.
fn report(shared: &Shared, lane: &PeerLane, event: Event<'_>) {
    match event {
        Event::Up(hello) => {
            add(&lane.counts.connects, 1);
            lane.counts.is_up.store(true, Ordering::Relaxed);
            shared.receiver.up(&lane.node, hello.incarnation, lane.lane);
        }
        Event::Completed(tag, outcome) => {
            lane.counts.completed(outcome);
            shared.receiver.completed(tag, outcome);
        }
        Event::RoundTrip(us) => lane.counts.round_trip_us.store(us.max(1), Ordering::Relaxed),
        Event::Room => shared.receiver.room(Some(&lane.node)),
        Event::NodeRoom => shared.receiver.room(None),
    }
}
