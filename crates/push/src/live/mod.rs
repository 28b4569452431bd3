//! Live pushes: to devices that are connected when the push is made. Nothing of them is on disk.
//!
//! A push to registered devices goes through the shards ([`crate::Command::SendLive`], [`send`]),
//! which evaluate its audience as they do for a durable push. A push to a channel or to client ids
//! goes to the transport at once. Both have one record at the transport, which counts outcomes
//! under the push's token; [`report`] turns counts into a [`LiveReport`].

mod check;
mod names;
mod report;
mod send;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_state_machine::TraceContext;

pub use check::check;
pub use names::{
    CHANNEL_NAME_BYTES_MAX, CLIENT_ID_BYTES_MAX, ChannelName, ClientId, InvalidName as InvalidLiveName,
};
pub use report::{LatencySummary, LiveReport, LiveTally, LiveTimes, Progress};

use crate::{AppName, Audience, Milliseconds, PushId};

/// A live push without its message.
#[derive(Debug, Clone, PartialEq)]
pub struct LivePush {
    /// Whose.
    pub app: AppName,
    /// Client-made, or made of the request's idempotency key.
    pub id: PushId,
    /// Its audience.
    pub to: LiveAudience,
    /// At most once or at least once.
    pub qos: Qos,
    /// Bytes of its message, or of its content with all variants.
    pub payload_bytes: u64,
    /// The title of a notification, as a template.
    pub title: Option<String>,
}

/// A live push to a channel or to the inboxes of clients, which needs no shard.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicPush {
    /// The push. Its audience is not [`LiveAudience::Registered`].
    pub push: LivePush,
    /// The message.
    pub message: Message,
    /// Whether sessions of clients that are away keep it.
    pub away: Away,
}

/// The audience of a live push.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveAudience {
    /// Registered devices of the app, as a durable push finds them.
    Registered(Audience),
    /// The inboxes of these MQTT clients, registered or not. Each [has one](ClientId::has_inbox);
    /// the list is not empty and has no duplicates.
    Clients(Vec<ClientId>),
    /// Subscribers of the channel.
    Channel(ChannelName),
}

/// A message that a transport writes to connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The bytes.
    pub payload: Bytes,
    /// The MIME type, sent to MQTT 5 devices.
    pub content_type: Option<CompactString>,
    /// User properties, sent to MQTT 5 devices in this order.
    pub properties: Vec<(CompactString, CompactString)>,
}

/// How often a device may get the message (MQTT 5.0, 4.3). A push never uses QoS 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qos {
    /// At most once: nobody acknowledges it.
    AtMostOnce,
    /// At least once: the device acknowledges it.
    AtLeastOnce,
}

impl Qos {
    /// 0 or 1, as on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::AtMostOnce => 0,
            Self::AtLeastOnce => 1,
        }
    }

    /// The QoS of a number: 0 is at most once, any other at least once.
    pub fn of(number: u8) -> Self {
        if number == 0 { Self::AtMostOnce } else { Self::AtLeastOnce }
    }
}

/// Whether MQTT sessions of clients that are away keep a message to a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// They do not: the message is for connections.
    Skip,
    /// Persistent sessions keep it, as they keep a PUBLISH of QoS 1: for this time, or without end.
    Queue(Option<Milliseconds>),
}

/// Names a live push between the shards and its record at the transport of the node that accepted
/// it: the node stands in the high half, its number there in the low half. The default, 0, names
/// none.
///
/// A server process gives a number again after four billion live pushes, when the record of the
/// first one is long forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LiveToken(pub u64);

impl LiveToken {
    /// That of a push of this number on a node, see
    /// [`ConnectionName::node`](crate::ConnectionName::node).
    pub fn new(node: u32, number: u32) -> Self {
        Self(u64::from(node) << 32 | u64::from(number))
    }

    /// The node that accepted the push: 0 in a standalone server.
    pub fn node(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Its number there.
    pub fn number(self) -> u32 {
        self.0 as u32
    }
}

/// The same bytes for connections of one loop, on behalf of a live push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveDispatch {
    /// The record that counts the outcomes.
    pub token: LiveToken,
    /// Whose connections these are, as in [`ConnectionName::node`](crate::ConnectionName::node).
    pub node: u32,
    /// On which loop of that node.
    pub loop_index: u16,
    /// The message to each of them.
    pub message: Message,
    /// At most once or at least once.
    pub qos: Qos,
    /// The sampled trace of the push's request.
    pub trace: Option<TraceContext>,
    /// The connections, as the loop numbers them.
    pub to: Vec<u64>,
}

/// Devices that a live push to registered devices reached on one shard, or on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveReach {
    /// Registered devices of the app.
    pub devices: u64,
    /// Matched by its audience.
    pub matched: u64,
    /// Left out: not opted in, or revoked.
    pub opted_out: u64,
    /// Left out: held out.
    pub held_out: u64,
    /// Left out: reached the frequency cap.
    pub capped: u64,
    /// Left out: in their quiet hours.
    pub quiet: u64,
    /// Left out: a text needs a value that the device does not have.
    pub no_value: u64,
    /// Matched and not left out.
    pub targeted: u64,
    /// Of those, the devices whose connections the push was dispatched to.
    pub connected: u64,
}

impl LiveReach {
    /// Adds the part of another shard.
    pub fn add(&mut self, more: &Self) {
        self.devices += more.devices;
        self.matched += more.matched;
        self.opted_out += more.opted_out;
        self.held_out += more.held_out;
        self.capped += more.capped;
        self.quiet += more.quiet;
        self.no_value += more.no_value;
        self.targeted += more.targeted;
        self.connected += more.connected;
    }
}
