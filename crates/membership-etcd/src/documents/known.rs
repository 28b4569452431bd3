//! The documents that the thread `documents` and the handle share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Texts by name: the key below `/stadium/CLUSTER/access/`.
pub type Texts = BTreeMap<String, String>;

/// Documents as of one moment.
#[derive(Clone, Default)]
pub struct Known {
    /// Grows whenever a document changes; counts from the start of this process.
    pub version: u64,
    /// All of them.
    pub texts: Arc<Texts>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the texts: some are secrets.
        f.debug_struct("Known").field("version", &self.version).finish_non_exhaustive()
    }
}

pub(super) struct Shared {
    version: AtomicU64,
    state: Mutex<State>,
    contact: Condvar,
}

#[derive(Default)]
struct State {
    known: Known,
    was_read: bool,
    /// Since when etcd does not answer, and why; none while it does.
    away: Option<(Instant, String)>,
}

impl Shared {
    pub(super) fn new(copy: Option<Texts>) -> Self {
        let version = u64::from(copy.is_some());
        let known = Known { version, texts: Arc::new(copy.unwrap_or_default()) };
        let away = Some((Instant::now(), "etcd was not reached yet".to_owned()));
        let state = Mutex::new(State { known, was_read: false, away });
        Self { version: AtomicU64::new(version), state, contact: Condvar::new() }
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(super) fn known(&self) -> Known {
        self.state.lock().known.clone()
    }

    /// Takes what etcd has. True where it is another state.
    pub(super) fn take(&self, texts: Texts) -> bool {
        let mut state = self.state.lock();
        state.was_read = true;
        state.away = None;
        let is_other = *state.known.texts != texts;
        if is_other {
            let version = state.known.version + 1;
            state.known = Known { version, texts: Arc::new(texts) };
            // Readers of the version then read the documents, which are there.
            self.version.store(version, Ordering::Release);
        }
        drop(state);
        self.contact.notify_all();
        is_other
    }

    /// etcd is away. True where it was not, or for another reason.
    pub(super) fn lose(&self, why: &str) -> bool {
        let mut state = self.state.lock();
        let before = state.away.take();
        let is_other = before.as_ref().is_none_or(|(_, before)| before != why);
        let since = before.map_or_else(Instant::now, |(since, _)| since);
        state.away = Some((since, why.to_owned()));
        is_other
    }

    /// Since when etcd does not answer, and why; none while it does.
    pub(super) fn away(&self) -> Option<(Instant, String)> {
        self.state.lock().away.clone()
    }

    pub(super) fn wait_until_read(&self, within: Duration) -> Result<(), String> {
        let deadline = Instant::now() + within;
        let mut state = self.state.lock();
        while !state.was_read {
            if self.contact.wait_until(&mut state, deadline).timed_out() && !state.was_read {
                let away = state.away.as_ref().map(|(_, why)| why.clone());
                return Err(away.unwrap_or_default());
            }
        }
        Ok(())
    }
}
