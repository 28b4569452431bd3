//! Since when a store has been failing, for a metric and an alarm.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::Error;

/// Whether shards can be stored. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Health {
    failing: Arc<Mutex<BTreeMap<u16, Failing>>>,
}

#[derive(Clone, Debug)]
struct Failing {
    since: SystemTime,
    reason: String,
}

impl Health {
    /// Since when the attempts to store some shard have been failing; `None` while none fail. A
    /// shard that this process no longer stores does not count.
    #[must_use]
    pub fn failing_since(&self) -> Option<SystemTime> {
        self.failing.lock().values().map(|failing| failing.since).min()
    }

    /// The shards that cannot be stored, with the last error of each.
    #[must_use]
    pub fn reasons(&self) -> Vec<(u16, String)> {
        self.failing.lock().iter().map(|(shard, failing)| (*shard, failing.reason.clone())).collect()
    }

    /// The attempts to store a shard, which end when the value is dropped.
    pub(crate) fn attempts(&self, shard: u16) -> Attempts<'_> {
        Attempts { health: self, shard }
    }
}

/// A shard that is being stored. However the attempts end, nobody is waiting for the store then.
pub(crate) struct Attempts<'a> {
    health: &'a Health,
    shard: u16,
}

impl Attempts<'_> {
    pub(crate) fn failed(&self, error: &Error) {
        let (shard, reason) = (self.shard, error.to_string());
        let mut failing = self.health.failing.lock();
        match failing.get_mut(&shard) {
            Some(known) => known.reason = reason,
            None => {
                tracing::warn!(shard, %error, "The archive cannot be written; it is tried again until it can");
                failing.insert(shard, Failing { since: SystemTime::now(), reason });
            }
        }
    }

    pub(crate) fn succeeded(&self) {
        if let Some(failing) = self.health.failing.lock().get(&self.shard) {
            let seconds = failing.since.elapsed().unwrap_or_default().as_secs();
            tracing::info!(shard = self.shard, seconds, "The archive can be written again");
        }
    }
}

impl Drop for Attempts<'_> {
    fn drop(&mut self) {
        self.health.failing.lock().remove(&self.shard);
    }
}
