//! Retained messages for operators: which there are, and whose.
//!
//! All loops share one store, which is read from outside the loops.

use std::sync::Arc;

use stadium_mqtt::broker::RetainedQuery;
use stadium_mqtt::packet::QoS;
use stadium_push::Time;

use crate::EdgeHandle;

/// Some retained messages, in the order of their topics.
#[derive(Debug, Clone)]
pub struct RetainedList {
    /// At most as many as were asked for; fewer, or none, is not the end.
    pub messages: Vec<RetainedMessage>,
    /// The topic from which the next page goes on; none behind the last message.
    pub next: Option<String>,
}

/// A retained message without its payload.
#[derive(Debug, Clone)]
pub struct RetainedMessage {
    /// Topic Name.
    pub topic: String,
    /// The principal that set it: empty for an anonymous device, none for a message of the server's own or of
    /// before principals were kept.
    pub principal: Option<Arc<str>>,
    /// Bytes of its payload.
    pub payload_bytes: usize,
    /// Bytes for which it counts in the bounds of the store.
    pub bytes: usize,
    /// QoS that it was published with.
    pub qos: QoS,
    /// When it was set; none where that was not kept.
    pub set_at: Option<Time>,
    /// When its time is over; none where that is never.
    pub expires_at: Option<Time>,
}

impl EdgeHandle {
    /// A page of at most so many retained messages. It reads the store beside the loops and takes some milliseconds
    /// at most.
    pub fn list_retained(&self, query: &RetainedQuery<'_>, messages_max: usize) -> RetainedList {
        let shared = &self.shared;
        let page = shared.retained.list(query, shared.now_ms(), messages_max);
        let messages = page.messages.into_iter().map(|one| RetainedMessage {
            topic: one.topic,
            principal: one.owner,
            payload_bytes: one.payload_bytes,
            bytes: one.bytes,
            qos: one.qos,
            set_at: one.set_at_ms.map(|at_ms| shared.clock.wall_time_of_signed(at_ms)),
            expires_at: one.expires_at_ms.map(|at_ms| shared.clock.wall_time(at_ms)),
        });
        RetainedList { messages: messages.collect(), next: page.next }
    }
}
