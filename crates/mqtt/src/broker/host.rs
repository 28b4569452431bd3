//! The broker's host: the program that runs it.
//!
//! The broker decides, its host carries out: staging bytes for the turn, closing links, asking the
//! authorisation function, reaching the brokers of other loops. A host is one object for each loop, so
//! every method takes `&mut self` and none may block. The edge implements it on the reactor;
//! [`super::testing`] implements it on vectors.

use std::sync::Arc;

use super::durable::{Change, Keep, Origin, Persisted, PublishId, PurgeId, ReplyTo, Then};
use super::parts::{Part, Retain, Verdict, Withdraw};
use super::publication::{Message, Publication};
use super::request::{NotTaken, Request};
use super::retained::Owner;
use super::session::SessionKey;
use super::shared::GroupMessage;
use crate::packet::{Publish, QoS};
use crate::reason::ReasonCode;

/// The broker's surroundings for one turn of its loop.
pub trait Host {
    /// A connection, as the host names it. Stale links must be ignored by every method.
    type Link: Copy + Eq + std::fmt::Debug;
    /// Who a session belongs to, as authentication found it.
    type Identity: Clone;
    /// Bytes staged for this turn, see [`Host::stage`].
    type Segment: Copy;

    /// Milliseconds on a clock that never goes back.
    fn now_ms(&self) -> u64;

    /// Called before the first segment of a message is staged: earlier segments may become invalid.
    fn begin_message(&mut self);

    /// Keeps the bytes that `encode` appends until the turn's end or the next [`Host::begin_message`].
    fn stage(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Self::Segment;

    /// Queues a staged segment for a link.
    fn deliver(&mut self, link: Self::Link, segment: Self::Segment);

    /// The same, with the two bytes at `at` of the segment replaced by `packet_id` for this link.
    fn deliver_with_packet_id(&mut self, link: Self::Link, segment: Self::Segment, at: u32, packet_id: u16);

    /// Queues bytes that many links share, without a copy; used for large payloads.
    fn deliver_shared(&mut self, link: Self::Link, bytes: &Arc<[u8]>);

    /// Encodes directly into what this turn sends to one link.
    fn send(&mut self, link: Self::Link, encode: impl FnOnce(&mut Vec<u8>));

    /// Whether a link has so much unsent that a QoS 0 message should be dropped rather than queued.
    fn congested(&self, link: Self::Link) -> bool;

    /// Ends a connection after what was queued for it has left. [`super::Broker::disconnected`] follows.
    fn close(&mut self, link: Self::Link, why: Close);

    /// The one authorisation function: may this client do that to this topic?
    fn authorise(&mut self, client: Client<'_, Self::Identity>, action: Action, topic: &str) -> bool;

    /// The same for a subscription, whose filter matches many topics. `filter` may be
    /// `$share/GROUP/FILTER`. A topic of a filter that was granted whole may be read, see
    /// [`Self::authorise`].
    fn grant(&mut self, client: Client<'_, Self::Identity>, filter: &str) -> Grant;

    /// Whether two clients that use the same client id are the same one, so that the second may have the
    /// session of the first.
    fn same_owner(&self, one: &Self::Identity, other: &Self::Identity) -> bool;

    /// Whose the messages are that this client has retained, for their quota. Asked for each
    /// message with RETAIN, and never for one without.
    fn owner(&self, client: Client<'_, Self::Identity>) -> Owner;

    /// A filter gained its first subscription here, or lost its last one. Hosts with several loops
    /// keep count so that [`Host::others_want`] can answer.
    fn interest(&mut self, filter: &str, change: Interest);

    /// Whether a broker on another loop may have a subscription that matches.
    fn others_want(&mut self, topic: &str) -> bool;

    /// Gives a message to the brokers of the other loops that may want it.
    fn forward(&mut self, publication: &Arc<Publication>);

    /// The loop that owns a shared subscription group.
    fn group_home(&self, group_filter: &str) -> LoopIndex;

    /// Sends a message about a shared subscription to another loop.
    fn send_group_message(&mut self, to: LoopIndex, message: GroupMessage);

    /// A random number, for assigned client ids.
    fn random(&mut self) -> u64;

    /// Whether the client id belongs to this loop; asked when one is assigned.
    fn is_home_of(&self, client_id: &str) -> bool;

    /// Takes a client's request to a service over, to answer it by [`super::Broker::answer`], or
    /// returns why it is refused. Only called where the broker's configuration has a prefix for
    /// requests.
    fn request(
        &mut self,
        client: Client<'_, Self::Identity>,
        session: SessionKey,
        request: &Request<'_>,
    ) -> Result<(), NotTaken>;

    /// Takes a client's request for itself over, or returns why it is refused. The outcome follows
    /// by [`super::Broker::persisted`] or [`super::Broker::own_refused`], and is the reason of
    /// PUBACK or PUBREC. Only called where the broker's configuration has a prefix for such
    /// requests.
    fn own_request(
        &mut self,
        _client: Client<'_, Self::Identity>,
        _session: SessionKey,
        _request: &Request<'_>,
        _then: Then,
    ) -> Result<(), NotTaken> {
        Err(ReasonCode::NotAuthorized.into())
    }

    /// Whether somebody beside subscribers follows what this client publishes there, see
    /// [`Host::follow`]. Asked for each publish: it is to cost next to nothing where nobody does.
    fn is_followed(&mut self, _client_id: &str, _topic: &str) -> bool {
        false
    }

    /// Takes a message over for those that [`Host::is_followed`] found just now. Returns how many
    /// will answer by [`super::Broker::persisted`]; the publish is acknowledged after that.
    fn follow(&mut self, _uplink: &Uplink<'_>, _then: Then) -> u32 {
        0
    }

    /// The receipt token of a message that this client may publish, 0 for none. Asked for each
    /// publish: it is to cost next to nothing where none has one. For another token
    /// [`Host::answered`] follows.
    fn receipt_for(
        &mut self,
        _client: Client<'_, Self::Identity>,
        _publish: &Publish<'_>,
        _topic: &str,
    ) -> u64 {
        0
    }

    /// The publisher of a message with a receipt token is answered with this reason, or would be at
    /// QoS 1: it is owed to all its receivers, or refused.
    fn answered(&mut self, _token: u64, _reason: ReasonCode) {}

    /// A delivery with a receipt token begins, to this client's connection. Its progress follows.
    fn delivers(&mut self, _token: u64, _link: Self::Link, _client_id: &str, _qos: QoS) {}

    /// Progress of a delivery whose publication carries a receipt token, on the connection that it
    /// concerns, if any.
    fn receipt(&mut self, token: u64, link: Option<Self::Link>, progress: Progress);

    /// The shard that keeps what has this name: a session by its client id, a retained message by
    /// its topic. The methods from here to [`Self::entered`] are only called where the broker is
    /// configured as durable.
    fn shard_of(&self, name: &str) -> u16;

    /// Keeps a change of a session. What waits for it hears by [`super::Broker::persisted`], later.
    fn persist(&mut self, client_id: &str, change: Change<'_, Self::Identity>, then: Then);

    /// Keeps a message for sessions of a shard.
    fn keep(&mut self, shard: u16, keep: &Keep<'_>, then: Then);

    /// Keeps a retained message, or that a topic has none any more; the highest number is a topic's
    /// last one. One without payload for a topic that had none leaves nothing behind where that is
    /// kept.
    fn retain(&mut self, retain: &Retain<'_>, then: Then);

    /// One of the retained messages that [`super::Broker::purge_retained`] removed is gone durably,
    /// or is there again because a shard refused that. By default nobody waits for it.
    fn purged(&mut self, _purge: PurgeId, _persisted: Persisted) {}

    /// A message that [`super::Broker::publish_for`] took is owed durably to all its receivers, or
    /// reaches nobody because a shard refused it. By default nobody waits for it.
    fn published(&mut self, _publish: PublishId, _persisted: Persisted) {}

    /// Shows a message to those beside subscribers who read topics, once: on the loop where it came
    /// in. Returns whether any of them may want it. It is to cost next to nothing where nobody does.
    fn observe(&mut self, _message: &Message<'_>) -> bool {
        false
    }

    /// Brings the messages of the server's own topics up to date: a client subscribed to some of
    /// them. Returns whether there are any.
    fn describe_server(&mut self) -> bool {
        false
    }

    /// Has a shard take back what it keeps of a message: its publisher hears of a refusal after
    /// that. The shard takes it wholly or not at all, also where the server is killed.
    fn withdraw(&mut self, shard: u16, withdraw: &Withdraw<'_>, then: Then);

    /// Asks a shard whether it remembers a publish: the answer is then [`super::Persisted::Known`].
    fn ask(&mut self, shard: u16, origin: Origin, then: Then);

    /// Has a shard forget a publish.
    fn forget(&mut self, shard: u16, origin: Origin, then: Then);

    /// How many shards there are.
    fn shards(&self) -> u16;

    /// On how many of the other loops that [`Host::others_want`] found a session that persists may
    /// have a matching subscription.
    fn others_keep(&mut self, topic: &str) -> usize;

    /// As [`Host::forward`]; the loops that [`Host::others_keep`] found report its outcome to `to`.
    fn forward_to_keep(&mut self, publication: &Arc<Publication>, origin: Option<Origin>, to: ReplyTo);

    /// Reports to another loop the outcome of a message that it sent; for
    /// [`super::Broker::kept_elsewhere`].
    fn report_kept(&mut self, to: ReplyTo, part: Part);

    /// Sends another loop the verdict about the part of a message that it holds back; for
    /// [`super::Broker::decided`].
    fn send_verdict(&mut self, at: LoopIndex, held: Then, verdict: Verdict);

    /// A session that persists gained or lost a subscription that concerns this loop; for
    /// [`Host::others_keep`].
    fn keep_interest(&mut self, at: LoopIndex, filter: &str, change: Interest);

    /// A client whose CONNECT waited was let in: its connection is to be read on.
    fn entered(&mut self, link: Self::Link);

    /// Something worth counting happened.
    fn count(&mut self, event: Event);
}

/// One of a node's loops, by its number from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LoopIndex(pub u16);

/// A client as the authorisation function sees it.
#[derive(Debug)]
pub struct Client<'a, I> {
    /// Client Identifier.
    pub client_id: &'a str,
    /// What authentication found.
    pub identity: &'a I,
}

impl<I> Clone for Client<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Client<'_, I> {}

/// What a client publishes, for those who follow it.
#[derive(Debug, Clone, Copy)]
pub struct Uplink<'a> {
    /// Client Identifier.
    pub client_id: &'a str,
    /// Where.
    pub topic: &'a str,
    /// At which QoS.
    pub qos: QoS,
    /// Content Type.
    pub content_type: Option<&'a str>,
    /// What.
    pub payload: &'a [u8],
}

/// What a client wants to do to a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Publish without RETAIN, wills included.
    Publish,
    /// Publish with RETAIN, wills included: to set a topic's retained message, or to remove it.
    Retain,
    /// Subscribe to a filter, or receive a message that was kept.
    Subscribe,
}

impl Action {
    /// To publish a message with this RETAIN.
    pub(super) fn publish(retain: bool) -> Self {
        if retain { Self::Retain } else { Self::Publish }
    }
}

/// What a client is granted of a filter that it subscribes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Nothing.
    Denied,
    /// Some of its topics are denied: each message is looked at before it is delivered.
    Partly,
    /// Every topic that it matches.
    Whole,
}

/// A change of interest in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// The first subscription to it was made.
    Gained,
    /// The last one is gone.
    Lost,
}

/// Why the broker ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The client sent DISCONNECT.
    Asked,
    /// The client broke the protocol or a limit; the reason was sent where the version has a code
    /// for it.
    Refused(ReasonCode),
    /// Another connection came with the same client id.
    TakenOver,
    /// No packet arrived within one and a half times the keep alive.
    KeepAlive,
    /// An operator or a newer rule ended it.
    Administrative,
    /// This server is going away.
    Drained,
}

/// What became of one delivery to one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A subscription of this session matched.
    Targeted,
    /// Written to the session's connection, with this QoS: at QoS 0 no acknowledgement will follow.
    Sent(QoS),
    /// Acknowledged by the client (QoS 1: PUBACK, QoS 2: PUBREC).
    Acknowledged,
    /// Kept for a client that is away or has its hands full.
    Queued,
    /// Its time was over before it could be sent.
    Expired,
    /// Given up, and why.
    Dropped(Drop),
}

/// What the broker counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An application message arrived from a client.
    PublishReceived(QoS),
    /// An application message was queued for a connection.
    Delivered(QoS),
    /// A client acknowledged a delivery.
    Acknowledged,
    /// A delivery was dropped.
    Dropped(Drop),
    /// A publish was refused by authorisation.
    PublishDenied,
    /// A subscription was refused by authorisation.
    SubscribeDenied,
    /// A client's session was resumed.
    SessionResumed,
    /// A session's time was over.
    SessionExpired,
    /// A will was published.
    WillPublished,
    /// A message was to be retained, and was not: the store is full.
    RetainRefused,
    /// A message was to be retained, and was not: its owner is at a quota of the store.
    RetainOverQuota,
    /// A replay of retained messages ended at its bound; the rest was left out.
    ReplayCut,
}

/// Why a delivery was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// QoS 0 to a connection with too much unsent.
    SlowReader,
    /// The session's queue was full; its oldest message went.
    QueueFull,
    /// Message Expiry Interval passed.
    Expired,
    /// Larger than the client's Maximum Packet Size.
    TooLarge,
    /// The session ended first.
    SessionEnded,
    /// The rules of today no longer let the client have it.
    Denied,
}
