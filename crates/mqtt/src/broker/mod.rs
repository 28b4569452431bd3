//! The server half of MQTT as one state machine without I/O.
//!
//! A [`Broker`] holds the sessions of one event loop, their subscriptions and what is unfinished between
//! the server and its clients. It takes packets, closed connections and the time, and calls its
//! [`Host`] to send packets and to cut connections. Brokers of several loops share the retained
//! store and reach each other through their hosts: a client id lives on one loop, a shared
//! subscription group on one, and a publish goes to every loop that has a matching subscription.
//!
//! Modules are by event: [`connect`], [`publish`] and [`application`], [`deliver`], [`acknowledge`],
//! [`subscribe`], [`replay`] of retained messages, [`request`] to a service.

mod acknowledge;
mod application;
mod connect;
mod deadlines;
mod deliver;
mod durable;
mod filter_index;
mod filters;
mod flight;
mod group;
mod host;
mod inbox;
mod mailbox;
mod packet_ids;
mod parts;
mod publication;
mod publish;
mod purge;
mod replay;
mod request;
mod restore;
mod retained;
mod session;
mod shared;
mod shares;
mod subscribe;
pub mod testing;
mod topics;
mod view;

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::Slab;

pub use application::Published;
pub use connect::{Admitted, Arrival, refuse, refuse_within};
pub use durable::{
    Away, Change, Connected, Keep, KeptSubscription, KeptWill, Origin, Persisted, PublishId, PurgeId,
    Receiver, ReplyTo, ShardSet, Then,
};
pub use filter_index::FilterIndex;
pub use host::{Action, Client, Close, Drop, Event, Grant, Host, Interest, LoopIndex, Progress, Uplink};
pub use mailbox::{InMemory, MailboxLimits, Mailboxes, QueuedMessage};
pub use parts::{Decides, Part, Retain, Verdict, Withdraw};
pub use publication::{Expired, Head, Message, Publication, TRANSIENT_RECEIPT};
pub use purge::Purging;
pub use request::{AnswerTo, Answered, NotTaken, ROUTE_BYTES_MAX, Request};
pub use restore::{Restored, RestoredMessage, RestoredSubscription, RestoredWill};
pub use retained::{
    Full, Owner, Prior, RestoredRetained, Retained, RetainedLimits, RetainedPage, RetainedQuery,
    RetainedSummary, Stored,
};
pub use session::{SessionKey, SharedId};
pub use shared::{GroupMessage, Join, MemberRef, Presence};
pub use view::{SessionView, Totals};

use crate::decode::{self, DecodeError, Frame};
use crate::packet::{AckKind, PacketType, Role, Version};
use crate::reason::ReasonCode;
use deadlines::{Deadlines, Due};
use durable::{Pendings, PublishedBy};
use filters::{FilterId, Filters};
use flight::Flights;
use parts::Unkept;
use publication::Pool;
use session::Session;
use shared::Groups;

/// What a broker promises its clients, and the bounds it keeps.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which loop this broker serves.
    pub loop_index: LoopIndex,
    /// Largest packet taken from a client, in bytes, header included.
    pub packet_bytes_max: u32,
    /// QoS 2 messages an MQTT 5.0 client may have unreleased (Receive Maximum of the CONNACK).
    /// 3.1.1 has no such bound: there it is the number of packet ids.
    pub receive_maximum: u16,
    /// Topic aliases a client may set (Topic Alias Maximum of the CONNACK).
    pub topic_alias_maximum: u16,
    /// Keep alive in seconds that a client is held to when it asks for none or for more; 0 for no bound.
    pub keep_alive_s_max: u16,
    /// Seconds a session may outlive its connection. A 3.1.1 session that is not clean gets this.
    pub session_expiry_s_max: u32,
    /// Deliveries at QoS 1 and 2 in flight to one client, whatever more it would take.
    pub in_flight_max: u16,
    /// Deliveries that wait for a connected client with a full window. For one more the oldest goes.
    pub queued_max: u32,
    /// Subscriptions of one session; one more is answered with Quota exceeded.
    pub subscriptions_max: usize,
    /// Levels of a topic name or filter. A name with more is answered with Topic Name invalid, a
    /// filter with Topic Filter invalid.
    pub topic_levels_max: usize,
    /// Sessions of this broker; one more is answered with Server busy.
    pub sessions_max: usize,
    /// Retained messages sent for one new subscription; the rest is left out, and that is counted.
    /// 0 for all there are.
    pub retained_per_subscription_max: usize,
    /// Prefix of the Response Information given to clients that ask: `PREFIX/CLIENT ID`.
    pub response_topic_prefix: Option<Box<str>>,
    /// First level of the topics that are requests to services: `PREFIX/SERVICE/METHOD`. `None`
    /// where there are no services: then such a topic is like any other.
    pub request_prefix: Option<Box<str>>,
    /// First level of the topics by which a client asks for itself: `PREFIX/ACTION`. `None` where
    /// there are none: then such a topic is like any other.
    pub own_prefix: Option<Box<str>>,
    /// Whether the host keeps sessions that persist and retained messages, so that they outlive the
    /// process.
    pub durable: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            loop_index: LoopIndex(0),
            packet_bytes_max: (1 << 20) + (128 << 10),
            receive_maximum: 256,
            topic_alias_maximum: 32,
            keep_alive_s_max: 600,
            session_expiry_s_max: 24 * 3600,
            in_flight_max: 1_024,
            queued_max: 10_000,
            subscriptions_max: 1_000,
            topic_levels_max: crate::topic::TOPIC_LEVELS_DEFAULT,
            sessions_max: 1_000_000,
            retained_per_subscription_max: 0,
            response_topic_prefix: Some("inbox".into()),
            request_prefix: None,
            own_prefix: None,
            durable: false,
        }
    }
}

/// The MQTT server of one event loop.
pub struct Broker<L, I> {
    config: Config,
    sessions: Slab<Session<L, I>>,
    by_client_id: HashTable<u32>,
    hasher: FixedState,
    next_generation: u32,
    filters: Filters,
    groups: Groups,
    flights: Flights,
    pool: Pool,
    retained: Arc<Retained>,
    /// The messages of `$SYS/...`, where the server speaks of itself.
    of_server: Option<Arc<Retained>>,
    mailboxes: Box<dyn Mailboxes + Send>,
    deadlines: Deadlines,
    /// What waits for changes to be durable.
    pendings: Pendings<L>,
    /// The session that ended last, where what it leaves is not durable yet.
    ending: Option<Then>,
    /// What the message at hand waits for, if anything.
    parts: Option<Then>,
    /// Deliveries of the message at hand that must be durable first.
    unkept: Vec<Unkept>,
    /// Where the message at hand was published, if a session that persists did at QoS 2.
    from: Option<PublishedBy>,
    /// The message at hand is a will, or left by a session that ended: it cannot be reported to
    /// anybody that it is not kept.
    must_keep: bool,
    /// Where it is decided whether the message at hand is delivered.
    decides: Decides,
    /// Parts of the message at hand beside those that are found while it is routed.
    beside: usize,
    /// The receipt of the client's message at hand, 0 for none.
    receipt: u64,
    /// The message at hand is to be retained once its other parts are taken.
    retains: Option<(Arc<Publication>, Stored)>,
    /// Other loops have a part in the message at hand.
    went_elsewhere: bool,
    /// The packet id of the message at hand is noted with the message.
    noted: bool,
    /// Sessions that were given back, and what is to be done once all are.
    restored: Vec<(SessionKey, Option<Away>)>,
    /// Sessions that are to be sent retained messages, each once, in their turn.
    replaying: VecDeque<SessionKey>,
    /// Scratch of one turn, kept so that it is not allocated again.
    scratch: Scratch,
}

/// Buffers that keep their capacity between packets.
#[derive(Debug, Default)]
struct Scratch {
    matched: Vec<FilterId>,
    targets: Vec<deliver::Target>,
    subscription_ids: Vec<u32>,
    /// The identifiers of one receiver's overlapping subscriptions.
    ids_of_one: Vec<u32>,
    properties: Vec<u8>,
    topic: String,
    reasons: Vec<u8>,
    retained: Vec<Arc<Publication>>,
}

/// Whether a connection goes on after a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Read the next packet.
    Continue,
    /// The broker asked the host to close it; the rest of the input is ignored.
    Closed,
}

/// A packet breaks the protocol or a limit, and its connection ends for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Violation(ReasonCode);

impl From<DecodeError> for Violation {
    fn from(error: DecodeError) -> Self {
        Self(error.reason_code())
    }
}

impl<L: Copy + Eq + std::fmt::Debug, I: Clone> Broker<L, I> {
    /// A broker without clients.
    pub fn new(config: Config, retained: Arc<Retained>, mailboxes: Box<dyn Mailboxes + Send>) -> Self {
        Self {
            config,
            sessions: Slab::new(),
            by_client_id: HashTable::new(),
            hasher: FixedState::default(),
            next_generation: 1,
            filters: Filters::new(),
            groups: Groups::default(),
            flights: Flights::default(),
            pool: Pool::default(),
            retained,
            of_server: None,
            mailboxes,
            deadlines: Deadlines::default(),
            pendings: Pendings::default(),
            ending: None,
            parts: None,
            unkept: Vec::new(),
            from: None,
            must_keep: false,
            decides: Decides::Each,
            beside: 0,
            receipt: 0,
            retains: None,
            went_elsewhere: false,
            noted: false,
            restored: Vec::new(),
            replaying: VecDeque::new(),
            scratch: Scratch::default(),
        }
    }

    /// Sends new subscriptions to `$SYS/...` the messages of this store, which the host fills
    /// ([`Host::describe_server`]), and none of the retained ones.
    pub fn speak_of_server(&mut self, store: Arc<Retained>) {
        self.of_server = Some(store);
    }

    /// The bounds it keeps.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A packet from the client of this session. CONNECT is for [`Broker::connect`]; a second one
    /// here is a protocol error [MQTT-3.1.0-2].
    pub fn received<H>(&mut self, host: &mut H, key: SessionKey, link: L, frame: &Frame<'_>) -> Flow
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session(key).filter(|session| session.link == Some(link)) else {
            return Flow::Closed;
        };
        let version = session.version;
        let handled = match frame.packet_type() {
            PacketType::Publish => decode::publish(frame, version)
                .map_err(Violation::from)
                .and_then(|publish| self.publish(host, key, link, &publish)),
            PacketType::Puback => self.acknowledged(host, key, link, AckKind::Puback, frame),
            PacketType::Pubrec => self.acknowledged(host, key, link, AckKind::Pubrec, frame),
            PacketType::Pubrel => self.acknowledged(host, key, link, AckKind::Pubrel, frame),
            PacketType::Pubcomp => self.acknowledged(host, key, link, AckKind::Pubcomp, frame),
            PacketType::Pingreq => decode::packet_from(frame, version, Role::Client)
                .map_err(Violation::from)
                .map(|_| host.send(link, crate::encode::pingresp)),
            PacketType::Subscribe => decode::subscribe(frame, version)
                .map_err(Violation::from)
                .and_then(|subscribe| self.subscribe(host, key, link, &subscribe)),
            PacketType::Unsubscribe => decode::unsubscribe(frame, version)
                .map_err(Violation::from)
                .and_then(|unsubscribe| self.unsubscribe(host, key, link, &unsubscribe)),
            // A second one, with any contents [MQTT-3.1.0-2].
            PacketType::Connect => Err(Violation(ReasonCode::ProtocolError)),
            _ => match decode::packet_from(frame, version, Role::Client) {
                Ok(packet) => return self.control(host, key, link, &packet),
                Err(error) => Err(error.into()),
            },
        };
        match handled {
            Ok(()) => Flow::Continue,
            Err(violation) => self.violated(host, key, link, violation.0),
        }
    }

    /// The bytes of this session's connection are no packet, or break a limit of the host's: says so
    /// where the version can, and closes.
    pub fn violated<H>(&mut self, host: &mut H, key: SessionKey, link: L, reason: ReasonCode) -> Flow
    where
        H: Host<Link = L, Identity = I>,
    {
        if let Some(session) = self.session(key) {
            connect::say_disconnect(host, link, session.version, session.packet_bytes_max, reason, None);
        }
        host.close(link, Close::Refused(reason));
        Flow::Closed
    }

    /// The time of the earliest deadline, in the host's milliseconds.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.deadlines.next_ms().into_iter().chain(self.retained.next_end_ms()).min()
    }

    /// Acts on every deadline that has passed.
    pub fn advance<H>(&mut self, host: &mut H)
    where
        H: Host<Link = L, Identity = I>,
    {
        let now_ms = host.now_ms();
        self.retained.expire(now_ms);
        while let Some((entry_ms, due, key)) = self.deadlines.pop_due(now_ms) {
            let Some(session) =
                self.sessions.get_mut(key.index as usize).filter(|s| s.generation == key.generation)
            else {
                continue;
            };
            let rare = session.rare();
            match due {
                Due::Will => {
                    if rare.will_at.fired(entry_ms, now_ms, due, key, &mut self.deadlines) {
                        self.publish_will(host, key);
                    }
                }
                Due::Session => {
                    if rare.ends_at.fired(entry_ms, now_ms, due, key, &mut self.deadlines) {
                        host.count(Event::SessionExpired);
                        self.end_session(host, key);
                    }
                }
            }
        }
    }

    fn session(&self, key: SessionKey) -> Option<&Session<L, I>> {
        self.sessions.get(key.index as usize).filter(|session| session.generation == key.generation)
    }

    fn session_mut(&mut self, key: SessionKey) -> Option<&mut Session<L, I>> {
        self.sessions.get_mut(key.index as usize).filter(|session| session.generation == key.generation)
    }

    fn find_session(&self, client_id: &str) -> Option<SessionKey> {
        let hash = self.hasher.hash_one(client_id);
        let index =
            *self.by_client_id.find(hash, |&at| &*self.sessions[at as usize].client_id == client_id)?;
        Some(self.sessions[index as usize].key(index))
    }

    fn version_of(&self, key: SessionKey) -> Version {
        self.session(key).map_or(Version::V311, |session| session.version)
    }
}

impl<L, I> std::fmt::Debug for Broker<L, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broker").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}
