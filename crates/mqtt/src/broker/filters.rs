//! Who subscribed to what: from a topic name to its subscribers.
//!
//! Filters without wildcards, nearly all of them, are found by one hash of the topic. Filters with
//! wildcards stand in a trie of levels as well. A filter's entry is created with its first subscription
//! and gone with its last; sessions refer to it by [`FilterId`] and to their place in it by position, so
//! that leaving a channel of a million subscribers costs the same as leaving one of two.

use compact_str::CompactString;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::Slab;
use smallvec::{SmallVec, smallvec};
use std::hash::BuildHasher;

use super::host::Grant;
use super::shared::GroupId;
use crate::packet::{QoS, RetainHandling, SubscriptionOptions};

const NONE: u32 = u32::MAX;

/// Names a topic filter of the index while it has subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FilterId(u32);

impl FilterId {
    /// The number of the filter, which is free again once it is removed.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A session's place in a filter's list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subscriber {
    pub session: u32,
    options: u8,
}

const QOS_BITS: u8 = 0b11;
const NO_LOCAL: u8 = 1 << 2;
const RETAIN_AS_PUBLISHED: u8 = 1 << 3;
const HAS_ID: u8 = 1 << 4;
const PARTLY: u8 = 1 << 5;

impl Subscriber {
    pub fn new(session: u32, options: SubscriptionOptions, has_id: HasId) -> Self {
        let mut bits = options.qos as u8;
        if options.no_local {
            bits |= NO_LOCAL;
        }
        if options.retain_as_published {
            bits |= RETAIN_AS_PUBLISHED;
        }
        if has_id == HasId::Yes {
            bits |= HAS_ID;
        }
        Self { session, options: bits }
    }

    pub fn qos(self) -> QoS {
        match self.options & QOS_BITS {
            0 => QoS::AtMostOnce,
            1 => QoS::AtLeastOnce,
            _ => QoS::ExactlyOnce,
        }
    }

    /// What was asked, as far as it still matters.
    pub fn options(self) -> SubscriptionOptions {
        SubscriptionOptions {
            qos: self.qos(),
            no_local: self.no_local(),
            retain_as_published: self.retain_as_published(),
            retain_handling: RetainHandling::Send,
        }
    }

    pub fn no_local(self) -> bool {
        self.options & NO_LOCAL != 0
    }

    pub fn retain_as_published(self) -> bool {
        self.options & RETAIN_AS_PUBLISHED != 0
    }

    pub fn has_id(self) -> bool {
        self.options & HAS_ID != 0
    }

    /// The same, as the rules grant it.
    pub fn granted(mut self, grant: Grant) -> Self {
        match grant {
            Grant::Whole => self.options &= !PARTLY,
            Grant::Partly | Grant::Denied => self.options |= PARTLY,
        }
        self
    }

    /// Whether each message is to be authorised before it is delivered.
    pub fn is_partly_granted(self) -> bool {
        self.options & PARTLY != 0
    }
}

/// Whether a subscription has an identifier, kept in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasId {
    Yes,
    No,
}

/// Nearly every filter is an inbox with one subscriber, so the rare cases pay for the indirection that
/// keeps an entry small.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "a pointer instead of three words in each entry")]
enum Subscribers {
    #[default]
    Nobody,
    One(Subscriber),
    Many(Box<Vec<Subscriber>>),
}

#[derive(Debug)]
#[expect(clippy::box_collection, reason = "as for Subscribers")]
struct Entry {
    /// Kept inside the entry up to 24 bytes.
    filter: CompactString,
    subscribers: Subscribers,
    groups: Option<Box<Vec<GroupId>>>,
    /// Where a filter with wildcards ends in the trie.
    node: u32,
}

#[derive(Debug)]
struct Node {
    level: Box<str>,
    parent: u32,
    children: u32,
    plus: u32,
    /// The filter that ends here.
    here: u32,
    /// The filter that ends here with `/#`.
    below: u32,
}

/// The subscription index of one broker.
#[derive(Debug)]
pub(super) struct Filters {
    entries: Slab<Entry>,
    by_text: HashTable<u32>,
    nodes: Slab<Node>,
    /// Child nodes by parent and level; `+` children are linked from their parent instead.
    edges: HashTable<u32>,
    hasher: FixedState,
    root: u32,
    wildcards: usize,
    subscriptions: usize,
}

/// What a subscription changed.
pub(super) struct Added {
    pub filter: FilterId,
    pub position: u32,
    /// The filter had no subscription before.
    pub first: bool,
}

impl Filters {
    pub fn new() -> Self {
        let mut nodes = Slab::new();
        let root = index(nodes.insert(Node::new("", NONE)));
        Self {
            entries: Slab::new(),
            by_text: HashTable::new(),
            nodes,
            edges: HashTable::new(),
            hasher: FixedState::default(),
            root,
            wildcards: 0,
            subscriptions: 0,
        }
    }

    /// Subscriptions held, one for each session and filter.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions
    }

    pub fn find(&self, filter: &str) -> Option<FilterId> {
        let hash = self.hasher.hash_one(filter);
        self.by_text.find(hash, |&at| &*self.entries[at as usize].filter == filter).map(|&at| FilterId(at))
    }

    pub fn text(&self, id: FilterId) -> &str {
        &self.entries[id.0 as usize].filter
    }

    /// Adds a subscriber that is not in the filter's list yet.
    pub fn add(&mut self, filter: &str, subscriber: Subscriber) -> Added {
        let id = self.find_or_create(filter);
        self.subscriptions += 1;
        let entry = &mut self.entries[id.0 as usize];
        let first = matches!(entry.subscribers, Subscribers::Nobody) && entry.groups.is_none();
        let position = match &mut entry.subscribers {
            Subscribers::Nobody => {
                entry.subscribers = Subscribers::One(subscriber);
                0
            }
            Subscribers::One(before) => {
                entry.subscribers = Subscribers::Many(Box::new(vec![*before, subscriber]));
                1
            }
            Subscribers::Many(many) => {
                many.push(subscriber);
                index(many.len() - 1)
            }
        };
        Added { filter: id, position, first }
    }

    /// The subscriber that stands at `position`.
    pub fn subscriber(&self, id: FilterId, position: u32) -> Option<Subscriber> {
        match &self.entries[id.0 as usize].subscribers {
            Subscribers::Nobody => None,
            Subscribers::One(one) => Some(*one),
            Subscribers::Many(many) => many.get(position as usize).copied(),
        }
    }

    /// Replaces the options of a subscriber that stands at `position`.
    pub fn replace(&mut self, id: FilterId, position: u32, subscriber: Subscriber) {
        match &mut self.entries[id.0 as usize].subscribers {
            Subscribers::Nobody => {}
            Subscribers::One(one) => *one = subscriber,
            Subscribers::Many(many) => many[position as usize] = subscriber,
        }
    }

    /// Takes the subscriber at `position` away. The last subscriber of the list takes its place: its
    /// session is returned, so that the caller can notify it. Call [`Filters::tidy`] afterwards.
    #[must_use]
    pub fn remove(&mut self, id: FilterId, position: u32) -> Option<u32> {
        self.subscriptions -= 1;
        let entry = &mut self.entries[id.0 as usize];
        match &mut entry.subscribers {
            Subscribers::Nobody => None,
            Subscribers::One(_) => {
                entry.subscribers = Subscribers::Nobody;
                None
            }
            Subscribers::Many(many) => {
                many.swap_remove(position as usize);
                let moved = many.get(position as usize).map(|subscriber| subscriber.session);
                if many.is_empty() {
                    entry.subscribers = Subscribers::Nobody;
                } else if many.capacity() > 64 && many.len() < many.capacity() / 4 {
                    many.shrink_to(many.len() * 2);
                }
                moved
            }
        }
    }

    /// Removes the filter if nobody subscribes to it any more, and returns whether it did.
    pub fn tidy(&mut self, id: FilterId) -> Option<CompactString> {
        let entry = &self.entries[id.0 as usize];
        if !matches!(entry.subscribers, Subscribers::Nobody) || entry.groups.is_some() {
            return None;
        }
        let entry = self.entries.remove(id.0 as usize);
        let hash = self.hasher.hash_one(&*entry.filter);
        if let Ok(found) = self.by_text.find_entry(hash, |&at| at == id.0) {
            found.remove();
        }
        if entry.node != NONE {
            self.wildcards -= 1;
            self.prune(entry.node, entry.filter.ends_with('#'));
        }
        Some(entry.filter)
    }

    pub fn subscribers(&self, id: FilterId) -> &[Subscriber] {
        match &self.entries[id.0 as usize].subscribers {
            Subscribers::Nobody => &[],
            Subscribers::One(one) => std::slice::from_ref(one),
            Subscribers::Many(many) => many,
        }
    }

    pub fn groups(&self, id: FilterId) -> &[GroupId] {
        self.entries[id.0 as usize].groups.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Adds a shared subscription group to a filter; returns whether the filter is new.
    pub fn add_group(&mut self, filter: &str, group: GroupId) -> (FilterId, bool) {
        let id = self.find_or_create(filter);
        let entry = &mut self.entries[id.0 as usize];
        let first = matches!(entry.subscribers, Subscribers::Nobody) && entry.groups.is_none();
        entry.groups.get_or_insert_with(Box::default).push(group);
        (id, first)
    }

    /// Takes a group away. Call [`Filters::tidy`] afterwards.
    pub fn remove_group(&mut self, id: FilterId, group: GroupId) {
        let entry = &mut self.entries[id.0 as usize];
        if let Some(groups) = &mut entry.groups {
            groups.retain(|&other| other != group);
            if groups.is_empty() {
                entry.groups = None;
            }
        }
    }

    /// Appends every filter that matches the topic (MQTT 5.0 section 4.7).
    pub fn matching(&self, topic: &str, matched: &mut Vec<FilterId>) {
        if let Some(id) = self.find(topic) {
            matched.push(id);
        }
        if self.wildcards > 0 {
            self.walk(topic, matched);
        }
    }

    /// Goes down the trie without recursion: a filter may be as deep as it is long.
    fn walk(&self, topic: &str, matched: &mut Vec<FilterId>) {
        // Nodes with where the rest of the topic begins; none behind its last level.
        let mut open: SmallVec<[(u32, Option<usize>); 32]> = smallvec![(self.root, Some(0))];
        while let Some((at, rest)) = open.pop() {
            let node = &self.nodes[at as usize];
            // A wildcard at the first level does not match topics of the server's own [MQTT-4.7.2-1].
            let wild = at != self.root || !topic.starts_with('$');
            if wild && node.below != NONE {
                matched.push(FilterId(node.below));
            }
            let Some(from) = rest else {
                if node.here != NONE {
                    matched.push(FilterId(node.here));
                }
                continue;
            };
            if node.children == 0 {
                continue;
            }
            let (level, rest) = match topic[from..].split_once('/') {
                Some((level, _)) => (level, Some(from + level.len() + 1)),
                None => (&topic[from..], None),
            };
            if let Some(child) = self.child(at, level) {
                open.push((child, rest));
            }
            if wild && node.plus != NONE {
                open.push((node.plus, rest));
            }
        }
    }

    fn find_or_create(&mut self, filter: &str) -> FilterId {
        if let Some(id) = self.find(filter) {
            return id;
        }
        let at = index(self.entries.insert(Entry {
            filter: filter.into(),
            subscribers: Subscribers::Nobody,
            groups: None,
            node: NONE,
        }));
        let entries = &self.entries;
        let hasher = &self.hasher;
        self.by_text
            .insert_unique(hasher.hash_one(filter), at, |&at| hasher.hash_one(&*entries[at as usize].filter));
        if filter.contains(['+', '#']) {
            self.wildcards += 1;
            let node = self.plant(filter, at);
            self.entries[at as usize].node = node;
        }
        FilterId(at)
    }

    fn plant(&mut self, filter: &str, entry: u32) -> u32 {
        let mut at = self.root;
        for level in filter.split('/') {
            if level == "#" {
                self.nodes[at as usize].below = entry;
                return at;
            }
            at = match self.child(at, level) {
                Some(child) => child,
                None => self.grow(at, level),
            };
        }
        self.nodes[at as usize].here = entry;
        at
    }

    fn child(&self, parent: u32, level: &str) -> Option<u32> {
        if level == "+" {
            let plus = self.nodes[parent as usize].plus;
            return (plus != NONE).then_some(plus);
        }
        let hash = self.hasher.hash_one((parent, level));
        self.edges
            .find(hash, |&at| {
                let node = &self.nodes[at as usize];
                node.parent == parent && &*node.level == level
            })
            .copied()
    }

    fn grow(&mut self, parent: u32, level: &str) -> u32 {
        let at = index(self.nodes.insert(Node::new(level, parent)));
        self.nodes[parent as usize].children += 1;
        if level == "+" {
            self.nodes[parent as usize].plus = at;
        } else {
            let (nodes, hasher) = (&self.nodes, &self.hasher);
            self.edges.insert_unique(hasher.hash_one((parent, level)), at, |&at| {
                let node = &nodes[at as usize];
                hasher.hash_one((node.parent, &*node.level))
            });
        }
        at
    }

    fn prune(&mut self, node: u32, multi_level: bool) {
        if multi_level {
            self.nodes[node as usize].below = NONE;
        } else {
            self.nodes[node as usize].here = NONE;
        }
        let mut at = node;
        while at != self.root {
            let Node { parent, children, here, below, .. } = self.nodes[at as usize];
            if children > 0 || here != NONE || below != NONE {
                return;
            }
            let gone = self.nodes.remove(at as usize);
            if &*gone.level == "+" {
                self.nodes[parent as usize].plus = NONE;
            } else {
                let hash = self.hasher.hash_one((parent, &*gone.level));
                if let Ok(found) = self.edges.find_entry(hash, |&other| other == at) {
                    found.remove();
                }
            }
            self.nodes[parent as usize].children -= 1;
            at = parent;
        }
    }

    /// Whether anything is left over, for tests: an index that lost its last filter must be as new.
    #[cfg(test)]
    pub fn is_pristine(&self) -> bool {
        self.entries.is_empty() && self.by_text.is_empty() && self.nodes.len() == 1 && self.edges.is_empty()
    }
}

impl Node {
    fn new(level: &str, parent: u32) -> Self {
        Self { level: level.into(), parent, children: 0, plus: NONE, here: NONE, below: NONE }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("subscriptions are bounded far below 2^32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::RetainHandling;
    use crate::topic;
    use proptest::prelude::*;

    fn subscriber(session: u32) -> Subscriber {
        let options = SubscriptionOptions {
            qos: QoS::AtLeastOnce,
            no_local: false,
            retain_as_published: true,
            retain_handling: RetainHandling::Send,
        };
        Subscriber::new(session, options, HasId::No)
    }

    fn level() -> impl Strategy<Value = String> {
        prop_oneof![Just("a"), Just("b"), Just(""), Just("$c"), Just("dd")].prop_map(str::to_owned)
    }

    fn filter() -> impl Strategy<Value = String> {
        let single = prop_oneof![3 => level(), 1 => Just("+".to_owned())];
        (proptest::collection::vec(single, 1..5), any::<bool>()).prop_map(|(mut levels, multi)| {
            if multi {
                levels.push("#".to_owned());
            }
            levels.join("/")
        })
    }

    proptest! {
        #[test]
        fn index_agrees_with_the_rules_of_matching(
            filters in proptest::collection::hash_set(filter().prop_filter("not empty", |f| !f.is_empty()), 1..20),
            topics in proptest::collection::vec(proptest::collection::vec(level(), 1..6), 1..20),
        ) {
            let mut index = Filters::new();
            let mut ids = Vec::new();
            for (session, filter) in filters.iter().enumerate() {
                ids.push(index.add(filter, subscriber(session as u32)).filter);
            }
            for levels in topics {
                let topic = levels.join("/");
                if topic.is_empty() { continue; }
                let mut matched = Vec::new();
                index.matching(&topic, &mut matched);
                let mut found: Vec<&str> = matched.iter().map(|&id| index.text(id)).collect();
                let mut expected: Vec<&str> =
                    filters.iter().map(String::as_str).filter(|filter| topic::matches(filter, &topic)).collect();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected, "topic {}", topic);
            }
            for id in ids {
                let _ = index.remove(id, 0);
                index.tidy(id);
            }
            prop_assert!(index.is_pristine());
        }
    }

    #[test]
    fn the_last_subscriber_takes_the_place_of_one_that_leaves() {
        let mut index = Filters::new();
        let id = index.add("news", subscriber(7)).filter;
        index.add("news", subscriber(8));
        index.add("news", subscriber(9));
        assert_eq!(index.remove(id, 0), Some(9));
        assert_eq!(index.subscribers(id).iter().map(|s| s.session).collect::<Vec<_>>(), [9, 8]);
        assert_eq!(index.remove(id, 1), None);
        assert!(index.tidy(id).is_none());
        assert_eq!(index.remove(id, 0), None);
        assert_eq!(index.tidy(id).as_deref(), Some("news"));
    }
}
