//! What outlives the server: sessions that persist, what they are owed, retained messages.
//!
//! Where [`Config::durable`](super::Config::durable) is set the host keeps them. The broker reports
//! each change to it, and holds back what would be a promise until the host reports that the change
//! is durable: CONNACK, SUBACK and UNSUBACK of such a session, the acknowledgement of a publish
//! that is owed to one or retained, and the delivery itself. Everything else never waits.
//!
//! A [`Then`] names what goes on when a change is durable. One may wait for several changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use smallvec::SmallVec;

use super::host::{Close, Host, LoopIndex};
use super::parts::{Decides, Group, Part, Retain, Taken};
use super::publication::Publication;
use super::retained::Stored;
use super::session::{SessionKey, SharedId};
use super::{Broker, connect};
use crate::encode;
use crate::packet::{AckKind, QoS, SubscriptionOptions, Version};
use crate::reason::ReasonCode;

/// The host's number of an operator's request to remove retained messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PurgeId(pub u64);

/// The host's name for a message of an application, see [`super::Broker::publish_for`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublishId(pub u64);

/// Names what waits for a change to be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Then(u32);

impl Then {
    /// Nothing waits.
    pub const NOTHING: Self = Self(u32::MAX);
}

/// Shards, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardSet(SmallVec<[u16; 4]>);

impl ShardSet {
    /// This one.
    pub(super) fn one(shard: u16) -> Self {
        Self(SmallVec::from_slice(&[shard]))
    }

    /// Adds one.
    pub fn insert(&mut self, shard: u16) {
        if !self.0.contains(&shard) {
            self.0.push(shard);
        }
    }

    /// Adds all of another set.
    pub fn extend(&mut self, others: &Self) {
        others.0.iter().for_each(|&shard| self.insert(shard));
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Persisted {
    /// It is durable.
    Done,
    /// This publish was taken before: nobody is owed it a second time.
    Known,
    /// There is no room for it.
    Full,
    /// Not now.
    Busy,
    /// It may be durable or not: no answer may state either.
    Unknown,
}

impl Persisted {
    pub(super) fn refusal(self) -> Option<ReasonCode> {
        match self {
            Self::Done | Self::Known => None,
            Self::Full => Some(ReasonCode::QuotaExceeded),
            Self::Busy => Some(ReasonCode::ServerBusy),
            // For reasons that only close the connection: no acknowledgement carries this.
            Self::Unknown => Some(ReasonCode::UnspecifiedError),
        }
    }
}

/// A change of one session that persists.
#[derive(Debug)]
pub enum Change<'a, I> {
    /// Its client connected.
    Connect(Connected<'a, I>),
    /// Its client is away.
    Disconnect(Away),
    /// Its will was published.
    WillGone {
        /// Which one; 0 for one that was kept before wills had ids.
        will: u64,
    },
    /// It ended.
    End {
        /// Which one of the client's sessions; none for the one that is kept.
        incarnation: Option<u64>,
    },
    /// A subscription was made or changed.
    Subscribe(KeptSubscription<'a>),
    /// A subscription ended.
    Unsubscribe {
        /// Its text.
        filter: &'a str,
    },
    /// A queued message at QoS 2 was received.
    Received {
        /// The queued message.
        queued_message: u32,
    },
    /// A queued message is not owed any more.
    Done {
        /// The queued message.
        queued_message: u32,
    },
    /// A publish of its client at QoS 2 is owed durably to all that want it.
    Unreleased {
        /// Packet Identifier.
        packet_id: u16,
    },
    /// Its client released a publish.
    Released {
        /// Packet Identifier.
        packet_id: u16,
    },
}

/// A client's connection to a session that persists.
#[derive(Debug)]
pub struct Connected<'a, I> {
    /// A random number that distinguishes the session from those before it.
    pub incarnation: u64,
    /// What the client speaks.
    pub version: Version,
    /// Seconds.
    pub expiry_s: u32,
    /// What authentication found.
    pub identity: &'a I,
    /// Its will.
    pub will: Option<KeptWill<'a>>,
}

/// A will that is kept.
#[derive(Debug)]
pub struct KeptWill<'a> {
    /// A random number that distinguishes it from the wills before it.
    pub id: u64,
    /// The message.
    pub publication: &'a Arc<Publication>,
    /// Will Delay Interval.
    pub delay_s: u32,
    /// Message Expiry Interval.
    pub expiry_s: Option<u32>,
}

/// A client that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// When its session ends, in the host's milliseconds.
    pub ends_at_ms: Option<u64>,
    /// When its will is published, in the host's milliseconds.
    pub will_at_ms: Option<u64>,
    /// QueuedMessages below this number may have been sent.
    pub sent_below: u32,
}

/// A subscription that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptSubscription<'a> {
    /// Its text, `$share/...` included.
    pub filter: &'a str,
    /// What was asked.
    pub options: SubscriptionOptions,
    /// Subscription Identifier.
    pub id: Option<u32>,
    /// What the session calls it, where it is shared.
    pub shared: SharedId,
}

/// A message that is owed to sessions of one shard.
#[derive(Debug)]
pub struct Keep<'a> {
    /// The message.
    pub publication: &'a Arc<Publication>,
    /// To whom.
    pub receivers: &'a [Receiver<'a>],
    /// Where a session that persists published it at QoS 2.
    pub origin: Option<Origin>,
    /// That session's client id, where noting its packet id belongs to the same change.
    pub publisher: Option<&'a str>,
    /// A refusal cannot be reported to anybody: it is handed over until the shard takes it, or has
    /// no room for it.
    pub must: bool,
}

/// Who is owed a message.
#[derive(Debug)]
pub struct Receiver<'a> {
    /// Client Identifier.
    pub client_id: &'a str,
    /// The session's number of the queued message.
    pub queued_message: u32,
    /// 1 or 2.
    pub qos: QoS,
    /// RETAIN as this receiver must see it.
    pub retain: bool,
    /// The shared subscription it came by.
    pub shared: SharedId,
    /// Subscription Identifiers.
    pub ids: &'a [u32],
}

/// A publish at QoS 2 of a session that persists; a will; or a message that the end of a session
/// hands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The session's incarnation, or a number that is as rare.
    pub incarnation: u64,
    /// Packet Identifier. 0 for what no client published.
    pub packet_id: u16,
}

impl Origin {
    /// Of a message that goes to another member of a shared subscription when this session ends. It
    /// follows from what is durable, so it is the same if the session ends once more after a crash.
    /// The mixing is that of splitmix64 and part of the format.
    pub(super) fn of_handed_on(incarnation: u64, queued_message: u32) -> Self {
        let mut mixed =
            incarnation.wrapping_add(u64::from(queued_message).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self { incarnation: mixed ^ (mixed >> 31), packet_id: 0 }
    }
}

/// Where a publish comes from, while it is routed.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublishedBy {
    pub origin: Origin,
    /// The publisher, where it is a session of this loop.
    pub publisher: SessionKey,
}

/// Whom word goes to when a message of another loop is durable here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyTo {
    /// The loop.
    pub at: LoopIndex,
    /// What waits there.
    pub then: Then,
    /// As of [`Keep::must`].
    pub must: bool,
    /// Where it is decided whether the message is delivered.
    pub decides: Decides,
}

/// Something that waits for changes to be durable.
#[derive(Debug)]
pub(super) struct Pending<L> {
    pub(super) left: u32,
    pub(super) worst: Persisted,
    /// The shards that were asked to keep something of it.
    pub(super) shards: ShardSet,
    /// Somebody is owed it since the publish was sent before.
    pub(super) is_known: bool,
    /// Its parts that were taken and wait for the others.
    pub(super) taken: Option<Box<Taken>>,
    pub what: What<L>,
}

/// What goes on then.
#[derive(Debug)]
pub(super) enum What<L> {
    Nothing,
    /// A client is let in.
    Admit {
        key: SessionKey,
        link: L,
    },
    /// An answer takes its place among those held back.
    Answer {
        key: SessionKey,
        link: L,
        place: u32,
        answer: Answer,
    },
    /// PUBREL to a client that has received.
    Release {
        key: SessionKey,
        link: L,
        packet_id: u16,
    },
    /// Another loop hears of it, or something else of this one.
    Reply(ReplyTo),
    /// The host hears what became of a message of an application.
    Published(PublishId),
    /// A will is gone: it is owed durably to all its receivers.
    WillPublished {
        key: SessionKey,
        /// The client, if its session persists: the will is kept with it until then.
        client_id: Option<CompactString>,
        will: u64,
        origin: Option<Origin>,
        /// Goes on when the host has heard of it.
        next: Option<Then>,
    },
    /// Publishes are forgotten.
    Forget {
        origins: Vec<Origin>,
        shards: ShardSet,
    },
    /// A message is retained of which no client hears whether it is.
    Retained {
        publication: Arc<Publication>,
        stored: Stored,
        /// The removal by an operator that it belongs to.
        purge: Option<PurgeId>,
    },
    /// A session ends for good: what it leaves is owed to others durably.
    End {
        client_id: CompactString,
        incarnation: u64,
        noted: BTreeMap<u16, Option<ShardSet>>,
        /// Messages that it left to other members of shared subscriptions.
        handed_on: Vec<Origin>,
        /// The client's next session, whose CONNECT waits for it.
        successor: Option<(SessionKey, L)>,
    },
    /// A message leaves for those to whom it is owed, or waits until its other parts are taken.
    Deliver {
        parent: Then,
        must: bool,
        waits: bool,
        group: Group,
    },
    /// Another loop reports the verdict about the parts that were taken here.
    Undecided,
}

/// An answer that is held back.
#[derive(Debug)]
pub(super) enum Answer {
    /// PUBACK or PUBREC. The receipt is that of the message, 0 for none.
    Publish {
        kind: AckKind,
        packet_id: u16,
        reason: ReasonCode,
        noted: Noted,
        origin: Option<Origin>,
        receipt: u64,
    },
    /// PUBACK or PUBREC that refuses, of a publish that shards may have taken before the server was
    /// started: those are asked first.
    Refused { packet_id: u16, refusal: ReasonCode, origin: Origin },
    /// PUBCOMP.
    Released { packet_id: u16, reason: ReasonCode },
    /// Bytes that are right as they are; where the change fails the connection ends.
    Bytes(Vec<u8>),
}

impl Answer {
    /// The packet that a client sends again on its next connection where this answer did not reach
    /// it on the last one.
    fn repeated(&self) -> Option<(AckKind, u16)> {
        match *self {
            Self::Publish { kind: AckKind::Pubrec, packet_id, .. } | Self::Refused { packet_id, .. } => {
                Some((AckKind::Pubrec, packet_id))
            }
            Self::Released { packet_id, .. } => Some((AckKind::Pubcomp, packet_id)),
            Self::Publish { .. } | Self::Bytes(_) => None,
        }
    }
}

/// A packet that was repeated before it was answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    /// The answer that it asks for.
    kind: AckKind,
    packet_id: u16,
    /// The answer's place on the connection on which it was repeated.
    place: u32,
}

/// Whether it is durable that a QoS 2 packet id was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noted {
    /// It need not be.
    Never,
    /// It must be noted before the answer.
    Yet,
    /// It is, with what was just made durable.
    Now,
}

/// An answer among those of a session that leave in their order.
#[derive(Debug, Default)]
pub(super) struct Held {
    ready: bool,
    bytes: Vec<u8>,
}

/// What waits in a broker.
#[derive(Debug)]
pub(super) struct Pendings<L>(slab::Slab<Pending<L>>);

impl<L> Default for Pendings<L> {
    fn default() -> Self {
        Self(slab::Slab::new())
    }
}

impl<L> Pendings<L> {
    /// Something that waits for so many changes.
    pub fn add(&mut self, left: u32, what: What<L>) -> Then {
        let at = self.0.insert(Pending {
            left,
            worst: Persisted::Done,
            shards: ShardSet::default(),
            is_known: false,
            taken: None,
            what,
        });
        Then(u32::try_from(at).expect("what waits is bounded by packets, far below 2^32"))
    }

    /// One more part of the message at hand: made with the first.
    pub fn part(&mut self, parts: &mut Option<Then>) -> Then {
        match *parts {
            Some(then) => {
                self.more(then, 1);
                then
            }
            None => *parts.insert(self.add(1, What::Nothing)),
        }
    }

    /// It waits for so many more.
    pub fn more(&mut self, then: Then, more: u32) {
        if let Some(pending) = self.0.get_mut(then.0 as usize) {
            pending.left += more;
        }
    }

    /// These shards are asked to keep something of it.
    pub fn concerns(&mut self, then: Then, shards: &ShardSet) {
        if let Some(pending) = self.0.get_mut(then.0 as usize) {
            pending.shards.extend(shards);
        }
    }

    /// For how many it waits.
    pub fn left(&self, then: Then) -> u32 {
        self.0.get(then.0 as usize).map_or(0, |pending| pending.left)
    }

    /// When this will is published, that goes on too.
    pub fn after_will(&mut self, will: Then, then: Then) {
        if let Some(Pending { what: What::WillPublished { next, .. }, .. }) = self.0.get_mut(will.0 as usize)
        {
            *next = Some(then);
            self.more(then, 1);
        }
    }

    /// When this session has ended, its client's next one goes on.
    pub fn before_successor(&mut self, ending: Then, key: SessionKey, link: L) {
        if let Some(Pending { what: What::End { successor, .. }, .. }) = self.0.get_mut(ending.0 as usize) {
            *successor = Some((key, link));
        }
    }

    /// The session that ends then leaves this to another member of a shared subscription.
    pub fn hands_on(&mut self, ending: Then, origin: Origin) {
        if let Some(Pending { what: What::End { handed_on, .. }, .. }) = self.0.get_mut(ending.0 as usize) {
            handed_on.push(origin);
        }
    }

    /// This is what goes on then.
    pub fn goes_on(&mut self, then: Then, what: What<L>) {
        if let Some(pending) = self.0.get_mut(then.0 as usize) {
            pending.what = what;
        }
    }

    pub fn at(&mut self, then: Then) -> Option<&mut Pending<L>> {
        self.0.get_mut(then.0 as usize)
    }

    /// One is durable, or not. Returns whether it was the last.
    fn answered(&mut self, then: Then, persisted: Persisted) -> bool {
        let Some(pending) = self.at(then) else { return false };
        pending.left -= 1;
        pending.worst = pending.worst.max(persisted);
        pending.is_known |= persisted == Persisted::Known;
        pending.left == 0
    }

    /// Nothing waits any more.
    pub fn remove(&mut self, then: Then) -> Option<Pending<L>> {
        self.0.try_remove(then.0 as usize)
    }
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// The host's word on a change that something waits for. It comes once for each, never from
    /// within the call that asked.
    pub fn persisted<H>(&mut self, host: &mut H, then: Then, persisted: Persisted)
    where
        H: Host<Link = L, Identity = I>,
    {
        if !self.pendings.answered(then, persisted) || self.is_undecided(host, then) {
            return;
        }
        let Some(Pending { what, worst, shards, is_known, .. }) = self.pendings.remove(then) else { return };
        match what {
            What::Nothing | What::Undecided => {}
            What::Admit { key, link } => self.admit(host, key, link, worst),
            What::Answer { key, link, place, answer } => {
                self.answer_held(host, (key, link, place), answer, (worst, is_known), shards)
            }
            What::Release { key, link, packet_id } => {
                let Some(session) = self.session(key).filter(|session| session.link == Some(link)) else {
                    return;
                };
                let version = session.version;
                match worst.refusal() {
                    None => {
                        let reason = ReasonCode::Success;
                        host.send(link, |buf| encode::ack(buf, AckKind::Pubrel, version, packet_id, reason));
                    }
                    Some(reason) => self.cut(host, key, link, reason),
                }
            }
            What::Retained { publication, stored, purge } => {
                self.retained_apart(host, publication, (stored, purge), worst);
            }
            What::Published(publish) => host.published(publish, worst),
            What::Reply(to) => self.reply(host, to, Part { persisted: worst, shards, is_known, held: None }),
            What::WillPublished { client_id: None, origin, .. } => {
                if let Some(origin) = origin {
                    Self::forget(host, origin, Some(&shards), None, Then::NOTHING);
                }
            }
            What::WillPublished { key, client_id: Some(client_id), will, origin, next } => {
                if let Some(session) = self.session_mut(key) {
                    session.rare().will_on_its_way = None;
                }
                // Only then may the publish be forgotten by which a repeat is known.
                let then = match origin {
                    Some(origin) => self.pendings.add(1, What::Forget { origins: vec![origin], shards }),
                    None => Then::NOTHING,
                };
                host.persist(&client_id, Change::WillGone { will }, then);
                if let Some(next) = next {
                    self.persisted(host, next, Persisted::Done);
                }
            }
            What::Forget { origins, shards } => {
                for origin in origins {
                    Self::forget(host, origin, Some(&shards), None, Then::NOTHING);
                }
            }
            What::End { client_id, incarnation, noted, handed_on, successor } => {
                let change = Change::End { incarnation: Some(incarnation) };
                // Until the end is durable the session may end once more, and hand the same on.
                let then = match handed_on.is_empty() {
                    true => Then::NOTHING,
                    false => self.pendings.add(1, What::Forget { origins: handed_on, shards }),
                };
                host.persist(&client_id, change, then);
                for (packet_id, shards) in noted {
                    let origin = Origin { incarnation, packet_id };
                    Self::forget(host, origin, shards.as_ref(), None, Then::NOTHING);
                }
                if let Some((key, link)) = successor {
                    self.succeed(host, key, link);
                }
            }
            What::Deliver { parent, must, waits, group } => {
                self.part_kept(host, parent, group, (must, waits), (worst, is_known));
                self.persisted(host, parent, worst);
            }
        }
    }

    /// The host's word on a request that it took by [`Host::own_request`]: nothing of it happened,
    /// for this reason. As [`Self::persisted`], it comes once.
    pub fn own_refused<H>(&mut self, host: &mut H, then: Then, refusal: ReasonCode)
    where
        H: Host<Link = L, Identity = I>,
    {
        let key = match self.pendings.at(then).map(|pending| &pending.what) {
            Some(&What::Answer { key, .. }) => key,
            _ => SessionKey::NONE,
        };
        // 3.1.1 cannot say no: it is acknowledged.
        if self.session(key).is_some_and(|session| session.version == Version::V5)
            && let Some(pending) = self.pendings.at(then)
            && let What::Answer { answer: Answer::Publish { reason, .. }, .. } = &mut pending.what
        {
            *reason = refusal;
        }
        self.persisted(host, then, Persisted::Done);
    }

    /// A shard has answered for a retained message of which no client hears. Where it is not known
    /// whether it took it, it is asked again: the message's number shows whether it did.
    fn retained_apart<H>(
        &mut self,
        host: &mut H,
        publication: Arc<Publication>,
        (stored, purge): (Stored, Option<PurgeId>),
        persisted: Persisted,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        match persisted {
            Persisted::Done | Persisted::Known => self.retained.confirm(publication.topic(), stored.number),
            Persisted::Full | Persisted::Busy => self.retained.refuse(publication.topic(), stored.number),
            Persisted::Unknown => {
                let what =
                    What::Retained { publication: Arc::clone(&publication), stored: stored.clone(), purge };
                let then = self.pendings.add(1, what);
                host.retain(&Retain { publication: &publication, stored: &stored, must: true }, then);
                return;
            }
        }
        if let Some(purge) = purge {
            host.purged(purge, persisted);
        }
    }

    /// Has shards forget a publish: these, or all where they are not known. The shard `but` is not
    /// asked. Returns how many will answer.
    pub(super) fn forget<H>(
        host: &mut H,
        origin: Origin,
        shards: Option<&ShardSet>,
        but: Option<u16>,
        then: Then,
    ) -> u32
    where
        H: Host<Link = L, Identity = I>,
    {
        let all: ShardSet;
        let shards = match shards {
            Some(shards) => shards,
            None => {
                all = ShardSet((0..host.shards()).collect());
                &all
            }
        };
        let mut asked = 0;
        for &shard in shards.0.iter().filter(|&&shard| Some(shard) != but) {
            host.forget(shard, origin, then);
            asked += 1;
        }
        asked
    }

    /// Ends a connection because something cannot be made durable.
    pub(super) fn cut<H>(&mut self, host: &mut H, key: SessionKey, link: L, reason: ReasonCode)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        let (version, packet_bytes_max) = (session.version, session.packet_bytes_max);
        session.rare().out_of_step = true;
        connect::say_disconnect(host, link, version, packet_bytes_max, reason, None);
        host.close(link, Close::Refused(reason));
    }

    /// Sends an answer to a session, behind those that are held back.
    pub(super) fn say<H>(&mut self, host: &mut H, key: SessionKey, link: L, encode: impl FnOnce(&mut Vec<u8>))
    where
        H: Host<Link = L, Identity = I>,
    {
        let held = self.session_mut(key).and_then(|session| session.rare.as_mut()).map(|rare| &mut rare.held);
        match held {
            Some(held) if !held.is_empty() => {
                let mut bytes = Vec::new();
                encode(&mut bytes);
                held.push_back(Held { ready: true, bytes });
            }
            _ => host.send(link, encode),
        }
    }

    /// A place among the answers that are held back.
    pub(super) fn hold(&mut self, key: SessionKey) -> u32 {
        let Some(session) = self.session_mut(key) else { return 0 };
        let rare = session.rare();
        rare.held.push_back(Held::default());
        rare.held_first.wrapping_add(rare.held.len() as u32 - 1)
    }

    /// A PUBLISH at QoS 2 or a PUBREL came that is not answered yet. Its client may have a new
    /// connection: the answer goes there.
    pub(super) fn asked_again(&mut self, key: SessionKey, kind: AckKind, packet_id: u16) {
        let Some(session) = self.session_mut(key) else { return };
        // One place is enough, however often it is repeated.
        if session.rare().again.iter().any(|one| (one.kind, one.packet_id) == (kind, packet_id)) {
            return;
        }
        let place = self.hold(key);
        if let Some(session) = self.session_mut(key) {
            session.rare().again.push(Again { kind, packet_id, place });
        }
    }

    /// Where an answer goes: to the place of its packet, or to that of the same packet sent again
    /// on a new connection.
    fn place_of<H>(&mut self, host: &mut H, key: SessionKey, answer: &Answer, asked: (L, u32)) -> (L, u32)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some((kind, packet_id)) = answer.repeated() else { return asked };
        let Some(session) = self.session_mut(key) else { return asked };
        let now = session.link;
        let Some(rare) = &mut session.rare else { return asked };
        let Some(at) = rare.again.iter().position(|one| (one.kind, one.packet_id) == (kind, packet_id))
        else {
            return asked;
        };
        let place = rare.again.swap_remove(at).place;
        match now {
            Some(now) if now != asked.0 => (now, place),
            _ => {
                // It was repeated on the same connection, where one answer is enough.
                self.fill(host, key, asked.0, place, Vec::new());
                asked
            }
        }
    }

    fn answer_held<H>(
        &mut self,
        host: &mut H,
        (key, link, place): (SessionKey, L, u32),
        answer: Answer,
        (worst, is_known): (Persisted, bool),
        shards: ShardSet,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        if let Answer::Publish { receipt: receipt @ 1.., reason, .. } = answer {
            host.answered(receipt, worst.refusal().unwrap_or(reason));
        }
        let (link, place) = self.place_of(host, key, &answer, (link, place));
        let Some(session) = self.session_mut(key) else {
            // It ended meanwhile: nobody will release the publish.
            match answer {
                Answer::Publish { origin: Some(origin), .. } => {
                    Self::forget(host, origin, Some(&shards), None, Then::NOTHING);
                }
                Answer::Refused { origin, .. } => {
                    Self::forget(host, origin, None, None, Then::NOTHING);
                }
                _ => {}
            }
            return;
        };
        let (version, now) = (session.version, session.link);
        if let Answer::Released { packet_id, .. } = answer {
            session.rare().releasing.remove(packet_id);
        }
        let bytes = match answer {
            Answer::Released { .. } | Answer::Bytes(_) if worst.refusal().is_some() => {
                if let Some(reason) = worst.refusal().filter(|_| now == Some(link)) {
                    self.cut(host, key, link, reason);
                }
                return;
            }
            Answer::Released { packet_id, reason } => ack(AckKind::Pubcomp, version, packet_id, reason),
            Answer::Bytes(bytes) => bytes,
            Answer::Refused { packet_id, refusal, .. } => {
                let kind = AckKind::Pubrec;
                if worst.refusal().is_some() || is_known {
                    return self.publish_unsettled(host, (key, link), kind, packet_id, refusal);
                }
                session.rare().cleared.insert(packet_id);
                self.publish_failed(key, kind, packet_id);
                ack(kind, version, packet_id, ReasonCode::QuotaExceeded)
            }
            Answer::Publish { kind, packet_id, reason, noted, origin, receipt: _ } => {
                if let Some(refusal) = worst.refusal() {
                    let is_in_doubt =
                        kind == AckKind::Pubrec && session.rare().noted.contains_key(&packet_id);
                    // A shard took it, or may have, now or when it was sent before: only the same
                    // publish again, with its packet id, brings it to the others and to nobody
                    // twice.
                    if worst == Persisted::Unknown || is_known || is_in_doubt {
                        return self.publish_unsettled(host, (key, link), kind, packet_id, refusal);
                    }
                    // A shard that nobody asked now may have taken it before the restart, for a
                    // session that has unsubscribed since.
                    if let Some(origin) = origin
                        && version == Version::V5
                        && session.rare().came_back
                        && !session.rare().cleared.contains(packet_id)
                    {
                        let answer = Answer::Refused { packet_id, refusal, origin };
                        let left = u32::from(host.shards());
                        let then = self.pendings.add(left, What::Answer { key, link, place, answer });
                        (0..host.shards()).for_each(|shard| host.ask(shard, origin, then));
                        return;
                    }
                    self.publish_failed(key, kind, packet_id);
                    // 3.1.1 must acknowledge or close, and has nothing to say but yes [MQTT-3.3.5-2 of 3.1.1].
                    if version == Version::V311 {
                        if now == Some(link) {
                            self.cut(host, key, link, refusal);
                        }
                        return;
                    }
                    ack(kind, version, packet_id, ReasonCode::QuotaExceeded)
                } else if reason.is_error() {
                    self.publish_failed(key, kind, packet_id);
                    ack(kind, version, packet_id, reason)
                } else if noted == Noted::Yet {
                    // All that want it are owed it; that it was received is noted before it is
                    // acknowledged.
                    let noted = Noted::Now;
                    let answer = Answer::Publish { kind, packet_id, reason, noted, origin, receipt: 0 };
                    let then = self.pendings.add(1, What::Answer { key, link, place, answer });
                    self.pendings.concerns(then, &shards);
                    let Some(session) = self.session(key) else { return };
                    host.persist(&session.client_id, Change::Unreleased { packet_id }, then);
                    return;
                } else {
                    if noted == Noted::Now {
                        let rare = session.rare();
                        rare.waiting.remove(packet_id);
                        // Before the restart shards may have taken it that nobody asked now.
                        let is_first = rare.came_back && rare.cleared.insert(packet_id);
                        rare.noted.insert(packet_id, (!is_first).then_some(shards));
                    } else if kind == AckKind::Pubrec {
                        session.rare().waiting.remove(packet_id);
                    }
                    ack(kind, version, packet_id, reason)
                }
            }
        };
        self.fill(host, key, link, place, bytes);
    }

    /// A publish is not taken: its packet id is free.
    fn publish_failed(&mut self, key: SessionKey, kind: AckKind, packet_id: u16) {
        if kind != AckKind::Pubrec {
            return;
        }
        self.release(key, packet_id);
        if let Some(session) = self.session_mut(key) {
            session.rare().waiting.remove(packet_id);
        }
    }

    /// A publish is neither kept nor refused by all: no acknowledgement may state either, so the
    /// connection on which the answer is due ends. The client sends it again when it is back.
    /// Shards that have it know it by its origin, which is not forgotten.
    fn publish_unsettled<H>(
        &mut self,
        host: &mut H,
        (key, link): (SessionKey, L),
        kind: AckKind,
        packet_id: u16,
        reason: ReasonCode,
    ) where
        H: Host<Link = L, Identity = I>,
    {
        self.publish_failed(key, kind, packet_id);
        let Some(session) = self.session_mut(key) else { return };
        let (now, is_durable) = (session.link, session.durable);
        if kind == AckKind::Pubrec && is_durable {
            // Forgotten on all shards when the session ends, or when the repeat is released. Until
            // then the packet id is not free: a shard would take another message for this one.
            session.rare().noted.insert(packet_id, None);
        }
        if now == Some(link) {
            self.cut(host, key, link, reason);
        }
    }

    /// Puts an answer in its place, and sends what is ready in front.
    fn fill<H>(&mut self, host: &mut H, key: SessionKey, link: L, place: u32, bytes: Vec<u8>)
    where
        H: Host<Link = L, Identity = I>,
    {
        let Some(session) = self.session_mut(key) else { return };
        if session.link != Some(link) {
            return;
        }
        let rare = session.rare();
        let at = place.wrapping_sub(rare.held_first) as usize;
        let Some(held) = rare.held.get_mut(at) else { return };
        *held = Held { ready: true, bytes };
        while rare.held.front().is_some_and(|held| held.ready)
            && let Some(held) = rare.held.pop_front()
        {
            rare.held_first = rare.held_first.wrapping_add(1);
            host.send(link, |buf| buf.extend_from_slice(&held.bytes));
        }
        // Retained messages follow a SUBACK.
        self.wake_replays(key);
    }
}

fn ack(kind: AckKind, version: Version, packet_id: u16, reason: ReasonCode) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::ack(&mut bytes, kind, version, packet_id, reason);
    bytes
}

/// Reports to the host that a queued message is not owed any more; one without a number never was,
/// durably.
pub(super) fn done<H: Host>(host: &mut H, client_id: &str, number: u32) {
    if number != 0 {
        host.persist(client_id, Change::Done { queued_message: number }, Then::NOTHING);
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn origins_of_what_is_handed_on_stay_as_they_are() {
        for (incarnation, queued_message, expected) in [
            (0, 1, 0xe220_a839_7b1d_cdaf),
            (7, 1, 0x63cb_e1e4_5932_0dd7),
            (u64::MAX, u32::MAX, 0xb079_dc1e_4a43_6403),
        ] {
            let origin = Origin::of_handed_on(incarnation, queued_message);
            assert_eq!(origin, Origin { incarnation: expected, packet_id: 0 });
        }
    }
}
