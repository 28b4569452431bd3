//! What a client that is away must still get.
//!
//! The broker hands every message at QoS 1 or 2 for a session without a connection to [`Mailboxes`], and
//! asks for them again, oldest first, when the client is back. [`InMemory`] keeps them for as long as the
//! process lives.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::publication::Publication;
use super::session::{SessionKey, SharedId};
use crate::packet::QoS;

/// A message kept for one client.
#[derive(Debug, Clone)]
pub struct QueuedMessage {
    /// The message.
    pub publication: Arc<Publication>,
    /// The QoS it will be delivered with, 1 or 2.
    pub qos: QoS,
    /// RETAIN as this receiver must see it.
    pub retain: bool,
    /// Subscription identifiers to send with it.
    pub subscription_ids: Box<[u32]>,
    /// The shared subscription it came by.
    pub shared: SharedId,
    /// What the host calls it, where it keeps it; else 0.
    pub number: u32,
}

impl QueuedMessage {
    fn bytes(&self) -> usize {
        self.publication.bytes_held()
    }
}

/// Keeps queued messages for sessions whose clients are away.
pub trait Mailboxes {
    /// Keeps a queued message. Returns the oldest of the session's queued messages that had to go
    /// for it, or the queued message itself if it can't be kept.
    fn put(
        &mut self,
        session: SessionKey,
        client_id: &str,
        queued_message: QueuedMessage,
    ) -> Vec<QueuedMessage>;

    /// Takes the session's oldest queued message out.
    fn take(&mut self, session: SessionKey) -> Option<QueuedMessage>;

    /// Gives up what the session has: it ended.
    fn forget(&mut self, session: SessionKey) -> Vec<QueuedMessage>;

    /// QueuedMessages kept for one session.
    fn waiting(&self, session: SessionKey) -> usize;

    /// QueuedMessages kept for all of them.
    fn len(&self) -> usize;

    /// Whether nobody has a queued message.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bounds of [`InMemory`].
#[derive(Debug, Clone, Copy)]
pub struct MailboxLimits {
    /// QueuedMessages for one session; the oldest goes for one more.
    pub messages_max: usize,
    /// Bytes of the queued messages for one session; the oldest go for one more, and a queued
    /// message that is larger on its own is refused. A message for many devices is held once and
    /// counted for each.
    pub bytes_max: usize,
    /// QueuedMessages for all sessions of one loop; a session's own oldest goes for one more, and a
    /// session that has none is refused.
    pub total_max: usize,
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self { messages_max: 1_000, bytes_max: 4 << 20, total_max: 1_000_000 }
    }
}

/// Mailboxes that live as long as the process.
#[derive(Debug, Default)]
pub struct InMemory {
    limits: MailboxLimits,
    boxes: HashMap<SessionKey, Own>,
    len: usize,
}

/// What one session has.
#[derive(Debug, Default)]
struct Own {
    queued_messages: VecDeque<QueuedMessage>,
    bytes: usize,
}

impl InMemory {
    /// Empty mailboxes with these bounds.
    pub fn new(limits: MailboxLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Own {
    fn pop(&mut self) -> Option<QueuedMessage> {
        let queued_message = self.queued_messages.pop_front()?;
        self.bytes -= queued_message.bytes();
        Some(queued_message)
    }
}

impl Mailboxes for InMemory {
    fn put(
        &mut self,
        session: SessionKey,
        _client_id: &str,
        queued_message: QueuedMessage,
    ) -> Vec<QueuedMessage> {
        let MailboxLimits { messages_max, bytes_max, total_max } = self.limits;
        let all_full = self.len >= total_max;
        if messages_max == 0
            || queued_message.bytes() > bytes_max
            || (all_full && !self.boxes.contains_key(&session))
        {
            return vec![queued_message];
        }
        let own = self.boxes.entry(session).or_default();
        own.bytes += queued_message.bytes();
        own.queued_messages.push_back(queued_message);
        self.len += 1;
        let mut evicted = Vec::new();
        while own.queued_messages.len() > messages_max || own.bytes > bytes_max || self.len > total_max {
            let Some(oldest) = own.pop() else { break };
            evicted.push(oldest);
            self.len -= 1;
        }
        evicted
    }

    fn take(&mut self, session: SessionKey) -> Option<QueuedMessage> {
        let own = self.boxes.get_mut(&session)?;
        let queued_message = own.pop();
        self.len -= usize::from(queued_message.is_some());
        if own.queued_messages.is_empty() {
            self.boxes.remove(&session);
        }
        queued_message
    }

    fn forget(&mut self, session: SessionKey) -> Vec<QueuedMessage> {
        let queued_messages =
            self.boxes.remove(&session).map(|own| Vec::from(own.queued_messages)).unwrap_or_default();
        self.len -= queued_messages.len();
        queued_messages
    }

    fn waiting(&self, session: SessionKey) -> usize {
        self.boxes.get(&session).map_or(0, |own| own.queued_messages.len())
    }

    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::super::publication::{Head, Message};
    use super::*;

    fn queued_message(payload: &[u8]) -> QueuedMessage {
        let message = Message { topic: "t", properties: &[], payload, head: Head::default() };
        QueuedMessage {
            publication: Arc::new(Publication::new(&message)),
            qos: QoS::AtLeastOnce,
            retain: false,
            subscription_ids: Box::default(),
            shared: SharedId::NONE,
            number: 0,
        }
    }

    fn payloads(queued_messages: &[QueuedMessage]) -> Vec<u8> {
        queued_messages.iter().map(|queued_message| queued_message.publication.payload()[0]).collect()
    }

    #[test]
    fn the_oldest_messages_go_for_a_new_one() {
        let session = SessionKey { index: 1, generation: 1 };
        let limits = MailboxLimits { messages_max: 2, ..MailboxLimits::default() };
        let mut mailboxes = InMemory::new(limits);
        assert!(mailboxes.put(session, "c", queued_message(&[1])).is_empty());
        assert!(mailboxes.put(session, "c", queued_message(&[2])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session, "c", queued_message(&[3]))), [1]);
        assert_eq!(mailboxes.len(), 2);
        assert_eq!(payloads(&mailboxes.forget(session)), [2, 3]);
        assert!(mailboxes.is_empty());
    }

    #[test]
    fn a_session_has_so_many_bytes_and_no_more() {
        let session = SessionKey { index: 1, generation: 1 };
        let limits = MailboxLimits { bytes_max: 3_000, ..MailboxLimits::default() };
        let mut mailboxes = InMemory::new(limits);
        assert!(mailboxes.put(session, "c", queued_message(&[1; 1_000])).is_empty());
        assert!(mailboxes.put(session, "c", queued_message(&[2; 1_000])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session, "c", queued_message(&[3; 2_000]))), [1, 2]);
        assert_eq!(payloads(&mailboxes.put(session, "c", queued_message(&[4; 4_000]))), [4]);
        assert_eq!(mailboxes.waiting(session), 1);
    }

    #[test]
    fn all_sessions_together_have_so_many_messages_and_a_new_session_is_refused() {
        let session = |index| SessionKey { index, generation: 1 };
        let mut mailboxes = InMemory::new(MailboxLimits { total_max: 3, ..MailboxLimits::default() });
        assert!(mailboxes.put(session(1), "a", queued_message(&[1])).is_empty());
        assert!(mailboxes.put(session(2), "b", queued_message(&[2])).is_empty());
        assert!(mailboxes.put(session(2), "b", queued_message(&[3])).is_empty());
        assert_eq!(
            payloads(&mailboxes.put(session(3), "c", queued_message(&[4]))),
            [4],
            "it has none to give up"
        );
        assert_eq!(
            payloads(&mailboxes.put(session(2), "b", queued_message(&[5]))),
            [2],
            "its own oldest goes"
        );
        assert_eq!(
            (mailboxes.len(), mailboxes.waiting(session(1)), mailboxes.waiting(session(3))),
            (3, 1, 0)
        );
        // Each one that is taken makes room for one.
        assert_eq!(
            mailboxes.take(session(1)).map(|queued_message| payloads(&[queued_message])),
            Some(vec![1])
        );
        assert!(mailboxes.take(session(1)).is_none());
        assert!(mailboxes.put(session(3), "c", queued_message(&[6])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session(1), "a", queued_message(&[7]))), [7]);
        mailboxes.forget(session(2));
        assert_eq!((mailboxes.len(), mailboxes.is_empty()), (1, false));
    }

    #[test]
    fn a_message_of_all_the_bytes_of_a_session_is_kept_and_none_where_no_message_may_wait() {
        let session = SessionKey { index: 1, generation: 1 };
        let bytes_max = queued_message(&[1; 1_000]).bytes();
        let mut mailboxes = InMemory::new(MailboxLimits { bytes_max, ..MailboxLimits::default() });
        assert!(mailboxes.put(session, "c", queued_message(&[1; 1_000])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session, "c", queued_message(&[2; 1_001]))), [2]);
        assert_eq!(payloads(&mailboxes.put(session, "c", queued_message(&[3; 1_000]))), [1]);
        let mut none = InMemory::new(MailboxLimits { messages_max: 0, ..MailboxLimits::default() });
        assert_eq!(payloads(&none.put(session, "c", queued_message(&[4]))), [4]);
        assert!(none.is_empty());
    }
}
