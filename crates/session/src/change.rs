//! The input of the machine: changes of sessions, deliveries owed, messages retained.
//!
//! A change names its session by client id. One that names a session which is not there means nothing and is left out: its session ended
//! while the change was on its way.

use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;

use crate::{Message, Time};

/// Something that happened to sessions or retained messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A client connected and its session goes on without the connection. A session of another incarnation with this client id ends.
    Connect(Box<Connect>),
    /// The connection of a session is gone.
    Disconnect {
        /// Client Identifier.
        client: CompactString,
        /// From then on.
        presence: Presence,
    },
    /// The will of a session was published, or withdrawn.
    WillGone {
        /// Client Identifier.
        client: CompactString,
        /// The will's id. The change means nothing where the session has another will by now, or none.
        will: u64,
    },
    /// A session ended, with everything it held.
    End {
        /// Client Identifier.
        client: CompactString,
        /// The session's incarnation. The change means nothing where the client has another session by now; none means whichever it has.
        incarnation: Option<u64>,
    },
    /// A filter was subscribed to; one with the same text is replaced.
    Subscribe {
        /// Client Identifier.
        client: CompactString,
        /// The filter and its options.
        subscription: Subscription,
    },
    /// A filter was unsubscribed from.
    Unsubscribe {
        /// Client Identifier.
        client: CompactString,
        /// Its text.
        filter: CompactString,
    },
    /// A message is owed to sessions.
    Keep(Box<Keep>),
    /// A client received a delivery at QoS 2 (PUBREC): only its packet id must be released.
    Received {
        /// Client Identifier.
        client: CompactString,
        /// The delivery.
        delivery: u32,
    },
    /// Nothing of these deliveries is owed any more: they were acknowledged, expired, or given up.
    Done {
        /// Client Identifier.
        client: CompactString,
        /// The deliveries.
        deliveries: Vec<u32>,
    },
    /// A publish at QoS 2 was received whose subscribers are owed it, durably, by now.
    Unreleased {
        /// Client Identifier of the publisher.
        client: CompactString,
        /// Packet Identifier.
        packet_id: u16,
    },
    /// A publisher released a packet id (PUBREL): its publish is forgotten, whichever way it was remembered here.
    Released {
        /// Client Identifier of the publisher.
        client: CompactString,
        /// Packet Identifier.
        packet_id: u16,
    },
    /// The remembered state of a publish may be forgotten: it was released.
    Forget {
        /// Which publish.
        origin: Origin,
    },
    /// Asks whether a publish is remembered here. It is answered and never written.
    Ask {
        /// Which publish.
        origin: Origin,
    },
    /// A message is owed to these receivers no more, because its publish was refused. Of the
    /// publish only they are forgotten: other receivers stay known.
    Withdraw(Box<Withdraw>),
    /// A topic's retained message was replaced, or removed by one without payload.
    Retain {
        /// Where several loops replace the message of a topic, the highest number is the last.
        number: u64,
        /// The principal that set it, which may be empty: that of an anonymous client. None for a
        /// message of the server's own, for a removal, and for messages of before owners were kept.
        owner: Option<CompactString>,
        /// The message.
        message: Arc<Message>,
    },
    /// A topic's retained message was removed where the broker knew of none. It means nothing unless one is kept here; then it is the same
    /// as [`Change::Retain`], and is written as that. Whatever is on its way for this topic was removed by a change with a number of its
    /// own, so that nothing need be remembered of this one.
    ClearNothing {
        /// As in [`Change::Retain`].
        number: u64,
        /// The message, without payload.
        message: Arc<Message>,
    },
}

/// See [`Change::Connect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connect {
    /// Client Identifier.
    pub client: CompactString,
    /// A random number that distinguishes this session from those before it with the same client
    /// id.
    pub incarnation: u64,
    /// Protocol level: 4 or 5.
    pub version: u8,
    /// Seconds that it outlives its connection; `u32::MAX` for ever.
    pub expiry_s: u32,
    /// Whose it is, in the edge's own words.
    pub identity: Bytes,
    /// What is published when the connection breaks.
    pub will: Option<Will>,
}

/// A will.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Will {
    /// A random number that distinguishes it from the wills before it; 0 for one of before wills
    /// had ids.
    pub id: u64,
    /// The message, without an expiry time.
    pub message: Arc<Message>,
    /// Seconds from the end of the connection to its publishing.
    pub delay_s: u32,
    /// Seconds that it may wait once published.
    pub expiry_s: Option<u32>,
}

/// A topic filter with what was asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Its text, `$share/...` included.
    pub filter: CompactString,
    /// The options byte of SUBSCRIBE.
    pub options: u8,
    /// Subscription Identifier.
    pub id: Option<u32>,
    /// What the session calls a shared subscription; 0 for one that is not shared.
    pub shared: u16,
}

/// Whether the client of a session is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is, or was when the server was killed.
    Here,
    /// It is not.
    Away {
        /// When the session ends.
        ends_at: Option<Time>,
        /// When its will is published.
        will_at: Option<Time>,
        /// Deliveries below this number may have been sent.
        sent_below: u32,
    },
}

/// See [`Change::Keep`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// What is owed.
    pub message: Arc<Message>,
    /// To whom.
    pub receivers: Vec<Receiver>,
    /// Where a session that is kept published it at QoS 2: each receiver is then owed it once, in however many parts and however often the
    /// publish is brought here.
    pub origin: Option<Origin>,
    /// That session, where it lives on this shard and no other shard keeps anything of the publish: its packet id is then noted as
    /// received in the same event.
    pub publisher: Option<CompactString>,
}

/// Who is owed a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// Client Identifier.
    pub client: CompactString,
    /// The session's number of this delivery; deliveries are numbered upwards.
    pub delivery: u32,
    /// The QoS of the delivery: 1 or 2.
    pub qos: u8,
    /// RETAIN as this receiver must see it.
    pub retain: bool,
    /// The shared subscription it came by; 0 for none.
    pub shared: u16,
    /// Subscription Identifiers.
    pub ids: Box<[u32]>,
}

/// See [`Change::Withdraw`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdraw {
    /// Client ids, and what their sessions call the deliveries.
    pub receivers: Vec<(CompactString, u32)>,
    /// As in [`Keep::origin`].
    pub origin: Option<Origin>,
    /// As in [`Keep::publisher`]: its packet id is released.
    pub publisher: Option<CompactString>,
}

/// A publish at QoS 2 by a session that is kept, or a will. Nothing in it depends on how the server is divided into loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The session's incarnation; of a will, its id.
    pub incarnation: u64,
    /// Packet Identifier; 0 for a will.
    pub packet_id: u16,
}

/// Loops that a server of before could have: so many keys a publish may have been remembered by.
const LOOPS_OF_BEFORE: u64 = 64;

impl Origin {
    /// The keys by which servers remembered parts of this publish when each loop had a key of its own. The first loop's was the origin itself.
    pub(crate) fn of_before(self) -> impl Iterator<Item = Origin> {
        (1..LOOPS_OF_BEFORE).map(move |part| Origin {
            incarnation: self.incarnation ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            packet_id: self.packet_id,
        })
    }
}
