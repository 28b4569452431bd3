//! A message leaves: from a topic to the connections, queues and mailboxes of its subscribers.
//!
//! A message is encoded at most once for each combination of version, QoS and RETAIN that its receivers
//! need; everything else about a delivery is a packet id written over two bytes. A message at QoS 0 is
//! never copied; at QoS 1 and 2 one [`Publication`] is shared by all its deliveries.

use std::sync::Arc;

use slab::Slab;

use super::durable::{ReplyTo, done};
use super::flight::{Flight, Flights, List, Stage};
use super::host::{Action, Client, Drop, Event, Host, LoopIndex, Progress};
use super::mailbox::{Mailboxes, QueuedMessage};
use super::parts::{Decides, Unkept};
use super::publication::{Message, Pool, Publication};
use super::session::{Rare, Session, SessionKey, SharedId};
use super::shared::{GroupMessage, MemberRef};
use super::{Broker, Scratch};
use crate::encode::{self, PublishHead, PublishLayout};
use crate::packet::{AckKind, QoS, Version};
use crate::reason::ReasonCode;

/// Payloads from this size on are shared by reference count instead of being copied into each
/// connection's write queue when its socket is full. Below it the copy is cheaper than the second piece.
const SHARED_PAYLOAD_BYTES_MIN: usize = 16 << 10;

/// How far a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// To this broker's sessions and to the brokers of the other loops.
    Everywhere,
    /// To this broker's sessions: another loop sent it, and hears when it is kept for those to whom
    /// it is owed.
    Here,
    /// To this broker's sessions: another loop sent it and waits for nothing, because no session
    /// that persists had subscribed here.
    Unkept,
}

impl Scope {
    /// Whether a session must not get this message: it persists, so its subscription is younger
    /// than the publish. Were the message kept for it, nobody would wait for that, and the same
    /// publish sent again after a crash would be owed to it a second time.
    fn precedes<L, I>(self, message: &Message<'_>, session: &Session<L, I>) -> bool {
        self == Self::Unkept && message.head.qos > QoS::AtMostOnce && session.durable
    }
}

/// One session that gets a message, after overlapping subscriptions were put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    session: u32,
    qos: QoS,
    retain: bool,
    /// Range of its subscription identifiers in the scratch list.
    ids: (u32, u32),
}

/// How a receiver gets a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub qos: QoS,
    pub retain: bool,
    pub ids: &'a [u32],
    pub shared: SharedId,
    /// The host's number of the queued message, where it keeps it; else 0.
    pub number: u32,
}

/// The parts of a broker that a delivery changes.
pub(super) struct Deliverer<'a, L, I> {
    sessions: &'a mut Slab<Session<L, I>>,
    flights: &'a mut Flights,
    pool: &'a mut Pool,
    mailboxes: &'a mut (dyn Mailboxes + Send),
    /// What must be durable before it is delivered.
    unkept: &'a mut Vec<Unkept>,
    queued_max: u32,
}

/// A message on its way, with what was already made of it.
pub(super) struct Parcel<'a, S> {
    pub message: Message<'a>,
    pub expiry_s: Option<u32>,
    /// Made when the first receiver needs it to be kept.
    pub kept: Option<Arc<Publication>>,
    /// What is owed of it is durable, or need not be.
    pub is_kept: bool,
    staged: [Option<(S, PublishLayout)>; 12],
    shared_payload: Option<Arc<[u8]>>,
}

impl<'a, S: Copy> Parcel<'a, S> {
    pub fn new(message: Message<'a>, expiry_s: Option<u32>, kept: Option<Arc<Publication>>) -> Self {
        Self { message, expiry_s, kept, is_kept: false, staged: [None; 12], shared_payload: None }
    }

    fn head(&self, version: Version, terms: Terms<'a>, packet_id: u16) -> PublishHead<'a> {
        PublishHead {
            dup: false,
            qos: terms.qos,
            retain: terms.retain,
            topic: self.message.topic,
            packet_id,
            forwardable: self.message.properties,
            message_expiry_s: if version == Version::V5 { self.expiry_s } else { None },
            topic_alias: None,
            subscription_ids: terms.ids,
        }
    }

    fn is_large(&self) -> bool {
        self.message.payload.len() >= SHARED_PAYLOAD_BYTES_MIN
    }

    /// The encoding for these terms, staged with the first receiver that needs it.
    fn staged<H: Host<Segment = S>>(
        &mut self,
        host: &mut H,
        version: Version,
        terms: Terms<'a>,
    ) -> (S, PublishLayout) {
        let at = (version as usize - Version::V311 as usize) * 6
            + terms.qos as usize * 2
            + usize::from(terms.retain);
        if let Some(staged) = self.staged[at] {
            return staged;
        }
        let head = self.head(version, terms, 0);
        let large = self.is_large();
        let payload = self.message.payload;
        let mut layout = PublishLayout { packet_id_at: 0, len: 0 };
        let segment = host.stage(|buf| {
            layout = if large {
                encode::publish_head(buf, version, &head, payload.len())
            } else {
                encode::publish(buf, version, &head, payload)
            };
        });
        self.staged[at] = Some((segment, layout));
        (segment, layout)
    }
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Takes a message to everybody who subscribed to its topic. Returns whether anybody did.
    pub(super) fn route<H>(
        &mut self,
        host: &mut H,
        message: &Message<'_>,
        kept: Option<Arc<Publication>>,
        scope: Scope,
    ) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let Ok(expiry_s) = message.expiry_s(host.now_ms()) else {
            return false;
        };
        let mut parcel = Parcel::new(*message, expiry_s, kept);
        let mut anybody = false;
        self.went_elsewhere = false;
        self.noted = false;
        let may_be_owed = self.config.durable && message.head.qos > QoS::AtMostOnce;
        let mut loops = 0;
        if scope == Scope::Everywhere && host.others_want(message.topic) {
            let publication = parcel.kept.get_or_insert_with(|| self.pool.keep(message));
            if may_be_owed {
                loops = host.others_keep(message.topic);
            }
            if loops == 0 {
                host.forward(publication);
            }
            anybody = true;
        }
        if scope == Scope::Everywhere {
            anybody |= host.observe(message);
        }
        // Turns of members on other loops that keep it.
        let mut turns = Vec::new();
        anybody |= self.route_here(host, message, scope, &mut parcel, &mut turns);
        if loops > 0 || !turns.is_empty() || !self.unkept.is_empty() {
            let publication = parcel.kept.take().unwrap_or_else(|| self.pool.keep(message));
            self.keep_parts(host, &publication, loops, turns);
        }
        anybody
    }

    /// Has all parts of the message at hand kept: those of this broker's sessions, of so many other
    /// loops, and of members of shared subscriptions there.
    fn keep_parts<H>(
        &mut self,
        host: &mut H,
        publication: &Arc<Publication>,
        loops: usize,
        turns: Vec<(LoopIndex, GroupMessage)>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let elsewhere = loops + turns.len();
        self.went_elsewhere = elsewhere > 0;
        let here = self.keep_unkept(host, publication, self.beside + elsewhere);
        if elsewhere == 0 {
            return;
        }
        let decides = match self.decides {
            Decides::Here if self.beside + elsewhere + here > 1 => Decides::Elsewhere,
            decides => decides,
        };
        let then = self.pendings.part(&mut self.parts);
        self.pendings.more(then, u32::try_from(elsewhere - 1).expect("loops and groups are far below 2^32"));
        let to = ReplyTo { at: self.config.loop_index, then, must: self.must_keep, decides };
        if loops > 0 {
            host.forward_to_keep(publication, self.from.map(|from| from.origin), to);
        }
        for (at, mut turn) in turns {
            if let GroupMessage::Deliver { reply_to, .. } = &mut turn {
                *reply_to = Some(to);
            }
            host.send_group_message(at, turn);
        }
    }

    /// Takes a message to this broker's subscribers and to members of its groups. Returns whether
    /// there are any.
    fn route_here<'p, H>(
        &mut self,
        host: &mut H,
        message: &Message<'p>,
        scope: Scope,
        parcel: &mut Parcel<'p, H::Segment>,
        turns: &mut Vec<(LoopIndex, GroupMessage)>,
    ) -> bool
    where
        H: Host<Link = L, Identity = I>,
    {
        let mut anybody = false;
        let Self { sessions, flights, pool, mailboxes, filters, groups, scratch, config, unkept, .. } = self;
        let Scratch { matched, targets, subscription_ids, ids_of_one, .. } = scratch;
        matched.clear();
        filters.matching(message.topic, matched);
        if matched.is_empty() {
            return anybody;
        }
        host.begin_message();
        let mut deliverer = Deliverer {
            sessions,
            flights,
            pool,
            mailboxes: &mut **mailboxes,
            unkept,
            queued_max: config.queued_max,
        };
        let here = message.head.origin_loop == config.loop_index;
        let by_itself = |session: u32, generation: u32| {
            here && message.head.origin == SessionKey { index: session, generation }
        };
        if let [only] = matched[..] {
            for subscriber in filters.subscribers(only) {
                let index = subscriber.session;
                let session = &deliverer.sessions[index as usize];
                if (subscriber.no_local() && by_itself(index, session.generation))
                    || scope.precedes(message, session)
                {
                    continue;
                }
                if subscriber.is_partly_granted() && !may_read(host, session, message.topic) {
                    continue;
                }
                let qos = message.head.qos.min(subscriber.qos());
                let retain = message.head.retain && subscriber.retain_as_published();
                anybody = true;
                if subscriber.has_id() {
                    let id = deliverer.sessions[index as usize].subscription_id(only);
                    deliverer.deliver(
                        host,
                        index,
                        Terms { qos, retain, ids: id.as_slice(), shared: SharedId::NONE, number: 0 },
                        parcel,
                    );
                } else {
                    deliverer.deliver(
                        host,
                        index,
                        Terms { qos, retain, ids: &[], shared: SharedId::NONE, number: 0 },
                        parcel,
                    );
                }
            }
        } else {
            targets.clear();
            subscription_ids.clear();
            for &filter in matched.iter() {
                for subscriber in filters.subscribers(filter) {
                    let index = subscriber.session;
                    let session = &deliverer.sessions[index as usize];
                    if (subscriber.no_local() && by_itself(index, session.generation))
                        || scope.precedes(message, session)
                    {
                        continue;
                    }
                    if subscriber.is_partly_granted() && !may_read(host, session, message.topic) {
                        continue;
                    }
                    let from = list_len(subscription_ids);
                    if subscriber.has_id() {
                        subscription_ids.extend(session.subscription_id(filter));
                    }
                    targets.push(Target {
                        session: index,
                        qos: message.head.qos.min(subscriber.qos()),
                        retain: message.head.retain && subscriber.retain_as_published(),
                        ids: (from, list_len(subscription_ids)),
                    });
                }
            }
            // One copy for each client, at the highest QoS of its matching subscriptions and with all
            // of their identifiers [MQTT-3.3.4-2, MQTT-3.3.4-3].
            targets.sort_by_key(|target| target.session);
            for run in targets.chunk_by(|a, b| a.session == b.session) {
                ids_of_one.clear();
                for target in run {
                    let ids = target.ids.0 as usize..target.ids.1 as usize;
                    ids_of_one.extend_from_slice(&subscription_ids[ids]);
                }
                let qos = run.iter().map(|target| target.qos).max().unwrap_or(QoS::AtMostOnce);
                let retain = run.iter().any(|target| target.retain);
                anybody = true;
                deliverer.deliver(
                    host,
                    run[0].session,
                    Terms { qos, retain, ids: ids_of_one, shared: SharedId::NONE, number: 0 },
                    parcel,
                );
            }
        }
        for &filter in matched.iter() {
            for &id in filters.groups(filter) {
                let group = groups.group_mut(id);
                let (mut skipped, members) = (0, group.members.len());
                let reads = |who: MemberRef, sessions: &Slab<Session<L, I>>, host: &mut H| {
                    let session = sessions.get(who.session.index as usize);
                    session.is_some_and(|session| may_read(host, session, message.topic))
                };
                // Of another loop's members their own loop knows. One that persists has joined
                // since, see [`Scope::precedes`].
                let is_unkept = scope == Scope::Unkept && message.head.qos > QoS::AtMostOnce;
                while skipped < members
                    && group.peek().is_some_and(|member| {
                        (is_unkept && member.durable)
                            || (member.is_partly_granted
                                && member.who.at == config.loop_index
                                && !reads(member.who, deliverer.sessions, host))
                    })
                {
                    group.next();
                    skipped += 1;
                }
                if skipped == members {
                    continue;
                }
                let may_be_kept = group.may_be_kept();
                let Some(member) = group.next() else { continue };
                anybody = true;
                let is_partly_granted = member.is_partly_granted;
                let (who, options) = (member.who, member.options);
                let (subscription_id, shared) = (member.subscription_id, member.shared);
                if who.at == config.loop_index {
                    let qos = message.head.qos.min(options.qos);
                    let retain = message.head.retain && options.retain_as_published;
                    let terms = Terms { qos, retain, ids: subscription_id.as_slice(), shared, number: 0 };
                    deliverer.deliver_to_member(host, &group.text, who.session.index, terms, parcel);
                } else {
                    let publication = parcel.kept.get_or_insert_with(|| deliverer.pool.keep(message));
                    // A member that is gone hands it on to one whose session may be kept.
                    let keeps = config.durable && message.head.qos > QoS::AtMostOnce && may_be_kept;
                    let turn = GroupMessage::Deliver {
                        filter: Arc::clone(&group.text),
                        home: config.loop_index,
                        member: who.session,
                        options,
                        subscription_id,
                        shared,
                        publication: Arc::clone(publication),
                        origin: self.from.map(|from| from.origin),
                        reply_to: None,
                        is_partly_granted,
                        skipped,
                    };
                    if keeps {
                        turns.push((who.at, turn));
                    } else {
                        host.send_group_message(who.at, turn);
                    }
                }
            }
        }
        anybody
    }

    pub(super) fn deliverer(&mut self) -> Deliverer<'_, L, I> {
        Deliverer {
            sessions: &mut self.sessions,
            flights: &mut self.flights,
            pool: &mut self.pool,
            mailboxes: &mut *self.mailboxes,
            unkept: &mut self.unkept,
            queued_max: self.config.queued_max,
        }
    }

    /// Sends a client that is back what it must still get: first what was in flight, in its order and
    /// with its packet ids [MQTT-4.4.0-1], then what waited.
    pub(super) fn resume<H>(&mut self, host: &mut H, key: SessionKey)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.sessions.get_mut(key.index as usize) else { return };
        let Some(link) = session.link else { return };
        let (version, receive_maximum) = (session.version, session.receive_maximum);
        let mut in_flight = std::mem::take(&mut session.in_flight);
        let mut waiting = std::mem::take(&mut session.queued);
        let (mut again, mut queued) = (List::default(), List::default());
        while let Some(flight) = self.flights.pop_front(&mut in_flight) {
            match flight.stage {
                Stage::Released => {
                    host.send(link, |buf| {
                        encode::ack(buf, AckKind::Pubrel, version, flight.packet_id, ReasonCode::Success);
                    });
                    self.flights.push_back(&mut again, flight);
                }
                _ if again.len() < u32::from(receive_maximum) => self.flights.push_back(&mut again, flight),
                _ => self.flights.push_back(&mut queued, flight),
            }
        }
        while let Some(flight) = self.flights.pop_front(&mut waiting) {
            self.flights.push_back(&mut queued, flight);
        }
        while let Some(queued_message) = self.mailboxes.take(key) {
            let QueuedMessage { publication, qos, retain, subscription_ids, shared, number } = queued_message;
            let terms = Terms { qos, retain, ids: &subscription_ids, shared, number };
            let flight = Flight::queued(publication, terms);
            self.flights.push_back(&mut queued, flight);
        }
        session.queued = queued;
        // What was published before goes out again, marked DUP; what today's rules no longer allow
        // does not.
        while let Some(flight) = self.flights.pop_front(&mut again) {
            if flight.stage == Stage::Released {
                let session = &mut self.sessions[key.index as usize];
                self.flights.push_back(&mut session.in_flight, flight);
            } else {
                self.deliverer().fly(host, key.index, flight);
            }
        }
        self.deliverer().pump(host, key.index);
        self.wake_replays(key);
    }
}

impl<L: Copy + Eq + std::fmt::Debug, I: Clone> Deliverer<'_, L, I> {
    /// Gives a message to one session: now, when its window opens, or when its client is back.
    pub fn deliver<'p, H>(
        &mut self,
        host: &mut H,
        index: u32,
        terms: Terms<'_>,
        parcel: &mut Parcel<'p, H::Segment>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let receipt = parcel.message.head.receipt;
        let Some(session) = self.sessions.get_mut(index as usize) else { return };
        if session.durable
            && terms.qos > QoS::AtMostOnce
            && !parcel.is_kept
            && !parcel.message.head.is_transient()
        {
            // It leaves when it is durable that it is owed.
            self.unkept.push(Unkept {
                session: session.key(index),
                number: 0,
                qos: terms.qos,
                retain: terms.retain,
                shared: terms.shared,
                ids: terms.ids.into(),
                replayed: None,
                group: None,
                left: None,
            });
            return;
        }
        let Some(link) = session.link else {
            if terms.qos == QoS::AtMostOnce || parcel.message.head.is_transient() {
                return;
            }
            report(host, None, receipt, Progress::Targeted);
            self.mail(host, index, terms, parcel);
            return;
        };
        if receipt != 0 {
            host.delivers(receipt, link, &session.client_id, terms.qos);
        }
        report(host, Some(link), receipt, Progress::Targeted);
        if terms.qos == QoS::AtMostOnce {
            if host.congested(link) {
                dropped(host, Some(link), receipt, Drop::SlowReader);
                return;
            }
            match write(host, session, link, terms, 0, parcel) {
                Ok(()) => {
                    host.count(Event::Delivered(QoS::AtMostOnce));
                    report(host, Some(link), receipt, Progress::Sent(QoS::AtMostOnce));
                }
                Err(why) => dropped(host, Some(link), receipt, why),
            }
            return;
        }
        let message = parcel.message;
        let publication = Arc::clone(parcel.kept.get_or_insert_with(|| self.pool.keep(&message)));
        let mut flight = Flight::queued(publication, terms);
        let free_id = packet_id_for(session, self.flights, &flight);
        if let Some(packet_id) = free_id
            && session.in_flight.len() < u32::from(session.receive_maximum)
            && session.queued.is_empty()
        {
            let packet_id = if packet_id == 0 { next_packet_id(session, self.flights) } else { packet_id };
            match write(host, session, link, terms, packet_id, parcel) {
                Ok(()) => {
                    flight.packet_id = packet_id;
                    flight.stage = Stage::Published;
                    self.flights.push_back(&mut session.in_flight, flight);
                    host.count(Event::Delivered(terms.qos));
                    report(host, Some(link), receipt, Progress::Sent(terms.qos));
                }
                Err(why) => {
                    dropped(host, Some(link), receipt, why);
                    done(host, &session.client_id, terms.number);
                }
            }
            return;
        }
        if session.queued.len() >= self.queued_max
            && let Some(oldest) = self.flights.pop_front(&mut session.queued)
        {
            dropped(host, Some(link), oldest.receipt(), Drop::QueueFull);
            done(host, &session.client_id, oldest.number);
        }
        self.flights.push_back(&mut session.queued, flight);
        report(host, Some(link), receipt, Progress::Queued);
    }

    /// The same for a member of a group whose turn it is. Where its session ends before the message
    /// is durable, another member gets it.
    pub fn deliver_to_member<'p, H>(
        &mut self,
        host: &mut H,
        group: &Arc<str>,
        index: u32,
        terms: Terms<'_>,
        parcel: &mut Parcel<'p, H::Segment>,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        let before = self.unkept.len();
        self.deliver(host, index, terms, parcel);
        self.unkept[before..].iter_mut().for_each(|one| one.group = Some(Arc::clone(group)));
    }

    fn mail<H>(&mut self, host: &mut H, index: u32, terms: Terms<'_>, parcel: &mut Parcel<'_, H::Segment>)
    where
        H: Host<Link = L, Identity = I>,
    {
        let session = &self.sessions[index as usize];
        let message = parcel.message;
        let publication = Arc::clone(parcel.kept.get_or_insert_with(|| self.pool.keep(&message)));
        let queued_message = QueuedMessage {
            publication,
            qos: terms.qos,
            retain: terms.retain,
            subscription_ids: terms.ids.into(),
            shared: terms.shared,
            number: terms.number,
        };
        let evicted = self.mailboxes.put(session.key(index), &session.client_id, queued_message);
        report(host, None, message.head.receipt, Progress::Queued);
        for evicted in evicted {
            dropped(host, None, evicted.publication.head.receipt, Drop::QueueFull);
            done(host, &session.client_id, evicted.number);
        }
    }

    /// Sends what waits for as long as the client's window is open.
    pub fn pump<H>(&mut self, host: &mut H, index: u32)
    where
        H: Host<Link = L, Identity = I>,
    {
        loop {
            let session = &mut self.sessions[index as usize];
            if session.link.is_none() || session.in_flight.len() >= u32::from(session.receive_maximum) {
                return;
            }
            let Some(first) = self.flights.front(&session.queued) else { return };
            if first.packet_id == 0 && first.number != 0 {
                // Its packet id may be in use, by one that is not acknowledged while thousands
                // behind it were.
                let packet_id = kept_packet_id(first.number);
                if self.flights.find_mut(&session.in_flight, packet_id).is_some() {
                    return;
                }
            }
            let Some(flight) = self.flights.pop_front(&mut session.queued) else { return };
            self.fly(host, index, flight);
        }
    }

    /// Sends one delivery that waited, or was sent before on another connection.
    fn fly<H>(&mut self, host: &mut H, index: u32, mut flight: Flight)
    where
        H: Host<Link = L, Identity = I>,
    {
        let session = &mut self.sessions[index as usize];
        let (Some(link), Some(publication)) = (session.link, flight.publication.clone()) else { return };
        let receipt = publication.head.receipt;
        let again = flight.packet_id != 0;
        let expiry_s = match publication.head.expiry_s(host.now_ms()) {
            Ok(expiry_s) => expiry_s,
            // What was sent once does not expire any more [MQTT-4.3.3-7].
            Err(_) if again => Some(0),
            Err(_) => {
                report(host, Some(link), receipt, Progress::Expired);
                host.count(Event::Dropped(Drop::Expired));
                done(host, &session.client_id, flight.number);
                return;
            }
        };
        let client = Client { client_id: &session.client_id, identity: &session.identity };
        if !host.authorise(client, Action::Subscribe, publication.topic()) {
            dropped(host, Some(link), receipt, Drop::Denied);
            done(host, &session.client_id, flight.number);
            return;
        }
        if !again {
            flight.packet_id = match flight.number {
                0 => next_packet_id(session, self.flights),
                number => kept_packet_id(number),
            };
        }
        flight.stage = Stage::Published;
        let message = publication.message();
        let head = PublishHead {
            dup: again,
            qos: flight.qos,
            retain: flight.retain,
            topic: message.topic,
            packet_id: flight.packet_id,
            forwardable: message.properties,
            message_expiry_s: if session.version == Version::V5 { expiry_s } else { None },
            topic_alias: None,
            subscription_ids: flight.subscription_ids.as_deref().unwrap_or(&[]),
        };
        let version = session.version;
        if encode::publish_len(version, &head, message.payload.len()) > session.packet_bytes_max as usize {
            dropped(host, Some(link), receipt, Drop::TooLarge);
            done(host, &session.client_id, flight.number);
            return;
        }
        host.begin_message();
        host.send(link, |buf| {
            encode::publish(buf, version, &head, message.payload);
        });
        host.count(Event::Delivered(flight.qos));
        if !again {
            report(host, Some(link), receipt, Progress::Sent(flight.qos));
        }
        self.flights.push_back(&mut session.in_flight, flight);
    }
}

impl Flight {
    /// Where its progress is reported.
    pub fn receipt(&self) -> u64 {
        self.publication.as_ref().map_or(0, |publication| publication.head.receipt)
    }
}

impl<L, I> Session<L, I> {
    pub(super) fn subscription_id(&self, filter: super::FilterId) -> Option<u32> {
        let rare: &Rare<L> = self.rare.as_deref()?;
        rare.subscription_ids.iter().find(|(other, _)| *other == filter).map(|&(_, id)| id)
    }
}

fn write<'p, H: Host, I>(
    host: &mut H,
    session: &Session<H::Link, I>,
    link: H::Link,
    terms: Terms<'_>,
    packet_id: u16,
    parcel: &mut Parcel<'p, H::Segment>,
) -> Result<(), Drop> {
    let version = session.version;
    let limit = session.packet_bytes_max as usize;
    let payload = parcel.message.payload;
    if !terms.ids.is_empty() {
        let head = PublishHead {
            dup: false,
            qos: terms.qos,
            retain: terms.retain,
            topic: parcel.message.topic,
            packet_id,
            forwardable: parcel.message.properties,
            message_expiry_s: if version == Version::V5 { parcel.expiry_s } else { None },
            topic_alias: None,
            subscription_ids: terms.ids,
        };
        if encode::publish_len(version, &head, payload.len()) > limit {
            return Err(Drop::TooLarge);
        }
        host.send(link, |buf| {
            encode::publish(buf, version, &head, payload);
        });
        return Ok(());
    }
    let plain = Terms { qos: terms.qos, retain: terms.retain, ids: &[], shared: SharedId::NONE, number: 0 };
    let (segment, layout) = parcel.staged(host, version, plain);
    // The server must not send what the client does not accept [MQTT-3.1.2-24].
    if layout.len as usize > limit {
        return Err(Drop::TooLarge);
    }
    if terms.qos == QoS::AtMostOnce {
        host.deliver(link, segment);
    } else {
        host.deliver_with_packet_id(link, segment, layout.packet_id_at, packet_id);
    }
    if parcel.is_large() {
        let shared = parcel.shared_payload.get_or_insert_with(|| payload.into());
        host.deliver_shared(link, shared);
    }
    Ok(())
}

/// The packet id of a queued message that the host keeps: the same for ever, so that a client to
/// which it is sent again after the server was killed knows it. The upper half of all ids is
/// theirs.
pub(super) fn kept_packet_id(number: u32) -> u16 {
    KEPT_IDS_FROM | (number % u32::from(KEPT_IDS_FROM)) as u16
}

/// The first packet id of queued messages that the host keeps.
const KEPT_IDS_FROM: u16 = 0x8000;

/// The packet id of a delivery that is about to be sent; none where it is in use.
fn packet_id_for<L, I>(session: &mut Session<L, I>, flights: &mut Flights, flight: &Flight) -> Option<u16> {
    if flight.number == 0 {
        return Some(0);
    }
    let packet_id = kept_packet_id(flight.number);
    flights.find_mut(&session.in_flight, packet_id).is_none().then_some(packet_id)
}

/// The next packet id that is not in use [MQTT-2.2.1-3].
///
/// Ids are given in turn, so those in flight lie between the oldest and the one given last: the next one
/// is free unless it has come round to the oldest.
fn next_packet_id<L, I>(session: &mut Session<L, I>, flights: &mut Flights) -> u16 {
    loop {
        session.last_packet_id = session.last_packet_id.wrapping_add(1);
        let candidate = session.last_packet_id;
        if candidate == 0 {
            continue;
        }
        if session.durable && candidate >= KEPT_IDS_FROM {
            session.last_packet_id = 0;
            continue;
        }
        let round = flights.front(&session.in_flight).is_some_and(|oldest| oldest.packet_id == candidate);
        if !round && !session.came_round {
            return candidate;
        }
        // From here on ids lie in the way: look for each until the window was empty once.
        session.came_round = !session.in_flight.is_empty();
        if flights.find_mut(&session.in_flight, candidate).is_none()
            && flights.find_mut(&session.queued, candidate).is_none()
        {
            return candidate;
        }
    }
}

/// Whether a session's client may have messages of this topic. Asked where its filter was granted
/// partly.
pub(super) fn may_read<H: Host>(host: &mut H, session: &Session<H::Link, H::Identity>, topic: &str) -> bool {
    let client = Client { client_id: &session.client_id, identity: &session.identity };
    host.authorise(client, Action::Subscribe, topic)
}

/// Reports the outcome of a delivery, and on which connection, where there is one.
pub(super) fn report<H: Host>(host: &mut H, link: Option<H::Link>, receipt: u64, progress: Progress) {
    if receipt != 0 {
        host.receipt(receipt, link, progress);
    }
}

fn dropped<H: Host>(host: &mut H, link: Option<H::Link>, receipt: u64, why: Drop) {
    host.count(Event::Dropped(why));
    report(
        host,
        link,
        receipt,
        if why == Drop::Expired { Progress::Expired } else { Progress::Dropped(why) },
    );
}

fn list_len(list: &[u32]) -> u32 {
    u32::try_from(list.len()).expect("subscription identifiers are bounded by subscriptions")
}
