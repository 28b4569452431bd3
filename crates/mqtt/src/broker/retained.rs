//! Retained messages: the last one of each topic, for subscribers to come (MQTT 5.0 section 3.3.1.3).
//!
//! The brokers of a node share one store behind a lock, so that what a client retained is there for the
//! next subscriber whichever loop serves it. Publishing without RETAIN and subscribing while nothing is
//! retained never take the lock.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::publication::Publication;
use crate::topic;

/// Bounds of the retained store.
#[derive(Debug, Clone, Copy)]
pub struct RetainedLimits {
    /// Topics with a retained message; one more is refused with Quota exceeded.
    pub messages_max: usize,
    /// Bytes of topics, properties and payloads together; more is refused with Quota exceeded.
    pub bytes_max: usize,
}

impl Default for RetainedLimits {
    fn default() -> Self {
        Self { messages_max: 100_000, bytes_max: 256 << 20 }
    }
}

/// The retained messages of a node.
#[derive(Debug, Default)]
pub struct Retained {
    limits: RetainedLimits,
    by_topic: RwLock<Topics>,
    len: AtomicUsize,
}

#[derive(Debug, Default)]
struct Topics {
    /// How often messages were replaced or removed: names each time, in their order.
    changes: u64,
    messages: BTreeMap<Box<str>, Arc<Publication>>,
    bytes: usize,
}

/// The store is at its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Topics {
    fn set(&mut self, publication: &Publication, limits: &RetainedLimits) -> Result<(), Full> {
        let before = self.messages.get(publication.topic()).map_or(0, |old| old.bytes_held());
        if publication.payload().is_empty() {
            self.messages.remove(publication.topic());
            self.bytes -= before;
            return Ok(());
        }
        let full = before == 0 && self.messages.len() >= limits.messages_max;
        // A copy of its own: what came from the pool must go back there.
        let mut kept = publication.clone();
        kept.head.receipt = 0;
        let bytes = self.bytes - before + kept.bytes_held();
        if full || bytes > limits.bytes_max {
            return Err(Full);
        }
        self.bytes = bytes;
        self.messages.insert(publication.topic().into(), Arc::new(kept));
        Ok(())
    }
}

impl Retained {
    /// An empty store with these bounds.
    pub fn new(limits: RetainedLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Topics with a retained message.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Whether nothing is retained.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.by_topic.read().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Replaces the retained message of the publication's topic [MQTT-3.3.1-5]; an empty payload removes
    /// it [MQTT-3.3.1-6]. Returns a number that is higher than those of all changes before.
    pub fn set(&self, publication: &Publication) -> Result<u64, Full> {
        let mut topics = self.by_topic.write().unwrap_or_else(PoisonError::into_inner);
        topics.set(publication, &self.limits)?;
        topics.changes += 1;
        self.len.store(topics.messages.len(), Ordering::Release);
        Ok(topics.changes)
    }

    /// Takes back a message that was retained before the server was started, with its number.
    pub fn restore(&self, publication: &Publication, number: u64) -> Result<(), Full> {
        let mut topics = self.by_topic.write().unwrap_or_else(PoisonError::into_inner);
        topics.changes = topics.changes.max(number);
        topics.set(publication, &self.limits)?;
        self.len.store(topics.messages.len(), Ordering::Release);
        Ok(())
    }

    /// The retained messages whose topics match the filter, in the order of their topics, at most
    /// `limit` of them; those whose time is over are left out and removed.
    pub fn matching(&self, filter: &str, now_ms: u64, limit: usize) -> Vec<Arc<Publication>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut expired = Vec::new();
        let mut found = Vec::new();
        {
            let topics = self.by_topic.read().unwrap_or_else(PoisonError::into_inner);
            let mut look = |publication: &Arc<Publication>| {
                if publication.head.expiry_s(now_ms).is_err() {
                    expired.push(Arc::clone(publication));
                } else if found.len() < limit {
                    found.push(Arc::clone(publication));
                }
            };
            match filter.find(['+', '#']) {
                None => {
                    if let Some(publication) = topics.messages.get(filter) {
                        look(publication);
                    }
                }
                Some(wildcard) => {
                    // `sport/#` also matches `sport`, which sorts before `sport/`.
                    let prefix = filter[..wildcard].trim_end_matches('/');
                    let from = (Bound::Included(prefix), Bound::Unbounded);
                    for (topic, publication) in topics.messages.range::<str, _>(from) {
                        if !topic.starts_with(prefix) {
                            break;
                        }
                        if topic::matches(filter, topic) {
                            look(publication);
                        }
                    }
                }
            }
        }
        if !expired.is_empty() {
            self.remove(&expired);
        }
        found
    }

    fn remove(&self, expired: &[Arc<Publication>]) {
        let mut topics = self.by_topic.write().unwrap_or_else(PoisonError::into_inner);
        for old in expired {
            // It may have been replaced since it was seen.
            if topics.messages.get(old.topic()).is_some_and(|now| Arc::ptr_eq(now, old)) {
                topics.messages.remove(old.topic());
                topics.bytes -= old.bytes_held();
            }
        }
        self.len.store(topics.messages.len(), Ordering::Release);
    }
}
