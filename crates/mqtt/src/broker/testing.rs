//! Fixture for tests of the broker: a server of one or more loops on a virtual clock.
//!
//! [`Server`] plays the edge. It connects links, gives the broker bytes, collects what the broker sends
//! and carries messages between its loops at once. A session lives on the loop of its link, so a test
//! decides by the link's loop who meets whom across loops.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::*;
use crate::packet::{Connect, Packet, Publish, QoS};

/// A connection in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// The loop it is on.
    pub at: u16,
    /// Its number.
    pub number: u32,
}

/// What a test's host remembers of its surroundings.
#[derive(Debug, Default)]
pub struct TestHost {
    at: u16,
    loops: u16,
    now_ms: u64,
    random: u64,
    outgoing: HashMap<Link, Vec<u8>>,
    staged: Vec<Vec<u8>>,
    closed: HashMap<Link, Close>,
    interests: Vec<(u16, String, Interest)>,
    wire: VecDeque<(u16, Wire)>,
    /// Topics and filters that nobody may publish or subscribe to.
    pub denied: HashSet<(bool, String)>,
    /// Topics to which nobody may publish with RETAIN.
    pub retains_denied: HashSet<String>,
    /// Links that read nothing.
    pub congested: HashSet<Link>,
    /// Every event counted.
    pub events: Vec<Event>,
    /// Every receipt.
    pub receipts: Vec<(u64, Progress)>,
    /// The receipt token of each message of a client, 0 for none.
    pub receipt_of_each: u64,
    /// The answers to publishers of messages with one.
    pub answered: Vec<(u64, ReasonCode)>,
    /// Deliveries with one that began, by their clients.
    pub delivers: Vec<(u64, String, QoS)>,
    /// Every request that was taken.
    pub requests: Vec<TakenRequest>,
    /// Every request of a client for itself that was taken, with what waits for its outcome.
    pub own_requests: Vec<(TakenRequest, Then)>,
    /// How requests are refused, where they are.
    pub refuses: Option<NotTaken>,
    /// Shards; 0 is like 1.
    pub shards: u16,
    /// Changes that are not durable yet.
    pub changes: VecDeque<KeptChange>,
    /// Outcomes of the retained messages that an operator removed.
    pub purged: Vec<(PurgeId, Persisted)>,
    /// The outcomes of messages of applications.
    pub published: Vec<(PublishId, Persisted)>,
    /// Topics of the messages that were shown to observers.
    pub observed: Vec<String>,
    /// Subscriptions of sessions that are kept.
    kept_filters: usize,
    /// Links that were let in after their CONNECT was durable.
    entered: HashSet<Link>,
}

/// A request that a test's host took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRequest {
    /// Whom to answer.
    pub session: SessionKey,
    /// Client Identifier.
    pub client_id: String,
    /// `SERVICE/METHOD`.
    pub route: String,
    /// The request's bytes.
    pub payload: Vec<u8>,
    /// Response Topic and Correlation Data.
    pub answer_to: Option<(String, Option<Vec<u8>>)>,
}

#[derive(Debug)]
enum Wire {
    Publish(Arc<Publication>),
    Group(GroupMessage),
    Keep(Arc<Publication>, Option<Origin>, ReplyTo),
    Kept(Then, Part),
    Verdict(Then, Verdict),
}

impl TestHost {
    fn taken(
        &self,
        client: Client<'_, String>,
        session: SessionKey,
        request: &Request<'_>,
    ) -> Result<TakenRequest, NotTaken> {
        if let Some(refused) = self.refuses {
            return Err(refused);
        }
        let answer_to = request.answer_to.map(|to| (to.topic.to_owned(), to.correlation.map(<[u8]>::to_vec)));
        Ok(TakenRequest {
            session,
            client_id: client.client_id.to_owned(),
            route: request.route.to_owned(),
            payload: request.payload.to_vec(),
            answer_to,
        })
    }
}

impl Host for TestHost {
    type Link = Link;
    type Identity = String;
    type Segment = usize;

    fn now_ms(&self) -> u64 {
        self.now_ms
    }

    fn begin_message(&mut self) {
        self.staged.clear();
    }

    fn stage(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> usize {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        self.staged.push(bytes);
        self.staged.len() - 1
    }

    fn deliver(&mut self, link: Link, segment: usize) {
        let bytes = self.staged[segment].clone();
        self.outgoing.entry(link).or_default().extend(bytes);
    }

    fn deliver_with_packet_id(&mut self, link: Link, segment: usize, at: u32, packet_id: u16) {
        let mut bytes = self.staged[segment].clone();
        bytes[at as usize..at as usize + 2].copy_from_slice(&packet_id.to_be_bytes());
        self.outgoing.entry(link).or_default().extend(bytes);
    }

    fn deliver_shared(&mut self, link: Link, bytes: &Arc<[u8]>) {
        self.outgoing.entry(link).or_default().extend_from_slice(bytes);
    }

    fn send(&mut self, link: Link, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(self.outgoing.entry(link).or_default());
    }

    fn congested(&self, link: Link) -> bool {
        self.congested.contains(&link)
    }

    fn close(&mut self, link: Link, why: Close) {
        self.closed.entry(link).or_insert(why);
    }

    fn authorise(&mut self, _client: Client<'_, String>, action: Action, topic: &str) -> bool {
        let denied = (action != Action::Subscribe, topic.to_owned());
        let may_retain = action != Action::Retain || !self.retains_denied.contains(topic);
        may_retain && !self.denied.contains(&denied)
    }

    fn grant(&mut self, _client: Client<'_, String>, filter: &str) -> Grant {
        let filter =
            filter.strip_prefix("$share/").and_then(|rest| rest.split_once('/')).map_or(filter, |f| f.1);
        if self.denied.contains(&(false, filter.to_owned())) {
            return Grant::Denied;
        }
        let is_denied = |(publish, topic): &(bool, String)| !publish && crate::topic::matches(filter, topic);
        if self.denied.iter().any(is_denied) { Grant::Partly } else { Grant::Whole }
    }

    fn same_owner(&self, one: &String, other: &String) -> bool {
        one == other
    }

    fn owner(&self, client: Client<'_, String>) -> Owner {
        client.identity.as_str().into()
    }

    fn interest(&mut self, filter: &str, change: Interest) {
        self.interests.push((self.at, filter.to_owned(), change));
    }

    fn others_want(&mut self, _topic: &str) -> bool {
        self.loops > 1
    }

    fn forward(&mut self, publication: &Arc<Publication>) {
        for at in (0..self.loops).filter(|&at| at != self.at) {
            self.wire.push_back((at, Wire::Publish(Arc::clone(publication))));
        }
    }

    fn group_home(&self, group_filter: &str) -> LoopIndex {
        let sum: usize = group_filter.bytes().map(usize::from).sum();
        LoopIndex((sum % usize::from(self.loops)) as u16)
    }

    fn send_group_message(&mut self, to: LoopIndex, message: GroupMessage) {
        self.wire.push_back((to.0, Wire::Group(message)));
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.random >> 8
    }

    fn is_home_of(&self, _client_id: &str) -> bool {
        true
    }

    fn request(
        &mut self,
        client: Client<'_, String>,
        session: SessionKey,
        request: &Request<'_>,
    ) -> Result<(), NotTaken> {
        self.requests.push(self.taken(client, session, request)?);
        Ok(())
    }

    fn own_request(
        &mut self,
        client: Client<'_, String>,
        session: SessionKey,
        request: &Request<'_>,
        then: Then,
    ) -> Result<(), NotTaken> {
        self.own_requests.push((self.taken(client, session, request)?, then));
        Ok(())
    }

    fn receipt_for(&mut self, _: Client<'_, String>, _: &Publish<'_>, _: &str) -> u64 {
        self.receipt_of_each
    }

    fn answered(&mut self, token: u64, reason: ReasonCode) {
        self.answered.push((token, reason));
    }

    fn delivers(&mut self, token: u64, _: Link, client_id: &str, qos: QoS) {
        self.delivers.push((token, client_id.to_owned(), qos));
    }

    fn receipt(&mut self, token: u64, _link: Option<Self::Link>, progress: Progress) {
        self.receipts.push((token, progress));
    }

    fn shard_of(&self, name: &str) -> u16 {
        if self.shards < 2 { 0 } else { name.bytes().map(u16::from).sum::<u16>() % self.shards }
    }

    fn persist(&mut self, client_id: &str, change: Change<'_, String>, then: Then) {
        let shard = self.shard_of(client_id);
        self.changes.push_back(KeptChange {
            at: self.at,
            shard,
            then,
            text: format!("{client_id}: {}", worded(&change)),
        });
    }

    fn keep(&mut self, shard: u16, keep: &Keep<'_>, then: Then) {
        let payload = String::from_utf8_lossy(keep.publication.payload());
        let mut text = format!("keep {payload}");
        for one in keep.receivers {
            text += &format!(" {}#{}", one.client_id, one.queued_message);
        }
        if let Some(origin) = keep.origin {
            text += &format!(" of {}", origin.packet_id);
        }
        if let Some(publisher) = keep.publisher {
            text += &format!(" by {publisher}");
        }
        if keep.must {
            text += " for certain";
        }
        self.changes.push_back(KeptChange { at: self.at, shard, then, text });
    }

    fn retain(&mut self, retain: &Retain<'_>, then: Then) {
        let &Retain { publication, stored, must } = retain;
        let shard = self.shard_of(publication.topic());
        let is_clear = publication.payload().is_empty();
        let verb = match stored.prior {
            _ if !is_clear => "retain",
            Prior::Some => "clear",
            Prior::None => "clear nothing of",
        };
        let certain = if must { " for certain" } else { "" };
        let text = format!("{verb} {}{certain}", publication.topic());
        self.changes.push_back(KeptChange { at: self.at, shard, then, text });
    }

    fn purged(&mut self, purge: PurgeId, persisted: Persisted) {
        self.purged.push((purge, persisted));
    }

    fn published(&mut self, publish: PublishId, persisted: Persisted) {
        self.published.push((publish, persisted));
    }

    fn observe(&mut self, message: &Message<'_>) -> bool {
        self.observed.push(message.topic.to_owned());
        false
    }

    fn withdraw(&mut self, shard: u16, withdraw: &Withdraw<'_>, then: Then) {
        let mut text = "withdraw".to_owned();
        for (client_id, queued_message) in withdraw.receivers {
            text += &format!(" {client_id}#{queued_message}");
        }
        if let Some(origin) = withdraw.origin {
            text += &format!(" of {}", origin.packet_id);
        }
        if let Some(publisher) = withdraw.publisher {
            text += &format!(" by {publisher}");
        }
        self.changes.push_back(KeptChange { at: self.at, shard, then, text });
    }

    fn ask(&mut self, shard: u16, origin: Origin, then: Then) {
        let text = format!("ask for {} on {shard}", origin.packet_id);
        self.changes.push_back(KeptChange { at: self.at, shard, then, text });
    }

    fn forget(&mut self, shard: u16, origin: Origin, then: Then) {
        let text = format!("forget {} on {shard}", origin.packet_id);
        self.changes.push_back(KeptChange { at: self.at, shard, then, text });
    }

    fn shards(&self) -> u16 {
        self.shards.max(1)
    }

    fn others_keep(&mut self, _topic: &str) -> usize {
        if self.kept_filters > 0 { usize::from(self.loops.saturating_sub(1)) } else { 0 }
    }

    fn forward_to_keep(&mut self, publication: &Arc<Publication>, origin: Option<Origin>, to: ReplyTo) {
        for at in (0..self.loops).filter(|&at| at != self.at) {
            self.wire.push_back((at, Wire::Keep(Arc::clone(publication), origin, to)));
        }
    }

    fn report_kept(&mut self, to: ReplyTo, part: Part) {
        self.wire.push_back((to.at.0, Wire::Kept(to.then, part)));
    }

    fn send_verdict(&mut self, at: LoopIndex, held: Then, verdict: Verdict) {
        self.wire.push_back((at.0, Wire::Verdict(held, verdict)));
    }

    fn keep_interest(&mut self, _at: LoopIndex, _filter: &str, change: Interest) {
        match change {
            Interest::Gained => self.kept_filters += 1,
            Interest::Lost => self.kept_filters -= 1,
        }
    }

    fn entered(&mut self, link: Link) {
        self.entered.insert(link);
    }

    fn count(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// A change that a broker asked its test's host to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptChange {
    /// The broker's loop.
    pub at: u16,
    /// Where it is kept.
    pub shard: u16,
    /// What waits for it.
    pub then: Then,
    /// Its description in words.
    pub text: String,
}

fn worded(change: &Change<'_, String>) -> String {
    match change {
        Change::Connect(connected) => {
            let will = if connected.will.is_some() { " with a will" } else { "" };
            format!("connect for {} s{will}", connected.expiry_s)
        }
        Change::Disconnect(away) => {
            let will = away.will_at_ms.map_or_else(String::new, |at_ms| format!(", will at {at_ms}"));
            format!("away until {:?}{will}", away.ends_at_ms)
        }
        Change::WillGone { .. } => "will gone".into(),
        Change::End { .. } => "end".into(),
        Change::Subscribe(kept) => format!("subscribe {}", kept.filter),
        Change::Unsubscribe { filter } => format!("unsubscribe {filter}"),
        Change::Received { queued_message } => format!("received #{queued_message}"),
        Change::Done { queued_message } => format!("done #{queued_message}"),
        Change::Unreleased { packet_id } => format!("unreleased {packet_id}"),
        Change::Released { packet_id } => format!("released {packet_id}"),
    }
}

/// A server without sockets.
#[derive(Debug)]
pub struct Server {
    /// One broker for each loop.
    pub brokers: Vec<Broker<Link, String>>,
    /// The surroundings of all of them.
    pub host: TestHost,
    sessions: HashMap<Link, (SessionKey, Version)>,
    /// Versions of connections that are gone.
    versions: HashMap<Link, Version>,
    received: HashMap<Link, Vec<u8>>,
    /// Connections whose CONNECT is not durable.
    waiting: HashSet<Link>,
    next_link: u32,
    /// Retained messages leave when the test calls for it, by [`Server::replay`].
    pub replays_by_hand: bool,
    /// Messages between loops stay on their way.
    pub holds_messages: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server of one loop.
    pub fn new() -> Self {
        Self::with(Config::default(), 1)
    }

    /// A server of several loops, all with this configuration.
    pub fn with(config: Config, loops: u16) -> Self {
        Self::with_retained(config, loops, RetainedLimits::default())
    }

    /// The same with bounds of the retained messages.
    pub fn with_retained(config: Config, loops: u16, limits: RetainedLimits) -> Self {
        let retained = Arc::new(Retained::new(limits));
        let brokers = (0..loops)
            .map(|at| {
                let config = Config { loop_index: LoopIndex(at), ..config.clone() };
                Broker::new(config, Arc::clone(&retained), Box::<InMemory>::default())
            })
            .collect();
        let host = TestHost { loops, now_ms: 1_000, random: 7, ..TestHost::default() };
        Self {
            brokers,
            host,
            sessions: HashMap::new(),
            versions: HashMap::new(),
            received: HashMap::new(),
            waiting: HashSet::new(),
            next_link: 0,
            replays_by_hand: false,
            holds_messages: false,
        }
    }

    /// A new connection on loop 0, nothing sent on it yet.
    pub fn open(&mut self) -> Link {
        self.open_on(0)
    }

    /// A new connection on this loop.
    pub fn open_on(&mut self, at: u16) -> Link {
        self.next_link += 1;
        Link { at, number: self.next_link }
    }

    /// Gives the server a packet from this connection.
    pub fn send(&mut self, link: Link, packet: &Packet<'_>) {
        let version = match packet {
            Packet::Connect(connect) => connect.version,
            _ => self.version(link),
        };
        let mut bytes = Vec::new();
        packet.encode(version, &mut bytes);
        self.send_bytes(link, &bytes);
    }

    /// Gives the server bytes from this connection, whole packets or not.
    pub fn send_bytes(&mut self, link: Link, bytes: &[u8]) {
        let mut waiting = self.received.remove(&link).unwrap_or_default();
        waiting.extend_from_slice(bytes);
        let mut used = 0;
        while self.is_open(link) {
            match self.receive(link, &waiting[used..]) {
                0 => break,
                taken => used += taken,
            }
        }
        waiting.drain(..used);
        self.received.insert(link, waiting);
        self.settle();
    }

    fn receive(&mut self, link: Link, bytes: &[u8]) -> usize {
        self.host.at = link.at;
        let broker = &mut self.brokers[usize::from(link.at)];
        let limit = broker.config().packet_bytes_max;
        let frame = match decode::frame(bytes, limit) {
            Ok(Some(frame)) => frame,
            Ok(None) => return 0,
            Err(error) => {
                match self.sessions.get(&link) {
                    Some(&(key, _)) => {
                        broker.violated(&mut self.host, key, link, error.reason_code());
                    }
                    None => self.host.close(link, Close::Refused(error.reason_code())),
                }
                return 0;
            }
        };
        if self.waiting.contains(&link) {
            if !self.host.entered.remove(&link) {
                return 0;
            }
            self.waiting.remove(&link);
        }
        if let Some(&(key, _)) = self.sessions.get(&link) {
            broker.received(&mut self.host, key, link, &frame);
            return frame.total;
        }
        if frame.packet_type() != PacketType::Connect {
            self.host.close(link, Close::Refused(ReasonCode::ProtocolError));
            return 0;
        }
        match decode::connect(&frame) {
            Ok(connect) => {
                let identity = connect.username.unwrap_or_default().to_owned();
                let arrival = Arrival { link, connect: &connect, identity };
                if let Some(admitted) = broker.connect(&mut self.host, arrival) {
                    self.sessions.insert(link, (admitted.session, admitted.version));
                    if admitted.waits {
                        self.waiting.insert(link);
                    }
                }
            }
            Err(error) => {
                let version = decode::connect_version(&frame).unwrap_or(Version::V311);
                refuse(&mut self.host, link, version, error.reason_code(), None);
            }
        }
        frame.total
    }

    /// Connects a client in one step and takes its CONNACK.
    pub fn connect(&mut self, connect: Connect<'_>) -> Link {
        self.connect_on(0, connect)
    }

    /// The same on another loop.
    pub fn connect_on(&mut self, at: u16, connect: Connect<'_>) -> Link {
        let link = self.open_on(at);
        self.send(link, &Packet::Connect(connect));
        link
    }

    /// What the server has sent to this connection since the last call.
    pub fn take_bytes(&mut self, link: Link) -> Vec<u8> {
        self.host.outgoing.remove(&link).unwrap_or_default()
    }

    /// The same as packets, given to `look` one by one.
    pub fn take(&mut self, link: Link, mut look: impl FnMut(Packet<'_>)) {
        let bytes = self.take_bytes(link);
        let version = self.version(link);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let frame =
                decode::frame(rest, u32::MAX).expect("the broker sends packets").expect("and whole ones");
            look(decode::packet(&frame, version).expect("that are well formed"));
            rest = &rest[frame.total..];
        }
    }

    /// Whether the server still holds this connection.
    pub fn is_open(&self, link: Link) -> bool {
        !self.host.closed.contains_key(&link)
    }

    /// Why the server closed it.
    pub fn close_reason(&self, link: Link) -> Option<Close> {
        self.host.closed.get(&link).copied()
    }

    /// The connection breaks: the client sent nothing more.
    pub fn cut(&mut self, link: Link) {
        self.host.closed.entry(link).or_insert(Close::Asked);
        self.settle();
    }

    /// An operator has a client's session forgotten. Whether there was one.
    pub fn forget(&mut self, client_id: &str) -> bool {
        let had_one = (0..self.brokers.len()).any(|at| {
            self.host.at = at as u16;
            self.brokers[at].forget_session(&mut self.host, client_id)
        });
        self.settle();
        had_one
    }

    /// Time passes.
    pub fn advance_ms(&mut self, ms: u64) {
        self.host.now_ms += ms;
        for at in 0..self.brokers.len() {
            self.host.at = at as u16;
            self.brokers[at].advance(&mut self.host);
        }
        self.settle();
    }

    /// Retained messages leave, as many as one turn of each loop has time for. Returns how many
    /// steps that took; 0 if there were none to send.
    pub fn replay(&mut self) -> u32 {
        let mut steps = 0;
        for at in 0..self.brokers.len() {
            self.host.at = at as u16;
            if self.brokers[at].has_replays() {
                steps += self.brokers[at].replay(&mut self.host);
            }
        }
        steps
    }

    /// A slow client has read what waited for it.
    pub fn drained(&mut self, link: Link) {
        self.host.congested.remove(&link);
        if let Some(&(key, _)) = self.sessions.get(&link) {
            self.brokers[usize::from(link.at)].drained(key);
        }
        self.settle();
    }

    /// The oldest change becomes durable, or fails to. Returns its description.
    pub fn persist_one(&mut self, persisted: Persisted) -> Option<String> {
        let change = self.host.changes.pop_front()?;
        if change.then != Then::NOTHING {
            self.host.at = change.at;
            self.brokers[usize::from(change.at)].persisted(&mut self.host, change.then, persisted);
        }
        self.settle();
        Some(change.text)
    }

    /// The oldest change, a message for several, becomes durable for all but the receivers at these
    /// places, who know it. Returns its description.
    pub fn persist_partly(&mut self, known: &[u32]) -> Option<String> {
        let change = self.host.changes.front()?;
        let (at, then) = (change.at, change.then);
        self.brokers[usize::from(at)].known_to(then, known);
        self.persist_one(Persisted::Done)
    }

    /// All changes become durable, also those that follow from them. Returns their descriptions.
    pub fn persist_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.persist_one(Persisted::Done)).collect()
    }

    /// The session of a connection that was let in.
    pub fn session(&self, link: Link) -> Option<SessionKey> {
        self.sessions.get(&link).map(|&(key, _)| key)
    }

    fn version(&self, link: Link) -> Version {
        let held = self.sessions.get(&link).map(|&(_, version)| version);
        held.or_else(|| self.versions.get(&link).copied()).unwrap_or(Version::V5)
    }

    /// Reports closed connections to their brokers and carries messages between loops until all is
    /// quiet.
    fn settle(&mut self) {
        loop {
            let gone = self.sessions.keys().find(|link| self.host.closed.contains_key(*link)).copied();
            if let Some(link) = gone {
                if let Some((key, version)) = self.sessions.remove(&link) {
                    self.host.at = link.at;
                    self.brokers[usize::from(link.at)].disconnected(&mut self.host, key, link);
                    // What was sent before the close is still read in its version.
                    self.versions.insert(link, version);
                }
            } else if !self.holds_messages
                && let Some((at, message)) = self.host.wire.pop_front()
            {
                self.host.at = at;
                let broker = &mut self.brokers[usize::from(at)];
                match message {
                    Wire::Publish(publication) => broker.forwarded(&mut self.host, &publication),
                    Wire::Group(message) => broker.group_message(&mut self.host, message),
                    Wire::Keep(publication, origin, to) => {
                        broker.forwarded_to_keep(&mut self.host, &publication, origin, to);
                    }
                    Wire::Kept(then, part) => broker.kept_elsewhere(&mut self.host, then, &part),
                    Wire::Verdict(held, verdict) => broker.decided(&mut self.host, held, verdict),
                }
            } else if self.replays_by_hand || self.replay() == 0 {
                return;
            }
        }
    }
}
