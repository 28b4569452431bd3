//! An application message that outlives the packet it came in.
//!
//! A publication keeps topic, forwardable properties and payload in one buffer, and is shared by every
//! delivery that still needs it: in flight, queued, retained, or on its way to another loop. Messages at
//! QoS 0 that nobody keeps never become one. [`Pool`] hands the buffers out again, so that a warm
//! broker allocates none.

use std::collections::VecDeque;
use std::sync::Arc;

use super::session::SessionKey;
use crate::packet::{Publish, QoS, Version};

/// Buffers above this many bytes are freed rather than handed out again, so that a burst of large
/// messages does not stay in memory.
const POOLED_BYTES_MAX: usize = 2048;

/// Publications the pool keeps. One more is freed when its last holder lets go. 16,384 covers 100
/// connections with full windows; at 2 KB each the pool holds at most 32 MB.
const POOL_LEN_MAX: usize = 16_384;

/// The bit of [`Head::receipt`] of deliveries for a connection, which no session keeps: those of
/// the push platform, which sends again what a device has not acknowledged, and live pushes.
///
/// Such a delivery is never put into a mailbox, and leaves flight and queue with the connection.
/// The host then gets [`Progress::Dropped`](super::Progress::Dropped).
pub const TRANSIENT_RECEIPT: u64 = 1 << 63;

/// An application message in one buffer: `topic | forwardable properties | payload`.
#[derive(Debug, Clone, Default)]
pub struct Publication {
    bytes: Vec<u8>,
    topic_len: u16,
    properties_len: u32,
    /// What everybody may know about it.
    pub head: Head,
}

/// The part of a message that fits in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// QoS it was published with.
    pub qos: QoS,
    /// RETAIN as it was published.
    pub retain: bool,
    /// When it may no longer be sent, in the host's milliseconds.
    pub expires_at_ms: Option<u64>,
    /// The session that published it, for No Local.
    pub origin: SessionKey,
    /// The loop of that session.
    pub origin_loop: super::LoopIndex,
    /// Where its deliveries are reported, 0 for nowhere. See [`TRANSIENT_RECEIPT`].
    pub receipt: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            qos: QoS::AtMostOnce,
            retain: false,
            expires_at_ms: None,
            origin: SessionKey::NONE,
            origin_loop: super::LoopIndex::default(),
            receipt: 0,
        }
    }
}

/// A message by reference: what routing works on, whether it is still in the read buffer or kept.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Topic Name.
    pub topic: &'a str,
    /// Property bytes to pass on unaltered, without their length.
    pub properties: &'a [u8],
    /// The application's bytes.
    pub payload: &'a [u8],
    /// The rest.
    pub head: Head,
}

impl Message<'_> {
    /// Seconds left to live, or `Err` when its time is over.
    pub fn expiry_s(&self, now_ms: u64) -> Result<Option<u32>, Expired> {
        self.head.expiry_s(now_ms)
    }
}

/// A message's time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired;

impl Head {
    /// Whether no session keeps this message, see [`TRANSIENT_RECEIPT`].
    pub fn is_transient(&self) -> bool {
        self.receipt & TRANSIENT_RECEIPT != 0
    }

    /// Seconds left to live [MQTT-3.3.2-6], or `Err` when its time is over.
    ///
    /// Rounded to the nearest, and never to 0: two loops read the clock a few milliseconds apart, and a
    /// message that just came must not seem to have a second more than it was given.
    pub fn expiry_s(&self, now_ms: u64) -> Result<Option<u32>, Expired> {
        match self.expires_at_ms {
            None => Ok(None),
            Some(at) if at <= now_ms => Err(Expired),
            Some(at) => {
                let seconds = ((at - now_ms).saturating_add(500) / 1000).max(1);
                Ok(Some(u32::try_from(seconds).unwrap_or(u32::MAX)))
            }
        }
    }
}

impl Publication {
    /// A publication of these parts.
    pub fn new(message: &Message<'_>) -> Self {
        let mut publication = Self::default();
        publication.fill(message);
        publication
    }

    fn fill(&mut self, message: &Message<'_>) {
        self.bytes.clear();
        self.bytes.reserve(message.topic.len() + message.properties.len() + message.payload.len());
        self.bytes.extend_from_slice(message.topic.as_bytes());
        self.bytes.extend_from_slice(message.properties);
        self.bytes.extend_from_slice(message.payload);
        self.topic_len =
            u16::try_from(message.topic.len()).expect("a topic's length fits two bytes on the wire");
        self.properties_len = u32::try_from(message.properties.len())
            .expect("a property block fits a packet of at most 256 MB");
        self.head = message.head;
    }

    /// Topic Name.
    pub fn topic(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.topic_len)]).expect("the topic came from a &str")
    }

    /// Topic, forwardable properties and payload, one behind the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The application's bytes.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[usize::from(self.topic_len) + self.properties_len as usize..]
    }

    /// All of it by reference.
    pub fn message(&self) -> Message<'_> {
        let (topic, rest) = self.bytes.split_at(usize::from(self.topic_len));
        let (properties, payload) = rest.split_at(self.properties_len as usize);
        Message {
            topic: std::str::from_utf8(topic).expect("the topic came from a &str"),
            properties,
            payload,
            head: self.head,
        }
    }

    /// Bytes it keeps in memory.
    pub fn bytes_held(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }
}

/// Hands out publications whose buffers were used before.
#[derive(Debug, Default)]
pub struct Pool {
    /// Oldest first: the front is the likeliest to be free again.
    handed_out: VecDeque<Arc<Publication>>,
}

impl Pool {
    /// Keeps a message.
    pub fn keep(&mut self, message: &Message<'_>) -> Arc<Publication> {
        let bytes = message.topic.len() + message.properties.len() + message.payload.len();
        if bytes > POOLED_BYTES_MAX {
            return Arc::new(Publication::new(message));
        }
        if let Some(mut front) = self.handed_out.pop_front() {
            if let Some(free) = Arc::get_mut(&mut front) {
                free.fill(message);
                self.handed_out.push_back(Arc::clone(&front));
                return front;
            }
            // Still held, by a slow client or the retained store: it gets another turn.
            if self.handed_out.len() < POOL_LEN_MAX {
                self.handed_out.push_back(front);
            }
        }
        let fresh = Arc::new(Publication::new(message));
        if self.handed_out.len() < POOL_LEN_MAX {
            self.handed_out.push_back(Arc::clone(&fresh));
        }
        fresh
    }
}

/// Appends what a receiver must get unaltered of a PUBLISH's properties.
pub(super) fn forwardable(publish: &Publish<'_>, version: Version, into: &mut Vec<u8>) {
    into.clear();
    if version == Version::V5 {
        publish.properties.encode_forwardable(into);
    }
}
