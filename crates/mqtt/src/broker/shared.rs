//! Shared subscriptions: each message goes to one member of the group (MQTT 5.0 section 4.8.2).
//!
//! A group lives in the broker of one loop, its home, which every publish that may match reaches; its
//! members may be sessions of any loop. Members that are connected take turns; while none is, the turns
//! go round those whose sessions are kept.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::Slab;

use super::durable::{Origin, ReplyTo};
use super::filters::FilterId;
use super::host::LoopIndex;
use super::publication::Publication;
use super::session::{SessionKey, SharedId};
use crate::packet::SubscriptionOptions;

/// Names a group of this broker.
pub(super) type GroupId = u32;

/// The messages of brokers of different loops about shared subscriptions.
#[derive(Debug, Clone)]
pub enum GroupMessage {
    /// A session joins, or changes its options.
    Join(Box<Join>),
    /// A session leaves the group of this filter.
    Leave {
        /// `$share/GROUP/FILTER`.
        filter: Box<str>,
        /// Who.
        member: MemberRef,
    },
    /// A member's client connected or went away.
    Presence {
        /// `$share/GROUP/FILTER`.
        filter: Box<str>,
        /// Who.
        member: MemberRef,
        /// Which of the two.
        presence: Presence,
    },
    /// It is this member's turn.
    Deliver {
        /// `$share/GROUP/FILTER`.
        filter: Arc<str>,
        /// The home of the group, where it goes back to if the member is gone.
        home: LoopIndex,
        /// Whose turn.
        member: SessionKey,
        /// With these options.
        options: SubscriptionOptions,
        /// And this subscription identifier.
        subscription_id: Option<u32>,
        /// What the member's session calls the subscription.
        shared: SharedId,
        /// The message.
        publication: Arc<Publication>,
        /// Where a session that persists published it at QoS 2.
        origin: Option<Origin>,
        /// The receiver of the report that it is kept, where the member's session persists.
        reply_to: Option<ReplyTo>,
        /// Some topics of the filter are denied to the member.
        is_partly_granted: bool,
        /// Members that had their turn before and may not read the message.
        skipped: usize,
    },
    /// The member whose turn it was is gone, before or after it was sent the message and without having
    /// acknowledged it, or may not read it; another one must get it.
    Return {
        /// `$share/GROUP/FILTER`.
        filter: Arc<str>,
        /// The message.
        publication: Arc<Publication>,
        /// Where a session that persists published it at QoS 2.
        origin: Option<Origin>,
        /// The receiver of the report that it is kept, or that it need not be.
        reply_to: Option<ReplyTo>,
        /// Members that may not read the message.
        skipped: usize,
    },
}

/// See [`GroupMessage::Join`].
#[derive(Debug, Clone)]
pub struct Join {
    /// `$share/GROUP/FILTER`.
    pub filter: Box<str>,
    /// Who.
    pub member: MemberRef,
    /// How.
    pub options: SubscriptionOptions,
    /// Its subscription identifier.
    pub subscription_id: Option<u32>,
    /// What its session calls the subscription.
    pub shared: SharedId,
    /// Whether it is connected now.
    pub presence: Presence,
    /// Whether its session is kept by the host.
    pub durable: bool,
    /// Some topics of the filter are denied to it, see [`super::Grant::Partly`].
    pub is_partly_granted: bool,
    /// Who hears when the group has it: its SUBACK promises that messages reach it.
    pub reply_to: Option<ReplyTo>,
}

/// A session somewhere on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberRef {
    /// Its loop.
    pub at: LoopIndex,
    /// Its key there.
    pub session: SessionKey,
}

/// Whether a member's client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Connected.
    Here,
    /// Away, with its session kept.
    Away,
}

#[derive(Debug)]
pub(super) struct Member {
    pub who: MemberRef,
    pub options: SubscriptionOptions,
    pub subscription_id: Option<u32>,
    pub shared: SharedId,
    pub presence: Presence,
    pub durable: bool,
    pub is_partly_granted: bool,
}

#[derive(Debug)]
pub(super) struct Group {
    pub text: Arc<str>,
    pub filter: FilterId,
    pub members: Vec<Member>,
    /// Of those: sessions that are kept. A message whose turn another one had may come to them.
    kept: usize,
    turn: usize,
}

impl Group {
    pub fn new(text: &str, filter: FilterId) -> Self {
        Self { text: text.into(), filter, members: Vec::new(), kept: 0, turn: 0 }
    }

    /// Whose turn it is.
    pub fn next(&mut self) -> Option<&Member> {
        let turn = self.turn()?;
        self.turn = (turn + 1) % self.members.len();
        Some(&self.members[turn])
    }

    /// Whose turn it is, without taking it.
    pub fn peek(&self) -> Option<&Member> {
        Some(&self.members[self.turn()?])
    }

    fn turn(&self) -> Option<usize> {
        let len = self.members.len();
        if len == 0 {
            return None;
        }
        let start = self.turn;
        let here = |at: &usize| self.members[*at].presence == Presence::Here;
        Some((0..len).map(|step| (start + step) % len).find(here).unwrap_or(start % len))
    }

    pub fn join(&mut self, join: &Join) {
        let member = Member {
            who: join.member,
            options: join.options,
            subscription_id: join.subscription_id,
            shared: join.shared,
            presence: join.presence,
            durable: join.durable,
            is_partly_granted: join.is_partly_granted,
        };
        match self.members.iter_mut().find(|other| other.who == member.who) {
            Some(same) => *same = member,
            None => self.members.push(member),
        }
        self.count_kept();
    }

    pub fn leave(&mut self, who: MemberRef) {
        self.members.retain(|member| member.who != who);
        self.count_kept();
    }

    fn count_kept(&mut self) {
        self.kept = self.members.iter().filter(|member| member.durable).count();
    }

    /// Whether a session that is kept may get a message of the group.
    pub fn may_be_kept(&self) -> bool {
        self.kept > 0
    }

    pub fn presence(&mut self, who: MemberRef, presence: Presence) {
        if let Some(member) = self.members.iter_mut().find(|member| member.who == who) {
            member.presence = presence;
        }
    }
}

/// The groups whose home is this broker, found by their texts.
#[derive(Debug, Default)]
pub(super) struct Groups {
    slots: Slab<Group>,
    by_text: HashTable<GroupId>,
    hasher: FixedState,
}

impl Groups {
    pub fn find(&self, text: &str) -> Option<GroupId> {
        let is_it = |&id: &GroupId| &*self.slots[id as usize].text == text;
        self.by_text.find(self.hasher.hash_one(text), is_it).copied()
    }

    /// Adds a group, which has [`Self::next_id`] then.
    pub fn insert(&mut self, group: Group) -> GroupId {
        let Self { slots, by_text, hasher } = self;
        let hash = hasher.hash_one(&*group.text);
        let id =
            u32::try_from(slots.insert(group)).expect("groups are bounded by subscriptions, far below 2^32");
        by_text.insert_unique(hash, id, |&id| hasher.hash_one(&*slots[id as usize].text));
        id
    }

    pub fn next_id(&self) -> GroupId {
        u32::try_from(self.slots.vacant_key()).expect("groups are bounded by subscriptions, far below 2^32")
    }

    pub fn group_mut(&mut self, id: GroupId) -> &mut Group {
        &mut self.slots[id as usize]
    }

    pub fn remove(&mut self, id: GroupId) -> Group {
        let group = self.slots.remove(id as usize);
        if let Ok(found) = self.by_text.find_entry(self.hasher.hash_one(&*group.text), |&other| other == id) {
            found.remove();
        }
        group
    }
}
