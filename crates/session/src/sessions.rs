//! The state: sessions, what they are owed, retained messages; and what each change does to it.
//!
//! Carrying out a change and replaying its event are the same call, [`Sessions::take_in`]. Derived
//! data (indexes, lists, counts of references) stand beside the tables and are rebuilt after a
//! restart.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::quality::FixedState;
use stadium_state_machine::Place;
use stadium_table::{Index, Paged, Table};

use crate::change::{Change, Connect, Keep, Origin, Presence, Receiver, Withdraw};
use crate::checkpoint::Progress;
use crate::entries::{Delivery, Kept, NOTHING, Retained, Session, Taken};
use crate::{Bounds, Figures, Message, Time};

/// How long is remembered that a topic's retained message was removed, so that one that was put there before and comes behind does not
/// come back.
const REMOVED_MS: u64 = 60_000;

/// Removals that are remembered for that long. For more the oldest is forgotten: changes overtake each other by milliseconds, and so many in
/// a minute are a thousand each second.
const REMOVED_MAX: usize = 65_536;

/// Bytes of their topics and properties likewise: a topic may have 64 KiB.
const REMOVED_BYTES_MAX: u64 = 16 << 20;

/// Persistent sessions and retained messages of a shard.
pub struct Sessions {
    pub(crate) bounds: Bounds,
    pub(crate) sessions: Table<Session>,
    pub(crate) deliveries: Table<Delivery>,
    pub(crate) messages: Table<Kept>,
    pub(crate) retained: Table<Retained>,
    pub(crate) taken: Table<Taken>,
    /// The deliveries of each session in their order, by the session's place.
    pub(crate) lists: Paged<VecDeque<u32>>,
    /// How many deliveries have each message, by its place.
    pub(crate) holders: Paged<u32>,
    by_client: Index,
    by_topic: Index,
    by_origin: BTreeMap<Origin, u32>,
    /// Receivers of all publishes that were taken.
    listed: usize,
    /// Publishes taken by servers of before, which have a key for each loop.
    of_before: usize,
    /// Publishes that were taken, the oldest first.
    origins: BTreeMap<u64, u32>,
    /// When retained messages are over.
    retained_ends: BTreeSet<Ending>,
    /// Of those: removals of a topic's message.
    removed: BTreeSet<Ending>,
    removed_bytes: u64,
    /// Places that were ever in use.
    pub(crate) session_places: u32,
    pub(crate) retained_places: u32,
    /// Orders deliveries and publishes taken.
    pub(crate) next_order: u64,
    pub(crate) message_bytes: u64,
    pub(crate) retained_bytes: u64,
    hasher: FixedState,
    pub(crate) checkpoint: Progress,
}

/// A retained message that will be over. The order is by the message's own content and never by its
/// place in the table: places after a restored checkpoint are not those of the machine that wrote
/// it.
struct Ending {
    at: Time,
    number: u64,
    message: Arc<Message>,
}

impl Ending {
    fn of(number: u64, message: &Arc<Message>) -> Option<Self> {
        message.expires_at.map(|at| Self { at, number, message: Arc::clone(message) })
    }
}

impl Ord for Ending {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number)
            .cmp(&(other.at, other.number))
            .then_with(|| self.message.topic().cmp(other.message.topic()))
    }
}

impl PartialOrd for Ending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ending {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ending {}

/// Who was owed a publish already.
pub(crate) enum Known {
    Nobody,
    All,
    /// To the receivers at these places, in order.
    These(Vec<u32>),
}

impl Sessions {
    /// Without anything in it.
    pub fn new(place: Place, bounds: Bounds) -> Self {
        Self {
            bounds,
            sessions: Table::new(),
            deliveries: Table::new(),
            messages: Table::new(),
            retained: Table::new(),
            taken: Table::new(),
            lists: Paged::new(),
            holders: Paged::new(),
            by_client: Index::new(),
            by_topic: Index::new(),
            by_origin: BTreeMap::new(),
            listed: 0,
            of_before: 0,
            origins: BTreeMap::new(),
            retained_ends: BTreeSet::new(),
            removed: BTreeSet::new(),
            removed_bytes: 0,
            session_places: 0,
            retained_places: 0,
            next_order: 0,
            message_bytes: 0,
            retained_bytes: 0,
            hasher: FixedState::with_seed(place.hash_seed),
            checkpoint: Progress::default(),
        }
    }

    /// How much there is.
    pub fn figures(&self) -> Figures {
        Figures {
            sessions: self.sessions.len() as u64,
            deliveries: self.deliveries.len() as u64,
            message_bytes: self.message_bytes,
            retained: self.retained_count() as u64,
            retained_bytes: self.retained_bytes,
        }
    }

    /// Topics with a retained message; those of which one was removed are in the same table and are not counted.
    fn retained_count(&self) -> usize {
        self.retained.len() - self.removed.len()
    }

    pub(crate) fn find(&self, client: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(client);
        self.by_client.find(hash, |at| self.sessions.at(at).connect.client == client)
    }

    fn find_topic(&self, topic: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(topic);
        self.by_topic.find(hash, |at| self.retained.at(at).message.topic() == topic)
    }

    /// The place of a delivery, and where it stands in its session's list: nearly always in front.
    fn find_delivery(&self, session: u32, number: u32) -> Option<(usize, u32)> {
        let list = &self.lists[session];
        let stands = list.iter().position(|&at| self.deliveries.at(at).number == number)?;
        Some((stands, list[stands]))
    }

    /// A publish of a session that lives here, as shards remember it.
    fn origin_of(&self, client: &str, packet_id: u16) -> Option<Origin> {
        Some(Origin { incarnation: self.incarnation_of(client)?, packet_id })
    }

    /// The keys by which a publish may be remembered.
    fn keys_of(&self, origin: Origin) -> impl Iterator<Item = Origin> + use<> {
        let before = (self.of_before > 0).then(|| origin.of_before());
        std::iter::once(origin).chain(before.into_iter().flatten())
    }

    /// Who of these receivers was owed this publish already.
    pub(crate) fn knows(&self, keep: &Keep) -> Known {
        let Some(origin) = keep.origin else { return Known::Nobody };
        let unreleased = |at: u32| self.sessions.at(at).unreleased.contains(&origin.packet_id);
        if keep.publisher.as_ref().and_then(|client| self.find(client)).is_some_and(unreleased) {
            return Known::All;
        }
        let mut lists: Vec<(&[u64], bool)> = Vec::new();
        for &at in self.keys_of(origin).filter_map(|key| self.by_origin.get(&key)) {
            let taken = self.taken.at(at);
            match &taken.receivers {
                Some(receivers) => lists.push((receivers, taken.by_copy)),
                None => return Known::All,
            }
        }
        if lists.is_empty() {
            return Known::Nobody;
        }
        let is_known = |receiver: &Receiver| {
            let knows = |&(list, by_copy): &(&[u64], bool)| {
                self.copy_of(receiver, by_copy).is_some_and(|copy| list.binary_search(&copy).is_ok())
            };
            lists.iter().any(knows)
        };
        let known: Vec<u32> =
            (0_u32..).zip(&keep.receivers).filter(|(_, one)| is_known(one)).map(|(at, _)| at).collect();
        match known.len() {
            all if all == keep.receivers.len() => Known::All,
            0 => Known::Nobody,
            _ => Known::These(known),
        }
    }

    /// What is remembered of a receiver of a publish.
    fn copy_of(&self, receiver: &Receiver, by_copy: bool) -> Option<u64> {
        Some(copy(self.incarnation_of(&receiver.client)?, if by_copy { receiver.shared } else { 0 }))
    }

    fn incarnation_of(&self, client: &str) -> Option<u64> {
        Some(self.sessions.at(self.find(client)?).connect.incarnation)
    }

    /// The publish that is forgotten for one more, where bounds ask for it.
    pub(crate) fn oldest_that_goes_for(&self, keep: &Keep) -> Option<Origin> {
        let is_new = keep.origin.is_some_and(|origin| !self.by_origin.contains_key(&origin));
        let has_place = !is_new || (self.taken.len() as u32) < self.bounds.origins_max;
        if has_place && self.has_room_for_receivers(keep) {
            return None;
        }
        let (_, &oldest) = self.origins.first_key_value()?;
        Some(self.taken.at(oldest).origin).filter(|&oldest| Some(oldest) != keep.origin)
    }

    /// Whether the receivers of a publish can be remembered: as many are as deliveries may be owed.
    pub(crate) fn has_room_for_receivers(&self, keep: &Keep) -> bool {
        self.listed + keep.receivers.len() <= self.bounds.deliveries_max as usize
    }

    /// Whether a change has an effect: it has none where it names a session that is not there, or
    /// repeats known state.
    pub(crate) fn means_something(&self, change: &Change) -> bool {
        match change {
            Change::Connect(_) => true,
            Change::WillGone { client, will } => self.find(client).is_some_and(|at| {
                let has = self.sessions.at(at).connect.will.as_ref();
                has.is_some_and(|has| has.id == *will)
            }),
            Change::End { client, incarnation } => self
                .incarnation_of(client)
                .is_some_and(|has| incarnation.is_none_or(|incarnation| incarnation == has)),
            Change::Disconnect { client, .. }
            | Change::Subscribe { client, .. }
            | Change::Unsubscribe { client, .. }
            | Change::Unreleased { client, .. } => self.find(client).is_some(),
            Change::Keep(keep) => {
                keep.publisher.is_some() || keep.receivers.iter().any(|one| self.find(&one.client).is_some())
            }
            Change::Received { client, delivery } => {
                self.find(client).is_some_and(|at| self.find_delivery(at, *delivery).is_some())
            }
            Change::Done { client, deliveries } => self.find(client).is_some_and(|at| {
                deliveries.iter().any(|&delivery| self.find_delivery(at, delivery).is_some())
            }),
            Change::Released { client, packet_id } => {
                let unreleased = |at: u32| self.sessions.at(at).unreleased.contains(packet_id);
                let taken = |origin: Origin| self.is_taken(origin);
                self.find(client).is_some_and(unreleased)
                    || self.origin_of(client, *packet_id).is_some_and(taken)
            }
            Change::Forget { origin } => self.is_taken(*origin),
            Change::Ask { .. } => false,
            Change::Withdraw(withdraw) => {
                let is_owed = |(client, delivery): &(CompactString, u32)| {
                    self.find(client).is_some_and(|at| self.find_delivery(at, *delivery).is_some())
                };
                withdraw.publisher.is_some() || withdraw.receivers.iter().any(is_owed)
            }
            Change::Retain { number, message, .. } => match self.find_topic(message.topic()) {
                Some(at) => self.retained.at(at).number < *number,
                None => true,
            },
            Change::ClearNothing { number, message } => self.find_topic(message.topic()).is_some_and(|at| {
                let kept = self.retained.at(at);
                kept.number < *number && !kept.message.payload().is_empty()
            }),
        }
    }

    /// Whether there is room for what a change adds.
    pub(crate) fn has_room(&self, change: &Change) -> bool {
        let Bounds {
            sessions_max, deliveries_max, message_bytes_max, retained_max, retained_bytes_max, ..
        } = self.bounds;
        match change {
            Change::Connect(connect) => {
                (self.sessions.len() as u32) < sessions_max || self.find(&connect.client).is_some()
            }
            Change::Keep(keep) => {
                self.deliveries.len() + keep.receivers.len() <= deliveries_max as usize
                    && self.message_bytes + keep.message.len() as u64 <= message_bytes_max
            }
            Change::Retain { message, .. } => {
                let before = self.find_topic(message.topic()).map(|at| &self.retained.at(at).message);
                let before = before.filter(|before| !before.payload().is_empty()).map(|before| before.len());
                let bytes = self.retained_bytes - before.unwrap_or(0) as u64 + message.len() as u64;
                message.payload().is_empty()
                    || (bytes <= retained_bytes_max
                        && (before.is_some() || (self.retained_count() as u32) < retained_max))
            }
            _ => true,
        }
    }

    /// Carries out a change.
    pub(crate) fn take_in(&mut self, now: Time, change: &Change) {
        match change {
            Change::Connect(connect) => self.connect(connect),
            Change::Disconnect { client, presence } => {
                self.with(client, |session| session.presence = *presence);
            }
            Change::WillGone { client, .. } => self.with(client, |session| {
                session.connect.will = None;
                if let Presence::Away { will_at, .. } = &mut session.presence {
                    *will_at = None;
                }
            }),
            Change::End { client, .. } => {
                if let Some(at) = self.find(client) {
                    self.end(at);
                }
            }
            Change::Subscribe { client, subscription } => self.with(client, |session| {
                let same = |one: &&mut _| -> bool {
                    let one: &crate::Subscription = one;
                    one.filter == subscription.filter
                };
                match session.subscriptions.iter_mut().find(same) {
                    Some(one) => *one = subscription.clone(),
                    None => session.subscriptions.push(subscription.clone()),
                }
            }),
            Change::Unsubscribe { client, filter } => {
                self.with(client, |session| session.subscriptions.retain(|one| one.filter != *filter));
            }
            Change::Keep(keep) => self.keep(keep),
            Change::Received { client, delivery } => {
                if let Some((_, at)) = self.find(client).and_then(|at| self.find_delivery(at, *delivery)) {
                    let message = std::mem::replace(&mut self.deliveries.at_mut(at).message, NOTHING);
                    self.let_go(message);
                }
            }
            Change::Done { client, deliveries } => {
                let Some(session) = self.find(client) else { return };
                for &delivery in deliveries {
                    if let Some((stands, at)) = self.find_delivery(session, delivery) {
                        self.lists[session].remove(stands);
                        self.remove_delivery(at);
                    }
                }
            }
            Change::Unreleased { client, packet_id } => {
                self.with(client, |session| session.note_unreleased(*packet_id));
            }
            Change::Released { client, packet_id } => {
                self.with(client, |session| session.unreleased.retain(|id| id != packet_id));
                if let Some(origin) = self.origin_of(client, *packet_id) {
                    self.forget(origin);
                }
            }
            Change::Forget { origin } => self.forget(*origin),
            Change::Ask { .. } => {}
            Change::Withdraw(withdraw) => self.withdraw(withdraw),
            Change::Retain { number, owner, message } => {
                self.retain(now, *number, owner.as_ref(), message);
            }
            Change::ClearNothing { number, message } => self.retain(now, *number, None, message),
        }
    }

    fn with(&mut self, client: &str, change: impl FnOnce(&mut Session)) {
        if let Some(at) = self.find(client) {
            change(self.sessions.at_mut(at));
        }
    }

    fn connect(&mut self, connect: &Connect) {
        if let Some(at) = self.find(&connect.client) {
            if self.sessions.at(at).connect.incarnation == connect.incarnation {
                let session = self.sessions.at_mut(at);
                session.connect = connect.clone();
                session.presence = Presence::Here;
                return;
            }
            self.end(at);
        }
        let session = Session {
            connect: connect.clone(),
            presence: Presence::Here,
            subscriptions: Vec::new(),
            unreleased: Vec::new(),
        };
        let at = self.sessions.insert(session);
        self.session_is_at(at);
    }

    /// Makes a session in this place known.
    pub(crate) fn session_is_at(&mut self, at: u32) {
        self.session_places = self.session_places.max(at + 1);
        self.lists.reach(at);
        let (sessions, hasher) = (&self.sessions, &self.hasher);
        let hash = |at: u32| hasher.hash_one(&*sessions.at(at).connect.client);
        self.by_client.insert(hash(at), at, hash);
    }

    fn end(&mut self, at: u32) {
        for delivery in std::mem::take(&mut self.lists[at]) {
            self.remove_delivery(delivery);
        }
        let hash = self.hasher.hash_one(&*self.sessions.at(at).connect.client);
        self.by_client.remove(hash, at);
        self.sessions.remove(at);
    }

    fn keep(&mut self, keep: &Keep) {
        if let Some(origin) = keep.origin {
            match &keep.publisher {
                Some(client) => self.with(client, |session| session.note_unreleased(origin.packet_id)),
                None => self.remember(origin, &keep.receivers, false),
            }
        }
        self.owe(keep);
    }

    /// What the event *keep* means, by which servers of before remembered publishes too: each loop by a key of its own.
    pub(crate) fn keep_as_before(&mut self, keep: &Keep) {
        match keep.origin {
            Some(origin) if keep.publisher.is_none() => {
                // They wrote no event of what was forgotten for it.
                if self.taken.len() as u32 >= self.bounds.origins_max
                    && let Some((_, &oldest)) = self.origins.first_key_value()
                {
                    let oldest = self.taken.at(oldest).origin;
                    self.forget_key(oldest);
                }
                self.remember(origin, &keep.receivers, true);
                self.owe(keep);
            }
            _ => self.keep(keep),
        }
    }

    fn owe(&mut self, keep: &Keep) {
        let mut message = NOTHING;
        for receiver in &keep.receivers {
            let Some(session) = self.find(&receiver.client) else { continue };
            if message == NOTHING {
                message = self.messages.insert(Kept(Arc::clone(&keep.message)));
                self.message_is_at(message);
            }
            let order = self.next_order;
            self.next_order += 1;
            let at = self.deliveries.insert(Delivery {
                session,
                message,
                number: receiver.delivery,
                order,
                qos: receiver.qos,
                retain: receiver.retain,
                shared: receiver.shared,
                ids: receiver.ids.clone(),
            });
            self.holders[message] += 1;
            self.lists[session].push_back(at);
        }
    }

    /// Makes a message in this place known; nobody holds it yet.
    pub(crate) fn message_is_at(&mut self, at: u32) {
        self.holders.reach(at);
        self.holders[at] = 0;
        self.message_bytes += self.messages.at(at).0.len() as u64;
    }

    fn remove_delivery(&mut self, at: u32) {
        if let Some(delivery) = self.deliveries.remove(at) {
            self.let_go(delivery.message);
        }
    }

    /// One delivery less has this message.
    fn let_go(&mut self, message: u32) {
        if message == NOTHING {
            return;
        }
        self.holders[message] -= 1;
        if self.holders[message] == 0
            && let Some(kept) = self.messages.remove(message)
        {
            self.message_bytes -= kept.0.len() as u64;
        }
    }

    fn remember(&mut self, origin: Origin, receivers: &[Receiver], of_before: bool) {
        let known = self.by_origin.get(&origin).copied();
        let by_copy = known.is_none_or(|at| self.taken.at(at).by_copy);
        let mut owed: Vec<u64> = receivers.iter().filter_map(|one| self.copy_of(one, by_copy)).collect();
        if let Some(at) = known {
            if let Some(receivers) = &mut self.taken.at_mut(at).receivers {
                self.listed += owed.len();
                receivers.append(&mut owed);
                receivers.sort_unstable();
            }
            return;
        }
        owed.sort_unstable();
        let order = self.next_order;
        self.next_order += 1;
        let at = self.taken.insert(Taken { origin, order, receivers: Some(owed), of_before, by_copy: true });
        self.taken_is_at(at);
    }

    /// Makes a publish in this place known.
    pub(crate) fn taken_is_at(&mut self, at: u32) {
        let &Taken { origin, order, of_before, ref receivers, .. } = self.taken.at(at);
        self.listed += receivers.as_ref().map_or(0, Vec::len);
        self.by_origin.insert(origin, at);
        self.origins.insert(order, at);
        self.of_before += usize::from(of_before);
    }

    pub(crate) fn is_taken(&self, origin: Origin) -> bool {
        self.keys_of(origin).any(|key| self.by_origin.contains_key(&key))
    }

    fn withdraw(&mut self, withdraw: &Withdraw) {
        for (client, delivery) in &withdraw.receivers {
            let Some(session) = self.find(client) else { continue };
            let Some((stands, at)) = self.find_delivery(session, *delivery) else { continue };
            let (incarnation, shared) =
                (self.sessions.at(session).connect.incarnation, self.deliveries.at(at).shared);
            self.lists[session].remove(stands);
            self.remove_delivery(at);
            if let Some(origin) = withdraw.origin {
                self.forget_receiver(origin, incarnation, shared);
            }
        }
        if let (Some(client), Some(origin)) = (&withdraw.publisher, withdraw.origin) {
            self.with(client, |session| session.unreleased.retain(|&id| id != origin.packet_id));
        }
    }

    /// A receiver of a publish was never owed it. When none is left, the publish is forgotten.
    fn forget_receiver(&mut self, origin: Origin, incarnation: u64, shared: u16) {
        let Some(&at) = self.by_origin.get(&origin) else { return };
        let taken = self.taken.at_mut(at);
        let copy = copy(incarnation, if taken.by_copy { shared } else { 0 });
        let Some(receivers) = &mut taken.receivers else { return };
        let Ok(stands) = receivers.binary_search(&copy) else { return };
        receivers.remove(stands);
        self.listed -= 1;
        if receivers.is_empty() {
            self.forget_key(origin);
        }
    }

    fn forget(&mut self, origin: Origin) {
        self.keys_of(origin).for_each(|key| self.forget_key(key));
    }

    fn forget_key(&mut self, key: Origin) {
        if let Some(at) = self.by_origin.remove(&key)
            && let Some(taken) = self.taken.remove(at)
        {
            self.origins.remove(&taken.order);
            self.of_before -= usize::from(taken.of_before);
            self.listed -= taken.receivers.map_or(0, |receivers| receivers.len());
        }
    }

    fn retain(&mut self, now: Time, number: u64, owner: Option<&CompactString>, message: &Arc<Message>) {
        if let Some(at) = self.find_topic(message.topic()) {
            if self.retained.at(at).number >= number {
                return;
            }
            self.remove_retained(at);
        }
        let mut message = Arc::clone(message);
        if message.payload().is_empty() {
            Arc::make_mut(&mut message).expires_at = Some(now.after(REMOVED_MS));
        }
        let at = self.retained.insert(Retained { number, owner: owner.cloned(), set_at: Some(now), message });
        self.retained_is_at(at);
    }

    /// Makes a retained message in this place known.
    pub(crate) fn retained_is_at(&mut self, at: u32) {
        self.retained_places = self.retained_places.max(at + 1);
        let Retained { number, message, .. } = self.retained.at(at);
        if message.payload().is_empty() {
            self.removed_bytes += message.len() as u64;
            self.removed.extend(Ending::of(*number, message));
        } else {
            self.retained_bytes += message.len() as u64;
        }
        self.retained_ends.extend(Ending::of(*number, message));
        let (retained, hasher) = (&self.retained, &self.hasher);
        let hash = |at: u32| hasher.hash_one(retained.at(at).message.topic());
        self.by_topic.insert(hash(at), at, hash);
    }

    fn remove_retained(&mut self, at: u32) {
        let hash = self.hasher.hash_one(self.retained.at(at).message.topic());
        self.by_topic.remove(hash, at);
        if let Some(one) = self.retained.remove(at) {
            let is_removal = one.message.payload().is_empty();
            let bytes = if is_removal { &mut self.removed_bytes } else { &mut self.retained_bytes };
            *bytes -= one.message.len() as u64;
            if let Some(ending) = Ending::of(one.number, &one.message) {
                self.retained_ends.remove(&ending);
                self.removed.remove(&ending);
            }
        }
    }

    /// Whether more removals are remembered than bounds allow.
    fn has_too_many_removed(&self) -> bool {
        self.removed.len() > REMOVED_MAX || self.removed_bytes > REMOVED_BYTES_MAX
    }

    /// Forgets removals beyond the bounds, the oldest first, at most `most`; adds their numbers. Returns until when the last of them was
    /// to be remembered.
    pub(crate) fn forget_removed(&mut self, most: u32, numbers: &mut Vec<u64>) -> Option<Time> {
        let mut until = None;
        while numbers.len() < most as usize
            && self.has_too_many_removed()
            && let Some(oldest) = self.removed.first()
        {
            until = Some(oldest.at);
            numbers.push(oldest.number);
            let message = Arc::clone(&oldest.message);
            self.remove_topic(message.topic());
        }
        until
    }

    /// When the next retained message is over.
    pub(crate) fn next_end(&self) -> Option<Time> {
        if self.has_too_many_removed() {
            return Some(Time(0));
        }
        self.retained_ends.first().map(|ending| ending.at)
    }

    /// Removes retained messages whose time is over, at most `most`; returns their numbers.
    pub(crate) fn end_retained(&mut self, now: Time, most: u32) -> Vec<u64> {
        let mut ended = Vec::new();
        while ended.len() < most as usize
            && let Some(ending) = self.retained_ends.first().filter(|ending| ending.at <= now)
        {
            ended.push(ending.number);
            let message = Arc::clone(&ending.message);
            self.remove_topic(message.topic());
        }
        ended
    }

    /// Removes the retained messages with these numbers, of those that were over at a given time. A
    /// number that is not there is skipped.
    pub(crate) fn end_numbers(&mut self, until: Time, mut numbers: Vec<u64>) {
        numbers.sort_unstable();
        let mut named: Vec<Arc<Message>> = Vec::with_capacity(numbers.len());
        for ending in self.retained_ends.iter().take_while(|ending| ending.at <= until) {
            if named.len() == numbers.len() {
                break;
            }
            if numbers.binary_search(&ending.number).is_ok() {
                named.push(Arc::clone(&ending.message));
            }
        }
        named.iter().for_each(|message| self.remove_topic(message.topic()));
    }

    /// Removes `count` of the retained messages that were over at a given time, the earliest and
    /// then those of the lowest places first; all of them where there are fewer. This is how
    /// servers chose before events named the numbers. After a checkpoint the places need not be
    /// those of the server that wrote it, so other messages of the same time may go; all of them
    /// are over.
    pub(crate) fn end_lowest_places(&mut self, until: Time, count: usize) {
        let mut over: Vec<(Time, u32)> = Vec::new();
        for ending in self.retained_ends.iter().take_while(|ending| ending.at <= until) {
            if over.len() >= count && over.last().is_some_and(|&(at, _)| at < ending.at) {
                break;
            }
            over.extend(self.find_topic(ending.message.topic()).map(|place| (ending.at, place)));
        }
        over.sort_unstable();
        over.truncate(count);
        over.into_iter().for_each(|(_, place)| self.remove_retained(place));
    }

    fn remove_topic(&mut self, topic: &str) {
        if let Some(at) = self.find_topic(topic) {
            self.remove_retained(at);
        }
    }
}

/// A session may get a publish by subscriptions of its own, once, and by each of its shared
/// subscriptions: these copies are distinguished, since they may arrive here one by one. A
/// session's own copy is its incarnation.
fn copy(incarnation: u64, shared: u16) -> u64 {
    incarnation ^ u64::from(shared).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl Session {
    fn note_unreleased(&mut self, packet_id: u16) {
        if !self.unreleased.contains(&packet_id) {
            self.unreleased.push(packet_id);
        }
    }
}
