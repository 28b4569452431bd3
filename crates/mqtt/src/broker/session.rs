//! What the server remembers about a client (MQTT 5.0 section 4.1).
//!
//! A session exists while its client is connected and for its expiry interval after that. The common
//! case, a phone that listens to two filters and sends nothing, is the struct itself; whatever only
//! some clients need hangs off [`Rare`]. A [`SessionKey`] stays valid for one session: a slot that
//! was used again has another generation.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::deadlines::{Deadlines, Due};
use super::durable::{Again, Held as HeldAnswer, ShardSet, Then};
use super::flight::List;
use super::packet_ids::PacketIds;
use super::parts::Line;
use super::publication::Publication;
use super::replay::Replays;
use super::shares::Shares;
use crate::packet::Version;

/// Names a session of this broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl SessionKey {
    /// No session: messages of the server itself come from here.
    pub const NONE: Self = Self { index: u32::MAX, generation: 0 };
}

/// One client's session.
#[derive(Debug)]
pub(super) struct Session<L, I> {
    /// Kept inside the session up to 24 bytes, which most client ids are.
    pub client_id: CompactString,
    pub identity: I,
    /// The connection that speaks for it now.
    pub link: Option<L>,
    /// Two fit into the session itself: a device has its inbox and a channel.
    pub subscriptions: SmallVec<[Held; 2]>,
    pub rare: Option<Box<Rare<L>>>,
    /// Sent and not yet acknowledged, in the order sent.
    pub in_flight: List,
    /// Waiting for room in the client's receive maximum, or for the client itself.
    pub queued: List,
    pub generation: u32,
    /// Seconds; `u32::MAX` never expires.
    pub expiry_s: u32,
    /// Largest packet the client takes.
    pub packet_bytes_max: u32,
    /// The packet id given last.
    pub last_packet_id: u16,
    /// Deliveries that may be in flight at once.
    pub receive_maximum: u16,
    pub keep_alive_s: u16,
    pub version: Version,
    /// Packet ids have come round to one that is still in flight.
    pub came_round: bool,
    /// The host keeps it: it persists, or did when it began.
    pub durable: bool,
}

/// A subscription, as the session sees it. The options live in the index, beside the other subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub filter: super::filters::FilterId,
    /// Where this session stands in the filter's list of subscribers.
    pub position: u32,
}

/// What only some sessions need.
#[derive(Debug)]
pub(super) struct Rare<L> {
    pub will: Option<HeldWill>,
    /// When the will of a client that went away is published, unless it returns before.
    pub will_at: Timer,
    /// When the session of a client that went away ends, unless it returns before.
    pub ends_at: Timer,
    /// Topics by alias, index 0 is alias 1.
    pub aliases: Vec<Option<Box<str>>>,
    /// Packet ids of QoS 2 messages received and not yet released.
    pub unreleased: PacketIds,
    /// How many of them are of connections before this one: a Receive Maximum counts the messages of one connection.
    pub unreleased_before: usize,
    /// Subscription identifiers by filter.
    pub subscription_ids: Vec<(super::filters::FilterId, u32)>,
    /// Shared subscriptions.
    pub shared: Shares,
    /// Distinguishes it from sessions before it with the same client id, where the host keeps it.
    pub incarnation: u64,
    /// The number of the queued message that was kept last.
    pub last_queued_message: u32,
    /// Answers that wait until something is durable, and those behind them.
    pub held: VecDeque<HeldAnswer>,
    /// The place of the first of them.
    pub held_first: u32,
    /// Retained messages that its subscriptions are still to get.
    pub replays: Replays,
    /// Deliveries that it is owed durably and may not be sent yet.
    pub line: VecDeque<Line>,
    /// Of those unreleased: whose PUBREC is held back.
    pub waiting: PacketIds,
    /// Packet ids whose PUBCOMP is held back.
    pub releasing: PacketIds,
    /// Packets that its client sent again on this connection while their answers are held back.
    pub again: Vec<Again>,
    /// Of those unreleased: those that the host has noted, each with the shards that were asked to keep its message; none where that is
    /// not known any more, because the server was started anew. And packet ids of publishes that were neither taken nor refused: shards
    /// may have them, so that their repeats are not refused.
    pub noted: BTreeMap<u16, Option<ShardSet>>,
    /// It was given back when the server started.
    pub came_back: bool,
    /// Where it came back: packet ids used since, whose publishes of before the restart every shard was asked to forget.
    pub cleared: PacketIds,
    /// It was reported to the host.
    pub reported: bool,
    /// Its will, while it becomes durable for those who are owed it.
    pub will_on_its_way: Option<Then>,
    /// A connection whose CONNECT waits until it is durable.
    pub arriving: Option<Box<(L, Arriving)>>,
    /// Something could not be kept: all of it is reported to the host at the next CONNECT.
    pub out_of_step: bool,
}

/// A connection that is let in when its CONNECT is durable.
#[derive(Debug)]
pub(super) struct Arriving {
    /// The CONNACK.
    pub connack: Vec<u8>,
    pub will: Option<HeldWill>,
    /// The session was there before.
    pub present: bool,
}

/// A time that a session waits for, and the entry that it has among the broker's deadlines.
///
/// Entries are not taken back, so one is only added when none fires early enough: a client that comes
/// and goes all day has one entry, not one for each time.
#[derive(Debug)]
pub(super) struct Timer {
    /// The time; `u64::MAX` for never.
    pub at_ms: u64,
    /// The earliest entry among the deadlines; `u64::MAX` for none.
    entry_ms: u64,
}

impl Default for Timer {
    fn default() -> Self {
        Self { at_ms: u64::MAX, entry_ms: u64::MAX }
    }
}

impl Timer {
    pub fn set(&mut self, at_ms: u64, due: Due, session: SessionKey, deadlines: &mut Deadlines) {
        self.at_ms = at_ms;
        if at_ms < self.entry_ms {
            self.entry_ms = at_ms;
            deadlines.set(at_ms, due, session);
        }
    }

    pub fn cancel(&mut self) {
        self.at_ms = u64::MAX;
    }

    /// The entry of `entry_ms` fired: whether the time has come. If it has not, a new entry is
    /// made.
    pub fn fired(
        &mut self,
        entry_ms: u64,
        now_ms: u64,
        due: Due,
        session: SessionKey,
        all: &mut Deadlines,
    ) -> bool {
        if self.entry_ms == entry_ms {
            self.entry_ms = u64::MAX;
        }
        if self.at_ms <= now_ms {
            self.at_ms = u64::MAX;
            return true;
        }
        if self.at_ms != u64::MAX {
            self.set(self.at_ms, due, session, all);
        }
        false
    }
}

/// Names one of a session's shared subscriptions, so that a delivery remembers which one it came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SharedId(u16);

impl SharedId {
    /// By no shared subscription.
    pub const NONE: Self = Self(0);

    /// The one with this number; 0 for none.
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// A will that the server holds for a connected client.
#[derive(Debug)]
pub(super) struct HeldWill {
    /// Distinguishes it from the wills before it; 0 for one of which that is not known.
    pub id: u64,
    pub publication: Arc<Publication>,
    pub delay_s: u32,
    /// Message Expiry Interval, which counts from the time at which the will is published.
    pub expiry_s: Option<u32>,
}

impl<L> Default for Rare<L> {
    fn default() -> Self {
        Self {
            will: None,
            will_at: Timer::default(),
            ends_at: Timer::default(),
            aliases: Vec::new(),
            unreleased: PacketIds::default(),
            unreleased_before: 0,
            subscription_ids: Vec::new(),
            shared: Shares::default(),
            incarnation: 0,
            last_queued_message: 0,
            held: VecDeque::new(),
            held_first: 0,
            replays: Replays::default(),
            line: VecDeque::new(),
            waiting: PacketIds::default(),
            releasing: PacketIds::default(),
            again: Vec::new(),
            noted: BTreeMap::new(),
            cleared: PacketIds::default(),
            came_back: false,
            reported: false,
            will_on_its_way: None,
            arriving: None,
            out_of_step: false,
        }
    }
}

impl<L> Rare<L> {
    /// The number of the next queued message; never 0.
    pub fn next_queued_message(&mut self) -> u32 {
        self.last_queued_message = self.last_queued_message.wrapping_add(1).max(1);
        self.last_queued_message
    }

    /// Gives up answers that are held back: their connection is gone.
    pub fn drop_held(&mut self) {
        self.held_first = self.held_first.wrapping_add(self.held.len() as u32);
        self.held.clear();
        self.again.clear();
    }
}

impl<L: Copy, I> Session<L, I> {
    pub fn key(&self, index: u32) -> SessionKey {
        SessionKey { index, generation: self.generation }
    }

    pub fn rare(&mut self) -> &mut Rare<L> {
        self.rare.get_or_insert_with(Box::default)
    }

    /// Its connection, let in or not.
    pub fn any_link(&self) -> Option<L> {
        self.link.or_else(|| self.rare.as_ref()?.arriving.as_ref().map(|arriving| arriving.0))
    }

    /// Whether it is kept when its connection ends.
    pub fn persists(&self) -> bool {
        self.expiry_s > 0
    }

    /// Whether it has this shared subscription.
    pub fn is_member_of(&self, group_filter: &str) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.shared.find(group_filter).is_some())
    }

    pub fn is_shared_empty(&self) -> bool {
        self.rare.as_ref().is_none_or(|rare| rare.shared.is_empty())
    }
}
