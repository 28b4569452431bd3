//! Messages that applications publish to topics, as the fleet takes them.

use bytes::Bytes;
use compact_str::CompactString;
use stadium_push::live::Qos;

use crate::fleet::Refusal;

/// A message of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicMessage {
    /// The topic; the fleet checks it.
    pub topic: String,
    /// The application's bytes.
    pub payload: Bytes,
    /// At QoS 1 sessions that persist are owed it.
    pub qos: Qos,
    /// Whether it becomes the topic's retained message; without payload it removes that.
    pub retain: bool,
    /// Seconds after which nobody is sent it any more.
    pub expiry_s: Option<u32>,
    /// The payload is UTF-8 text, and says so to MQTT 5 clients.
    pub is_text: bool,
    /// MIME type.
    pub content_type: Option<CompactString>,
    /// The topic on which an answer is expected.
    pub response_topic: Option<String>,
    /// The correlation data that an answer repeats.
    pub correlation_data: Option<Bytes>,
    /// Names and values, in order.
    pub user_properties: Vec<(CompactString, CompactString)>,
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// It is owed to all its receivers; durably, where that was asked for.
    Accepted {
        /// Whether anybody may have subscribed to its topic.
        matched: bool,
    },
    /// It was to be retained and there is no room. Nobody got it.
    NoRoom,
    /// A part of the server does not keep up. Nobody got it.
    Busy,
    /// It may have been delivered.
    Unknown,
}

/// The reason that messages were refused. Nothing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// The fleet refused them as a whole.
    Refused(Refusal),
    /// The topic of the message at this place cannot be published to, and why.
    Topic(usize, String),
}
