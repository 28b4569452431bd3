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
    /// Since when some shard could not be stored, without a success of that shard; `None` while all
    /// can.
    #[must_use]
    pub fn failing_since(&self) -> Option<SystemTime> {
        self.failing.lock().values().map(|failing| failing.since).min()
    }

    /// The shards that cannot be stored, with the last error of each.
    #[must_use]
    pub fn reasons(&self) -> Vec<(u16, String)> {
        self.failing.lock().iter().map(|(shard, failing)| (*shard, failing.reason.clone())).collect()
    }

    pub(crate) fn failed(&self, shard: u16, error: &Error) {
        let reason = error.to_string();
        let mut failing = self.failing.lock();
        match failing.get_mut(&shard) {
            Some(known) => known.reason = reason,
            None => {
                tracing::warn!(shard, %error, "The archive cannot be written; it is tried again until it can");
                failing.insert(shard, Failing { since: SystemTime::now(), reason });
            }
        }
    }

    pub(crate) fn works(&self, shard: u16) {
        if let Some(failing) = self.failing.lock().remove(&shard) {
            let seconds = failing.since.elapsed().unwrap_or_default().as_secs();
            tracing::info!(shard, seconds, "The archive can be written again");
        }
    }
}
