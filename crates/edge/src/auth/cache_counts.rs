//! Counters of the cache of the callback's answers.
//!
//! Each time that the cache is asked ends in exactly one of hit, miss, renewal, failure, forgery or rest.

use std::sync::atomic::{AtomicU64, Ordering};

/// The work of the cache since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheCounts {
    /// Events, by name: `hit`, `miss` and so on.
    pub events: Vec<(&'static str, u64)>,
    /// Servers of the cache that are left alone now because they do not answer (a gauge).
    pub ejected_now: usize,
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// The events of the cache.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Event {
            $($(#[$doc])* $name,)*
        }

        const WORDS: &[&str] = &[$($word),*];
    };
}

events! {
    /// An answer was there.
    Hit = "hit";
    /// None was there, and this server asks the callback.
    Miss = "miss";
    /// One was there that is about to end, and this server asks the callback for a new one.
    Renewal = "renewal";
    /// Another caller asked the callback; this one waited. A hit, a miss or a failure follows.
    Wait = "wait";
    /// The cache failed, for reading or for writing.
    Failure = "failure";
    /// The entry was not written with this secret for this key.
    Forgery = "forgery";
    /// It was not asked, because it failed often just before.
    Rest = "rest";
}

/// The counters behind [`CacheCounts`].
#[derive(Default)]
pub(super) struct CacheCounters([AtomicU64; WORDS.len()]);

impl CacheCounters {
    pub(super) fn count(&self, event: Event) {
        // Events are numbered from 0 in the order of their words.
        self.0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self, ejected_now: usize) -> CacheCounts {
        let events =
            WORDS.iter().zip(&self.0).map(|(word, count)| (*word, count.load(Ordering::Relaxed))).collect();
        CacheCounts { events, ejected_now }
    }
}
