//! A client's loop: calls go out over the connections of its pools, answers come back to whoever waits.
//!
//! The loop belongs to a thread of the client ([`super::Client`]) or to the caller itself
//! ([`super::LocalClient`]). The balancer says where a call goes, the retry rule whether it goes again; here
//! is what carries that out.

mod datagrams;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stadium_discovery::{Snapshot, State};
use stadium_reactor::wheel::Wheel;
use stadium_reactor::{CloseReason, ConnectOptions, ConnectionId, ConnectionLimits, Handler, Io, UdpId};
use stadium_rsocket::connection::{
    Closed, Config as ProtocolConfig, Connection, Event, Lease, RequestError, ResumeConfig, SetupOptions, Tag,
};
use stadium_rsocket::frame::{Completes, Next, Payload, StreamId};

use super::completion::{Completion, Items};
use super::config::ClientConfig;
use super::letter::{Explained, Letter, NewCall, tell_place};
use super::link::{Link, Links, Pool};
use super::slot::{Attempt, ChannelOut, Deadlines, NEVER, Slot, Slots, of_tag, tag_of};
use super::transfer::Transfer;
use crate::answer::CallError;
use crate::balance::{
    self, Balancer, Choice, Decision, Elsewhere, Hedge, Idempotence, InstanceId, Known, Outcome, Random,
    RetryBudget,
};
use crate::method::{Idempotency, Interaction};
use crate::server::pattern_of;
use crate::wire;
use datagrams::Datagrams;

/// How long a call waits where its connection has as many streams as it may, in microseconds.
const CROWDED_WAIT_US: u64 = 5_000;
/// How long a call whose copy the budget denied waits to ask again, in microseconds.
const HEDGE_AGAIN_US: u64 = 20_000;
/// Length of a tick of the calls' timers, in microseconds.
const TICK_US: u64 = 1_000;

/// The handler of a client's loop.
pub(crate) struct ClientLoop {
    pub(super) config: Arc<ClientConfig>,
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
    /// Uploads that have begun and are not over: place, serial.
    pub(super) uploads: Vec<(u32, u32)>,
    /// Connections that downloads have ended on which kept them from being read.
    caught_up: Vec<ConnectionId>,
    /// Connections that lost their sockets, to be tried again: when, which.
    pub(super) resumptions: BinaryHeap<Reverse<(u64, ConnectionId)>>,
    cancels: Vec<(ConnectionId, StreamId)>,
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
    pub(crate) fn new(config: Arc<ClientConfig>) -> Self {
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
            uploads: Vec::new(),
            caught_up: Vec::new(),
            resumptions: BinaryHeap::new(),
            cancels: Vec::new(),
            datagrams: Datagrams::default(),
            scratch_ids: Vec::new(),
            now_us: 0,
        }
    }

    /// A service will be called; its instances come by [`ClientLoop::instances`].
    pub(crate) fn add_service(&mut self, name: Arc<str>, place: u16) {
        debug_assert_eq!(
            self.services.len(),
            usize::from(place),
            "services come in the order of their places"
        );
        self.services.push(Service {
            name,
            balancer: Balancer::new(self.config.balance.clone()),
            budget: RetryBudget::new(self.config.budget),
            pools: Vec::new(),
            waiting: VecDeque::new(),
            freshness: "not heard of yet".to_owned(),
            known: false,
        });
    }

    /// What discovery says about a service now.
    pub(crate) fn instances(&mut self, io: &mut Io<Letter>, service: u16, snapshot: &Snapshot) {
        let now_us = io.now_us();
        let Some(one) = self.services.get_mut(usize::from(service)) else { return };
        one.freshness = snapshot.freshness.to_string();
        if snapshot.revision == 0 && snapshot.instances.is_empty() {
            return;
        }
        one.known = true;
        let addresses: Vec<String> =
            snapshot.instances.iter().map(|instance| instance.address.to_string()).collect();
        let known: Vec<Known<'_>> = snapshot
            .instances
            .iter()
            .zip(&addresses)
            .map(|(instance, address)| Known {
                address,
                load: instance.load,
                zone: instance.zone.as_deref().unwrap_or_default(),
                weight: instance.weight,
                version: &instance.version,
                quiescing: instance.state == State::Quiescing,
            })
            .collect();
        one.balancer.update(&known, now_us);
        self.close_links_of_the_gone(io, service);
        self.ensure_connected(io, service);
        self.send_waiting(io, service);
    }

    /// Addresses that serve a service, where there is no discovery.
    pub(crate) fn fixed(&mut self, io: &mut Io<Letter>, service: u16, addresses: &[SocketAddr]) {
        let now_us = io.now_us();
        let one = &mut self.services[usize::from(service)];
        one.freshness = "static".to_owned();
        one.known = true;
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let known: Vec<Known<'_>> = addresses
            .iter()
            .map(|address| Known { address, load: 0.0, zone: "", weight: 100, version: "", quiescing: false })
            .collect();
        one.balancer.update(&known, now_us);
        self.ensure_connected(io, service);
    }

    /// Connections to instances that discovery no longer names finish what is under way, and end.
    fn close_links_of_the_gone(&mut self, io: &mut Io<Letter>, service: u16) {
        let one = &mut self.services[usize::from(service)];
        for pool in &mut one.pools {
            let Some(instance) = pool.instance else { continue };
            if one.balancer.address(instance).is_some() {
                continue;
            }
            for id in pool.open.drain(..) {
                if let Some(link) = self.links.at(id) {
                    link.closing = true;
                    if link.connection.as_ref().is_none_or(|connection| connection.streams_open() == 0) {
                        link.take_leave(io);
                        io.close(id);
                    }
                }
            }
            *pool = Pool::default();
        }
    }

    /// Opens what is missing of the connections that the balancer wants.
    fn ensure_connected(&mut self, io: &mut Io<Letter>, service: u16) {
        let mut ids = std::mem::take(&mut self.scratch_ids);
        ids.clear();
        ids.extend(self.services[usize::from(service)].balancer.wanted());
        for id in &ids {
            self.connect(io, service, *id);
        }
        self.scratch_ids = ids;
    }

    /// Opens connections to an instance up to its number, unless it is too early to try again.
    fn connect(&mut self, io: &mut Io<Letter>, service: u16, instance: InstanceId) {
        let now_us = io.now_us();
        let wanted = self.config.connections_per_instance.max(1);
        let one = &mut self.services[usize::from(service)];
        let Some(address) = one.balancer.address(instance).and_then(|address| address.parse().ok()) else {
            return;
        };
        let pool = one.pool(instance);
        while pool.open.len() + pool.opening < wanted && pool.retry_us <= now_us {
            match io.connect(address, &connect_options(&self.config)) {
                Ok(id) => {
                    pool.opening += 1;
                    self.links.insert(Link::opening(id, service, instance));
                }
                Err(error) => {
                    tracing::debug!(%address, %error, "No connection could be begun");
                    let wait_ms = pool.backoff.wait_ms(&mut self.random);
                    pool.retry_us = now_us + wait_ms * 1_000;
                    self.reconnects.push(Reverse((pool.retry_us, service, instance)));
                }
            }
        }
    }

    /// Connections that are open.
    pub(crate) fn connections(&self) -> usize {
        self.services.iter().flat_map(|service| &service.pools).map(|pool| pool.open.len()).sum()
    }

    fn route(&mut self, name: &str) -> u32 {
        if let Some(place) = self.route_places.get(name) {
            return *place;
        }
        let mut entry = Vec::new();
        wire::write_route(&mut entry, name);
        let place = self.routes.len() as u32;
        self.routes.push(Route { entry, hedge: self.config.hedge.map(Hedge::new) });
        self.route_places.insert(name.into(), place);
        place
    }

    /// Takes a call from another thread.
    fn call(&mut self, io: &mut Io<Letter>, new: NewCall) {
        let route = self.route(&new.route);
        let place = self.slots.take();
        let slot = self.slots.at(place);
        slot.service = new.service;
        slot.route = route;
        slot.interaction = new.interaction;
        slot.idempotency = new.idempotency;
        slot.set_key(new.key);
        slot.fill(|out| out.extend_from_slice(&new.metadata), |out| out.extend_from_slice(&new.request));
        slot.initial = new.initial;
        if new.interaction == Interaction::Channel {
            slot.channel = Some(Box::new(ChannelOut { completes: new.completes, ..ChannelOut::default() }));
        }
        slot.set_transfer(new.transfer);
        if !tell_place(&new.completion, place, slot.serial) {
            // Its caller has given up already.
            return self.slots.give_back(place);
        }
        slot.completion = new.completion;
        self.begin(io, place, new.deadline);
    }

    /// A local call's place, to be filled in and begun.
    pub(crate) fn local(&mut self, service: u16, route: &'static str) -> (u32, &mut Slot) {
        let route = self.route(route);
        let place = self.slots.take();
        let slot = self.slots.at(place);
        slot.service = service;
        slot.route = route;
        slot.completion = Completion::Local;
        (place, slot)
    }

    /// Begins the call in a place.
    pub(crate) fn begin(&mut self, io: &mut Io<Letter>, place: u32, deadline: Option<Duration>) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let unary = matches!(slot.interaction, Interaction::Unary | Interaction::OneWay);
        let deadline = deadline.or(unary.then_some(self.config.deadline));
        slot.deadline_us = deadline.map_or(NEVER, |deadline| now_us + deadline.as_micros() as u64);
        slot.deadline_in_wheel = false;
        let hedged = slot.interaction == Interaction::Unary
            && slot.idempotency == Idempotency::Idempotent
            && slot.key().is_none();
        if hedged
            && let Some(hedge) = &mut self.routes[slot.route as usize].hedge
            && let Some(wait_us) = hedge.called()
        {
            slot.hedge_us = now_us + wait_us;
            slot.timed = true;
        }
        let (deadline_us, serial) = (slot.deadline_us, slot.serial);
        self.services[usize::from(slot.service)].budget.called();
        if deadline_us != NEVER && !self.deadlines.push(&mut self.slots, deadline_us, place, serial) {
            let slot = self.slots.at(place);
            slot.deadline_in_wheel = true;
            slot.timed = true;
        }
        if self.slots.at(place).timed {
            self.arm(place);
        }
        self.dispatch(io, place, 0);
    }

    fn arm(&mut self, place: u32) {
        self.wheel.disarm(&mut self.slots, place);
        let slot = self.slots.at(place);
        let next_us = slot.next_us();
        slot.timed = next_us != NEVER;
        if slot.timed {
            let tick = u32::try_from(next_us.div_ceil(TICK_US)).unwrap_or(u32::MAX - 1);
            self.wheel.arm(&mut self.slots, place, tick);
        }
    }

    /// Has the call go out again then.
    fn wait_until(&mut self, place: u32, at_us: u64) {
        self.slots.at(place).again_us = at_us;
        self.arm(place);
    }

    /// Sends a call's attempt to the instance that is best now, or has it wait for a connection.
    fn dispatch(&mut self, io: &mut Io<Letter>, place: u32, which: usize) {
        let now_us = io.now_us();
        self.now_us = now_us;
        let slot = self.slots.at(place);
        let service = slot.service;
        let one = &mut self.services[usize::from(service)];
        let key = slot.key();
        // A key stays with its instance: the balancer moves it when that one is ejected or lost.
        let chosen = if slot.is_fresh() || key.is_some() {
            one.balancer.choose(now_us, Choice { key, exclude: &[] })
        } else {
            let exclude = slot.avoided(&mut self.avoided);
            let elsewhere = one.balancer.choose(now_us, Choice { key, exclude });
            // A copy only makes sense elsewhere; another attempt is better than none.
            if elsewhere.is_some() || which == 1 {
                elsewhere
            } else {
                one.balancer.choose(now_us, Choice { key, exclude: &[] })
            }
        };
        let Some(chosen) = chosen else {
            if which == 0 {
                self.wait_for_connection(place);
            }
            return;
        };
        match one.pool(chosen.id).pick() {
            Some(link) => self.send(io, place, which, link, chosen.id),
            None if which == 0 => {
                self.connect(io, service, chosen.id);
                self.wait_for_connection(place);
            }
            None => {}
        }
    }

    fn wait_for_connection(&mut self, place: u32) {
        let slot = self.slots.at(place);
        if slot.waiting {
            return;
        }
        let one = &mut self.services[usize::from(slot.service)];
        if one.known && one.balancer.is_empty() && one.freshness == "static" {
            let why = format!("no instance of `{}` is known", one.name);
            return self.end(place, Err(CallError::Unavailable(why)), &[]);
        }
        if one.waiting.len() >= self.config.waiting_max {
            let why = format!("{} calls of `{}` wait for a connection already", one.waiting.len(), one.name);
            return self.end(place, Err(CallError::Unavailable(why)), &[]);
        }
        slot.waiting = true;
        one.waiting.push_back((place, slot.serial));
        if slot.deadline_us == NEVER && slot.again_us == NEVER {
            // A stream may last for ever; that nobody serves it should be known in time.
            let until_us = self.now_us + self.config.deadline.as_micros() as u64;
            self.wait_until(place, until_us);
        }
    }

    /// A connection is there: calls that waited for one go out.
    pub(super) fn send_waiting(&mut self, io: &mut Io<Letter>, service: u16) {
        for _ in 0..self.services[usize::from(service)].waiting.len() {
            let Some((place, serial)) = self.services[usize::from(service)].waiting.pop_front() else {
                return;
            };
            let Some(slot) = self.slots.find(place, serial) else { continue };
            slot.waiting = false;
            let waits_anyway = slot.again_us != NEVER && slot.deadline_us != NEVER;
            if !waits_anyway && !slot.in_flight() {
                self.dispatch(io, place, 0);
            }
        }
    }

    fn send(
        &mut self,
        io: &mut Io<Letter>,
        place: u32,
        which: usize,
        id: ConnectionId,
        instance: InstanceId,
    ) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let Some(connection) = self.links.at(id).and_then(|link| link.connection.as_mut()) else { return };
        let metadata = &mut self.metadata;
        metadata.clear();
        metadata.extend_from_slice(&self.routes[slot.route as usize].entry);
        if slot.deadline_us != u64::MAX {
            let left_us = slot.deadline_us.saturating_sub(now_us);
            wire::write_deadline(metadata, u32::try_from(left_us.div_ceil(1_000)).unwrap_or(u32::MAX));
        }
        metadata.extend_from_slice(&self.config.metadata);
        let (own_metadata, request) = slot.sent();
        metadata.extend_from_slice(own_metadata);
        let completes = match &slot.channel {
            Some(channel) if !(channel.completes && channel.messages.is_empty()) => Completes::No,
            _ => Completes::Yes,
        };
        let pattern = pattern_of(slot.interaction);
        let initial = slot.initial;
        let encode = |out: &mut Vec<u8>| out.extend_from_slice(request);
        let transfer = slot.transfer();
        let sent = io.with_output(id, |out| {
            let tag = tag_of(place, which);
            if let Some(Transfer::Upload(_)) = transfer {
                return connection.request_pieces(tag, Some(metadata), out);
            }
            let stream = connection.request(pattern, initial, completes, tag, Some(metadata), encode, out)?;
            if transfer.is_some() {
                connection.pieces(stream);
            }
            Ok(stream)
        });
        if let (Some(Ok(_)), Some(Transfer::Upload(_))) = (&sent, transfer) {
            self.uploads.push((place, slot.serial));
        }
        match sent {
            Some(Ok(stream)) => {
                slot.made = slot.made.saturating_add(1);
                if slot.interaction == Interaction::OneWay {
                    return self.end(place, Ok(()), &[]);
                }
                *slot.attempt(which) = Some(Attempt { connection: id, stream, instance, sent_us: now_us });
                if slot.deadline_us == NEVER {
                    // It has been sent: no longer does it wait for a connection.
                    slot.again_us = NEVER;
                }
                self.services[usize::from(slot.service)].balancer.began(instance, now_us);
            }
            Some(Err(RequestError::TooLarge)) => {
                let why = "the request is larger than this client sends".to_owned();
                self.end(place, Err(CallError::Rejected { code: "RPC-006".to_owned(), reason: why }), &[]);
            }
            Some(Err(RequestError::NoLease { retry_after_ms })) => {
                if which == 0 {
                    let wait_us = u64::from(retry_after_ms.clamp(5, 1_000)) * 1_000;
                    self.wait_until(place, now_us + wait_us);
                }
            }
            Some(Err(RequestError::StreamsMax)) => {
                if which == 0 {
                    self.wait_until(place, now_us + CROWDED_WAIT_US);
                }
            }
            Some(Err(RequestError::IdsExhausted | RequestError::Closed)) | None => {
                self.retire(id);
                if which == 0 {
                    self.dispatch(io, place, 0);
                }
            }
        }
    }

    /// No more requests on a connection; what is under way there goes on.
    fn retire(&mut self, id: ConnectionId) {
        let Some(link) = self.links.at(id) else { return };
        link.closing = true;
        let (service, instance) = (link.service, link.instance);
        let one = &mut self.services[usize::from(service)];
        let Some(pool) = one.live_pool(instance) else { return };
        pool.remove(id);
        if pool.open.is_empty() {
            let retry_us = pool.retry_us;
            one.balancer.disconnected(instance, retry_us);
        }
        self.reconnects.push(Reverse((0, service, instance)));
    }

    /// An attempt did not end well: the call goes again, or ends.
    fn attempt_failed(
        &mut self,
        io: &mut Io<Letter>,
        place: u32,
        which: usize,
        outcome: Outcome,
        error: CallError,
    ) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let Some(attempt) = slot.attempt(which).take() else { return };
        slot.has_failed_at(attempt.instance);
        let one = &mut self.services[usize::from(slot.service)];
        tell_end(&mut one.balancer, slot.interaction, &attempt, outcome, now_us);
        if slot.in_flight() {
            // The other attempt may still be answered.
            return;
        }
        if matches!(slot.transfer(), Some(Transfer::Upload(_))) {
            return self.end(place, Err(error), &[]);
        }
        // What the receiver has cannot be unsaid, and what a channel's caller sent is gone.
        let begun = matches!(&slot.completion, Completion::Stream(items) if items.0.has_begun());
        if begun || slot.interaction == Interaction::Channel {
            return self.end(place, Err(error), &[]);
        }
        let exclude = slot.avoided(&mut self.avoided);
        let elsewhere = slot.key().is_none()
            && one
                .balancer
                .choose(now_us, Choice { key: None, exclude })
                .is_some_and(|chosen| chosen.connected);
        let decision = self.config.retry.decide(
            balance::Attempt {
                outcome,
                made: u32::from(slot.made),
                idempotence: match slot.idempotency {
                    Idempotency::Idempotent => Idempotence::Idempotent,
                    Idempotency::Unknown => Idempotence::Once,
                },
                elsewhere: if elsewhere { Elsewhere::Possible } else { Elsewhere::Impossible },
                deadline_us: slot.deadline_us,
            },
            now_us,
            &mut one.budget,
            &mut self.random,
        );
        match decision {
            Decision::Now => self.dispatch(io, place, 0),
            Decision::At { at_us } => self.wait_until(place, at_us),
            Decision::Stop(_) => self.end(place, Err(error), &[]),
        }
    }

    /// A call has ended; whoever waits is told.
    pub(super) fn end(&mut self, place: u32, how: Result<(), CallError>, data: &[u8]) {
        let slot = self.slots.at(place);
        if slot.timed {
            slot.timed = false;
            (slot.again_us, slot.hedge_us) = (NEVER, NEVER);
            self.wheel.disarm(&mut self.slots, place);
        }
        let slot = self.slots.at(place);
        if slot.in_flight() {
            for attempt in [slot.first.take(), slot.second.take()].into_iter().flatten() {
                self.cancels.push((attempt.connection, attempt.stream));
                // What a copy took so far is known; how it would have ended is not.
                let one = &mut self.services[usize::from(slot.service)];
                tell_end(&mut one.balancer, slot.interaction, &attempt, Outcome::Cancelled, self.now_us);
            }
        }
        if let Some(Transfer::Download { behind: Some(id) }) = slot.transfer() {
            self.caught_up.push(*id);
        }
        let (serial, tag) = (slot.serial, slot.tag);
        match std::mem::replace(&mut slot.completion, Completion::Discard) {
            Completion::Discard => {}
            Completion::Local => {
                let start = self.answers.len();
                self.answers.extend_from_slice(data);
                self.done.push_back(Done { tag, place, serial, how, answer: start..self.answers.len() });
            }
            Completion::Future(answer) => answer.0.complete(how.map(|()| data.to_vec())),
            Completion::Stream(items) => items.0.end(how),
            Completion::Callback(callback) => callback.call(how.map(|()| data)),
        }
        self.slots.give_back(place);
    }

    /// The answer of an attempt, or a stream's next message.
    fn answered(&mut self, now_us: u64, tag: Tag, next: Next, completes: Completes, data: &[u8]) {
        let (place, which) = of_tag(tag);
        let slot = self.slots.at(place);
        let Some(attempt) = *slot.attempt(which) else { return };
        if let Some(Transfer::Upload(upload)) = slot.transfer()
            && !upload.is_over
        {
            // The service has answered without the rest.
            self.cancels.push((attempt.connection, attempt.stream));
        }
        if slot.interaction == Interaction::Unary {
            *slot.attempt(which) = None;
            let latency_us = now_us.saturating_sub(attempt.sent_us);
            let one = &mut self.services[usize::from(slot.service)];
            if slot.transfers {
                // How long it took says how large it was, not how its instance is.
                one.balancer.stream_ended(attempt.instance, Outcome::Ok, latency_us, now_us);
            } else {
                one.balancer.ended(attempt.instance, Outcome::Ok, latency_us, now_us);
            }
            if let Some(pool) = one.live_pool(attempt.instance) {
                pool.answered(attempt.connection);
            }
            if slot.idempotency == Idempotency::Idempotent
                && let Some(hedge) = &mut self.routes[slot.route as usize].hedge
            {
                hedge.answered(latency_us, now_us);
            }
            return self.end(place, Ok(()), data);
        }
        if next == Next::Value
            && let Completion::Stream(items) = &slot.completion
        {
            items.0.push(data);
        }
        if completes == Completes::Yes {
            *slot.attempt(which) = None;
            let one = &mut self.services[usize::from(slot.service)];
            tell_end(&mut one.balancer, slot.interaction, &attempt, Outcome::Ok, now_us);
            self.end(place, Ok(()), &[]);
        }
    }

    /// Sends what a channel's caller has given, as far as the service's credit goes.
    fn send_channel(&mut self, io: &mut Io<Letter>, place: u32) {
        let slot = self.slots.at(place);
        let (Some(attempt), Some(channel)) = (slot.first, slot.channel.as_mut()) else { return };
        self.links.write(io, attempt.connection, |connection, out| {
            while let Some(message) = channel.messages.front() {
                let encode = |out: &mut Vec<u8>| out.extend_from_slice(message);
                if connection.payload(attempt.stream, Completes::No, None, encode, out).is_err() {
                    return;
                }
                channel.messages.pop_front();
                if let Completion::Stream(items) = &slot.completion {
                    items.0.sent();
                }
            }
            if std::mem::take(&mut channel.completes) {
                let _ = connection.complete(attempt.stream, out);
            }
        });
    }

    /// What reading one connection asks of others.
    fn follow_up(&mut self, io: &mut Io<Letter>) {
        while let Some((place, which, outcome, error)) = self.failed.pop() {
            self.attempt_failed(io, place, which, outcome, error);
        }
        while let Some(id) = self.caught_up.pop() {
            self.read_on(io, id);
        }
        while let Some((id, stream)) = self.cancels.pop() {
            self.links.write(io, id, |connection, out| connection.cancel(stream, out));
        }
    }

    fn fire(&mut self, io: &mut Io<Letter>, place: u32) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        if !slot.busy {
            return;
        }
        if now_us >= slot.deadline_us {
            return self.expire(io, place);
        }
        if slot.hedge_us <= now_us {
            slot.hedge_us = NEVER;
            let once = slot.first.is_some() && slot.second.is_none();
            if once && let Some(hedge) = &mut self.routes[slot.route as usize].hedge {
                if hedge.take(now_us) {
                    self.dispatch(io, place, 1);
                } else {
                    // The budget is spent now; it may not be when the call has taken still longer.
                    slot.hedge_us = now_us + HEDGE_AGAIN_US;
                }
            }
        }
        let slot = self.slots.at(place);
        let serial = slot.serial;
        if slot.again_us <= now_us {
            if slot.waiting && slot.deadline_us == NEVER {
                return self.expire(io, place);
            }
            slot.again_us = NEVER;
            self.dispatch(io, place, 0);
        }
        if self.slots.find(place, serial).is_some() {
            self.arm(place);
        }
    }

    fn expire(&mut self, io: &mut Io<Letter>, place: u32) {
        let now_us = io.now_us();
        let slot = self.slots.at(place);
        let one = &mut self.services[usize::from(slot.service)];
        for attempt in [slot.first.take(), slot.second.take()].into_iter().flatten() {
            tell_end(&mut one.balancer, slot.interaction, &attempt, Outcome::Deadline, now_us);
            self.cancels.push((attempt.connection, attempt.stream));
        }
        let error = if slot.made > 0 {
            CallError::Deadline
        } else {
            CallError::Unavailable(format!(
                "no connection to an instance of `{}` before the deadline; {} known, discovery: {}",
                one.name,
                one.balancer.len(),
                one.freshness
            ))
        };
        self.end(place, Err(error), &[]);
        self.follow_up(io);
    }

    fn explain(&self, io: &Io<Letter>, service: u16, key: Option<balance::KeyHash>) -> Option<Explained> {
        let one = self.services.get(usize::from(service))?;
        let choice = one.balancer.explain(io.now_us(), Choice { key, exclude: &[] });
        Some(Explained { choice, discovery: one.freshness.clone() })
    }

    fn items_place(&mut self, items: &Items) -> Option<u32> {
        let (place, serial) = items.place.look()?;
        self.slots.find(place, serial).map(|_| place)
    }

    /// Handles what a connection says. Returns whether it is at its end.
    fn event(&mut self, now_us: u64, service: u16, instance: InstanceId, event: Event<'_>) -> Flow {
        match event {
            Event::Payload { tag, payload, more, .. }
                if matches!(self.slots.at(of_tag(tag).0).transfer(), Some(Transfer::Download { .. })) =>
            {
                self.piece(now_us, tag, &payload.data, more);
            }
            Event::Piece { tag, data, more, .. } => self.piece(now_us, tag, data, more),
            Event::Payload { tag, next, completes, payload, .. } => {
                self.answered(now_us, tag, next, completes, &payload.data);
            }
            Event::Failed { tag, code, text, .. } => {
                let (place, which) = of_tag(tag);
                let error = wire::call_error(code, text);
                self.failed.push((place, which, outcome_of(&error), error));
            }
            Event::Credit { tag, .. } => return Flow::Credit(of_tag(tag).0),
            Event::Cancelled { tag, .. } => {
                // The service wants no more of what a channel's caller sends.
                let slot = self.slots.at(of_tag(tag).0);
                if let Some(channel) = &mut slot.channel {
                    channel.messages.clear();
                    channel.completes = false;
                }
                if let Completion::Stream(items) = &slot.completion {
                    items.0.refuse();
                }
            }
            Event::MetadataPush(metadata) => {
                if let Some((load, quiescing)) = wire::read_load(metadata) {
                    self.services[usize::from(service)].balancer.load(instance, load, quiescing);
                }
            }
            Event::Lease { .. } => return Flow::Lease,
            Event::Closing { .. } => return Flow::Closing,
            Event::Resumed => return Flow::Resumed,
            Event::Closed(Closed::Peer { code, text }) => {
                let text = String::from_utf8_lossy(text);
                tracing::debug!(code = code.0, %text, "A service closed the connection");
                return Flow::Closed;
            }
            Event::Closed(_) => return Flow::Closed,
            _ => {}
        }
        Flow::Open
    }
}

/// Tells the balancer how an attempt ended. How long a stream was open says nothing about its instance.
fn tell_end(
    balancer: &mut Balancer,
    interaction: Interaction,
    attempt: &Attempt,
    outcome: Outcome,
    now_us: u64,
) {
    if matches!(interaction, Interaction::Stream | Interaction::Channel) {
        balancer.stream_ended(attempt.instance, outcome, now_us.saturating_sub(attempt.sent_us), now_us);
    } else {
        balancer.ended(attempt.instance, outcome, now_us.saturating_sub(attempt.sent_us), now_us);
    }
}

/// What an instance's refusal says of it.
fn outcome_of(error: &CallError) -> Outcome {
    match error {
        CallError::Busy { retry_after, .. } => Outcome::Busy { retry_after_ms: milliseconds(*retry_after) },
        CallError::Deadline => Outcome::Deadline,
        _ => Outcome::Rejected,
    }
}

/// What an event asks for beyond its call.
enum Flow {
    Open,
    Credit(u32),
    Lease,
    Closing,
    Closed,
    Resumed,
}

pub(super) fn connect_options(config: &ClientConfig) -> ConnectOptions {
    ConnectOptions {
        socket: config.socket.clone(),
        limits: ConnectionLimits {
            carry_bytes_max: config.frame_bytes_max as u32 + 64,
            write_queue_bytes_max: 64 * 1024 * 1024,
            write_stall_ms: 10_000,
        },
        tls: config.tls.clone(),
        websocket: config.websocket.clone(),
        ..ConnectOptions::default()
    }
}

pub(super) fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

impl Handler for ClientLoop {
    type Message = Letter;

    fn connected(&mut self, io: &mut Io<Letter>, id: ConnectionId, _tag: u64) {
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
        one.balancer.connected(instance);
        self.send_waiting(io, service);
        self.follow_up(io);
    }

    fn received(&mut self, io: &mut Io<Letter>, id: ConnectionId, bytes: &[u8]) -> usize {
        let (now_ms, now_us) = (io.now(), io.now_us());
        self.now_us = now_us;
        let Some(link) = self.links.at(id) else { return bytes.len() };
        let (service, instance) = (link.service, link.instance);
        let Some(mut connection) = link.connection.take() else { return bytes.len() };
        let mut used = 0;
        let (mut lease, mut closing, mut closed, mut resumed) = (false, false, false, false);
        let mut credits = Vec::new();
        let written = io.with_output(id, |out| {
            loop {
                let received = connection.receive(now_ms, &bytes[used..], out);
                used += received.used;
                match received.event {
                    Some(event) => match self.event(now_us, service, instance, event) {
                        Flow::Open => {}
                        Flow::Credit(place) => credits.push(place),
                        Flow::Lease => lease = true,
                        Flow::Closing => closing = true,
                        Flow::Resumed => resumed = true,
                        Flow::Closed => {
                            closed = true;
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
            if closed {
                pool.retry_us = pool.retry_us.max(now_us + pool.backoff.wait_ms(&mut self.random) * 1_000);
            }
        }
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
        if self.links.at(id).is_some_and(|link| link.behind > 0) {
            io.pause(id);
        }
        if lease {
            self.send_waiting(io, service);
        }
        self.follow_up(io);
        if closed { bytes.len() } else { used }
    }

    fn timeout(&mut self, io: &mut Io<Letter>, id: ConnectionId) {
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

    fn closed(&mut self, io: &mut Io<Letter>, id: ConnectionId, reason: CloseReason) {
        let Some(mut link) = self.links.remove(id) else { return };
        let now_us = io.now_us();
        let one = &mut self.services[usize::from(link.service)];
        if let Some(pool) = one.live_pool(link.instance) {
            if link.connection.is_none() || link.resumes.is_some() {
                pool.opening = pool.opening.saturating_sub(1);
            }
            pool.remove(id);
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
        self.follow_up(io);
        self.send_waiting(io, link.service);
    }

    fn message(&mut self, io: &mut Io<Letter>, message: Letter) {
        self.now_us = io.now_us();
        match message {
            Letter::Service { name, place } => {
                self.add_service(name, place);
                let config = Arc::clone(&self.config);
                if let super::Source::Static(addresses) = &config.source {
                    self.fixed(io, place, addresses);
                }
            }
            Letter::Instances { service, snapshot } => self.instances(io, service, &snapshot),
            Letter::Call(call) => self.call(io, *call),
            Letter::Datagram(call) => self.call_by_datagram(io, *call),
            Letter::Cancel { place, serial } => {
                if self.slots.find(place, serial).is_some() {
                    self.end(place, Err(CallError::Cancelled), &[]);
                    self.follow_up(io);
                }
            }
            Letter::Credit { items, n } => {
                if let Some(place) = self.items_place(&items)
                    && !self.piece_taken(io, place)
                    && let Some(attempt) = self.slots.at(place).first
                {
                    self.links.write(io, attempt.connection, |connection, out| {
                        connection.request_n(attempt.stream, n, out)
                    });
                }
            }
            Letter::Send { items, message } => {
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
            Letter::Farewell => self.take_leave(io),
            Letter::Explain { service, key, answer } => {
                if let Some(explained) = self.explain(io, service, key) {
                    // Whoever asked may have gone.
                    let _ = answer.try_send(explained);
                }
            }
        }
    }

    fn datagram(&mut self, io: &mut Io<Letter>, _socket: UdpId, peer: SocketAddr, bytes: &[u8]) {
        self.datagram_came(io, peer, bytes);
    }

    fn turn_ended(&mut self, io: &mut Io<Letter>) {
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

    fn turn_flushed(&mut self, io: &mut Io<Letter>) {
        let timers = self.wheel.next().map(|tick| u64::from(tick) * TICK_US / 1_000);
        let reconnect = self.reconnects.peek().map(|one| one.0.0.div_ceil(1_000));
        let deadline = [self.deadlines.next_us(), self.datagrams.next_us()].into_iter().flatten().min();
        let deadline = deadline.map(|at_us| at_us.div_ceil(1_000));
        let resumption = self.resumptions.peek().map(|one| one.0.0.div_ceil(1_000));
        let upload = self.has_uploads_to_send(io).then(|| io.now());
        match [timers, reconnect, deadline, resumption, upload].into_iter().flatten().min() {
            Some(at_ms) => io.set_alarm(at_ms),
            None => io.clear_alarm(),
        }
    }
}
