//! The broker's host for one call of the reactor: MQTT's wishes carried out on a loop.
//!
//! [`Turn`] is made for each callback out of the loop's [`Io`] and its [`Surroundings`], which hold
//! everything of the loop that is not the broker itself.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::FixedState;
use stadium_mqtt::broker::{
    self, Client, Close, Event, GroupMessage, Host, Interest, LoopIndex, NotTaken, Origin, Owner, Part,
    Persisted, Prior, Progress, Publication, PublishId, PurgeId, ReplyTo, Request, Retain, SessionKey,
    Stored, Then, Uplink, Verdict, Withdraw,
};
use stadium_mqtt::packet::{Publish, QoS};
use stadium_mqtt::reason::ReasonCode;
use stadium_reactor::{ConnectionId, Io, LoopHandle, Segment};

use crate::auth::{Identity, Policy, Principal, Via, verb_of};
use crate::clock::Clock;
use crate::counts::{Counts, Published};
use crate::interest::Interests;
use crate::limits::{Addresses, HeldBytes};
use crate::message::{Forward, Kind, Message};
use crate::publishes::Publishes;
use crate::purges::Purges;
use crate::push::transport::{Inboxes, TracedDeliveries, TransportQueue};
use crate::push::{Pushes, Receipts};
use crate::requests::{OwnRequests, RequestGate};
use crate::sessions::SessionWriter;
use crate::streams::TopicStreams;
use crate::sys_topics::SysTopics;
use crate::trace::{Traces, Tracing};
use crate::traced_publishes::{RecentPublishes, TracedPublishes, is_of_publish};
use crate::uplinks::{Followed, Uplinks};

/// Who a device is; `None` for an anonymous one, which is most of a trial's fleet.
pub(crate) type Who = Option<Arc<Identity>>;

/// What all loops share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Zero of the node's milliseconds.
    pub(crate) epoch: Instant,
    pub(crate) clock: Clock,
    pub(crate) handles: std::sync::OnceLock<Box<[LoopHandle<Message>]>>,
    pub(crate) interests: Interests,
    /// The same for sessions that are kept.
    pub(crate) kept_interests: Interests,
    pub(crate) pushes: Pushes,
    pub(crate) addresses: Addresses,
    /// Of each loop.
    pub(crate) transport_queues: Box<[TransportQueue]>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) published: Box<[Published]>,
    pub(crate) hasher: FixedState,
    pub(crate) retained: Arc<broker::Retained>,
    /// The server's own topics.
    pub(crate) sys_topics: SysTopics,
    /// The feeds that want what devices publish.
    pub(crate) followed: Followed,
    /// Readers of topics that are no devices.
    pub(crate) streams: Arc<TopicStreams>,
    /// No device is let in any more; pushes are still taken.
    pub(crate) closed: std::sync::atomic::AtomicBool,
    pub(crate) draining: std::sync::atomic::AtomicBool,
    /// Devices connected, for the node's bound.
    pub(crate) devices: std::sync::atomic::AtomicUsize,
    /// Spreads adopted sockets over the loops.
    pub(crate) next_adopted: std::sync::atomic::AtomicUsize,
    /// What connections hold of large CONNECTs.
    pub(crate) held: Arc<HeldBytes>,
    pub(crate) traces: Traces,
    /// Traced messages of devices that further deliveries belong to.
    pub(crate) recent_publishes: RecentPublishes,
}

impl Shared {
    /// The loop that a client id, or a shared subscription group, belongs to.
    pub(crate) fn home_of(&self, text: &str) -> usize {
        match self.published.len() {
            1 => 0,
            loops => (self.hasher.hash_one(text) % loops as u64) as usize,
        }
    }

    /// The node's milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn handle(&self, loop_index: usize) -> &LoopHandle<Message> {
        &self.handles.get().expect("handles are set before a loop runs")[loop_index]
    }
}

/// What a loop has besides its broker.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    /// The node's milliseconds at the loop's zero.
    pub(crate) clock_offset_ms: u64,
    pub(crate) counts: Counts,
    pub(crate) receipts: Receipts,
    /// Who reads its inbox.
    pub(crate) inboxes: Inboxes,
    /// Deliveries whose spans are under way.
    pub(crate) traced: TracedDeliveries,
    /// Messages of devices whose spans are under way.
    pub(crate) traced_publishes: TracedPublishes,
    /// Where the node has services.
    pub(crate) request_gate: Option<RequestGate>,
    /// Where there are shards to carry out what devices ask for themselves.
    pub(crate) own_requests: Option<OwnRequests>,
    /// QueuedItem for each other loop, sent at the turn's end. While more than
    /// `forwards_waiting_max` wait, publishers are not read, so that one turn's worth on top of
    /// that is the bound.
    pub(crate) outboxes: Box<[Vec<Forward>]>,
    pub(crate) forwards_waiting: usize,
    pub(crate) congested_bytes: usize,
    pub(crate) random: u64,
    /// Where the message being routed also goes, found by `others_want`.
    wanted_by: u64,
    /// Of those: where sessions that are kept may want it, found by `others_keep`.
    kept_by: u64,
    /// Where sessions outlive the process.
    pub(crate) session_writer: Option<SessionWriter>,
    /// Where there are shards to put what devices publish.
    pub(crate) uplinks: Option<Uplinks>,
    /// Why the broker has ended connections whose end is not logged yet, by their place. Empty
    /// where nobody asks.
    pub(crate) endings: HashMap<u32, Close>,
    pub(crate) tracing: Tracing,
    /// Retained messages that operators remove.
    pub(crate) purges: Purges,
    /// Messages of applications that are not answered.
    pub(crate) publishes: Publishes,
}

impl Surroundings {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, congested_bytes: usize, seed: u64) -> Self {
        let loops = shared.published.len();
        Self {
            shared,
            index,
            clock_offset_ms: 0,
            counts: Counts::default(),
            receipts: Receipts::default(),
            inboxes: Inboxes::new(None, index),
            traced: TracedDeliveries::default(),
            traced_publishes: TracedPublishes::default(),
            request_gate: None,
            own_requests: None,
            outboxes: (0..loops).map(|_| Vec::new()).collect(),
            forwards_waiting: 0,
            congested_bytes,
            random: seed | 1,
            wanted_by: 0,
            kept_by: 0,
            purges: Purges::default(),
            publishes: Publishes::default(),
            session_writer: None,
            uplinks: None,
            endings: HashMap::new(),
            tracing: Tracing::default(),
        }
    }

    /// Whether shards keep up with what is to be durable; else publishers are read more slowly.
    pub(crate) fn keeps_up(&self) -> bool {
        self.session_writer.as_ref().is_none_or(|session_writer| !session_writer.is_behind())
            && self.uplinks.as_ref().is_none_or(|uplinks| !uplinks.is_behind())
    }

    /// The node's milliseconds.
    pub(crate) fn now_ms(&self, io: &Io<Message>) -> u64 {
        self.clock_offset_ms + io.now()
    }

    /// A random number (xorshift64*): spreads delays, names clients; protects nothing.
    pub(crate) fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Puts something into the outbox for another loop.
    pub(crate) fn send_to_loop(&mut self, to: usize, forward: Forward) {
        self.outboxes[to].push(forward);
        self.forwards_waiting += 1;
    }

    /// Gives other loops what is waiting for them. What a full mailbox refuses waits for the next turn.
    pub(crate) fn send_forwards(&mut self) {
        if self.forwards_waiting == 0 {
            return;
        }
        let mut waiting = 0;
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if outbox.is_empty() {
                continue;
            }
            // The next turn is as busy as this one was, as a rule.
            let fresh = Vec::with_capacity(outbox.len());
            let batch = Message(Kind::Forwards(std::mem::replace(outbox, fresh)));
            let handle = self.shared.handle(to);
            if let Err(full) = handle.try_send(batch)
                && let Kind::Forwards(back) = full.0.0
            {
                waiting += back.len();
                *outbox = back;
            }
        }
        self.forwards_waiting = waiting;
    }
}

/// A client as rules see it.
fn principal<'a>(client: Client<'a, Who>) -> Principal<'a> {
    match client.identity {
        Some(identity) => identity.principal_of(client.client_id),
        None => Principal { user: "", client_id: client.client_id, groups: &[], via: Via::Anonymous },
    }
}

/// The topic filter in `$share/GROUP/FILTER`.
pub(crate) fn filter_of_group(group_filter: &str) -> &str {
    group_filter.splitn(3, '/').nth(2).unwrap_or(group_filter)
}

/// One callback's view of a loop.
pub(crate) struct Turn<'a> {
    pub(crate) io: &'a mut Io<Message>,
    pub(crate) around: &'a mut Surroundings,
}

impl Host for Turn<'_> {
    type Link = ConnectionId;
    type Identity = Who;
    type Segment = Segment;

    fn now_ms(&self) -> u64 {
        self.around.now_ms(self.io)
    }

    fn begin_message(&mut self) {
        self.io.reserve_turn();
    }

    fn stage(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Segment {
        self.io.stage(encode)
    }

    fn deliver(&mut self, link: ConnectionId, segment: Segment) {
        if self.around.tracing.is_on() {
            self.around.tracing.sent(link, self.io.staged(segment));
        }
        self.around.counts.packets_out += 1;
        self.io.deliver(link, segment);
    }

    fn deliver_with_packet_id(&mut self, link: ConnectionId, segment: Segment, at: u32, packet_id: u16) {
        if self.around.tracing.is_on() {
            self.around.tracing.sent_with_id(link, self.io.staged(segment), packet_id);
        }
        self.around.counts.packets_out += 1;
        self.io.deliver_patched(link, segment, at, packet_id);
    }

    fn deliver_shared(&mut self, link: ConnectionId, bytes: &Arc<[u8]>) {
        self.io.deliver_shared(link, bytes);
    }

    fn send(&mut self, link: ConnectionId, encode: impl FnOnce(&mut Vec<u8>)) {
        self.around.counts.packets_out += 1;
        if !self.around.tracing.is_on() {
            return self.io.send(link, encode);
        }
        let tracing = &mut self.around.tracing;
        self.io.send(link, |bytes| {
            let before = bytes.len();
            encode(bytes);
            tracing.sent(link, &bytes[before..]);
        });
    }

    fn congested(&self, link: ConnectionId) -> bool {
        self.io.unsent(link) > self.around.congested_bytes
    }

    fn close(&mut self, link: ConnectionId, why: Close) {
        self.around.counts.closed(why);
        self.around.endings.insert(link.index, why);
        self.io.close(link);
    }

    fn authorise(&mut self, client: Client<'_, Who>, action: broker::Action, topic: &str) -> bool {
        self.around.shared.policy.allows(&principal(client), verb_of(action), topic)
    }

    fn grant(&mut self, client: Client<'_, Who>, filter: &str) -> broker::Grant {
        self.around.shared.policy.grant(&principal(client), filter)
    }

    fn same_owner(&self, one: &Who, other: &Who) -> bool {
        match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => one.principal == other.principal && one.via == other.via,
            _ => false,
        }
    }

    fn owner(&self, client: Client<'_, Who>) -> Owner {
        client.identity.as_ref().map_or_else(Owner::default, |identity| Arc::clone(&identity.principal))
    }

    fn interest(&mut self, filter: &str, change: Interest) {
        self.around.shared.interests.change(self.around.index, filter, change);
    }

    fn others_want(&mut self, topic: &str) -> bool {
        self.around.wanted_by = self.around.shared.interests.others(self.around.index, topic);
        self.around.wanted_by != 0
    }

    fn forward(&mut self, publication: &Arc<Publication>) {
        let mut wanted = self.around.wanted_by;
        while wanted != 0 {
            let to = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            self.around.send_to_loop(to, Forward::Publish(Arc::clone(publication)));
            self.around.counts.forwarded += 1;
        }
    }

    fn group_home(&self, group_filter: &str) -> LoopIndex {
        let home = self.around.shared.home_of(group_filter);
        LoopIndex(u16::try_from(home).expect("there are at most 64 loops"))
    }

    fn send_group_message(&mut self, to: LoopIndex, message: GroupMessage) {
        if let GroupMessage::Join(join) = &message {
            // Counted for the group's home before the SUBACK leaves; the home takes it back when it
            // has counted the filter itself.
            let filter = filter_of_group(&join.filter);
            self.around.shared.interests.change(usize::from(to.0), filter, Interest::Gained);
        }
        self.around.send_to_loop(usize::from(to.0), Forward::Group(message));
    }

    fn random(&mut self) -> u64 {
        self.around.random()
    }

    fn is_home_of(&self, client_id: &str) -> bool {
        self.around.shared.home_of(client_id) == self.around.index
    }

    fn request(
        &mut self,
        client: Client<'_, Who>,
        session: SessionKey,
        request: &Request<'_>,
    ) -> Result<(), NotTaken> {
        self.take_request(client, session, request)
    }

    fn own_request(
        &mut self,
        client: Client<'_, Who>,
        session: SessionKey,
        request: &Request<'_>,
        then: Then,
    ) -> Result<(), NotTaken> {
        self.take_own_request(client, session, request, then)
    }

    fn is_followed(&mut self, client_id: &str, topic: &str) -> bool {
        let Surroundings { shared, uplinks, .. } = &mut *self.around;
        shared.followed.any()
            && uplinks.as_mut().is_some_and(|uplinks| uplinks.find(&shared.followed, client_id, topic))
    }

    fn follow(&mut self, uplink: &Uplink<'_>, then: Then) -> u32 {
        self.around.uplinks.as_mut().map_or(0, |uplinks| uplinks.follow(uplink, then))
    }

    fn receipt_for(&mut self, client: Client<'_, Who>, publish: &Publish<'_>, topic: &str) -> u64 {
        let Surroundings { shared, traced_publishes, .. } = &mut *self.around;
        traced_publishes.begin(&shared.recent_publishes, client.client_id, publish, topic)
    }

    fn answered(&mut self, token: u64, reason: ReasonCode) {
        self.around.traced_publishes.answered(token, reason);
    }

    fn delivers(&mut self, token: u64, link: ConnectionId, client_id: &str, qos: QoS) {
        let Surroundings { shared, traced, traced_publishes, .. } = &mut *self.around;
        if is_of_publish(token)
            && let Some(span) = traced_publishes.delivery(&shared.recent_publishes, token, client_id, qos)
        {
            traced.add(token, link, span);
        }
    }

    fn receipt(&mut self, token: u64, link: Option<ConnectionId>, progress: Progress) {
        self.around.traced.progressed(token, link, progress);
        if is_of_publish(token) {
            return;
        }
        match crate::push::live::number(token) {
            Some(push) => self.around.receipts.report(&self.around.shared.pushes, push, progress),
            None => self.around.inboxes.progressed(token, link, progress),
        }
    }

    fn shard_of(&self, name: &str) -> u16 {
        self.around.session_writer.as_ref().map_or(0, |session_writer| session_writer.shard_of(name))
    }

    fn persist(&mut self, client_id: &str, change: broker::Change<'_, Who>, then: Then) {
        let Some(session_writer) = &mut self.around.session_writer else { return };
        session_writer.put(
            session_writer.shard_of(client_id),
            self.around.shared.change(client_id, change),
            then,
        );
    }

    fn keep(&mut self, shard: u16, keep: &broker::Keep<'_>, then: Then) {
        let Some(session_writer) = &mut self.around.session_writer else { return };
        let change = self.around.shared.keep(keep);
        if keep.must {
            session_writer.put_for_certain(shard, change, then);
        } else {
            session_writer.put(shard, change, then);
        }
    }

    fn retain(&mut self, retain: &Retain<'_>, then: Then) {
        let &Retain { publication, stored, must } = retain;
        let Some(session_writer) = &mut self.around.session_writer else { return };
        let message = self.around.shared.kept_message(publication);
        let &Stored { ref owner, number, prior } = stored;
        let is_clear = message.payload().is_empty();
        let change = match prior {
            Prior::None if is_clear => stadium_session::Change::ClearNothing { number, message },
            _ => {
                let owner = owner.as_deref().map(Into::into);
                stadium_session::Change::Retain { number, owner, message }
            }
        };
        let shard = session_writer.shard_of(publication.topic());
        if must {
            session_writer.put_for_certain(shard, change, then);
        } else {
            session_writer.put(shard, change, then);
        }
    }

    fn purged(&mut self, purge: PurgeId, persisted: Persisted) {
        self.around.purges.purged(purge, persisted);
    }

    fn published(&mut self, publish: PublishId, persisted: Persisted) {
        self.around.publishes.published(publish, persisted);
    }

    fn observe(&mut self, message: &broker::Message<'_>) -> bool {
        self.around.shared.streams.observe(message)
    }

    fn describe_server(&mut self) -> bool {
        self.around.shared.sys_topics.refresh(&self.around.shared)
    }

    fn withdraw(&mut self, shard: u16, withdraw: &Withdraw<'_>, then: Then) {
        let Some(session_writer) = &mut self.around.session_writer else { return };
        session_writer.put(shard, crate::sessions::withdraw(withdraw), then);
    }

    fn ask(&mut self, shard: u16, origin: Origin, then: Then) {
        let Some(session_writer) = &mut self.around.session_writer else { return };
        session_writer.put(shard, crate::sessions::ask(origin), then);
    }

    fn forget(&mut self, shard: u16, origin: Origin, then: Then) {
        let Some(session_writer) = &mut self.around.session_writer else { return };
        session_writer.put(shard, crate::sessions::forget(origin), then);
    }

    fn shards(&self) -> u16 {
        self.around.session_writer.as_ref().map_or(1, SessionWriter::shards)
    }

    fn others_keep(&mut self, topic: &str) -> usize {
        let keep = self.around.shared.kept_interests.others(self.around.index, topic);
        self.around.kept_by = keep & self.around.wanted_by;
        self.around.kept_by.count_ones() as usize
    }

    fn forward_to_keep(&mut self, publication: &Arc<Publication>, origin: Option<Origin>, reply: ReplyTo) {
        let (mut wanted, kept_by) = (self.around.wanted_by, self.around.kept_by);
        while wanted != 0 {
            let to = wanted.trailing_zeros() as usize;
            let forward = if kept_by & (1 << to) != 0 {
                Forward::Keep(Arc::clone(publication), origin, reply)
            } else {
                Forward::Publish(Arc::clone(publication))
            };
            wanted &= wanted - 1;
            self.around.send_to_loop(to, forward);
            self.around.counts.forwarded += 1;
        }
    }

    fn report_kept(&mut self, to: ReplyTo, part: Part) {
        self.around.send_to_loop(usize::from(to.at.0), Forward::Kept(to.then, part));
    }

    fn send_verdict(&mut self, at: LoopIndex, held: Then, verdict: Verdict) {
        self.around.send_to_loop(usize::from(at.0), Forward::Verdict(held, verdict));
    }

    fn keep_interest(&mut self, at: LoopIndex, filter: &str, change: Interest) {
        self.around.shared.kept_interests.change(usize::from(at.0), filter, change);
    }

    fn entered(&mut self, link: ConnectionId) {
        if let Some(session_writer) = &mut self.around.session_writer {
            session_writer.entered.push(link);
        }
    }

    fn count(&mut self, event: Event) {
        self.around.counts.count(event);
        let counts = &self.around.counts;
        // The first, the second, the fourth: a full store is reported and does not fill the log.
        if event == Event::RetainRefused && counts.retains_refused.is_power_of_two() {
            tracing::warn!(
                refused = counts.retains_refused,
                "Messages are not retained: retained_messages_max or retained_bytes_max is reached"
            );
        }
        if event == Event::RetainOverQuota && counts.retains_over_quota.is_power_of_two() {
            tracing::warn!(
                refused = counts.retains_over_quota,
                "Messages are not retained: a principal reached retained_messages_per_principal_max or \
                 retained_bytes_per_principal_max"
            );
        }
    }
}
