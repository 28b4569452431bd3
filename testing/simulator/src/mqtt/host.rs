//! The broker's surroundings: links, other loops and the lanes to the shards, as an edge has them.
//!
//! Nothing here decides: it keeps what the broker hands over until the simulation delivers it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fastrand::Rng;
use stadium_mqtt::broker::{
    Action, Change, Client, Close, Event, Grant, GroupMessage, Host, Interest, Keep, LoopIndex, NotTaken,
    Origin, Owner, Part, Persisted, Prior, Progress, Publication, ReplyTo, Request, Retain, SessionKey,
    ShardSet, Stored, Then, Verdict, Withdraw,
};
use stadium_mqtt::topic;

use super::lane::Lane;
use super::mapping::{Clocks, kept_origin, kept_withdraw};
use super::origins::Origins;
use crate::machine::Sabotage;

/// A connection.
pub type Link = u64;

/// What goes from loop to loop.
pub enum Wire {
    Publish(Arc<Publication>),
    Group(GroupMessage),
    Keep(Arc<Publication>, Option<Origin>, ReplyTo),
    Kept(Then, Part),
    Verdict(Then, Verdict),
}

/// Filters that have subscriptions, by loop, and how many.
type Interests = Vec<BTreeMap<String, u32>>;

/// Everything of an edge but its brokers.
pub struct Around {
    pub loops: usize,
    pub shards: u16,
    pub clocks: Clocks,
    pub sabotage: Sabotage,
    pub random: Rng,
    /// How publishes at QoS 2 are named.
    pub origins: Origins,
    staged: Vec<Vec<u8>>,
    /// What leaves on each link.
    pub outgoing: BTreeMap<Link, Vec<u8>>,
    pub closed: BTreeMap<Link, Close>,
    /// Links that were let in after their CONNECT was durable.
    pub entered: BTreeSet<Link>,
    interests: Interests,
    retained_interests: Interests,
    /// What is on its way to each loop.
    pub wire: Vec<VecDeque<Wire>>,
    /// By loop and shard.
    pub lanes: Vec<Vec<Lane>>,
    wanted_by: Vec<usize>,
    kept_by: Vec<usize>,
}

impl Around {
    pub fn new(loops: usize, shards: u16, clocks: Clocks, sabotage: Sabotage, random: Rng) -> Around {
        let none = || (0..loops).map(|_| BTreeMap::new()).collect();
        Around {
            loops,
            shards,
            clocks,
            sabotage,
            random,
            origins: Origins::new(loops, sabotage),
            staged: Vec::new(),
            outgoing: BTreeMap::new(),
            closed: BTreeMap::new(),
            entered: BTreeSet::new(),
            interests: none(),
            retained_interests: none(),
            wire: (0..loops).map(|_| VecDeque::new()).collect(),
            lanes: (0..loops).map(|_| (0..shards).map(|_| Lane::default()).collect()).collect(),
            wanted_by: Vec::new(),
            kept_by: Vec::new(),
        }
    }

    /// The loop of a client id.
    pub fn home_of(&self, text: &str) -> usize {
        usize::from(stadium_state_machine::home(text.as_bytes(), self.loops as u16))
    }
}

fn wanted(interests: &Interests, at: usize, topic: &str) -> Vec<usize> {
    let wants = |filters: &BTreeMap<String, u32>| filters.keys().any(|filter| topic::matches(filter, topic));
    (0..interests.len()).filter(|&other| other != at && wants(&interests[other])).collect()
}

fn count(interests: &mut Interests, at: usize, filter: &str, change: Interest) {
    let count = interests[at].entry(filter.to_owned()).or_default();
    match change {
        Interest::Gained => *count += 1,
        Interest::Lost => *count -= 1,
    }
    if *count == 0 {
        interests[at].remove(filter);
    }
}

/// A change that means nothing.
fn nothing() -> stadium_session::Change {
    let origin = stadium_session::Origin { incarnation: 0, packet_id: 0 };
    stadium_session::Change::Forget { origin }
}

/// A part of which nothing had to be kept.
fn nothing_kept() -> Part {
    Part { persisted: Persisted::Done, shards: ShardSet::default(), is_known: false, held: None }
}

/// One loop's view.
pub struct Turn<'a> {
    pub around: &'a mut Around,
    pub at: usize,
}

impl Turn<'_> {
    fn put(&mut self, shard: u16, change: stadium_session::Change, then: Then) {
        self.around.lanes[self.at][usize::from(shard)].put(change, then);
    }

    /// The origin of a part of a publish, as its shard gets it. A publish of which the packet id is
    /// noted in the same change has one part.
    fn origin(&self, origin: Option<Origin>, publisher: Option<&str>) -> Option<stadium_session::Origin> {
        let at = if publisher.is_some() { 0 } else { self.at };
        origin.map(|origin| self.around.origins.of_part(origin, at))
    }

    fn forget_all(&mut self, shard: u16, origins: Vec<stadium_session::Origin>) {
        for origin in origins {
            self.put(shard, stadium_session::Change::Forget { origin }, Then::NOTHING);
        }
    }
}

impl Host for Turn<'_> {
    type Link = Link;
    type Identity = ();
    type Segment = usize;

    fn now_ms(&self) -> u64 {
        self.around.clocks.node_ms
    }

    fn begin_message(&mut self) {
        self.around.staged.clear();
    }

    fn stage(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> usize {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        self.around.staged.push(bytes);
        self.around.staged.len() - 1
    }

    fn deliver(&mut self, link: Link, segment: usize) {
        let Around { outgoing, staged, .. } = &mut *self.around;
        outgoing.entry(link).or_default().extend_from_slice(&staged[segment]);
    }

    fn deliver_with_packet_id(&mut self, link: Link, segment: usize, at: u32, packet_id: u16) {
        let Around { outgoing, staged, .. } = &mut *self.around;
        let out = outgoing.entry(link).or_default();
        let id_at = out.len() + at as usize;
        out.extend_from_slice(&staged[segment]);
        out[id_at..id_at + 2].copy_from_slice(&packet_id.to_be_bytes());
    }

    fn deliver_shared(&mut self, link: Link, bytes: &Arc<[u8]>) {
        self.around.outgoing.entry(link).or_default().extend_from_slice(bytes);
    }

    fn send(&mut self, link: Link, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(self.around.outgoing.entry(link).or_default());
    }

    fn congested(&self, _link: Link) -> bool {
        false
    }

    fn close(&mut self, link: Link, why: Close) {
        self.around.closed.entry(link).or_insert(why);
    }

    fn authorise(&mut self, _client: Client<'_, ()>, _action: Action, _topic: &str) -> bool {
        true
    }

    fn grant(&mut self, _client: Client<'_, ()>, _filter: &str) -> Grant {
        Grant::Whole
    }

    fn same_owner(&self, (): &(), (): &()) -> bool {
        true
    }

    fn owner(&self, client: Client<'_, ()>) -> Owner {
        client.client_id.into()
    }

    fn interest(&mut self, filter: &str, change: Interest) {
        count(&mut self.around.interests, self.at, filter, change);
    }

    fn others_want(&mut self, topic: &str) -> bool {
        self.around.wanted_by = wanted(&self.around.interests, self.at, topic);
        !self.around.wanted_by.is_empty()
    }

    fn forward(&mut self, publication: &Arc<Publication>) {
        for to in self.around.wanted_by.clone() {
            self.around.wire[to].push_back(Wire::Publish(Arc::clone(publication)));
        }
    }

    fn group_home(&self, group_filter: &str) -> LoopIndex {
        LoopIndex(self.around.home_of(group_filter) as u16)
    }

    fn send_group_message(&mut self, to: LoopIndex, message: GroupMessage) {
        match (&message, self.around.sabotage) {
            (
                GroupMessage::Deliver { filter, home, publication, skipped, .. },
                Sabotage::SharedMessagesAreDoubled,
            ) => {
                let (filter, publication) = (Arc::clone(filter), Arc::clone(publication));
                let again = GroupMessage::Return {
                    filter,
                    publication,
                    origin: None,
                    reply_to: None,
                    skipped: *skipped,
                };
                self.around.wire[usize::from(home.0)].push_back(Wire::Group(again));
            }
            (&GroupMessage::Return { reply_to, .. }, Sabotage::SharedMessagesAreNotHandedOn) => {
                if let Some(to) = reply_to {
                    self.report_kept(to, nothing_kept());
                }
                return;
            }
            _ => {}
        }
        self.around.wire[usize::from(to.0)].push_back(Wire::Group(message));
    }

    fn random(&mut self) -> u64 {
        self.around.random.u64(..)
    }

    fn is_home_of(&self, client_id: &str) -> bool {
        self.around.home_of(client_id) == self.at
    }

    fn request(
        &mut self,
        _client: Client<'_, ()>,
        _session: SessionKey,
        _request: &Request<'_>,
    ) -> Result<(), NotTaken> {
        unreachable!("there are no services")
    }

    fn receipt(&mut self, _token: u64, _link: Option<Link>, _progress: Progress) {}

    fn shard_of(&self, name: &str) -> u16 {
        stadium_session::home(name, self.around.shards)
    }

    fn persist(&mut self, client_id: &str, mut change: Change<'_, ()>, then: Then) {
        if let Change::Connect(connected) = &mut change
            && self.around.sabotage == Sabotage::WillsAreForgotten
        {
            connected.will = None;
        }
        let shard = self.shard_of(client_id);
        match &change {
            Change::Connect(connected) => self.around.origins.begins(client_id, connected.incarnation),
            Change::Released { packet_id } => {
                let others = self.around.origins.of_other_loops_of(client_id, *packet_id);
                self.forget_all(shard, others);
            }
            _ => {}
        }
        let change = self.around.clocks.change(client_id, change);
        self.put(shard, change, then);
    }

    fn keep(&mut self, shard: u16, keep: &Keep<'_>, then: Then) {
        let change = match self.around.sabotage {
            Sabotage::KeptMessagesAreForgotten => nothing(),
            Sabotage::SharedMessagesAreForgotten
                if keep.receivers.iter().all(|one| one.shared.number() != 0) =>
            {
                nothing()
            }
            _ => self.around.clocks.keep(keep, self.origin(keep.origin, keep.publisher)),
        };
        let lane = &mut self.around.lanes[self.at][usize::from(shard)];
        if keep.must { lane.put_for_certain(change, then) } else { lane.put(change, then) }
    }

    fn retain(&mut self, retain: &Retain<'_>, then: Then) {
        let &Retain { publication, stored, must } = retain;
        let message = self.around.clocks.kept_message(publication);
        let shard = self.shard_of(publication.topic());
        let &Stored { ref owner, number, prior } = stored;
        let change = match prior {
            _ if self.around.sabotage == Sabotage::RetainedMessagesAreForgotten => nothing(),
            Prior::None if message.payload().is_empty() => {
                stadium_session::Change::ClearNothing { number, message }
            }
            _ => {
                let is_kept = self.around.sabotage != Sabotage::OwnersAreForgotten;
                let owner = owner.as_deref().filter(|_| is_kept).map(Into::into);
                stadium_session::Change::Retain { number, owner, message }
            }
        };
        let lane = &mut self.around.lanes[self.at][usize::from(shard)];
        if must { lane.put_for_certain(change, then) } else { lane.put(change, then) }
    }

    fn withdraw(&mut self, shard: u16, withdraw: &Withdraw<'_>, then: Then) {
        let origin = self.origin(withdraw.origin, withdraw.publisher);
        self.put(shard, kept_withdraw(withdraw, origin), then);
    }

    fn ask(&mut self, shard: u16, origin: Origin, then: Then) {
        let origin = self.around.origins.of_part(origin, self.at);
        self.put(shard, stadium_session::Change::Ask { origin }, then);
    }

    fn forget(&mut self, shard: u16, origin: Origin, then: Then) {
        self.forget_all(shard, self.around.origins.of_other_loops(origin));
        self.put(shard, stadium_session::Change::Forget { origin: kept_origin(origin) }, then);
    }

    fn shards(&self) -> u16 {
        self.around.shards
    }

    fn others_keep(&mut self, topic: &str) -> usize {
        let keep = wanted(&self.around.retained_interests, self.at, topic);
        self.around.kept_by = keep.into_iter().filter(|to| self.around.wanted_by.contains(to)).collect();
        self.around.kept_by.len()
    }

    fn forward_to_keep(&mut self, publication: &Arc<Publication>, origin: Option<Origin>, reply: ReplyTo) {
        for to in self.around.wanted_by.clone() {
            let wire = match self.around.kept_by.contains(&to) {
                true => Wire::Keep(Arc::clone(publication), origin, reply),
                false => Wire::Publish(Arc::clone(publication)),
            };
            self.around.wire[to].push_back(wire);
        }
    }

    fn report_kept(&mut self, to: ReplyTo, part: Part) {
        self.around.wire[usize::from(to.at.0)].push_back(Wire::Kept(to.then, part));
    }

    fn send_verdict(&mut self, at: LoopIndex, held: Then, mut verdict: Verdict) {
        if self.around.sabotage == Sabotage::RefusedPartsAreDelivered
            && let Verdict::Withdraw(to) = verdict
        {
            verdict = Verdict::Deliver;
            self.around.wire[self.at].push_back(Wire::Kept(to.then, nothing_kept()));
        }
        self.around.wire[usize::from(at.0)].push_back(Wire::Verdict(held, verdict));
    }

    fn keep_interest(&mut self, at: LoopIndex, filter: &str, change: Interest) {
        count(&mut self.around.retained_interests, usize::from(at.0), filter, change);
    }

    fn entered(&mut self, link: Link) {
        self.around.entered.insert(link);
    }

    fn count(&mut self, _event: Event) {}
}
