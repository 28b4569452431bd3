//! An edge without sockets: brokers of some loops, and what carries bytes and changes to and from them.
//!
//! It lives as long as its process. A client's bytes are read whole packet by whole packet; a
//! client whose CONNECT waits is not read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use stadium_mqtt::broker::{
    self, Arrival, Broker, Config, InMemory, LoopIndex, MailboxLimits, Owner, RestoredRetained, Retained,
    RetainedLimits, SessionKey,
};
use stadium_mqtt::decode;
use stadium_mqtt::packet::PacketType;
use stadium_session::{Answer, Command, Page, Refusal, RetainedImage};

use super::host::{Around, Link, Turn, Wire};
use super::lane::Answered;
use super::mapping::Clocks;
use super::plan::Limits;
use crate::machine::Sabotage;

/// An edge.
pub struct Node {
    brokers: Vec<Broker<Link, ()>>,
    pub around: Around,
    retained: Arc<Retained>,
    /// Where each link is, and its session once it has one.
    links: BTreeMap<Link, (usize, Option<SessionKey>)>,
    /// Links whose CONNECT is not durable: they are not read.
    waiting: BTreeSet<Link>,
    received: BTreeMap<Link, Vec<u8>>,
    next_link: Link,
}

impl Node {
    /// An edge of so many loops that begins now.
    pub fn new(
        loops: usize,
        shards: u16,
        limits: &Limits,
        clocks: Clocks,
        sabotage: Sabotage,
        random: Rng,
    ) -> Node {
        let retained = Arc::new(Retained::new(RetainedLimits {
            messages_max: limits.retained_max,
            owner_messages_max: match sabotage {
                Sabotage::QuotasAreIgnored => usize::MAX,
                _ => limits.owner_max,
            },
            ..RetainedLimits::default()
        }));
        let broker = |at: usize| {
            let config = Config {
                loop_index: LoopIndex(at as u16),
                durable: true,
                keep_alive_s_max: 0,
                queued_max: limits.queued_max,
                session_expiry_s_max: u32::MAX,
                ..Config::default()
            };
            let mailboxes = InMemory::new(MailboxLimits {
                messages_max: limits.messages_max,
                ..MailboxLimits::default()
            });
            Broker::new(config, Arc::clone(&retained), Box::new(mailboxes))
        };
        Node {
            brokers: (0..loops).map(broker).collect(),
            around: Around::new(loops, shards, clocks, sabotage, random),
            retained,
            links: BTreeMap::new(),
            waiting: BTreeSet::new(),
            received: BTreeMap::new(),
            next_link: 0,
        }
    }

    /// Takes back a page of what the shards keep.
    pub fn take_back(&mut self, page: Page) -> Result<(), String> {
        for RetainedImage { number, owner, message, .. } in page.retained {
            self.retained.restore(&RestoredRetained {
                publication: &self.around.clocks.publication(&message),
                owner: owner.as_deref().map(Owner::from).as_ref(),
                set_at_ms: None,
                number,
            });
        }
        for session in page.sessions {
            let client = session.connect.client.clone();
            let at = self.around.home_of(&client);
            self.around.origins.begins(&client, session.connect.incarnation);
            let restored = self.around.clocks.restored(session);
            let mut turn = Turn { around: &mut self.around, at };
            if !self.brokers[at].restore(&mut turn, restored) {
                return Err(format!("session {client} is not taken back"));
            }
        }
        Ok(())
    }

    /// All is back: time goes on.
    pub fn begin(&mut self) {
        // Groups have their members before the first connection is read.
        for at in 0..self.brokers.len() {
            while let Some(message) = self.around.wire[at].pop_front() {
                let mut turn = Turn { around: &mut self.around, at };
                if let Wire::Group(message) = message {
                    self.brokers[at].group_message(&mut turn, message);
                }
            }
        }
        for at in 0..self.brokers.len() {
            let mut turn = Turn { around: &mut self.around, at };
            self.brokers[at].restored(&mut turn);
            self.brokers[at].advance(&mut turn);
        }
    }

    /// A new connection of this client.
    pub fn open(&mut self, client_id: &str) -> Link {
        self.next_link += 1;
        self.links.insert(self.next_link, (self.around.home_of(client_id), None));
        self.next_link
    }

    /// The client's end of a connection is gone.
    pub fn cut(&mut self, link: Link, clocks: Clocks) {
        self.around.clocks = clocks;
        self.around.closed.entry(link).or_insert(broker::Close::Asked);
        self.bury();
    }

    /// An operator has a client's session forgotten.
    pub fn forget(&mut self, client_id: &str, clocks: Clocks) {
        self.around.clocks = clocks;
        let at = self.around.home_of(client_id);
        let only_cuts = self.around.sabotage == Sabotage::ForgottenSessionsStay;
        let mut turn = Turn { around: &mut self.around, at };
        match only_cuts {
            true => self.brokers[at].kick(&mut turn, client_id),
            false => self.brokers[at].forget_session(&mut turn, client_id),
        };
        self.bury();
    }

    /// A client sends bytes. The edge may have closed the connection before the client notices:
    /// such bytes are lost, as a socket's are.
    pub fn send(&mut self, link: Link, bytes: &[u8]) {
        if !self.links.contains_key(&link) {
            return;
        }
        self.received.entry(link).or_default().extend_from_slice(bytes);
    }

    /// The bytes sent to a link, and whether the connection is over.
    pub fn take(&mut self, link: Link) -> (Vec<u8>, bool) {
        let bytes = self.around.outgoing.remove(&link).unwrap_or_default();
        (bytes, self.around.closed.contains_key(&link))
    }

    /// One turn of each loop: some of what came from other loops, what clients sent, and time.
    pub fn turn(&mut self, clocks: Clocks, all: bool) {
        self.around.clocks = clocks;
        for at in 0..self.brokers.len() {
            let most = self.around.wire[at].len();
            let some = if all { most } else { self.around.random.usize(..=most) };
            for _ in 0..some {
                let Some(message) = self.around.wire[at].pop_front() else { break };
                let broker = &mut self.brokers[at];
                let mut turn = Turn { around: &mut self.around, at };
                match message {
                    Wire::Publish(publication) => broker.forwarded(&mut turn, &publication),
                    Wire::Group(message) => broker.group_message(&mut turn, message),
                    Wire::Keep(publication, origin, to) => {
                        broker.forwarded_to_keep(&mut turn, &publication, origin, to);
                    }
                    Wire::Kept(then, part) => broker.kept_elsewhere(&mut turn, then, &part),
                    Wire::Verdict(held, verdict) => broker.decided(&mut turn, held, verdict),
                }
            }
            let links: Vec<Link> =
                self.links.iter().filter(|(_, (of, _))| *of == at).map(|(&link, _)| link).collect();
            for link in links {
                self.read(at, link);
            }
            let mut turn = Turn { around: &mut self.around, at };
            self.brokers[at].advance(&mut turn);
            if self.brokers[at].has_replays() {
                self.brokers[at].replay(&mut turn);
            }
        }
        self.bury();
    }

    fn read(&mut self, at: usize, link: Link) {
        let Some(bytes) = self.received.remove(&link) else { return };
        let mut used = 0;
        loop {
            if self.around.closed.contains_key(&link) {
                return;
            }
            if self.waiting.contains(&link) {
                if !self.around.entered.remove(&link) {
                    break;
                }
                self.waiting.remove(&link);
            }
            let Ok(Some(frame)) = decode::frame(&bytes[used..], u32::MAX) else { break };
            let sabotage = self.around.sabotage;
            let mut turn = Turn { around: &mut self.around, at };
            let broker = &mut self.brokers[at];
            match self.links.get(&link) {
                Some(_)
                    if frame.packet_type() == PacketType::Disconnect
                        && sabotage == Sabotage::DisconnectsAreNotRead => {}
                Some(&(_, Some(key))) => {
                    broker.received(&mut turn, key, link, &frame);
                }
                _ if frame.packet_type() == PacketType::Connect => {
                    let mut connect = decode::connect(&frame).expect("the simulation's clients send packets");
                    if let Some(will) = &mut connect.will
                        && sabotage == Sabotage::WillsAreNotRetained
                    {
                        will.retain = false;
                    }
                    let arrival = Arrival { link, connect: &connect, identity: () };
                    if let Some(admitted) = broker.connect(&mut turn, arrival) {
                        self.links.insert(link, (at, Some(admitted.session)));
                        if admitted.waits {
                            self.waiting.insert(link);
                        }
                    }
                }
                _ => return,
            }
            used += frame.total;
        }
        if used < bytes.len() {
            self.received.insert(link, bytes[used..].to_vec());
        }
    }

    /// Notifies brokers of connections that are gone.
    fn bury(&mut self) {
        let gone: Vec<Link> =
            self.links.keys().filter(|link| self.around.closed.contains_key(link)).copied().collect();
        for link in gone {
            self.waiting.remove(&link);
            self.received.remove(&link);
            if let Some((at, Some(key))) = self.links.remove(&link) {
                let mut turn = Turn { around: &mut self.around, at };
                self.brokers[at].disconnected(&mut turn, key, link);
            }
        }
    }

    /// Batches for shards, each under a number of its own.
    pub fn submit(&mut self, mut number: impl FnMut() -> u64) -> Vec<(u64, u16, Command)> {
        let now_ms = self.around.clocks.node_ms;
        let mut batches = Vec::new();
        for lanes in &mut self.around.lanes {
            for (shard, lane) in (0..).zip(lanes) {
                if lane.is_idle() {
                    continue;
                }
                let number = number();
                batches.extend(lane.submit(number, now_ms).map(|command| (number, shard, command)));
            }
        }
        batches
    }

    /// A shard's answer to a batch, which a loop takes in a turn of its own.
    pub fn answered(&mut self, clocks: Clocks, number: u64, answer: &Result<Answer, Refusal>) {
        self.around.clocks = clocks;
        let now_ms = self.around.clocks.node_ms;
        for at in 0..self.brokers.len() {
            let sabotage = self.around.sabotage;
            let mut heard = Answered::default();
            let lanes = &mut self.around.lanes[at];
            if !lanes.iter_mut().any(|lane| lane.answered(number, answer, now_ms, sabotage, &mut heard)) {
                continue;
            }
            for (then, receivers) in heard.known {
                self.brokers[at].known_to(then, &receivers);
            }
            for (then, persisted) in heard.persisted {
                let mut turn = Turn { around: &mut self.around, at };
                self.brokers[at].persisted(&mut turn, then, persisted);
            }
            self.bury();
            return;
        }
    }

    /// Whether a connection is over.
    pub fn is_closed(&self, link: Link) -> bool {
        self.around.closed.contains_key(&link)
    }

    /// Whether a connection was closed for another reason than that its client asked for it.
    pub fn was_cut(&self, link: Link) -> bool {
        self.around.closed.get(&link).is_some_and(|why| *why != broker::Close::Asked)
    }

    /// Whether a client whose CONNECT waited was let in, and is not read yet.
    pub fn was_let_in(&self, link: Link) -> bool {
        self.around.entered.contains(&link)
    }

    /// Whether nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.around.lanes.iter().flatten().all(super::lane::Lane::is_idle)
            && self.around.wire.iter().all(std::collections::VecDeque::is_empty)
            && self.received.is_empty()
            && !self.brokers.iter().any(Broker::has_replays)
    }
}
