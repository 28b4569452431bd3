//! Retained messages: the last one of each topic, for subscribers to come (MQTT 5.0 section 3.3.1.3).
//!
//! The brokers of a node share one store behind a lock, so that what a client retained is there for the
//! next subscriber whichever loop serves it. Publishing without RETAIN and subscribing while nothing is
//! retained never take the lock. Messages whose time is over are removed when it is, by whichever broker's
//! loop turns next, and before a new one is refused. A reader takes a bounded number of steps and goes on
//! from its place later, see [`Place`].
//!
//! Each message belongs to the principal whose client set it, and a principal has a quota of the
//! store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use compact_str::CompactString;

mod list;

pub use list::{RetainedPage, RetainedQuery, RetainedSummary};

use super::publication::Publication;
use super::topics::{self, Look};

/// Messages whose time is over that are removed in one go, so that a loop neither spends more than a fraction of a
/// millisecond on them nor holds the lock for longer.
const EXPIRED_MAX: usize = 1_024;

/// Bytes of a topic that are compared for the work of one step.
const STEP_BYTES: usize = 256;

/// Steps that a message counts for that is taken: it is authorised, encoded and queued, about a microsecond.
const TAKEN_STEPS: usize = 8;

/// Bytes of a message that are copied for the work of one step.
const TAKEN_BYTES: usize = 256;

/// Bounds of the retained store.
#[derive(Debug, Clone, Copy)]
pub struct RetainedLimits {
    /// Topics with a retained message; one more is refused with Quota exceeded.
    pub messages_max: usize,
    /// Bytes of topics, properties and payloads together; more is refused with Quota exceeded.
    pub bytes_max: usize,
    /// Topics whose retained message one owner set; one more of that owner is refused likewise.
    pub owner_messages_max: usize,
    /// Bytes of the messages of one owner; more of that owner is refused likewise.
    pub owner_bytes_max: usize,
}

impl Default for RetainedLimits {
    fn default() -> Self {
        Self {
            messages_max: 100_000,
            bytes_max: 256 << 20,
            owner_messages_max: 10_000,
            owner_bytes_max: 32 << 20,
        }
    }
}

/// The principal whose client set a retained message; the empty name is that of all anonymous
/// clients together. A message of the server's own has no owner, and counts for the bounds of the
/// store only.
pub type Owner = Arc<str>;

/// The retained messages of a node.
#[derive(Debug)]
pub struct Retained {
    limits: RetainedLimits,
    by_topic: RwLock<Topics>,
    len: AtomicUsize,
    /// When the first of them is over; `u64::MAX` for never.
    next_end_ms: AtomicU64,
}

impl Default for Retained {
    fn default() -> Self {
        Self::new(RetainedLimits::default())
    }
}

#[derive(Debug, Default)]
struct Topics {
    /// How often messages were replaced or removed: names each time, in their order.
    changes: u64,
    /// Topics up to 24 bytes stand in the map itself.
    messages: BTreeMap<CompactString, Kept>,
    /// The share of each owner in the store; owners of nothing are not here.
    owners: HashMap<Owner, Usage>,
    /// When those that expire are over, the first one first.
    ends: BTreeSet<(u64, CompactString)>,
    bytes: usize,
    /// Messages that are not durable yet, by their topics and in their order: each with the one that comes back if it is refused.
    unsure: BTreeMap<CompactString, Vec<Unsure>>,
}

/// The number of a message that may be refused yet, and the one that is the topic's again then.
type Unsure = (u64, Option<Kept>);

/// A message in the store.
#[derive(Debug, Clone)]
struct Kept {
    publication: Arc<Publication>,
    owner: Option<Owner>,
    set_at_ms: Option<i64>,
}

/// A retained message that the host kept, as it comes back when the server starts.
#[derive(Debug, Clone, Copy)]
pub struct RestoredRetained<'a> {
    /// The message.
    pub publication: &'a Publication,
    /// Whose it is.
    pub owner: Option<&'a Owner>,
    /// When it was set, in the host's milliseconds: below 0 for a time before these began. None
    /// where that is not known.
    pub set_at_ms: Option<i64>,
    /// The number of the change that set it, see [`Stored::number`].
    pub number: u64,
}

/// How much of the store an owner has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Usage {
    messages: usize,
    bytes: usize,
}

/// Why there is no room for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The store is at a bound.
    Store,
    /// The message's owner is at a quota.
    Owner,
}

/// A topic's retained message was replaced or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Whose the message is. One without payload, which removes the topic's message, is nobody's.
    pub owner: Option<Owner>,
    /// Higher than those of all changes before.
    pub number: u64,
    /// Whether the topic had a message before.
    pub prior: Prior,
}

/// Whether a topic had a retained message before it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// It had.
    Some,
    /// It had none.
    None,
}

/// How far a reader got in the order of topics: the next one to look at. What was retained behind a reader's
/// place after it passed reaches a subscriber as it is published.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Empty where nothing was looked at.
    pub next: String,
}

/// What a reader may do in one go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Topics that it may look at; long ones, and those whose message it takes, count more. What it used is taken off.
    pub steps: u32,
    /// Messages that it may take.
    pub messages: usize,
}

impl Topics {
    fn set(
        &mut self,
        publication: &Publication,
        owner: Option<&Owner>,
        set_at_ms: Option<i64>,
        room: Option<(&RetainedLimits, u64)>,
    ) -> Result<Prior, Full> {
        let topic = publication.topic();
        if publication.payload().is_empty() {
            return Ok(self.remove(topic));
        }
        // A copy of its own: what came from the pool must go back there.
        let mut kept = publication.clone();
        kept.head.receipt = 0;
        let more = kept.bytes_held();
        if let Some((limits, now_ms)) = room
            && self.room_for(topic, owner, more, limits).is_err()
        {
            self.expire(now_ms, EXPIRED_MAX);
            self.room_for(topic, owner, more, limits)?;
        }
        let prior = self.remove(topic);
        self.insert(topic, Kept { publication: Arc::new(kept), owner: owner.cloned(), set_at_ms });
        Ok(prior)
    }

    /// Numbers the change of a topic's message that was just made.
    fn stored(&mut self, publication: &Publication, owner: Option<&Owner>, prior: Prior) -> Stored {
        self.changes += 1;
        let owner = owner.filter(|_| !publication.payload().is_empty()).cloned();
        Stored { owner, number: self.changes, prior }
    }

    fn put_back(&mut self, topic: &str, before: Option<Kept>) {
        self.remove(topic);
        if let Some(before) = before {
            self.insert(topic, before);
        }
    }

    fn room_for(
        &self,
        topic: &str,
        owner: Option<&Owner>,
        more: usize,
        limits: &RetainedLimits,
    ) -> Result<(), Full> {
        let before = self.messages.get(topic);
        let bytes_before = before.map_or(0, |old| old.publication.bytes_held());
        let has_place = before.is_some() || self.messages.len() < limits.messages_max;
        if !has_place || self.bytes - bytes_before + more > limits.bytes_max {
            return Err(Full::Store);
        }
        let Some(owner) = owner else { return Ok(()) };
        let usage = self.owners.get(owner).copied().unwrap_or_default();
        let is_own = before.is_some_and(|old| old.owner.as_ref() == Some(owner));
        let bytes_before = if is_own { bytes_before } else { 0 };
        let has_place = is_own || usage.messages < limits.owner_messages_max;
        if !has_place || usage.bytes - bytes_before + more > limits.owner_bytes_max {
            return Err(Full::Owner);
        }
        Ok(())
    }

    /// Puts a message in its topic's place, which is empty.
    fn insert(&mut self, topic: &str, mut kept: Kept) {
        let bytes = kept.publication.bytes_held();
        self.bytes += bytes;
        if let Some(owner) = kept.owner.take() {
            let usage = self.owners.entry(owner);
            // All messages of an owner share its name.
            kept.owner = Some(Arc::clone(usage.key()));
            let usage = usage.or_default();
            usage.messages += 1;
            usage.bytes += bytes;
        }
        if let Some(at_ms) = kept.publication.head.expires_at_ms {
            self.ends.insert((at_ms, topic.into()));
        }
        self.messages.insert(topic.into(), kept);
    }

    fn remove(&mut self, topic: &str) -> Prior {
        let Some((topic, old)) = self.messages.remove_entry(topic) else { return Prior::None };
        self.free(&old);
        if let Some(at_ms) = old.publication.head.expires_at_ms {
            self.ends.remove(&(at_ms, topic));
        }
        Prior::Some
    }

    /// A message is not in the store any more: its bytes and the part of its owner's quota are
    /// free.
    fn free(&mut self, old: &Kept) {
        let bytes = old.publication.bytes_held();
        self.bytes -= bytes;
        if let Some(owner) = &old.owner
            && let Some(usage) = self.owners.get_mut(owner)
        {
            usage.messages -= 1;
            usage.bytes -= bytes;
            if usage.messages == 0 {
                self.owners.remove(owner);
            }
        }
    }

    /// Looks at the messages whose topics match a filter, or at all of them, in the order of their
    /// topics and from a place on. `take` returns the steps by which a message that it takes counts
    /// more, and none for one that it leaves out. Returns whether it came to the last one.
    fn walk<'a>(
        &'a self,
        filter: Option<&str>,
        place: &mut Place,
        allowed: &mut Allowance,
        mut take: impl FnMut(&'a str, &'a Kept) -> Option<usize>,
    ) -> bool {
        let from = if place.next.is_empty() { filter.map_or("", topics::first) } else { &place.next };
        let mut range = self.messages.range::<str, _>(on_from(from));
        let mut next = range.next();
        let mut target = String::new();
        while let Some((topic, kept)) = next {
            if allowed.steps == 0 || allowed.messages == 0 {
                place.next.clear();
                place.next.push_str(topic);
                return false;
            }
            let mut steps = 1 + topic.len() / STEP_BYTES;
            let look = filter.map_or(Look::Match, |filter| topics::look(filter, topic, &mut target));
            next = match look {
                Look::Match => {
                    if let Some(more) = take(topic, kept) {
                        steps += TAKEN_STEPS + more;
                        allowed.messages -= 1;
                    }
                    range.next()
                }
                Look::Next => range.next(),
                Look::Seek => match range.next() {
                    // Nearly as often as not the next one is the one, and to find it would cost
                    // more.
                    Some((near, _)) if near.as_str() < target.as_str() => {
                        steps *= 2;
                        range = self.messages.range::<str, _>(on_from(&target));
                        range.next()
                    }
                    near => near,
                },
                Look::Over => None,
            };
            allowed.steps = allowed.steps.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        }
        true
    }

    /// Removes messages whose time is over, so many at most.
    fn expire(&mut self, now_ms: u64, most: usize) {
        for _ in 0..most {
            if self.ends.first().is_none_or(|&(at_ms, _)| at_ms > now_ms) {
                return;
            }
            if let Some((_, topic)) = self.ends.pop_first()
                && let Some(old) = self.messages.remove(&topic)
            {
                self.free(&old);
            }
        }
    }
}

impl Retained {
    /// An empty store with these bounds.
    pub fn new(limits: RetainedLimits) -> Self {
        Self {
            limits,
            by_topic: RwLock::default(),
            len: AtomicUsize::new(0),
            next_end_ms: AtomicU64::new(u64::MAX),
        }
    }

    /// Topics with a retained message.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Whether nothing is retained.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.read().bytes
    }

    /// Replaces the retained message of the publication's topic [MQTT-3.3.1-5]; an empty payload removes
    /// it [MQTT-3.3.1-6]. The message is its owner's from then on, whosever the one before was.
    pub fn set(&self, publication: &Publication, owner: Option<&Owner>, now_ms: u64) -> Result<Stored, Full> {
        let mut topics = self.write();
        let set = topics.set(publication, owner, i64::try_from(now_ms).ok(), Some((&self.limits, now_ms)));
        self.note(&topics);
        let prior = set?;
        topics.unsure.remove(publication.topic());
        Ok(topics.stored(publication, owner, prior))
    }

    /// The same for a message that may be refused yet: [`Self::confirm`] or [`Self::refuse`] follows.
    pub(super) fn set_for_now(
        &self,
        publication: &Publication,
        owner: Option<&Owner>,
        now_ms: u64,
    ) -> Result<Stored, Full> {
        let mut topics = self.write();
        let before = topics.messages.get(publication.topic()).cloned();
        let set = topics.set(publication, owner, i64::try_from(now_ms).ok(), Some((&self.limits, now_ms)));
        self.note(&topics);
        let prior = set?;
        let stored = topics.stored(publication, owner, prior);
        topics.unsure.entry(publication.topic().into()).or_default().push((stored.number, before));
        Ok(stored)
    }

    /// Removes a topic's message as an operator asks for it, if it has one and that is this
    /// owner's; none asks for any owner's. [`Self::confirm`] or [`Self::refuse`] follows.
    pub(super) fn remove_for_now(&self, topic: &str, owner: Option<&str>) -> Option<Stored> {
        let mut topics = self.write();
        let before = topics.messages.get(topic)?.clone();
        if owner.is_some_and(|owner| before.owner.as_deref() != Some(owner)) {
            return None;
        }
        let prior = topics.remove(topic);
        self.note(&topics);
        topics.changes += 1;
        let number = topics.changes;
        topics.unsure.entry(topic.into()).or_default().push((number, Some(before)));
        Some(Stored { owner: None, number, prior })
    }

    /// The message with this number stays, and none before it comes back.
    pub(super) fn confirm(&self, topic: &str, number: u64) {
        let mut topics = self.write();
        if let Some(unsure) = topics.unsure.get_mut(topic) {
            unsure.retain(|&(other, _)| other > number);
            if unsure.is_empty() {
                topics.unsure.remove(topic);
            }
        }
    }

    /// The message with this number was refused: the one before it is the topic's again, unless another one took its place.
    pub(super) fn refuse(&self, topic: &str, number: u64) {
        let mut topics = self.write();
        let Some(unsure) = topics.unsure.get_mut(topic) else { return };
        let Some(at) = unsure.iter().position(|&(other, _)| other == number) else { return };
        let (_, before) = unsure.remove(at);
        match unsure.get_mut(at) {
            Some((_, next)) => *next = before,
            None => {
                if unsure.is_empty() {
                    topics.unsure.remove(topic);
                }
                topics.put_back(topic, before);
                self.note(&topics);
            }
        }
    }

    /// Takes back a message that was retained before the server was started. It was acknowledged,
    /// so it stays where bounds are lower now: they hold for new ones.
    pub fn restore(&self, restored: &RestoredRetained<'_>) {
        let &RestoredRetained { publication, owner, set_at_ms, number } = restored;
        let mut topics = self.write();
        topics.changes = topics.changes.max(number);
        let restored = topics.set(publication, owner, set_at_ms, None);
        debug_assert!(restored.is_ok(), "no bound was given");
        self.note(&topics);
    }

    /// When a message's time is over next, in the host's milliseconds.
    pub fn next_end_ms(&self) -> Option<u64> {
        Some(self.next_end_ms.load(Ordering::Acquire)).filter(|&at_ms| at_ms != u64::MAX)
    }

    /// Removes messages whose time is over: some, where there are many, see [`Self::next_end_ms`].
    pub fn expire(&self, now_ms: u64) {
        if self.next_end_ms().is_none_or(|at_ms| at_ms > now_ms) {
            return;
        }
        let mut topics = self.write();
        topics.expire(now_ms, EXPIRED_MAX);
        self.note(&topics);
    }

    /// Takes the next retained messages whose topics match the filter, in the order of their topics. Those whose time
    /// is over are left out. Returns whether it came to the last one.
    pub(super) fn take(
        &self,
        filter: &str,
        place: &mut Place,
        now_ms: u64,
        allowed: &mut Allowance,
        found: &mut Vec<Arc<Publication>>,
    ) -> bool {
        if self.is_empty() {
            return true;
        }
        self.read().walk(Some(filter), place, allowed, |_, kept| {
            let publication = &kept.publication;
            publication.head.expiry_s(now_ms).ok()?;
            found.push(Arc::clone(publication));
            Some(publication.bytes().len() / TAKEN_BYTES)
        })
    }

    /// What others may see without the lock.
    fn note(&self, topics: &Topics) {
        self.len.store(topics.messages.len(), Ordering::Release);
        let next_end_ms = topics.ends.first().map_or(u64::MAX, |&(at_ms, _)| at_ms);
        self.next_end_ms.store(next_end_ms, Ordering::Release);
    }

    fn read(&self) -> RwLockReadGuard<'_, Topics> {
        self.by_topic.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Topics> {
        self.by_topic.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A topic and all behind it.
fn on_from(topic: &str) -> (Bound<&str>, Bound<&str>) {
    (Bound::Included(topic), Bound::Unbounded)
}

#[cfg(test)]
mod tests {
    use super::super::publication::{Head, Message};
    use super::*;
    use crate::topic;
    use proptest::prelude::*;

    fn publication(topic: &str, payload: &str, expires_at_ms: Option<u64>) -> Publication {
        let head = Head { retain: true, expires_at_ms, ..Head::default() };
        Publication::new(&Message { topic, properties: &[], payload: payload.as_bytes(), head })
    }

    fn set(retained: &Retained, topic: &str) {
        retained.set(&publication(topic, "x", None), None, 0).expect("there is room");
    }

    fn restore(retained: &Retained, publication: &Publication, owner: Option<&Owner>, number: u64) {
        retained.restore(&RestoredRetained { publication, owner, set_at_ms: None, number });
    }

    /// All that match, read in pieces of so many steps.
    fn read(retained: &Retained, filter: &str, steps: u32) -> Vec<String> {
        let (mut place, mut found) = (Place::default(), Vec::new());
        loop {
            let mut allowed = Allowance { steps, messages: usize::MAX };
            if retained.take(filter, &mut place, 0, &mut allowed, &mut found) {
                return found.iter().map(|one| one.topic().to_owned()).collect();
            }
        }
    }

    /// Steps that it takes to read all that match.
    fn steps(retained: &Retained, filter: &str) -> u32 {
        let mut allowed = Allowance { steps: u32::MAX, messages: usize::MAX };
        assert!(retained.take(filter, &mut Place::default(), 0, &mut allowed, &mut Vec::new()));
        u32::MAX - allowed.steps
    }

    fn level() -> impl Strategy<Value = String> {
        prop_oneof![Just("a"), Just("a!"), Just("b"), Just(""), Just("$c"), Just("a0"), Just("é")]
            .prop_map(str::to_owned)
    }

    fn filter() -> impl Strategy<Value = String> {
        let single = prop_oneof![3 => level(), 2 => Just("+".to_owned())];
        (proptest::collection::vec(single, 0..5), any::<bool>())
            .prop_map(|(mut levels, multi)| {
                if multi || levels.is_empty() {
                    levels.push("#".to_owned());
                }
                levels.join("/")
            })
            .prop_filter("not empty", |filter| !filter.is_empty())
    }

    fn topic_name() -> impl Strategy<Value = String> {
        proptest::collection::vec(level(), 1..6)
            .prop_map(|levels| levels.join("/"))
            .prop_filter("not empty", |topic| !topic.is_empty())
    }

    proptest! {
        #[test]
        fn reading_agrees_with_the_rules_of_matching(
            topics in proptest::collection::btree_set(topic_name(), 0..60),
            filters in proptest::collection::vec(filter(), 1..20),
            steps in 1..20_u32,
        ) {
            let retained = Retained::default();
            topics.iter().for_each(|topic| set(&retained, topic));
            for filter in filters {
                let expected: Vec<&String> =
                    topics.iter().filter(|topic| topic::matches(&filter, topic)).collect();
                let found = read(&retained, &filter, steps);
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", filter);
            }
        }

        #[test]
        fn what_stays_is_read_once_whatever_comes_and_goes_meanwhile(
            stays in proptest::collection::btree_set(topic_name(), 0..40),
            others in proptest::collection::vec(topic_name(), 1..60),
            filter in filter(),
        ) {
            let retained = Retained::default();
            stays.iter().for_each(|topic| set(&retained, topic));
            let (mut place, mut found) = (Place::default(), Vec::new());
            for other in others.iter().cycle() {
                let mut allowed = Allowance { steps: 1, messages: 1 };
                if retained.take(&filter, &mut place, 0, &mut allowed, &mut found) {
                    break;
                }
                if !stays.contains(other) {
                    let payload = if retained.len() > stays.len() + 5 { "" } else { "x" };
                    retained.set(&publication(other, payload, None), None, 0).expect("there is room");
                }
            }
            let expected: Vec<&str> =
                stays.iter().map(String::as_str).filter(|topic| topic::matches(&filter, topic)).collect();
            let found: Vec<&str> =
                found.iter().map(|one| one.topic()).filter(|&topic| stays.contains(topic)).collect();
            prop_assert_eq!(found, expected, "{}", filter);
        }
    }

    #[test]
    fn only_branches_that_can_match_are_read() {
        let retained = Retained::default();
        for house in 0..1_000 {
            for room in 0..100 {
                set(&retained, &format!("house{house:04}/room{room:02}/light"));
            }
        }
        let taken = TAKEN_STEPS as u32;
        assert!(steps(&retained, "house0500/room50/light") <= 2 + taken);
        assert!(steps(&retained, "house0500/#") <= 101 + 100 * taken);
        assert!(steps(&retained, "house0500/+/light") <= 2 * 100 + 100 * taken);
        assert!(steps(&retained, "house0500/+/heating") <= 2 * 100);
        assert!(steps(&retained, "nowhere/+/light") <= 1);
        // A step or two for each house, whatever is in it.
        assert!(steps(&retained, "+/room50/light") <= (5 + taken) * 1_000);
        assert!(steps(&retained, "+/nothing/#") <= 5 * 1_000);
        assert!(steps(&retained, "+/room50") <= 5 * 1_000);
    }

    #[test]
    fn a_reader_stops_when_its_steps_are_used_up() {
        let retained = Retained::default();
        for device in 0..10_000 {
            set(&retained, &format!("dev{device:06}/status"));
        }
        let (mut place, mut found) = (Place::default(), Vec::new());
        let mut turns = 0;
        loop {
            let mut allowed = Allowance { steps: 512, messages: 64 };
            let over = retained.take("+/nothing", &mut place, 0, &mut allowed, &mut found);
            turns += 1;
            if over {
                break;
            }
            assert_eq!(allowed.steps, 0);
        }
        assert!(found.is_empty());
        assert!((10_000 / 512..=2 * 10_000 / 512 + 1).contains(&turns), "{turns}");
    }

    #[test]
    fn what_is_over_goes_when_it_is_and_before_one_is_refused() {
        let retained = Retained::new(RetainedLimits { messages_max: 3, ..RetainedLimits::default() });
        for (topic, ends) in [("a", Some(1_000)), ("b", Some(3_000)), ("c", None)] {
            retained.set(&publication(topic, "x", ends), None, 0).expect("there is room");
        }
        assert_eq!(retained.set(&publication("d", "x", None), None, 999), Err(Full::Store));
        assert_eq!(retained.next_end_ms(), Some(1_000));
        // It makes room at the exact time, without a new subscriber.
        assert!(retained.set(&publication("d", "x", None), None, 1_000).is_ok());
        assert_eq!((retained.len(), retained.next_end_ms()), (3, Some(3_000)));
        retained.expire(2_999);
        assert_eq!(retained.len(), 3);
        retained.expire(3_000);
        assert_eq!((retained.len(), retained.next_end_ms()), (2, None));
        assert_eq!(read(&retained, "#", 10), ["c", "d"]);
    }

    #[test]
    fn a_message_in_the_place_of_one_that_expires_stays() {
        let retained = Retained::default();
        retained.set(&publication("t", "old", Some(1_000)), None, 0).expect("there is room");
        retained.set(&publication("t", "new", None), None, 0).expect("there is room");
        retained.expire(5_000);
        assert_eq!((retained.len(), retained.next_end_ms()), (1, None));
        let bytes = retained.bytes();
        retained.set(&publication("t", "new", Some(9_000)), None, 5_000).expect("there is room");
        assert_eq!((retained.bytes(), retained.next_end_ms()), (bytes, Some(9_000)));
        retained.expire(9_000);
        assert_eq!((retained.bytes(), retained.len()), (0, 0));
    }

    #[test]
    fn many_that_are_over_go_some_at_a_time() {
        let retained = Retained::default();
        for number in 0..3 * EXPIRED_MAX {
            retained.set(&publication(&number.to_string(), "x", Some(7)), None, 0).expect("there is room");
        }
        retained.expire(7);
        assert_eq!(retained.len(), 2 * EXPIRED_MAX);
        assert_eq!(retained.next_end_ms(), Some(7));
        retained.expire(7);
        retained.expire(7);
        assert_eq!((retained.len(), retained.next_end_ms()), (0, None));
    }

    #[test]
    fn what_was_acknowledged_is_restored_over_a_lower_bound() {
        let retained = Retained::new(RetainedLimits { messages_max: 1, ..RetainedLimits::default() });
        restore(&retained, &publication("a", "x", None), None, 7);
        restore(&retained, &publication("b", "x", None), None, 9);
        assert_eq!(retained.len(), 2);
        assert_eq!(retained.set(&publication("c", "x", None), None, 0), Err(Full::Store));
        let stored = retained.set(&publication("b", "y", None), None, 0);
        assert_eq!(stored, Ok(Stored { owner: None, number: 10, prior: Prior::Some }));
        assert_eq!(
            retained.set(&publication("never", "", None), None, 0).map(|stored| stored.prior),
            Ok(Prior::None)
        );
    }

    /// A store in which an owner may have two messages, and 1,000 bytes.
    fn with_quota() -> Retained {
        let limits =
            RetainedLimits { owner_messages_max: 2, owner_bytes_max: 1_000, ..RetainedLimits::default() };
        Retained::new(limits)
    }

    fn usage(retained: &Retained, owner: &Owner) -> Usage {
        retained.read().owners.get(owner).copied().unwrap_or_default()
    }

    #[test]
    fn an_owner_fills_its_quota_and_nobody_elses() {
        let retained = with_quota();
        let (anna, bert) = (Owner::from("anna"), Owner::from("bert"));
        let set = |topic, payload: &str, owner, ends, now_ms| {
            retained.set(&publication(topic, payload, ends), owner, now_ms).map(|stored| stored.owner)
        };
        assert_eq!(set("a/1", "x", Some(&anna), None, 0), Ok(Some(Arc::clone(&anna))));
        assert_eq!(set("a/2", "x", Some(&anna), Some(1_000), 0), Ok(Some(Arc::clone(&anna))));
        assert_eq!(set("a/3", "x", Some(&anna), None, 0), Err(Full::Owner));
        // One of its own may be replaced, and others have room: the server, too.
        assert!(set("a/1", "y", Some(&anna), None, 0).is_ok());
        assert!(set("b/1", "x", Some(&bert), None, 0).is_ok());
        for topic in ["s/1", "s/2", "s/3"] {
            assert_eq!(set(topic, "x", None, None, 0), Ok(None));
        }
        // Expiry makes room, before a message is refused.
        assert!(set("a/3", "x", Some(&anna), None, 1_000).is_ok());
        assert_eq!(usage(&retained, &anna).messages, 2);
        // A removal does, whoever makes it, and is nobody's.
        assert_eq!(set("a/3", "", Some(&bert), None, 1_000), Ok(None));
        assert!(set("a/4", "x", Some(&anna), None, 1_000).is_ok());
    }

    #[test]
    fn a_replaced_message_is_its_new_owners() {
        let retained = with_quota();
        let (anna, bert) = (Owner::from("anna"), Owner::from("bert"));
        let set = |topic, payload: &str, owner| retained.set(&publication(topic, payload, None), owner, 0);
        set("t/1", "x", Some(&anna)).expect("there is room");
        set("t/2", "x", Some(&anna)).expect("there is room");
        set("t/1", "x", Some(&bert)).expect("there is room");
        assert_eq!((usage(&retained, &anna).messages, usage(&retained, &bert).messages), (1, 1));
        set("t/3", "x", Some(&anna)).expect("one of its messages is another's now");
        set("t/3", "x", None).expect("the server has no quota");
        set("t/4", "x", Some(&bert)).expect("there is room");
        // To take over a message is one more of its own.
        assert_eq!(set("t/2", "x", Some(&bert)), Err(Full::Owner));
        for topic in ["t/1", "t/2", "t/3", "t/4"] {
            set(topic, "", None).expect("a removal needs no room");
        }
        assert!(retained.read().owners.is_empty() && retained.bytes() == 0);
    }

    #[test]
    fn bytes_have_a_quota_too() {
        let retained = with_quota();
        let anna = Owner::from("anna");
        let set = |topic, bytes: usize| {
            retained.set(&publication(topic, &"x".repeat(bytes), None), Some(&anna), 0).map(|_| ())
        };
        assert_eq!(set("a/1", 1_001), Err(Full::Owner));
        assert_eq!(set("a/1", 600), Ok(()));
        assert_eq!(set("a/2", 600), Err(Full::Owner));
        assert_eq!(set("a/1", 800), Ok(()), "only what it adds counts");
        assert_eq!(usage(&retained, &anna).bytes, retained.bytes());
    }

    #[test]
    fn what_was_refused_later_gives_the_quota_back() {
        let retained = with_quota();
        let (anna, bert) = (Owner::from("anna"), Owner::from("bert"));
        let publication = |topic| publication(topic, "x", None);
        retained.set(&publication("t/1"), Some(&anna), 0).expect("there is room");
        let stored = retained.set_for_now(&publication("t/1"), Some(&bert), 0).expect("there is room");
        assert_eq!((usage(&retained, &anna).messages, usage(&retained, &bert).messages), (0, 1));
        retained.refuse("t/1", stored.number);
        assert_eq!((usage(&retained, &anna).messages, usage(&retained, &bert).messages), (1, 0));
    }

    #[test]
    fn owners_are_restored_and_a_message_without_one_counts_for_the_store_only() {
        let retained = with_quota();
        let anna = Owner::from("anna");
        for (topic, number) in [("a/1", 1), ("a/2", 2), ("a/3", 3)] {
            restore(&retained, &publication(topic, "x", None), Some(&anna), number);
        }
        restore(&retained, &publication("old", "x", None), None, 4);
        assert_eq!(usage(&retained, &anna).messages, 3);
        assert_eq!(retained.read().owners.len(), 1);
        assert_eq!(retained.set(&publication("a/4", "x", None), Some(&anna), 0), Err(Full::Owner));
    }
}
