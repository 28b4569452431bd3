//! Answers that were dear to find, remembered for a bounded time by a keyed digest of what was shown.
//!
//! When a fleet comes back at once, each device shows what it showed before; computing argon2 for each
//! again would take minutes. What is kept is HMAC-SHA256 under a random key of this process: it is of no
//! use to a reader of a memory dump without the key, and cannot be guessed offline from a leaked table.
//! Entries are bounded in number and age; the oldest is forgotten first.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ring::hmac;
use ring::rand::SystemRandom;

use super::Error;

/// The digest of one set of credentials.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tag(pub(super) [u8; 32]);

impl Tag {
    /// The digest of these parts under a key; their boundaries count.
    pub(super) fn of(key: &hmac::Key, parts: &[&[u8]]) -> Self {
        let mut context = hmac::Context::with_key(key);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        let digest = context.sign();
        let mut tag = [0; 32];
        tag.copy_from_slice(digest.as_ref());
        Self(tag)
    }
}

/// A bounded memory from credentials to `V`.
pub(super) struct Remembered<V> {
    key: hmac::Key,
    age_max: Duration,
    entries_max: usize,
    entries: Mutex<Entries<V>>,
}

struct Entries<V> {
    by_tag: HashMap<Tag, Entry<V>>,
    /// Insertions in their order, which is the order of their ends unless one was for a shorter time. One that
    /// was renewed stands here twice; the earlier no longer agrees with its entry and goes without effect.
    order: VecDeque<(Tag, Instant)>,
}

struct Entry<V> {
    ends: Instant,
    value: V,
}

impl<V: Clone> Remembered<V> {
    /// An empty memory. An age or a count of zero remembers nothing.
    pub(super) fn new(age_max: Duration, entries_max: usize) -> Result<Self, Error> {
        let key =
            hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).map_err(|_| Error::System {
                attempt: "draw a random key",
                source: std::io::Error::other("the system gave no random bytes"),
            })?;
        let entries = Entries { by_tag: HashMap::new(), order: VecDeque::new() };
        Ok(Self { key, age_max, entries_max, entries: Mutex::new(entries) })
    }

    /// The digest of these parts; their boundaries count.
    pub(super) fn tag(&self, parts: &[&[u8]]) -> Tag {
        Tag::of(&self.key, parts)
    }

    /// What was remembered for this tag, while it has not ended.
    pub(super) fn recall(&self, tag: &Tag, now: Instant) -> Option<V> {
        let entries = self.entries.lock();
        entries.by_tag.get(tag).filter(|entry| now < entry.ends).map(|entry| entry.value.clone())
    }

    /// Remembers `value`, and forgets the oldest where there is no room.
    pub(super) fn remember(&self, tag: Tag, value: V, now: Instant) {
        self.remember_for(self.age_max, tag, value, now);
    }

    /// Remembers `value` for so long, or for the memory's own age where that is shorter.
    pub(super) fn remember_for(&self, age: Duration, tag: Tag, value: V, now: Instant) {
        if age.is_zero() || self.age_max.is_zero() || self.entries_max == 0 {
            return;
        }
        let mut entries = self.entries.lock();
        let ends = now + age.min(self.age_max);
        entries.by_tag.insert(tag, Entry { ends, value });
        entries.order.push_back((tag, ends));
        while let Some((tag, ends)) = entries.order.front().copied() {
            if ends > now && entries.order.len() <= self.entries_max {
                break;
            }
            entries.order.pop_front();
            if entries.by_tag.get(&tag).is_some_and(|entry| entry.ends == ends) {
                entries.by_tag.remove(&tag);
            }
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        let mut entries = self.entries.lock();
        entries.by_tag.clear();
        entries.order.clear();
    }

    /// Answers remembered now.
    pub(super) fn len(&self) -> usize {
        self.entries.lock().by_tag.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_recalled_until_it_ends() {
        let memory = Remembered::new(Duration::from_secs(10), 4).expect("randomness");
        let start = Instant::now();
        let tag = memory.tag(&[b"anna", b"secret"]);
        memory.remember(tag, 7, start);
        assert_eq!(memory.recall(&tag, start + Duration::from_secs(9)), Some(7));
        assert_eq!(memory.recall(&tag, start + Duration::from_secs(10)), None);
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_is_no_room() {
        let memory = Remembered::new(Duration::from_secs(10), 3).expect("randomness");
        let start = Instant::now();
        let tags: Vec<_> = (0_u8..5).map(|at| memory.tag(&[&[at]])).collect();
        for (at, tag) in tags.iter().enumerate() {
            memory.remember(*tag, at, start);
        }
        let kept: Vec<_> = tags.iter().map(|tag| memory.recall(tag, start)).collect();
        assert_eq!(kept, [None, None, Some(2), Some(3), Some(4)]);
        assert_eq!(memory.len(), 3);
    }

    #[test]
    fn renewing_an_answer_keeps_it_to_its_new_end() {
        let memory = Remembered::new(Duration::from_secs(10), 8).expect("randomness");
        let start = Instant::now();
        let tag = memory.tag(&[b"anna"]);
        memory.remember(tag, 1, start);
        memory.remember(tag, 2, start + Duration::from_secs(8));
        memory.remember(memory.tag(&[b"bert"]), 3, start + Duration::from_secs(12));
        assert_eq!(memory.recall(&tag, start + Duration::from_secs(12)), Some(2));
    }

    #[test]
    fn an_answer_for_a_shorter_time_ends_earlier_and_none_lives_longer_than_the_memory() {
        let memory = Remembered::new(Duration::from_secs(10), 8).expect("randomness");
        let start = Instant::now();
        let [short, long] = [b"anna", b"bert"].map(|name| memory.tag(&[name]));
        memory.remember_for(Duration::from_secs(2), short, 1, start);
        memory.remember_for(Duration::from_secs(60), long, 2, start);
        assert_eq!(memory.recall(&short, start + Duration::from_secs(1)), Some(1));
        assert_eq!(memory.recall(&short, start + Duration::from_secs(2)), None);
        assert_eq!(memory.recall(&long, start + Duration::from_secs(10)), None);
    }

    #[test]
    fn boundaries_between_parts_count() {
        let memory = Remembered::<()>::new(Duration::from_secs(1), 1).expect("randomness");
        assert!(memory.tag(&[b"ab", b"c"]) != memory.tag(&[b"a", b"bc"]));
    }
}
