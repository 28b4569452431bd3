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
pub struct Letter {
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

impl Letter {
    fn bytes(&self) -> usize {
        self.publication.bytes_held()
    }
}

/// Keeps letters for sessions whose clients are away.
pub trait Mailboxes {
    /// Keeps a letter. Returns the oldest of the session's letters that had to go for it, or the letter
    /// itself if it can't be kept.
    fn put(&mut self, session: SessionKey, client_id: &str, letter: Letter) -> Vec<Letter>;

    /// Takes the session's oldest letter out.
    fn take(&mut self, session: SessionKey) -> Option<Letter>;

    /// Gives up what the session has: it ended.
    fn forget(&mut self, session: SessionKey) -> Vec<Letter>;

    /// Letters kept for one session.
    fn waiting(&self, session: SessionKey) -> usize;

    /// Letters kept for all of them.
    fn len(&self) -> usize;

    /// Whether nobody has a letter.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bounds of [`InMemory`].
#[derive(Debug, Clone, Copy)]
pub struct MailboxLimits {
    /// Letters for one session; the oldest goes for one more.
    pub messages_max: usize,
    /// Bytes of the letters for one session; the oldest go for one more, and a letter that is larger on
    /// its own is refused. A message for many devices is held once and counted for each.
    pub bytes_max: usize,
    /// Letters for all sessions of one loop; a session's own oldest goes for one more, and a session
    /// that has none is refused.
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
    letters: VecDeque<Letter>,
    bytes: usize,
}

impl InMemory {
    /// Empty mailboxes with these bounds.
    pub fn new(limits: MailboxLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Own {
    fn pop(&mut self) -> Option<Letter> {
        let letter = self.letters.pop_front()?;
        self.bytes -= letter.bytes();
        Some(letter)
    }
}

impl Mailboxes for InMemory {
    fn put(&mut self, session: SessionKey, _client_id: &str, letter: Letter) -> Vec<Letter> {
        let MailboxLimits { messages_max, bytes_max, total_max } = self.limits;
        let all_full = self.len >= total_max;
        if messages_max == 0 || letter.bytes() > bytes_max || (all_full && !self.boxes.contains_key(&session))
        {
            return vec![letter];
        }
        let own = self.boxes.entry(session).or_default();
        own.bytes += letter.bytes();
        own.letters.push_back(letter);
        self.len += 1;
        let mut evicted = Vec::new();
        while own.letters.len() > messages_max || own.bytes > bytes_max || self.len > total_max {
            let Some(oldest) = own.pop() else { break };
            evicted.push(oldest);
            self.len -= 1;
        }
        evicted
    }

    fn take(&mut self, session: SessionKey) -> Option<Letter> {
        let own = self.boxes.get_mut(&session)?;
        let letter = own.pop();
        self.len -= usize::from(letter.is_some());
        if own.letters.is_empty() {
            self.boxes.remove(&session);
        }
        letter
    }

    fn forget(&mut self, session: SessionKey) -> Vec<Letter> {
        let letters = self.boxes.remove(&session).map(|own| Vec::from(own.letters)).unwrap_or_default();
        self.len -= letters.len();
        letters
    }

    fn waiting(&self, session: SessionKey) -> usize {
        self.boxes.get(&session).map_or(0, |own| own.letters.len())
    }

    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::super::publication::{Head, Message};
    use super::*;

    fn letter(payload: &[u8]) -> Letter {
        let message = Message { topic: "t", properties: &[], payload, head: Head::default() };
        Letter {
            publication: Arc::new(Publication::new(&message)),
            qos: QoS::AtLeastOnce,
            retain: false,
            subscription_ids: Box::default(),
            shared: SharedId::NONE,
            number: 0,
        }
    }

    fn payloads(letters: &[Letter]) -> Vec<u8> {
        letters.iter().map(|letter| letter.publication.payload()[0]).collect()
    }

    #[test]
    fn the_oldest_letters_go_for_a_new_one() {
        let session = SessionKey { index: 1, generation: 1 };
        let limits = MailboxLimits { messages_max: 2, ..MailboxLimits::default() };
        let mut mailboxes = InMemory::new(limits);
        assert!(mailboxes.put(session, "c", letter(&[1])).is_empty());
        assert!(mailboxes.put(session, "c", letter(&[2])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session, "c", letter(&[3]))), [1]);
        assert_eq!(mailboxes.len(), 2);
        assert_eq!(payloads(&mailboxes.forget(session)), [2, 3]);
        assert!(mailboxes.is_empty());
    }

    #[test]
    fn a_session_has_so_many_bytes_and_no_more() {
        let session = SessionKey { index: 1, generation: 1 };
        let limits = MailboxLimits { bytes_max: 3_000, ..MailboxLimits::default() };
        let mut mailboxes = InMemory::new(limits);
        assert!(mailboxes.put(session, "c", letter(&[1; 1_000])).is_empty());
        assert!(mailboxes.put(session, "c", letter(&[2; 1_000])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session, "c", letter(&[3; 2_000]))), [1, 2]);
        assert_eq!(payloads(&mailboxes.put(session, "c", letter(&[4; 4_000]))), [4]);
        assert_eq!(mailboxes.waiting(session), 1);
    }

    #[test]
    fn all_sessions_together_have_so_many_letters_and_a_new_session_is_refused() {
        let session = |index| SessionKey { index, generation: 1 };
        let mut mailboxes = InMemory::new(MailboxLimits { total_max: 3, ..MailboxLimits::default() });
        assert!(mailboxes.put(session(1), "a", letter(&[1])).is_empty());
        assert!(mailboxes.put(session(2), "b", letter(&[2])).is_empty());
        assert!(mailboxes.put(session(2), "b", letter(&[3])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session(3), "c", letter(&[4]))), [4], "it has none to give up");
        assert_eq!(payloads(&mailboxes.put(session(2), "b", letter(&[5]))), [2], "its own oldest goes");
        assert_eq!(
            (mailboxes.len(), mailboxes.waiting(session(1)), mailboxes.waiting(session(3))),
            (3, 1, 0)
        );
        // Each one that is taken makes room for one.
        assert_eq!(mailboxes.take(session(1)).map(|letter| payloads(&[letter])), Some(vec![1]));
        assert!(mailboxes.take(session(1)).is_none());
        assert!(mailboxes.put(session(3), "c", letter(&[6])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session(1), "a", letter(&[7]))), [7]);
        mailboxes.forget(session(2));
        assert_eq!((mailboxes.len(), mailboxes.is_empty()), (1, false));
    }

    #[test]
    fn a_letter_of_all_the_bytes_of_a_session_is_kept_and_none_where_no_message_may_wait() {
        let session = SessionKey { index: 1, generation: 1 };
        let bytes_max = letter(&[1; 1_000]).bytes();
        let mut mailboxes = InMemory::new(MailboxLimits { bytes_max, ..MailboxLimits::default() });
        assert!(mailboxes.put(session, "c", letter(&[1; 1_000])).is_empty());
        assert_eq!(payloads(&mailboxes.put(session, "c", letter(&[2; 1_001]))), [2]);
        assert_eq!(payloads(&mailboxes.put(session, "c", letter(&[3; 1_000]))), [1]);
        let mut none = InMemory::new(MailboxLimits { messages_max: 0, ..MailboxLimits::default() });
        assert_eq!(payloads(&none.put(session, "c", letter(&[4]))), [4]);
        assert!(none.is_empty());
    }
}
