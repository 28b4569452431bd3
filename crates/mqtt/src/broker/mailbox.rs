//! What a client that is away must still get.
//!
//! The broker hands every message at QoS 1 or 2 for a session without a connection to [`Mailboxes`], and
//! asks for them again, oldest first, when the client is back. [`InMemory`] keeps them for as long as the
//! process lives.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::publication::Publication;
use super::session::SessionKey;
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
}

/// Keeps letters for sessions whose clients are away.
pub trait Mailboxes {
    /// Keeps a letter. Returns the oldest of the session's letters that had to go for it, or the letter
    /// itself if it can't be kept.
    fn put(&mut self, session: SessionKey, client_id: &str, letter: Letter) -> Option<Letter>;

    /// Takes the session's oldest letter out.
    fn take(&mut self, session: SessionKey) -> Option<Letter>;

    /// Throws away what the session has: it ended.
    fn forget(&mut self, session: SessionKey);

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
    /// Letters for all sessions of one loop; a session's own oldest goes for one more, and a session
    /// that has none is refused.
    pub total_max: usize,
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self { messages_max: 1_000, total_max: 1_000_000 }
    }
}

/// Mailboxes that live as long as the process.
#[derive(Debug, Default)]
pub struct InMemory {
    limits: MailboxLimits,
    letters: HashMap<SessionKey, VecDeque<Letter>>,
    len: usize,
}

impl InMemory {
    /// Empty mailboxes with these bounds.
    pub fn new(limits: MailboxLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Mailboxes for InMemory {
    fn put(&mut self, session: SessionKey, _client_id: &str, letter: Letter) -> Option<Letter> {
        if self.limits.messages_max == 0 {
            return Some(letter);
        }
        if self.len >= self.limits.total_max && !self.letters.contains_key(&session) {
            return Some(letter);
        }
        let box_full = self.limits.messages_max;
        let all_full = self.len >= self.limits.total_max;
        let letters = self.letters.entry(session).or_default();
        let evicted = if letters.len() >= box_full || all_full { letters.pop_front() } else { None };
        letters.push_back(letter);
        if evicted.is_none() {
            self.len += 1;
        }
        evicted
    }

    fn take(&mut self, session: SessionKey) -> Option<Letter> {
        let letters = self.letters.get_mut(&session)?;
        let letter = letters.pop_front();
        if letter.is_some() {
            self.len -= 1;
        }
        if letters.is_empty() {
            self.letters.remove(&session);
        }
        letter
    }

    fn forget(&mut self, session: SessionKey) {
        if let Some(letters) = self.letters.remove(&session) {
            self.len -= letters.len();
        }
    }

    fn waiting(&self, session: SessionKey) -> usize {
        self.letters.get(&session).map_or(0, VecDeque::len)
    }

    fn len(&self) -> usize {
        self.len
    }
}
