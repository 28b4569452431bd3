//! A client's loop: calls go out over the connections of its pools, answers come back to their
//! callers.
//!
//! The loop belongs to a thread of the client ([`super::Client`]) or to the caller itself
//! ([`super::LocalClient`]). The balancer decides where a call goes, the retry rule whether it goes
//! again; here is what carries that out: [`instances`] has the connections, [`calls`] sends,
//! [`answers`] hears.

mod answers;
mod broken;
mod calls;
mod datagrams;
mod instances;
mod reach;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stadium_discovery::Resolver;
use stadium_reactor::wheel::Wheel;
use stadium_reactor::{CloseReason, ConnectionId, Handler, Io, UdpId};
use stadium_rsocket::connection::{
    Config as ProtocolConfig, Connection, Event, Lease, ResumeConfig, SetupOptions,
};
use stadium_rsocket::frame::{Payload, StreamId};

use super::config::ClientConfig;
use super::item::Item;
use super::link::{Links, Pool};
use super::resolver::Found;
use super::slot::{Deadlines, Slots};
use crate::answer::CallError;
use crate::balance::{Balancer, Hedge, InstanceId, Outcome, Random, RetryBudget};
use crate::wire;
use answers::Flow;
use broken::Broken;
#[cfg(test)]
pub(super) use broken::CALLS_A_TURN;
use datagrams::Datagrams;
pub(super) use instances::connect_options;

/// Length of a tick of the calls' timers, in microseconds.
const TICK_US: u64 = 1_000;

/// The handler of a client's loop.
pub(crate) struct ClientLoop {
    pub(super) config: Arc<ClientConfig>,
    /// Looks up names, where instances have them.
    resolver: Option<Resolver>,
    /// What it found last.
    found: Option<Found>,
    protocol: Arc<ProtocolConfig>,
    setup_metadata: Vec<u8>,
    pub(super) services: Vec<Service>,
    routes: Vec<Route>,
    route_places: HashMap<Arc<str>, u32, RandomState>,
    pub(super) links: Links,
    pub(crate) slots: Slots,
    wheel: Wheel,
    fired: Vec<u32>,
    pub(super) random: Random,
    /// Where a request's metadata is put together.
    metadata: Vec<u8>,
    deadlines: Deadlines,
    /// Local calls that have ended, in their order, and the bytes of their answers.
    pub(crate) done: VecDeque<Done>,
    pub(crate) answers: Vec<u8>,
    /// Connections to try again: when, which.
    reconnects: BinaryHeap<Reverse<(u64, u16, InstanceId)>>,
    /// What happened while a connection was being read, and needs others: attempts that failed, copies to cancel.
    pub(super) failed: Vec<(u32, usize, Outcome, CallError)>,
    /// Calls of lost connections that have not failed yet.
    pub(super) broken: Broken,
    /// Uploads that have begun and are not over: place, serial.
    pub(super) uploads: Vec<(u32, u32)>,
    /// Connections that downloads have ended on which kept them from being read.
    caught_up: Vec<ConnectionId>,
    /// Connections that lost their sockets, to be tried again: when, which.
    pub(super) resumptions: BinaryHeap<Reverse<(u64, ConnectionId)>>,
    pub(super) cancels: Vec<(ConnectionId, StreamId)>,
    /// Services whose waiting calls end: when, which.
    hopeless: BinaryHeap<Reverse<(u64, u16)>>,
    datagrams: Datagrams,
    scratch_ids: Vec<InstanceId>,
    avoided: Vec<InstanceId>,
    /// Microseconds of loop time, as of the turn.
    now_us: u64,
}

/// A local call that has ended; its answer lies in [`ClientLoop::answers`].
pub(crate) struct Done {
    pub(crate) tag: u64,
    pub(crate) place: u32,
    pub(crate) serial: u32,
    pub(crate) how: Result<(), CallError>,
    pub(crate) answer: std::ops::Range<usize>,
}

/// A service that is called.
pub(super) struct Service {
    name: Arc<str>,
    pub(super) balancer: Balancer,
    budget: RetryBudget,
    pools: Vec<Pool>,
    waiting: VecDeque<(u32, u32)>,
    /// How far its instances can be trusted, for people.
    freshness: String,
    /// Whether anything is known of its instances at all.
    known: bool,
    /// When calls that wait end, because nobody can be reached; `None` while somebody may be.
    hopeless_us: Option<u64>,
}

/// A route that is called.
struct Route {
    /// Its metadata entry.
    entry: Vec<u8>,
    hedge: Option<Hedge>,
}

impl Service {
    fn pool(&mut self, instance: InstanceId) -> &mut Pool {
        let place = instance.slot();
        if self.pools.len() <= place {
            self.pools.resize_with(place + 1, Pool::default);
        }
        let pool = &mut self.pools[place];
        if pool.instance != Some(instance) {
            *pool = Pool::of(instance);
        }
        pool
    }

    /// The pool of an instance that may have gone, whose place another one may have: what its last connections
    /// still do is not that one's business.
    pub(super) fn live_pool(&mut self, instance: InstanceId) -> Option<&mut Pool> {
        self.pools.get_mut(instance.slot()).filter(|pool| pool.instance == Some(instance))
    }
}

impl ClientLoop {
    pub(crate) fn new(config: Arc<ClientConfig>, resolver: Option<Resolver>) -> Self {
        let protocol = ProtocolConfig {
            frame_bytes_max: config.frame_bytes_max,
            fragment_bytes: config.fragment_bytes,
            payload_bytes_max: config.payload_bytes_max,
            streams_max: config.streams_max,
            keepalive_interval_ms: milliseconds(config.keepalive_interval),
            lifetime_ms: milliseconds(config.keepalive_lifetime),
            lease: if config.leases { Lease::Honour } else { Lease::Off },
            resume: config.resume.map(|resume| ResumeConfig {
                store_bytes_max: resume.bytes_max,
                session_ms: milliseconds(resume.within),
            }),
            ..ProtocolConfig::default()
        };
        let mut setup_metadata = Vec::new();
        wire::write_peer(&mut setup_metadata);
        setup_metadata.extend_from_slice(&config.setup_metadata);
        Self {
            random: Random::seeded(config.balance.seed.rotate_left(17)),
            protocol: Arc::new(protocol),
            setup_metadata,
            config,
            resolver,
            found: None,
            services: Vec::new(),
            routes: Vec::new(),
            route_places: HashMap::default(),
            links: Links::default(),
            slots: Slots::default(),
            wheel: Wheel::new(),
            fired: Vec::new(),
            metadata: Vec::new(),
            deadlines: Deadlines::default(),
            done: VecDeque::new(),
            answers: Vec::new(),
            avoided: Vec::new(),
            reconnects: BinaryHeap::new(),
            failed: Vec::new(),
            broken: Broken::default(),
            uploads: Vec::new(),
            caught_up: Vec::new(),
            resumptions: BinaryHeap::new(),
            cancels: Vec::new(),
            hopeless: BinaryHeap::new(),
            datagrams: Datagrams::default(),
            scratch_ids: Vec::new(),
            now_us: 0,
        }
    }
}

pub(super) fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

impl Handler for ClientLoop {
    type Message = Item;

    fn connected(&mut self, io: &mut Io<Item>, id: ConnectionId, _tag: u64) {
        self.now_us = io.now_us();
        let Some(link) = self.links.at(id) else { return io.close(id) };
        if let Some(old) = link.resumes {
            return self.resume_on(io, id, old);
        }
        let token = self.config.resume.and_then(|_| super::resuming::new_token());
        let setup = SetupOptions {
            metadata_mime: wire::METADATA_MIME,
            data_mime: wire::DATA_MIME,
            resume_token: token.as_ref().map(<[u8; 32]>::as_slice),
            payload: Payload { metadata: Some(&self.setup_metadata), data: &[] },
        };
        let (protocol, now_ms) = (Arc::clone(&self.protocol), io.now());
        link.connection = io.with_output(id, |out| Connection::client(protocol, &setup, now_ms, out));
        if let Some(at_ms) = link.connection.as_ref().and_then(Connection::deadline_ms) {
            io.set_timer(id, at_ms.saturating_sub(now_ms));
        }
        let (service, instance) = (link.service, link.instance);
        let one = &mut self.services[usize::from(service)];
        let Some(pool) = one.live_pool(instance) else {
            // The instance has gone meanwhile.
            return io.close(id);
        };
        pool.opening = pool.opening.saturating_sub(1);
        pool.open.push(id);
        pool.trouble = None;
        one.balancer.connected(instance);
        self.look_for_hope(service);
        self.send_waiting(io, service);
        self.follow_up(io);
    }

    fn received(&mut self, io: &mut Io<Item>, id: ConnectionId, bytes: &[u8]) -> usize {
        // Calls that other threads have made leave before answers are looked at: servers work meanwhile.
        io.write_now();
        let (now_ms, now_us) = (io.now(), io.now_us());
        self.now_us = now_us;
        let Some(link) = self.links.at(id) else { return bytes.len() };
        let (service, instance) = (link.service, link.instance);
        let Some(mut connection) = link.connection.take() else { return bytes.len() };
        let mut used = 0;
        let (mut lease, mut closing, mut closed, mut resumed) = (false, false, None, false);
        let mut credits = Vec::new();
        let written = io.with_output(id, |out| {
            loop {
                let received = connection.receive(now_ms, &bytes[used..], out);
                used += received.used;
                match &received.event {
                    Some(event) => match self.event(now_us, service, instance, event) {
                        Flow::Open => {}
                        Flow::Credit(place) => credits.push(place),
                        Flow::Lease => lease = true,
                        Flow::Closing => closing = true,
                        Flow::Resumed => resumed = true,
                        Flow::Closed(why) => {
                            closed = Some(why);
                            return;
                        }
                    },
                    None if received.used == 0 => return,
                    None => {}
                }
            }
        });
        if let Some(link) = self.links.at(id) {
            closing |= link.closing && connection.streams_open() == 0;
            link.connection = Some(connection);
        }
        if written.is_none() {
            return bytes.len();
        }
        if let Some(pool) = self.services[usize::from(service)].live_pool(instance) {
            pool.backoff.reset();
            if let Some(why) = &mut closed {
                pool.trouble = Some(std::mem::take(why));
                pool.retry_us = pool.retry_us.max(now_us + pool.backoff.wait_ms(&mut self.random) * 1_000);
            }
        }
        let closed = closed.is_some();
        if closed {
            io.close(id);
        } else if closing {
            self.retire(id);
            if self.links.at(id).is_some_and(|link| {
                link.connection.as_ref().is_none_or(|connection| connection.streams_open() == 0)
            }) {
                io.close(id);
            }
        }
        if resumed && !closed {
            self.resumed(io, id);
        }
        for place in credits {
            self.send_channel(io, place);
        }
        if used > 0 && self.links.at(id).is_some_and(|link| link.behind > 0) {
            // The beginning of a frame, shown again, is not what was to be read: the rest of the frame is.
            io.pause(id);
        }
        if lease {
            self.send_waiting(io, service);
        }
        self.follow_up(io);
        if closed { bytes.len() } else { used }
    }

    fn timeout(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        let now_ms = io.now();
        let Some(connection) = self.links.at(id).and_then(|link| link.connection.as_mut()) else { return };
        let event = io.with_output(id, |out| connection.advance(now_ms, out));
        if let Some(Some(Event::Closed(_))) = event {
            tracing::debug!(connection = ?id, "A service showed no sign of life");
            return io.abort(id);
        }
        if let Some(at_ms) = connection.deadline_ms() {
            io.set_timer(id, at_ms.saturating_sub(now_ms));
        }
        if self.links.at(id).is_some_and(|link| link.behind > 0) {
            // The service's signs of life stand behind what is not read: a little is.
            io.resume(id);
        }
    }

    fn closed(&mut self, io: &mut Io<Item>, id: ConnectionId, reason: CloseReason) {
        let Some(mut link) = self.links.remove(id) else { return };
        let now_us = io.now_us();
        self.now_us = now_us;
        let one = &mut self.services[usize::from(link.service)];
        if let Some(pool) = one.live_pool(link.instance) {
            if link.connection.is_none() || link.resumes.is_some() {
                pool.opening = pool.opening.saturating_sub(1);
            }
            pool.remove(id);
            if pool.open.is_empty() {
                let failed = link.connection.is_none();
                let trouble = pool.trouble.take().filter(|_| !failed);
                pool.trouble = Some(trouble.unwrap_or_else(|| reason.name().replace(['-', '_'], " ")));
            }
            let wait_ms = pool.backoff.wait_ms(&mut self.random);
            pool.retry_us = pool.retry_us.max(now_us + wait_ms * 1_000);
            let retry_us = pool.retry_us;
            if pool.open.is_empty() {
                one.balancer.disconnected(link.instance, retry_us);
            }
            self.reconnects.push(Reverse((retry_us, link.service, link.instance)));
        }
        match (link.connection.take(), link.resumes) {
            (Some(connection), _) => self.lost(io, &link, connection, reason),
            (None, Some(old)) => self.resume_later(io, old, reason),
            (None, None) => {}
        }
        if reason == CloseReason::Stopped {
            // There is no later turn.
            self.fail_broken(io);
        }
        self.follow_up(io);
        self.send_waiting(io, link.service);
        self.look_for_hope(link.service);
        self.look_up_again();
    }

    fn message(&mut self, io: &mut Io<Item>, message: Item) {
        self.now_us = io.now_us();
        match message {
            Item::Service { name, place } => {
                self.add_service(name, place);
                self.place_service(io, place);
            }
            Item::Resolved(found) => self.resolved(io, found),
            Item::Instances { service, snapshot } => self.instances(io, service, &snapshot),
            Item::Call(call) => self.call(io, *call),
            Item::Datagram(call) => self.call_by_datagram(io, *call),
            Item::Cancel { place, serial } => {
                if self.slots.find(place, serial).is_some() {
                    self.end(place, Err(CallError::Cancelled), &[]);
                    self.follow_up(io);
                }
            }
            Item::Credit { items, n } => {
                if let Some(place) = self.items_place(&items)
                    && !self.piece_taken(io, place)
                {
                    let slot = self.slots.at(place);
                    // A stream that is not sent yet, or is sent again before it began, keeps its credit.
                    slot.initial = slot.initial.saturating_add(n);
                    if let Some(attempt) = slot.first {
                        self.links.write(io, attempt.connection, |connection, out| {
                            connection.request_n(attempt.stream, n, out)
                        });
                    }
                }
            }
            Item::Send { items, message } => {
                if let Some(place) = self.items_place(&items) {
                    if let Some(channel) = &mut self.slots.at(place).channel {
                        match message {
                            Some(message) => channel.messages.push_back(message),
                            None => channel.completes = true,
                        }
                    }
                    self.send_channel(io, place);
                }
            }
            Item::Farewell => self.take_leave(io),
            Item::Explain { service, key, answer } => {
                if let Some(explained) = self.explain(io, service, key) {
                    // The caller may have gone.
                    let _ = answer.try_send(explained);
                }
            }
        }
    }

    fn datagram(&mut self, io: &mut Io<Item>, _socket: UdpId, peer: SocketAddr, bytes: &[u8]) {
        self.datagram_came(io, peer, bytes);
    }

    fn turn_ended(&mut self, io: &mut Io<Item>) {
        let now_us = io.now_us();
        self.now_us = now_us;
        let tick = u32::try_from(now_us / TICK_US).unwrap_or(u32::MAX - 1);
        let mut fired = std::mem::take(&mut self.fired);
        self.wheel.advance(&mut self.slots, tick, &mut fired);
        for place in fired.drain(..) {
            self.fire(io, place);
        }
        self.fired = fired;
        self.expire_datagrams(now_us);
        while let Some(place) = self.deadlines.pop(&mut self.slots, now_us) {
            self.expire(io, place);
        }
        self.try_resumptions(io);
        self.fail_broken(io);
        self.end_hopeless(now_us);
        self.send_uploads(io);
        while let Some(Reverse((at_us, service, instance))) = self.reconnects.peek().copied()
            && at_us <= now_us
        {
            self.reconnects.pop();
            let one = &self.services[usize::from(service)];
            if one.balancer.is_wanted(instance) || !one.waiting.is_empty() {
                self.connect(io, service, instance);
            }
        }
        self.follow_up(io);
    }

    fn turn_flushed(&mut self, io: &mut Io<Item>) {
        let timers = self.wheel.next().map(|tick| u64::from(tick) * TICK_US / 1_000);
        let reconnect = self.reconnects.peek().map(|one| one.0.0.div_ceil(1_000));
        let deadline = [self.deadlines.next_us(), self.datagrams.next_us()].into_iter().flatten().min();
        let deadline = deadline.map(|at_us| at_us.div_ceil(1_000));
        let resumption = self.resumptions.peek().map(|one| one.0.0.div_ceil(1_000));
        let hopeless = self.hopeless.peek().map(|one| one.0.0.div_ceil(1_000));
        let rest = (!self.broken.is_empty() || self.has_uploads_to_send(io)).then(|| io.now());
        match [timers, reconnect, deadline, resumption, hopeless, rest].into_iter().flatten().min() {
            Some(at_ms) => io.set_alarm(at_ms),
            None => io.clear_alarm(),
        }
    }
}
